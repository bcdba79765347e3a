"""``check_amdgcn``: one launch of one kernel, checked for every timing."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from warploom.axioms import stated
from warploom.check.against import expected
from warploom.check.amdgcn.findings import Findings, register_name
from warploom.check.amdgcn.hazards import wait_state_hazards
from warploom.check.amdgcn.launching import (
    block_of,
    make_groups,
    pack_arguments,
    place_tensors,
)
from warploom.check.amdgcn.machine import Machine, Settings, racing_bytes
from warploom.check.amdgcn.memory import GlobalMemory
from warploom.check.amdgcn.reader import TARGETS, Kernel, read_kernel
from warploom.check.amdgcn.targets import foreign_instructions
from warploom.check.amdgcn.uses import is_dma
from warploom.check.formats import decode
from warploom.check.launch import Launch, Tensor
from warploom.errors import CheckError, UnsupportedCodeError, WarploomError
from warploom.report import AddressRange, CodeFinding, CodeReport, Verdict

Against = Callable[..., Any]
MAX_WAVES = 4096
MAX_STEPS = 5_000_000  # seconds, not minutes, until an endless loop is given up
MAX_ACCESSES = 250_000
TOLERANCE = {"f32": 1e-4, "f64": 1e-9, "f16": 4e-3, "bf16": 2e-2, "e4m3": 0.13, "e5m2": 0.26}


def check_amdgcn(
    text: str,
    launch: Launch,
    *,
    axioms: Mapping[str, bool] | None = None,
    against: Against | None = None,
    entry: str = "",
    seed: int = 0,
    file: str = "<source>",
    max_steps: int = MAX_STEPS,
    schedules: tuple[str, ...] = (),
    tolerance: float | None = None,
) -> CodeReport:
    """Check AMDGCN assembly for one launch.

    ``schedules`` are the orders in which waves run (``forward``, ``reverse``, ``random``,
    ``starve0`` ...); one is enough unless control flow depends on what other waves wrote, and then
    several are run anyway.
    """
    name = entry or launch.entry
    try:
        kernel = read_kernel(text, name or None)
        _known_target(kernel)
        return _Check(
            kernel, launch, dict(axioms or {}), against, seed, file, max_steps, tolerance
        ).report(schedules)
    except UnsupportedCodeError as error:
        return CodeReport(file=file, entry=name, unsupported=_one_line(error))
    except (MemoryError, RecursionError):
        return CodeReport(file=file, entry=name, error="the file or launch is too large to check")
    except CheckError as error:
        return CodeReport(file=file, entry=name, error=str(error))


def _one_line(error: WarploomError) -> str:
    return f"{error.what} ({error.where})" if error.where else error.what


def _known_target(kernel: Kernel) -> None:
    if kernel.target not in TARGETS:
        raise UnsupportedCodeError(
            f"the target {kernel.target or 'of the file, which it does not name,'} is not modelled",
            fix=f"known: {', '.join(TARGETS)}; name it with .amdgcn_target",
        )


class _Check:
    """One kernel and one launch."""

    def __init__(
        self, kernel: Kernel, launch: Launch, axioms: dict[str, bool], against: Against | None,
        seed: int, file: str, max_steps: int, tolerance: float | None,
    ) -> None:  # fmt: skip
        self.kernel, self.launch, self.axioms = kernel, launch, axioms
        self.against, self.seed, self.file, self.max_steps = against, seed, file, max_steps
        self.tolerance = tolerance
        self.block = block_of(kernel, launch)
        waves = -(-(self.block[0] * self.block[1] * self.block[2]) // 64) * launch.ctas
        if waves > MAX_WAVES:
            raise CheckError(
                f"a launch of {waves} waves", where="grid", fix="a small launch shows every order"
            )
        self.findings: list[CodeFinding] = []
        self.assumes: list[str] = []
        self.used: set[str] = set()
        self.figures: dict[str, Any] = {}
        self.ran = np.zeros(len(kernel.instructions), np.bool_)
        self._unsupported = ""

    def report(self, schedules: tuple[str, ...]) -> CodeReport:
        """Run the launch and say what was found."""
        text = Findings(self.launch.described())
        for i in foreign_instructions(self.kernel):
            text.invalid(
                "no-such-instruction", f"{self.kernel.target} has no {i.mnemonic}: {i.text}",
                "compile for the target that has it", (i,),
            )  # fmt: skip
        self._wait_states(text)
        self.findings += text.all()
        machine = self._run(schedules[0] if schedules else "forward")
        more = schedules[1:] or (("reverse", "random") if self._drawn(machine) else ())
        for order in more:
            if self._unsupported:
                break
            self._run(order)
        if any(f.code == "no-such-instruction" for f in self.findings):
            self._unsupported = ""  # what the target does not have cannot be run, and need not be
        result = self._made()
        if "counter_stall" in self.used and not self._unsupported:
            return self._without_stalls(result, schedules)
        return result

    def _without_stalls(self, made: CodeReport, schedules: tuple[str, ...]) -> CodeReport:
        """Say what the verdict is where a full counter does not hold the next access back."""
        other = _Check(
            self.kernel, self.launch, {**self.axioms, "counter_stall": False}, None, self.seed,
            self.file, self.max_steps, None,
        ).report(schedules)  # fmt: skip
        if other.verdict is made.verdict:
            return made
        line = (
            f"{stated('counter_stall', on=True)} Turned off, the verdict is {other.verdict.value}."
        )
        kept = tuple(a for a in made.assumes if not a.startswith("counter_stall"))
        without = (*made.without, ("counter_stall", other.verdict.value))
        return dataclasses.replace(made, assumes=(*kept, line), without=without)

    def _drawn(self, machine: Machine) -> bool:
        """Whether values depend on the order of waves by design."""
        if machine.findings.stopped:
            return False
        atomic = any(a.kind == "a" for a in machine.journal.accesses)
        if atomic or machine.draws:
            self.assumes.append(
                "draws: atomics or clocks are read; the orders forward, reverse and random were run"
            )
        return atomic or bool(machine.draws)

    def _run(self, order: str) -> Machine:
        memory, addresses = place_tensors(self.kernel, self.launch, self.seed)
        arguments, assumed = pack_arguments(self.kernel, self.launch, addresses, self.block)
        findings = Findings(self.launch.described())
        settings = Settings(
            axioms=self.axioms,
            order=order,
            seed=self.seed,
            max_steps=self.max_steps,
            max_accesses=MAX_ACCESSES,
        )
        groups = make_groups(self.kernel, self.launch, self.block, memory, arguments)
        if any(is_dma(i) for i in self.kernel.instructions):
            self.used.add("vm_order")
        machine = Machine(self.kernel, memory, settings, findings)
        try:
            machine.run(groups)
            pairs = machine.unordered()
            racing = {} if findings.stopped else racing_bytes(pairs)
            machine.finish(pairs, dead=bool(racing) and self._dead(settings, memory, racing))
            if (
                findings.lanes_differ
                and not findings.stopped
                and self._lanes_agree(settings, memory)
            ):
                findings.lanes_agree()
            if machine.unwritten is not None and not findings.stopped and not pairs:
                self._unwritten(machine, settings, memory)
        except UnsupportedCodeError as error:
            self._unsupported = _one_line(error)
        self.ran |= machine.ran
        self.used |= machine.used
        self.assumes += [a for a in (*assumed, *sorted(machine.draws)) if a not in self.assumes]
        known = {_key(f) for f in self.findings}
        self.findings += [f for f in findings.all() if _key(f) not in known]
        if not findings.stopped and not self._unsupported:
            self._compare(memory)
        self.figures["instructions"] = self.figures.get("instructions", 0) + machine.steps
        self.figures["bytes read"] = machine.journal.bytes["read"]
        self.figures["bytes written"] = machine.journal.bytes["written"]
        return machine

    def _dead(
        self, settings: Settings, memory: GlobalMemory, racing: dict[tuple[int, int, int], Any]
    ) -> bool:
        """Whether the launch gives the same results with other values for racing reads."""
        for disturbance in (0x5A, 0xFF):
            trial, addresses = place_tensors(self.kernel, self.launch, self.seed)
            arguments, _ = pack_arguments(self.kernel, self.launch, addresses, self.block)
            machine = Machine(self.kernel, trial, settings, Findings())
            machine.disturbed, machine.disturbance = racing, disturbance
            try:
                machine.run(make_groups(self.kernel, self.launch, self.block, trial, arguments))
            except UnsupportedCodeError:
                return False
            if machine.findings.stopped or not np.array_equal(trial.bytes, memory.bytes):
                return False
        return True

    def _lanes_agree(self, settings: Settings, memory: GlobalMemory) -> bool:
        """Whether results are the same, up to rounding, when another lane's value stays."""
        trial, addresses = place_tensors(self.kernel, self.launch, self.seed)
        arguments, _ = pack_arguments(self.kernel, self.launch, addresses, self.block)
        trial.first_lane_stays = True
        again = Machine(self.kernel, trial, settings, Findings())
        groups = list(make_groups(self.kernel, self.launch, self.block, trial, arguments))
        for group in groups:
            group.lds.first_lane_stays = True
        again.run(iter(groups))
        if again.findings.stopped:
            return False
        for name, tensor in self.launch.tensors.items():
            a, b = (_values(m.contents(name), tensor).astype(np.float64) for m in (memory, trial))
            scale = float(np.nanmax(np.abs(a), initial=0.0)) or 1.0
            limit = TOLERANCE.get(tensor.dtype, 0.0) * scale
            if not ((a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= limit)).all():
                return False
        return True

    def _unwritten(self, machine: Machine, settings: Settings, memory: GlobalMemory) -> None:
        """LDS that nobody wrote was read: a finding where a result depends on what is there."""
        assert machine.unwritten is not None
        trial, addresses = place_tensors(self.kernel, self.launch, self.seed)
        arguments, _ = pack_arguments(self.kernel, self.launch, addresses, self.block)
        again = Machine(self.kernel, trial, settings, Findings())
        groups = make_groups(self.kernel, self.launch, self.block, trial, arguments, fill=0x2A)
        again.run(groups)
        if again.findings.stopped or not np.array_equal(trial.bytes, memory.bytes):
            at, wave, place = machine.unwritten
            machine.findings.unwritten(self.kernel.instructions[at], wave, place)

    def _wait_states(self, findings: Findings) -> None:
        if self.axioms.get("mfma_interlock"):
            self.used.add("mfma_interlock")
            return
        for h in wait_state_hazards(self.kernel):
            named = ", ".join(register_name(r) for r in sorted(h.registers)[:2] if r >= 0)
            findings.invalid(
                "wait-states",
                f"line {h.second.line} uses {h.what}{f' ({named})' if named else ''} {h.states} "
                f"wait states after line {h.first.line}; {h.needed} are needed",
                f"s_nop {min(15, h.needed - h.states - 1)} before line {h.second.line}",
                (h.first, h.second),
            )

    def _compare(self, memory: GlobalMemory) -> None:
        """Outputs against the given function."""
        if self.against is None or any(f.code == "wrong" for f in self.findings):
            return
        before = self.launch.initial(self.seed)
        given = {
            name: _values(before[name], tensor)
            for name, tensor in self.launch.tensors.items()
            if tensor.role != "out"
        }
        outputs = {t.name: t for t in self.launch.tensors.values() if t.role != "in"}
        wanted = expected(self.against, given, {n: tuple(t.shape) for n, t in outputs.items()})
        for name, value in wanted.items():
            self._compare_one(outputs[name], memory.contents(name), value)

    def _compare_one(self, tensor: Tensor, raw: np.ndarray, wanted: np.ndarray) -> None:
        got = _values(raw, tensor).astype(np.float64)
        want = np.asarray(wanted, np.float64)
        limit = self.tolerance if self.tolerance is not None else TOLERANCE.get(tensor.dtype, 0.0)
        scale = float(np.nanmax(np.abs(want), initial=0.0)) or 1.0
        both_nan = np.isnan(got) & np.isnan(want)
        error = np.where(both_nan | (got == want), 0.0, np.abs(got - want))
        error = np.where(np.isnan(error), np.inf, error)
        self.figures[f"error {tensor.name}"] = float(error.max(initial=0.0))
        bad = np.argwhere(error > limit * scale)
        if not bad.size:
            return
        place = tuple(int(i) for i in bad[0])
        size = raw.size // max(1, got.size)
        start = int(np.ravel_multi_index(place, got.shape)) * size if place else 0
        self.findings.append(
            CodeFinding(
                kind=Verdict.WRONG,
                code="wrong",
                why=f"{len(bad)} of {got.size} elements of {tensor.name} differ; at {place} the "
                f"kernel gives {got[place]:.6g}, the function {want[place]:.6g}",
                address=AddressRange(
                    space="global", start=start, stop=start + size, name=tensor.name
                ),
                launch=self.launch.described(),
            )
        )

    def _made(self) -> CodeReport:
        off = [f for f in self.findings if f.axiom]
        kept = [f for f in self.findings if not f.axiom]
        for name in sorted({f.axiom for f in off}):
            self.used.add(name)
        assumes = [self._stated(name, off) for name in sorted(self.used)]
        for f in off:
            kept.append(
                CodeFinding(
                    kind=Verdict.NOTE, code=f.code, why=f.why, fix=f.fix, events=f.events,
                    address=f.address, witness=f.witness, axiom=f"{f.axiom}=off: {f.kind.value}",
                    count=f.count, launch=f.launch,
                )
            )  # fmt: skip
        never = [
            f"line {i.line}: {i.text}"
            for i, ran in zip(self.kernel.instructions, self.ran, strict=True)
            if not ran and not i.mnemonic.startswith(("s_nop", "s_code_end", "s_endpgm"))
        ]
        made = CodeReport(
            file=self.file,
            entry=self.kernel.name,
            findings=tuple(kept),
            launches=(self.launch.described(),),
            assumes=(*assumes, *dict.fromkeys(self.assumes)),
            never_run=tuple(never),
            unsupported=self._unsupported,
            figures=self.figures,
        )
        others = {f.axiom: f.kind.value for f in reversed(off)} if made.clean else {}
        return dataclasses.replace(made, without=tuple(sorted(others.items())))

    def _stated(self, name: str, off: list[CodeFinding]) -> str:
        line = stated(name, on=self.axioms.get(name))
        kind = next((f.kind for f in off if f.axiom == name), None)
        if kind is not None:
            line += f" Turned off, the verdict is {kind.value}."
        elif name == "vm_order" and self.axioms.get(name, True):
            line += " Turned off, the verdict is the same."
        return line


def _key(finding: CodeFinding) -> tuple[object, ...]:
    return (
        finding.kind, finding.code, finding.axiom, tuple((e.line, e.what) for e in finding.events),
    )  # fmt: skip


def _values(raw: np.ndarray, tensor: Tensor) -> np.ndarray:
    return decode(raw, tensor.dtype).reshape(tensor.shape)
