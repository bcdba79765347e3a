"""The machine: CTAs, warps, groups of lanes, the order in which they run, and how they end.

A warp is one or more groups of lanes, each at its own instruction. Groups part at branches and meet
again at the branch's immediate post-dominator. An instruction that has to wait leaves its group
blocked; when no group can go on, the launch has deadlocked.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.check.launch import Launch, Param, TensorMap
from warploom.check.ptx.alu import LANES, dtype_of, getter, refuse, stored
from warploom.check.ptx.clocks import Clocks, Stamp
from warploom.check.ptx.memory import Conflict, Event, Memory
from warploom.check.ptx.parse import (
    Addr,
    Imm,
    Instr,
    Module,
    Not,
    Operand,
    Pair,
    Special,
    Sym,
    Variable,
    Vec,
)
from warploom.check.ptx.program import Program
from warploom.check.ptx.results import Findings
from warploom.check.ptx.video import Video
from warploom.errors import CheckError, UnsupportedCodeError
from warploom.report import Verdict

Array = NDArray[Any]
Run = Callable[[Any], Any]

GLOBAL_AT = 0x7_0000_0000  # generic addresses of global memory begin here
SHARED_AT = 1 << 40
LOCAL_AT = 1 << 41
PARAM_AT = 1 << 42
WINDOW = (1 << 40) - 1
SHARED_BASE = 1024  # the first bytes of shared memory are the system's
RANK_SHIFT = 24
MAX_SHARED = 228 * 1024
GUARD = 512
MAX_CTAS = 4096
MOST_IDLE = 400_000  # warp instructions without any effect on another warp
SUSPICIOUS = 20_000  # as above; from here on states are compared
LOOKED_AT = 1_000  # instructions of a group in which its state should come back
MAX_GLOBAL = 48 << 20  # bytes of all tensors; every byte has a shadow
ALL = np.ones(LANES, np.bool_)
EVERY = np.arange(LANES)

BLOCK = object()
JUMP = object()
GONE = object()
PAUSE = object()  # goes on, after others had their turn


class Halt(Exception):  # noqa: N818 (a stop of the run, not an error of ours)
    """The run cannot go on after a finding."""


class Join:
    """Where the lanes of a branch meet again."""

    __slots__ = ("arrived", "mask", "outer", "pc")

    def __init__(self, pc: int, mask: Array, outer: Join | None) -> None:
        self.pc, self.mask, self.outer = pc, mask, outer
        self.arrived = np.zeros(LANES, np.bool_)


class Lanes:
    """A group of lanes of one warp at one instruction."""

    __slots__ = (
        "R",
        "alive",
        "full",
        "join",
        "lanes",
        "mask",
        "pc",
        "refuse",
        "refused",
        "rpc",
        "threads",
        "tries",
        "wait",
        "warp",
    )

    def __init__(self, warp: Warp, pc: int, mask: Array, join: Join | None) -> None:
        self.warp, self.pc, self.R = warp, pc, warp.R
        self.wait: Any = None
        self.refuse, self.refused = False, -1
        self.tries = 0  # failed waits in a row
        self.alive = True
        self.enter(join)
        self.narrow(mask)

    def enter(self, join: Join | None) -> None:
        """Set where the lanes meet others next."""
        self.join = join
        self.rpc = -1 if join is None else join.pc

    def narrow(self, mask: Array) -> None:
        """Set the active lanes."""
        self.mask = mask
        self.full = bool(mask.all())
        if self.full:
            self.lanes, self.threads = EVERY, self.warp.threads
        else:
            self.lanes = np.nonzero(mask)[0]
            self.threads = self.warp.threads[self.lanes]


class Warp:
    """A warp: registers, groups of lanes, wgmma in flight."""

    def __init__(self, cta: Cta, index: int, regs: list[str], count: int) -> None:
        self.cta, self.index = cta, index
        self.threads = cta.base + 32 * index + EVERY
        self.R: list[Array] = [np.zeros(LANES, stored(k)) for k in regs]
        self.live = count > EVERY
        self.groups: list[Lanes] = []
        self.joins: list[Join] = []
        self.forced = False
        self.let_go = np.zeros(LANES, np.bool_)  # lanes that did not wait where branches meet
        self.looked = False  # some lane waited since the lanes last executed something together
        self.awaited: dict[int, Array] = {}  # lanes that others waited for, by instruction
        self.carry: list[int] = [0] * LANES
        self.visits: dict[int, int] = {}
        # wgmma
        self.wgmma = -1  # component
        self.committed, self.opened = 0, False
        self.commits: list[Array] = []
        self.flying: dict[int, tuple[int, str, int]] = {}
        self.touched: dict[int, tuple[int, int]] = {}
        self.fenced, self.sequence = -1, 0
        self.products: list[int] = []
        self.register_changes: list[int] = []  # setmaxnreg, by instruction
        # cp.async
        self.copies = -1
        self.copy_groups = np.zeros(LANES, np.int64)
        # bulk groups by lane: components for reads and results, groups committed, open
        self.bulk: dict[int, list[int]] = {}
        self.registers: int | None = None
        tid = 32 * index + EVERY
        x, y, _ = cta.launch.block
        self.tid = (tid % x, tid // x % y, tid // (x * y))


class Cta:
    """A CTA of a cluster."""

    def __init__(
        self,
        cluster: Cluster,
        rank: int,
        at: tuple[int, int, int],
        launch: Launch,
        program: Program,
    ) -> None:
        self.cluster, self.rank, self.at, self.launch = cluster, rank, at, launch
        gx, gy, _ = launch.grid
        self.number = at[0] + gx * (at[1] + gy * at[2])
        threads = launch.threads
        self.warp_count = -(-threads // LANES)
        self.base = rank * self.warp_count * LANES
        self.warps = [
            Warp(self, w, program.regs, min(LANES, threads - LANES * w))
            for w in range(self.warp_count)
        ]
        self.named: dict[int, Any] = {}
        self.done = False
        self.remote: dict[
            int, tuple[int, tuple[Warp, int]]
        ] = {}  # writes and arrivals from elsewhere
        self.pool: int | None = None
        self.grid_component = -1  # of griddepcontrol.wait


class Cluster:
    """CTAs that share their shared memory."""

    def __init__(self, machine: Machine, number: int, origin: tuple[int, int, int]) -> None:
        launch = machine.launch
        cx, cy, cz = launch.cluster
        self.machine, self.number, self.origin = machine, number, origin
        self.size = cx * cy * cz
        warps = -(-launch.threads // LANES)
        self.clocks = Clocks(
            number, self.size * warps * LANES, writer_fence=machine.axioms["writer_fence"]
        )
        self.stride = machine.shared_stride
        self.shared = Memory("shared", self.size * self.stride, 0xFF)
        self.shared.events = machine.events
        for rank in range(self.size):
            base = rank * self.stride
            for offset, raw in machine.shared_init:
                self.shared.data[base + offset : base + offset + len(raw)] = raw
        self.barriers: dict[int, Any] = {}
        self.ctas = [
            Cta(
                self,
                r,
                (
                    origin[0] + r % cx,
                    origin[1] + r // cx % cy,
                    origin[2] + r // (cx * cy),
                ),
                launch,
                machine.program,
            )
            for r in range(self.size)
        ]
        self.meeting: Any = None
        self.local = (
            np.zeros((self.clocks.threads, machine.local_bytes), np.uint8)
            if machine.local_bytes
            else None
        )


class MachineBase:
    """State of a launch and the run itself; the instructions are in the classes built on it."""

    def __init__(
        self,
        module: Module,
        program: Program,
        launch: Launch,
        *,
        axioms: dict[str, bool],
        findings: Findings,
        seed: int = 0,
        order: str = "forward",
        budget: int = 2_000_000,
    ) -> None:
        self.module, self.program, self.launch = module, program, launch
        self.axioms, self.findings, self.order = axioms, findings, order
        self.budget, self.steps, self.changes = budget, 0, 0
        self.random = random.Random(f"{seed} {order}")
        shuffled = order.startswith("random")
        self.spin = order == "spin" or shuffled
        self.events: list[Event] = [None]  # type: ignore[list-item]
        self.ran = bytearray(len(program.instrs))
        self.draws: dict[str, int] = {}
        self.moved = {"global_read": 0, "global_written": 0, "bulk_read": 0, "bulk_written": 0}
        self.widths: dict[str, int] = {}
        self.touched: dict[tuple[int, str], Array] = {}  # bytes of global memory, by CTA
        self.used: set[str] = set()
        self.valueless: dict[int, str] = {}  # instructions whose results are not computed, by line
        self.flags: dict[tuple[str, int], list[tuple[Cta, str, str, Stamp]]] = {}
        self.inits: dict[tuple[int, int], list[Any]] = {}
        self.init_fences: dict[tuple[int, int], int] = {}
        self.grid_waits = any(
            i.parts[0] == "griddepcontrol" and "wait" in i.parts for i in program.instrs
        )
        self.observers = any(map(_observes, program.instrs))
        self.boxes: dict[Any, tuple[Array, Array]] = {}
        self.observed: dict[tuple[str, int, int, int], int] = {}
        self.names: dict[str, tuple[str, int]] = {}  # symbol -> space, address
        self.known_maps: dict[bytes, TensorMap] = {}
        self._place_shared()
        self._place_global(seed)
        self._place_params()
        self.clock = 0
        self.alu = Video(self.get)
        self.code: list[Run] = []

    # -- memory layout

    def _place_shared(self) -> None:
        found = {**self.module.variables, **self.program.variables}
        used = self._symbols()
        at, self.shared_init = SHARED_BASE, []
        dynamic: list[Variable] = []
        for v in found.values():
            if v.space != "shared" or (v.name not in used and v.name in self.module.variables):
                continue
            if v.extern or v.size == 0:
                dynamic.append(v)
                continue
            at += -at % max(v.align, 1)
            self.names[v.name] = ("shared", at)
            if v.init:
                self.shared_init.append((at, np.frombuffer(v.init, np.uint8)))
            at += v.size
        static_end = at
        for v in dynamic:
            start = static_end + -static_end % max(v.align, 16 if not v.align else v.align)
            self.names[v.name] = ("shared", start)
            at = max(at, start + self.launch.shared_bytes)
        if not dynamic:
            at += self.launch.shared_bytes
        if at - SHARED_BASE > MAX_SHARED:
            raise CheckError(
                f"{at - SHARED_BASE} bytes of shared memory",
                where="launch",
                why=f"a CTA has at most {MAX_SHARED}",
            )
        self.shared_end = at
        self.shared_stride = at + (-at) % 1024
        local = 0
        for v in found.values():
            if v.space in ("local", "param") and v.name in self.program.variables:
                local += -local % max(v.align, 1)
                self.names[v.name] = (v.space if v.space == "local" else "frame", local)
                local += v.size
        self.local_bytes = local + (-local) % 16

    def _symbols(self) -> set[str]:
        used: set[str] = set()

        def visit(o: Operand) -> None:
            if isinstance(o, Sym):
                used.add(o.name)
            elif isinstance(o, Addr):
                visit(o.base)
                for p in o.rest:
                    visit(p)
            elif isinstance(o, Vec):
                for p in o.items:
                    visit(p)

        for i in self.program.instrs:
            for o in i.operands:
                visit(o)
        return used

    def _place_global(self, seed: int) -> None:
        launch = self.launch
        contents = launch.initial(seed)
        order = sorted(launch.tensors.values(), key=lambda t: t.role != "in")
        at, self.tensor_at = GUARD, {}
        self.regions: list[tuple[int, int, str]] = []
        read_only = GUARD
        for t in order:
            at += -at % 1024
            self.tensor_at[t.name] = at
            self.regions.append((at, at + t.nbytes, t.name))
            at += t.nbytes + GUARD
            if t.role == "in":
                read_only = at
        inits = []
        for v in {**self.module.variables, **self.program.variables}.values():
            if v.space in ("global", "const"):
                at += -at % max(v.align, 16)
                self.names[v.name] = ("global", GLOBAL_AT + at)
                self.regions.append((at, at + v.size, v.name))
                inits.append((at, v))
                at += v.size + GUARD
        self.workspace = 0  # what a cooperative launch gives the barrier of a grid, zeroed
        if any(
            isinstance(o, Special) and o.name.startswith("envreg")
            for i in self.program.instrs
            for o in i.operands
        ):
            at += -at % 64
            self.workspace = GLOBAL_AT + at
            self.regions.append((at, at + 64, "workspace of the grid"))
            at += 64 + GUARD
        if at > MAX_GLOBAL:
            raise CheckError(
                f"{at} bytes of global memory",
                where="tensors",
                why="every byte has a shadow that says who wrote and read it",
                fix=f"a smaller launch: at most {MAX_GLOBAL} bytes",
            )
        self.memory = Memory("global", at + GUARD)
        self.memory.events = self.events
        self.memory.untracked = read_only
        self.valid = np.zeros(self.memory.data.size, np.bool_)
        for start, stop, _ in self.regions:
            self.valid[start:stop] = True
        for name, raw in contents.items():
            start = self.tensor_at[name]
            if raw.size != launch.tensors[name].nbytes:
                raise CheckError(
                    f"{raw.size} bytes for the tensor {name} of {launch.tensors[name].nbytes}",
                    where="contents",
                )
            self.memory.data[start : start + raw.size] = raw
        for start, v in inits:
            held = bytearray(v.init.ljust(v.size, b"\0"))
            if max(len(held), *(offset + 8 for offset, _, _ in v.refs), 0) > v.size:
                raise CheckError(
                    f"the variable {v.name[:40]} has more initial values than elements",
                    where="file",
                )
            for offset, name, more in v.refs:
                where = self.names.get(name, ("", 0))
                held[offset : offset + 8] = (where[1] + more).to_bytes(8, "little")
            self.memory.data[start : start + v.size] = np.frombuffer(bytes(held), np.uint8)

    def _place_params(self) -> None:
        """The parameter buffer; tensor maps are known by their address in it."""
        formal, given = self.program.params, self.launch.params
        if len(formal) != len(given):
            raise CheckError(
                f"{len(given)} parameters for {len(formal)} of {self.program.name}",
                where="params",
                fix="one for each .param of the entry, in order",
            )
        size = 0
        for v in formal:
            size += -size % max(v.align, 1)
            self.names[v.name] = ("param", size)
            size += v.size
        self.params = np.zeros(size + 16, np.uint8)
        for i, (v, p) in enumerate(zip(formal, given, strict=True)):
            self._fill(p, self.names[v.name][1], v.size, f"params[{i}]")

    def _fill(self, p: Param, at: int, capacity: int, where: str) -> None:
        if p.nbytes > capacity and not (p.kind in ("i32", "u32", "i64", "u64") and capacity >= 4):
            raise CheckError(
                f"{p.kind} of {p.nbytes} bytes in a parameter of {capacity}", where=where
            )
        if p.kind == "pointer":
            raw = (GLOBAL_AT + self.tensor_at[p.tensor] + p.offset).to_bytes(8, "little")
        elif p.map is not None:
            raw = self.map_bytes(p.map)
        elif p.kind == "struct":
            for k, f in enumerate(p.fields):
                self._fill(f, at + f.at, p.bytes - f.at, f"{where}.fields[{k}]")
            return
        elif p.kind[0] in "ui":
            raw = (int(p.value) % (1 << 64)).to_bytes(8, "little")[
                : min(max(p.nbytes, 1), capacity)
            ]
        else:
            from warploom.check.formats import encode  # noqa: PLC0415

            raw = encode(np.array([p.value], np.float64), p.kind).tobytes()
        self.params[at : at + len(raw)] = np.frombuffer(raw, np.uint8)

    def map_bytes(self, found: TensorMap) -> bytes:
        """A map of the launch as bytes that copies of it share."""
        from warploom.check.ptx.maps import encode_map  # noqa: PLC0415 (maps builds on this file)

        raw = encode_map(found, GLOBAL_AT + self.tensor_at[found.tensor] + found.offset)
        self.known_maps[raw] = found
        return raw

    # -- operands

    def get(self, op: Operand, kind: str, instr: Instr) -> Callable[[Any], Array]:
        """Lanes of any operand as a type: registers, numbers, symbols, special registers."""
        if isinstance(op, Special):
            return self._special(op.name, kind, instr)
        if isinstance(op, Not) and isinstance(op.of, Special):
            inner = self._special(op.of.name, kind, instr)
            return lambda g: ~inner(g)
        if isinstance(op, Sym):
            address = self.address_of(op, instr)
            constant = np.full(LANES, address, np.uint64).astype(dtype_of(kind, instr))
            return lambda g: constant
        return getter(op, kind, instr)

    def address_of(self, op: Sym, instr: Instr) -> int:
        """The address of a symbol in its own space."""
        found = self.names.get(op.name)
        if found is None:
            raise refuse(instr, f"symbol {op.name[:60]}")
        return found[1] + op.offset

    def _special(self, name: str, kind: str, instr: Instr) -> Callable[[Any], Array]:  # noqa: C901
        dtype = dtype_of(kind, instr)
        launch = self.launch
        axis = {"x": 0, "y": 1, "z": 2}.get(name[-1], 0) if "." in name else 0
        base = name.split(".", maxsplit=1)[0]
        cluster = launch.cluster

        def constant(value: int) -> Callable[[Any], Array]:
            held = np.full(LANES, value).astype(dtype)
            return lambda g: held

        if base == "tid":
            return lambda g: g.warp.tid[axis].astype(dtype)
        if base == "ctaid":
            return lambda g: np.full(LANES, g.warp.cta.at[axis]).astype(dtype)
        if base == "clusterid":
            return lambda g: np.full(LANES, g.warp.cta.at[axis] // cluster[axis]).astype(dtype)
        if base == "cluster_ctaid":
            return lambda g: np.full(LANES, g.warp.cta.at[axis] % cluster[axis]).astype(dtype)
        if base == "cluster_ctarank":
            return lambda g: np.full(LANES, g.warp.cta.rank).astype(dtype)
        if base == "warpid":
            return lambda g: np.full(LANES, g.warp.index).astype(dtype)
        if base == "smid":
            return lambda g: np.full(LANES, g.warp.cta.number).astype(dtype)
        if base in (
            "clock",
            "clock64",
            "globaltimer",
            "clock_hi",
            "globaltimer_lo",
            "globaltimer_hi",
        ):

            def now(g: Any) -> Array:  # noqa: ANN401
                self.draw(instr, "a clock")
                self.clock += 64
                return np.full(LANES, self.clock).astype(dtype)

            return now
        if base == "laneid":
            held = EVERY.astype(dtype)
            return lambda g: held
        if base.startswith("lanemask_"):
            bit = [1 << i for i in range(LANES)]
            masked: dict[str, Callable[[int], int]] = {
                "eq": lambda i: bit[i], "lt": lambda i: bit[i] - 1, "le": lambda i: 2 * bit[i] - 1,
                "gt": lambda i: 0xFFFFFFFF & ~(2 * bit[i] - 1),
                "ge": lambda i: 0xFFFFFFFF & ~(bit[i] - 1),
            }  # fmt: skip
            masks = np.array([masked[base[9:]](i) for i in range(LANES)], np.uint64).astype(dtype)
            return lambda g: masks
        values = {
            "ntid": launch.block[axis],
            "nctaid": launch.grid[axis],
            "nclusterid": launch.grid[axis] // cluster[axis],
            "cluster_nctaid": cluster[axis],
            "cluster_nctarank": cluster[0] * cluster[1] * cluster[2],
            "is_explicit_cluster": int(cluster != (1, 1, 1)),
            "nwarpid": 64,
            "nsmid": 132,
            "gridid": 1,
            "dynamic_smem_size": launch.shared_bytes,
            "total_smem_size": self.shared_end,
            "aggr_smem_size": self.shared_end,
            "reserved_smem_offset_begin": 0,
            "reserved_smem_offset_end": SHARED_BASE,
            "reserved_smem_offset_cap": SHARED_BASE,
            "current_graph_exec": 0,
        }
        values |= {"envreg1": self.workspace >> 32, "envreg2": self.workspace & 0xFFFFFFFF}
        if base not in values:
            raise refuse(instr, f"special register %{name}")
        return constant(values[base])

    def draw(self, instr: Instr, what: str) -> None:
        """A value that depends on timing was read."""
        key = f"line {instr.line}: {instr.op} reads {what}"
        self.draws[key] = self.draws.get(key, 0) + 1

    # -- events and findings

    def event(
        self,
        g: Lanes,
        instr: Instr,
        pc: int,
        *,
        write: bool,
        proxy: str = "generic",
        starts: Array | None = None,
        width: int = 0,
        components: Array | None = None,
        values: Array | None = None,
        atomic: bool = False,
        what: str = "",
        scope: str = "",
    ) -> Event:
        """A new event of the active lanes; by default with their own epochs."""
        clocks = g.warp.cta.cluster.clocks
        if components is None:
            components = g.threads + (clocks.cluster << 18)
            values = clocks.epochs(g.threads)
        visits = g.warp.visits
        count = visits.get(pc, 0)
        visits[pc] = count + 1
        assert values is not None
        result = Event(
            len(self.events),
            pc,
            g.warp,
            g.lanes,
            components,
            values,
            starts,
            width,
            write,
            proxy,
            atomic,
            count,
            what,
            scope,
        )
        self.events.append(result)
        return result

    def conflict(self, c: Conflict, space: str, cta: Cta | None = None) -> None:
        """A pair of accesses without an order.

        An atomic that the later thread has itself observed at this address is before it.
        """
        new = c.new.warp
        key = (space, c.start, new.cta.cluster.number, int(new.threads[c.new_lane]))
        if c.old.atomic and self.observed.get(key, 0) >= c.old.number:
            return
        self.findings.conflict(self, c, space, cta)

    def fault(
        self,
        g: Lanes,
        pc: int,
        code: str,
        why: str,
        fix: str = "",
        *,
        kind: Verdict = Verdict.INVALID,
        stop: bool = True,
        lane: int | None = None,
    ) -> None:
        """A broken rule; the run ends where it cannot go on."""
        self.findings.fault(self, g, pc, code, why, fix, kind=kind, lane=lane)
        if stop:
            raise Halt

    def _trap(self, g: Lanes, pc: int) -> None:
        if g.tries:  # a kernel that gives up a wait; here it was made to fail
            raise Halt
        self.fault(g, pc, "TRAP", "the kernel executes trap: it found something wrong itself")

    # -- the run

    def prepare(self) -> None:
        """Build the function of every instruction."""
        program = self.program
        touched = self.product_registers()
        for pc, instr in enumerate(program.instrs):
            try:
                run = self.build(instr, pc)
            except UnsupportedCodeError as error:
                run = self._later(error)
            except (ValueError, TypeError, KeyError, IndexError, AssertionError, OverflowError):
                run = self._later(refuse(instr, "operands"))
            if instr.guard is not None and instr.parts[0] not in ("bra", "ret", "exit"):
                run = self._guarded(run, instr.guard.slot, instr.negated)
            run = self.watched(run, instr, pc, touched)
            self.code.append(run)
        self.code.append(self._fallen)

    @staticmethod
    def _later(error: UnsupportedCodeError) -> Run:
        """What is not modelled counts when it is executed."""

        def run(g: Any) -> Any:  # noqa: ANN401
            raise error

        return run

    def _fallen(self, g: Lanes) -> Any:  # noqa: ANN401
        return self.leave(g, g.mask)

    @staticmethod
    def _guarded(run: Run, slot: int, negated: bool) -> Run:
        def guarded(g: Lanes) -> Any:  # noqa: ANN401
            flag = g.R[slot]
            wanted = g.mask & (~flag if negated else flag)
            if not wanted.any():
                return None
            mask = g.mask
            if (wanted == mask).all():
                return run(g)
            g.narrow(wanted)
            try:
                result = run(g)
            finally:
                if g.alive:
                    g.narrow(mask & g.warp.live)
            if result is GONE:  # some lanes have left; the others go on
                return GONE if not g.mask.any() else None
            return result

        return guarded

    def build(self, instr: Instr, pc: int) -> Run:
        """The function of one instruction."""
        head = instr.parts[0]
        if head == "bra":
            return self._branch(instr, pc)
        if head == "brx":
            return self._branch_table(instr, pc)
        if head in ("ret", "exit"):
            return self._exit(instr)
        if head == "brkpt":  # for a debugger
            return lambda g: None
        if head == "trap":
            return lambda g: self._trap(g, pc)
        if head == "call":
            return self._runtime(instr, pc)
        made = self.alu.build(instr)
        if made is not None:
            return made
        maker = getattr(self, f"op_{head}", None)
        if maker is None:
            raise refuse(instr)
        result: Run = maker(instr, pc)
        return result

    def _runtime(self, instr: Instr, pc: int) -> Run:
        """A call of what every CUDA program links with; ``printf`` leaves no trace here."""
        name = instr.op.removeprefix("call ")
        if name == "vprintf":
            return lambda g: None
        if name == "__assertfail":
            return lambda g: self.fault(g, pc, "TRAP", "an assertion of the kernel fails")
        raise refuse(instr)

    def product_registers(self) -> frozenset[int]:
        """Registers that some wgmma uses."""
        raise NotImplementedError

    def watched(self, run: Run, instr: Instr, pc: int, touched: frozenset[int]) -> Run:
        """The function, with a look at registers in flight where it touches such."""
        raise NotImplementedError

    def _branch(self, instr: Instr, pc: int) -> Run:
        target = instr.target
        guard, negated = instr.guard, instr.negated
        if guard is None:

            def always(g: Lanes) -> Any:  # noqa: ANN401
                g.pc = target
                return JUMP

            return always
        slot = guard.slot

        def branch(g: Lanes) -> Any:  # noqa: ANN401
            flag = g.R[slot]
            taken = g.mask & (~flag if negated else flag)
            if not taken.any():
                return None
            g.pc = target if (taken == g.mask).all() else pc + 1
            if g.pc == target:
                return JUMP
            self.part(g, pc, [(target, taken), (pc + 1, g.mask & ~taken)])
            return JUMP

        return branch

    def _exit(self, instr: Instr) -> Run:
        if instr.guard is None:
            return lambda g: self.leave(g, g.mask)
        slot, negated = instr.guard.slot, instr.negated

        def leave(g: Lanes) -> Any:  # noqa: ANN401
            gone = g.mask & (~g.R[slot] if negated else g.R[slot])
            return self.leave(g, gone) if gone.any() else None

        return leave

    def _branch_table(self, instr: Instr, pc: int) -> Run:
        index = self.get(instr.operands[0], "u32", instr)
        table = self.program.tables[pc]

        def branch(g: Lanes) -> Any:  # noqa: ANN401
            picks = index(g)
            if int(picks[g.lanes].max()) >= len(table):
                self.fault(g, pc, "BRANCH", "brx.idx with an index outside of its table")
            ways = [(table[int(k)], g.mask & (picks == k)) for k in np.unique(picks[g.lanes])]
            if len(ways) == 1:
                g.pc = ways[0][0]
            else:
                self.part(g, pc, ways)
            return JUMP

        return branch

    def part(self, g: Lanes, pc: int, ways: list[tuple[int, Array]]) -> None:
        """Lanes go different ways from a branch; the group itself takes the last."""
        meet = self.program.meets[pc]
        join = g.join
        if meet >= 0 and (join is None or join.pc != meet):
            join = Join(meet, g.mask.copy(), g.join)
            g.warp.joins.append(join)
        for target, mask in ways[:-1]:
            g.warp.groups.append(Lanes(g.warp, target, mask, join))
        target, mask = ways[-1]
        g.pc = target
        g.enter(join)
        g.narrow(mask)

    def meet(self, g: Lanes) -> None:
        """A group has come to where it meets the others of its branch."""
        join = g.join
        assert join is not None
        join.arrived |= g.mask
        self.changes += 1
        self.drop(g)
        self._met(g.warp, join)

    def _met(self, warp: Warp, join: Join) -> None:
        if join not in warp.joins:
            return
        waiting = join.mask & warp.live & ~join.arrived
        if waiting.any():
            return
        warp.joins.remove(join)
        mask = join.arrived & warp.live
        if mask.any():
            warp.groups.append(Lanes(warp, join.pc, mask, join.outer))

    @staticmethod
    def drop(g: Lanes) -> None:
        """A group is no more."""
        g.alive = False
        g.warp.groups.remove(g)

    def leave(self, g: Lanes, mask: Array) -> Any:  # noqa: ANN401
        """Lanes exit."""
        warp = g.warp
        self.leaving(g, mask)
        warp.live = warp.live & ~mask
        left = g.mask & ~mask
        if left.any():
            g.narrow(left)
        else:
            self.drop(g)
        for join in list(warp.joins):
            self._met(warp, join)
        self.changes += 1
        self.left(warp)
        return GONE

    def leaving(self, g: Lanes, mask: Array) -> None:
        """Rules at the exit of lanes."""
        raise NotImplementedError

    def left(self, warp: Warp) -> None:
        """Barriers that count live threads look again."""
        raise NotImplementedError

    def unstick(self, groups: list[Lanes]) -> bool:
        """Nothing goes on: polls fail, and lanes that wait for others of their warp go on."""
        moved = False
        for g in groups:
            if g.wait is not None and g.wait.polls and g.refused != self.changes:
                g.refuse, g.refused, moved = True, self.changes, True
        if moved:
            return True
        for g in groups:
            warp = g.warp
            for join in list(warp.joins):
                if join.arrived.any():
                    mask = join.arrived & warp.live
                    join.mask = join.mask & ~join.arrived
                    join.arrived = np.zeros(LANES, np.bool_)
                    warp.forced = True
                    warp.let_go = warp.let_go | mask
                    if mask.any():
                        warp.groups.append(Lanes(warp, join.pc, mask, join.outer))
                        moved = True
                    if not join.mask.any():
                        warp.joins.remove(join)
        return moved

    def run(self) -> None:
        """Run the launch to its end, to a deadlock, or until the budget is spent."""
        gx, gy, gz = self.launch.grid
        cx, cy, cz = self.launch.cluster
        if gx * gy * gz > MAX_CTAS:
            raise UnsupportedCodeError(
                f"a grid of {gx * gy * gz} CTAs", where="launch", fix=f"at most {MAX_CTAS}"
            )
        origins = [
            (x, y, z) for z in range(0, gz, cz) for y in range(0, gy, cy) for x in range(0, gx, cx)
        ]
        if self.order == "reverse":
            origins = origins[::-1]
        elif self.order.startswith("random"):
            self.random.shuffle(origins)
        threads = self.launch.threads + (-self.launch.threads) % LANES
        if threads * cx * cy * cz > 8192:
            raise UnsupportedCodeError(
                "a cluster of more than 8192 threads", where="launch", fix="a smaller cluster"
            )
        waiting = list(enumerate(origins))
        active: list[Cluster] = []
        self.clusters: list[Cluster] = []
        idle, suspicious = 0, SUSPICIOUS
        quantum = 200 if self.order.startswith("random") else 5000
        with np.errstate(all="ignore"):
            while waiting or active:
                if waiting and (not active or len(active) < 4 or idle):
                    number, origin = waiting.pop(0)
                    active.append(self._admit(number, origin))
                before, changes = self.steps, self.changes
                self._round(active, quantum)
                active = [c for c in active if not all(t.done for t in c.ctas)]
                if self.changes != changes:
                    idle, suspicious = 0, SUSPICIOUS
                    continue
                idle += self.steps - before
                endless = idle > MOST_IDLE
                if not endless and idle > suspicious and not waiting:
                    suspicious, endless = 2 * idle, self._repeats(active)
                    if self.changes != changes:
                        continue
                if self.steps == before or endless:
                    if waiting:
                        idle = max(idle, 1)
                        continue
                    groups = [g for c in active for t in c.ctas for w in t.warps for g in w.groups]
                    if self.steps == before and self.unstick(groups):
                        continue
                    self.findings.deadlock(self, groups, spinning=self.steps != before)
                    return
            self.ended()

    def _repeats(self, active: list[Cluster]) -> bool:
        """Whether every group that runs comes back to a state it was in, with nothing changed.

        Such a group goes on like this until another one changes something, and none does.
        """
        changes = self.changes
        for g in [g for c in active for t in c.ctas for w in t.warps for g in w.groups]:
            seen: set[tuple[int, bytes]] = set()  # digests: registers of a warp take many bytes
            for _ in range(LOOKED_AT):
                if not g.alive or not (g.wait is None or g.refuse or g.wait.ready(g)):
                    break
                held = b"".join(r[g.lanes].tobytes() for r in g.R)
                state = (g.pc, hashlib.blake2b(held, digest_size=16).digest())
                if state in seen:
                    break
                seen.add(state)
                self.execute(g, 1)
                if self.changes != changes:
                    return False
            else:
                return False
        return True

    def _admit(self, number: int, origin: tuple[int, int, int]) -> Cluster:
        cluster = Cluster(self, number, origin)  # type: ignore[arg-type]
        for cta in cluster.ctas:
            self.admitted(cta)
            for warp in cta.warps:
                warp.groups.append(Lanes(warp, 0, warp.live.copy(), None))
        self.clusters.append(cluster)
        return cluster

    def admitted(self, cta: Cta) -> None:
        """A CTA begins."""

    def ended(self) -> None:
        """Rules at the end of the launch."""
        raise NotImplementedError

    def _round(self, active: list[Cluster], quantum: int) -> None:
        warps = [w for c in active for t in c.ctas for w in t.warps if w.groups]
        if self.order == "reverse":
            warps.reverse()
        elif self.order.startswith("random"):
            self.random.shuffle(warps)
        elif self.order.startswith("starve"):
            victim = int(self.order[6:] or 0)
            others = [w for w in warps if w.index != victim]
            changes = self.changes
            for warp in others:
                self._advance(warp, quantum)
            if self.changes != changes:  # who only polls would go on for ever
                return
            for warp in warps:
                if warp.index == victim and self._held_back(warp, quantum):
                    return
            return
        for warp in warps:
            self._advance(warp, quantum)

    def _held_back(self, warp: Warp, quantum: int) -> bool:
        """Run a warp no further than to the first thing that others may have waited for."""
        changes = self.changes
        for _ in range(quantum):
            steps = self.steps
            self._advance(warp, 1)
            if self.changes != changes:
                return True
            if self.steps == steps:
                break
        return False

    def _advance(self, warp: Warp, quantum: int) -> None:
        for g in list(warp.groups):
            if g.alive and (g.wait is None or g.refuse or g.wait.ready(g)):
                self.execute(g, quantum)

    def execute(self, g: Lanes, quantum: int) -> None:
        """Run a group until it blocks, ends, meets others or has had its share."""
        code, ran, left = self.code, self.ran, quantum
        while left:
            pc = g.pc
            if pc == g.rpc:
                self.meet(g)
                break
            found = code[pc](g)
            left -= 1
            if pc < len(ran):
                ran[pc] = 1
            if found is None:
                g.pc = pc + 1
            elif found is BLOCK:
                break
            elif found is PAUSE:
                g.pc = pc + 1
                break
            elif found is GONE:
                if g.alive:
                    g.pc = pc + 1
                break
        done = quantum - left
        self.steps += done
        if self.steps > self.budget:
            raise UnsupportedCodeError(
                f"more than {self.budget} warp instructions",
                where=f"line {self.program.instrs[min(g.pc, len(ran) - 1)].line}",
                why="the launch is too long, or a loop does not end",
                fix="choose a smaller launch, or raise the budget",
            )


def _observes(instr: Instr) -> bool:
    """Whether an instruction can take part in the order that strong writes make."""
    head = instr.parts[0]
    if head == "ld":
        return any(p in ("relaxed", "acquire", "volatile", "mmio") for p in instr.parts)
    return head == "atom" or (head == "fence" and "proxy" in instr.parts)


class Machine(MachineBase):
    """Placeholder for type annotations; the whole machine is ``whole.Whole``."""


def constant(op: Operand) -> int | None:
    """The number of an operand, if it is one."""
    return int(op.value) if isinstance(op, Imm) else None


__all__ = [
    "ALL", "BLOCK", "EVERY", "GONE", "JUMP", "PAUSE", "Cluster", "Cta", "Halt", "Lanes", "Machine",
    "MachineBase", "Pair", "Warp",
]  # fmt: skip
