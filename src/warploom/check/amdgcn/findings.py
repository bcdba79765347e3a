"""Findings of a run: each pair of instructions once, with both events, why and a fix."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from warploom.check.amdgcn.memory import Access
from warploom.check.amdgcn.reader import Instruction
from warploom.check.amdgcn.state import ACC, SGPR, FaultError, Operation, Wave
from warploom.report import AddressRange, CodeEvent, CodeFinding, Verdict

LIMIT = 200
_WHAT = {
    "r": "reads LDS", "w": "writes LDS", "d": "writes LDS by DMA", "a": "updates LDS atomically",
}  # fmt: skip
_COUNTER = {"r": "lgkmcnt", "w": "lgkmcnt", "a": "lgkmcnt", "d": "vmcnt"}
_CODE = {"r": "R", "w": "W", "d": "W", "a": "W"}
Code = Sequence[Instruction]


def register_name(register: int) -> str:
    """The name of a register id."""
    if register >= SGPR:
        return {106: "vcc_lo", 107: "vcc_hi"}.get(register - SGPR, f"s{register - SGPR}")
    return f"a{register - ACC}" if register >= ACC else f"v{register}"


def counter_of(text: str) -> str:
    """The counter that an access to LDS is waited for with."""
    name, _, rest = text.partition(" ")
    return "vmcnt" if "_load_lds_" in name or rest.split()[-1:] == ["lds"] else "lgkmcnt"


@dataclass(eq=False, slots=True)
class Pending:
    """A finding that may still turn out to have no effect."""

    key: tuple[object, ...]
    finding: CodeFinding
    confirmed: bool = False


class Findings:
    """Collects findings; ``off`` are those that only stand where an axiom does not hold."""

    def __init__(self, launch: str = "") -> None:
        self.launch = launch
        self._found: dict[tuple[object, ...], CodeFinding] = {}
        self._counts: dict[tuple[object, ...], int] = {}
        self._pending: dict[tuple[object, ...], Pending] = {}
        self._lanes: list[tuple[object, ...]] = []
        self.stopped = False

    def all(self) -> tuple[CodeFinding, ...]:
        """Every finding, gravest first; racing reads that nothing uses are notes."""
        found = dict(self._found)
        for key, pending in self._pending.items():
            if key not in found and not pending.confirmed:
                old = pending.finding
                found[(*key, "dead")] = CodeFinding(
                    kind=Verdict.NOTE, code="dead-read", events=old.events, address=old.address,
                    why=f"{old.why}; nothing uses the value that was read", launch=self.launch,
                )  # fmt: skip
        return tuple(_counted(f, self._counts.get(key, 1)) for key, f in found.items())

    def _add(self, key: tuple[object, ...], finding: CodeFinding) -> None:
        self._counts[key] = self._counts.get(key, 0) + 1
        if key not in self._found and len(self._found) < LIMIT:
            self._found[key] = finding

    def confirm(self, pending: object) -> None:
        """Something used the result of a racing read."""
        if isinstance(pending, Pending) and not pending.confirmed:
            pending.confirmed = True
            self._add(pending.key, pending.finding)

    def lds(
        self, code: Code, w: Wave, at: int, kind: str, earlier: str, other: Wave, number: int,
        address: int, grain: int, axiom: str, *, same: bool, group: int,
    ) -> Pending | None:  # fmt: skip
        """Two accesses to LDS that nothing orders."""
        queue = other.vm if earlier == "d" else other.lgkm
        pc, visit = queue.log[number]
        key = ("lds", pc, at, kind, earlier, axiom, same)
        if key in self._found:
            self._counts[key] += 1
            return None
        hazard = {"RW": "WAR", "WR": "RAW", "WW": "WAW"}[_CODE[earlier] + _CODE[kind]]
        why, fix = _explain_lds(code[pc], code[at], w, other, earlier, kind, axiom)
        if other is not w and pc > at and visit <= w.visits.get(at, 1) - 1:
            why = (
                f"wave {other.index} may run ahead of wave {w.index}: nothing holds it at line "
                f"{code[pc].line} until line {code[at].line} of wave {w.index} is complete"
            )
            fix = (
                f"s_waitcnt {_COUNTER[kind]} that covers line {code[at].line}, then s_barrier, "
                f"before line {code[pc].line}"
            )
        events = (
            event(code[pc], other, group, visit, _WHAT[earlier]),
            event(code[at], w, group, max(0, w.visits.get(at, 1) - 1), _WHAT[kind]),
        )
        finding = CodeFinding(
            kind=Verdict.NOTE if same else Verdict.RACE,
            code="same-value" if same else f"{hazard}-LDS",
            why=why + ("; both write the same value" if same else ""),
            fix=fix,
            events=events,
            address=AddressRange(space="LDS", start=address, stop=address + grain, cta=group),
            witness=_witness(code[pc], code[at], other, w, earlier),
            axiom=axiom,
            launch=self.launch,
        )
        if kind == "r" and not same:
            pending = self._pending.get(key)
            if pending is None:
                pending = self._pending[key] = Pending(key, finding)
            return None if pending.confirmed else pending
        self._add(key, finding)
        return None

    def memory(
        self, code: Code, a: Access, b: Access, name: str, at: int, *, same: bool, dead: bool,
        stale: bool = False,
    ) -> None:  # fmt: skip
        """Two accesses to global memory that nothing orders."""
        key = ("global", a.pc, b.pc, a.kind, b.kind, name, same, dead)
        what = {"r": "reads", "w": "writes", "a": "updates atomically"}
        across = a.group != b.group
        why = (
            "they belong to different workgroups, and no release and acquire lies between"
            if across
            else "no barrier lies between, or the wait for the first access is missing before it"
        )
        fix = (
            "wait for the stores (s_waitcnt vmcnt(0)), write back (buffer_wbl2 sc1), then an "
            "atomic that the reader sees, and buffer_inv sc1 before its loads"
            if across
            else "s_waitcnt vmcnt(0) and s_barrier between them"
        )
        if stale:
            why = (
                "a scalar load brought the line into the scalar cache before the store was "
                "complete, and nothing invalidates it: the load may see the old value"
            )
            fix = f"s_dcache_inv before line {code[b.pc].line}, behind the wait for the store"
        self._add(
            key,
            CodeFinding(
                kind=Verdict.NOTE if same or dead else Verdict.RACE,
                code="same-value" if same else "dead-read" if dead else "race-global",
                why=why
                + ("; both write the same value" if same else "")
                + ("; no result depends on the value that was read" if dead else ""),
                fix=fix,
                events=(
                    event(code[a.pc], a.wave, a.group, a.visit, what[a.kind]),
                    event(code[b.pc], b.wave, b.group, b.visit, what[b.kind]),
                ),
                address=AddressRange(space="global", start=at, stop=at + 1, name=name),
                launch=self.launch,
            ),
        )

    def in_flight(
        self, code: Code, w: Wave, at: int, operation: Operation, register: int, group: int,
        axiom: str,
    ) -> None:  # fmt: skip
        """A register is used while a load is on its way to it."""
        key = ("register", operation.at, at, axiom)
        first, second = code[operation.at], code[at]
        counter = "lgkmcnt" if first.mnemonic.startswith(("ds_", "s_")) else "vmcnt"
        queue = w.lgkm if counter == "lgkmcnt" else w.vm
        behind = queue.issued - operation.number
        if operation.scalar or operation.flat:
            count, reason = 0, "; it returns out of order, so only a count of 0 proves it done"
        else:
            count, reason = behind, ""
        if axiom:
            reason = (
                "; a partial vmcnt was executed, but with LDS-DMA completing out of order it does "
                "not prove this load done"
            )
        self._add(
            key,
            CodeFinding(
                kind=Verdict.RACE,
                code="register",
                why=f"{register_name(register)} is the destination of line {first.line}, which may "
                f"still be in flight: no wait covers it{reason}",
                fix=f"s_waitcnt {counter}({min(count, queue.capacity - 1)}) before line "
                f"{second.line}",
                events=(
                    event(first, w, group, operation.visit, f"loads {register_name(register)}"),
                    event(second, w, group, 0, f"uses {register_name(register)}"),
                ),
                axiom=axiom,
                launch=self.launch,
            ),
        )

    def lanes(
        self, code: Code, w: Wave, at: int, lanes: tuple[int, int], where: AddressRange, group: int
    ) -> None:
        """Two lanes of one instruction write different values to the same place."""
        self._lanes.append(("lanes", at))
        self._add(
            ("lanes", at),
            CodeFinding(
                kind=Verdict.RACE,
                code="lanes",
                why=f"lanes {lanes[0]} and {lanes[1]} write different values to "
                f"{where.space} byte {where.start}{f' of {where.name}' if where.name else ''}: "
                "which one stays is not defined",
                fix="switch all but one of the lanes off, or use an atomic",
                events=(
                    event(
                        code[at], w, group, max(0, w.visits.get(at, 1) - 1), f"writes {where.space}"
                    ),
                ),
                address=where,
                launch=self.launch,
            ),
        )

    @property
    def lanes_differ(self) -> bool:
        """Whether lanes of one instruction wrote different values to the same place."""
        return bool(self._lanes)

    def lanes_agree(self) -> None:
        """It does not matter which of them stays: results are the same up to rounding."""
        for key in self._lanes:
            found = self._found.get(key)
            if found is not None and found.kind is Verdict.RACE:
                self._found[key] = dataclasses.replace(
                    found, kind=Verdict.NOTE,
                    why=f"{found.why}; whichever it is, results are the same up to rounding",
                )  # fmt: skip

    def fault(
        self, instruction: Instruction, at: int, w: Wave, group: int, fault: FaultError
    ) -> None:
        """A rule of the ISA is broken."""
        self._add(
            ("fault", at, fault.code),
            CodeFinding(
                kind=Verdict.INVALID, code=fault.code, why=fault.why, fix=fault.fix,
                events=(event(instruction, w, group, 0, ""),), launch=self.launch,
            ),
        )  # fmt: skip
        self.stopped = True

    def half(self, code: Code, w: Wave, first: int, second: int, register: int, group: int) -> None:
        """The two halves of a register are loaded one after the other."""
        name = register_name(register)
        self._add(
            ("half", first, second),
            CodeFinding(
                kind=Verdict.INVALID,
                code="half-lost",
                why=f"line {code[first].line} loads one half of {name} and line "
                f"{code[second].line} the other: with ECC of registers a load of one half clears "
                "the other",
                fix="load into two registers and combine them (v_or_b32), or name sramecc- in the "
                "target",
                events=(
                    event(code[first], w, group, 0, f"loads half of {name}"),
                    event(code[second], w, group, 0, f"loads the other half of {name}"),
                ),
                launch=self.launch,
            ),
        )

    def not_written_back(self, instruction: Instruction, w: Wave, group: int) -> None:
        """A wave ends with a scalar store in its cache."""
        self._add(
            ("write back", instruction.line),
            CodeFinding(
                kind=Verdict.INVALID,
                code="not-written-back",
                why="a scalar store stays in the scalar cache: the wave ends without s_dcache_wb",
                fix="s_dcache_wb before s_endpgm",
                events=(event(instruction, w, group, 0, "writes the scalar cache"),),
                launch=self.launch,
            ),
        )

    def unwritten(self, instruction: Instruction, w: Wave, place: int) -> None:
        """A result depends on LDS that nobody has written."""
        self._add(
            ("unwritten", instruction.line),
            CodeFinding(
                kind=Verdict.INVALID,
                code="unwritten-LDS",
                why=f"LDS byte {place} is read and nobody has written it, and results depend on "
                "what is there",
                fix="write it first: is a wave missing that ended early, or an address wrong?",
                events=(event(instruction, w, 0, 0, "reads LDS"),),
                address=AddressRange(space="LDS", start=place, stop=place + 1),
                launch=self.launch,
            ),
        )

    def invalid(self, code: str, why: str, fix: str, instructions: Sequence[Instruction]) -> None:
        """A rule of the ISA that the text itself breaks."""
        self._add(
            ("invalid", code, *(i.line for i in instructions)),
            CodeFinding(
                kind=Verdict.INVALID, code=code, why=why, fix=fix,
                events=tuple(
                    CodeEvent(line=i.line, instruction=i.text, source=source_of(i))
                    for i in instructions
                ),
                launch=self.launch,
            ),
        )  # fmt: skip

    def barrier(self, code: Code, waiting: list[Wave], ended: list[Wave], group: int) -> None:
        """Some waves wait at a barrier that others have left behind for good."""
        counts = f"{waiting[0].barriers} against {ended[0].barriers}"
        self._add(
            ("barrier", waiting[0].pc),
            CodeFinding(
                kind=Verdict.DEADLOCK,
                code="barrier",
                why=f"wave(s) {_list(waiting)} wait at their barrier number {waiting[0].barriers}, "
                f"but wave(s) {_list(ended)} have ended: they execute different numbers of "
                f"barriers ({counts})",
                fix="every wave must execute as many s_barrier: move it out of the branch",
                events=tuple(
                    event(code[max(0, w.pc - 1)], w, group, 0, what)
                    for w, what in ((waiting[0], "waits"), (ended[0], "has ended"))
                ),
                launch=self.launch,
            ),
        )
        self.stopped = True

    def deadlock(self, code: Code, w: Wave, group: int, why: str, fix: str) -> None:
        """Nobody can go on."""
        self._add(
            ("deadlock", w.pc),
            CodeFinding(
                kind=Verdict.DEADLOCK, code="livelock", why=f"wave {w.index} cannot go on: {why}",
                fix=fix, events=(event(code[min(w.pc, len(code) - 1)], w, group, 0, "spins"),),
                launch=self.launch,
            ),
        )  # fmt: skip
        self.stopped = True

    def dma_at_end(self, code: Code, w: Wave, group: int) -> None:
        """A wave ends with an LDS-DMA on its way."""
        operation = next(o for o in w.vm.items if o.dma)
        self._add(
            ("end", operation.at),
            CodeFinding(
                kind=Verdict.NOTE, code="dma-at-end",
                why="the wave ends while this LDS-DMA may be in flight; nothing in the workgroup "
                "can use what it brings",
                events=(event(code[operation.at], w, group, operation.visit, "writes LDS"),),
                launch=self.launch,
            ),
        )  # fmt: skip


def _list(waves: list[Wave]) -> str:
    return ", ".join(str(w.index) for w in waves[:8]) + (", ..." if len(waves) > 8 else "")


def _counted(finding: CodeFinding, count: int) -> CodeFinding:
    if count <= 1:
        return finding
    return CodeFinding(
        kind=finding.kind, code=finding.code, why=finding.why, fix=finding.fix,
        events=finding.events, address=finding.address, witness=finding.witness,
        axiom=finding.axiom, count=count, launch=finding.launch,
    )  # fmt: skip


def source_of(instruction: Instruction) -> str:
    """``file:line`` of the line table."""
    if instruction.source is None:
        return ""
    name, line = instruction.source
    return f"{name}:{line}" if name else ""


def event(instruction: Instruction, w: Wave, group: int, visit: int, what: str) -> CodeEvent:
    """One execution of an instruction by a wave."""
    return CodeEvent(
        line=instruction.line, instruction=instruction.text, source=source_of(instruction),
        cta=group, warp=w.index, iteration=visit, what=what,
    )  # fmt: skip


def _explain_lds(
    first: Instruction, second: Instruction, w: Wave, other: Wave, earlier: str, kind: str,
    axiom: str,
) -> tuple[str, str]:  # fmt: skip
    counter = _COUNTER[earlier]
    if axiom:
        return (
            "the order rests on a partial vmcnt: with LDS-DMA completing out of order only "
            "vmcnt(0) proves that the earlier one has landed",
            f"s_waitcnt vmcnt(0) before the barrier that precedes line {second.line}",
        )
    if other is w:
        return (
            f"both belong to wave {w.index}, but they go through different queues, and no wait for "
            f"{counter} of line {first.line} lies between",
            f"s_waitcnt {counter} that covers line {first.line}, before line {second.line}",
        )
    return (
        f"wave {other.index} has no wait for {counter} that covers line {first.line} followed by a "
        f"barrier that wave {w.index} passes before line {second.line}",
        f"s_waitcnt {counter} that covers line {first.line}, then s_barrier, before line "
        f"{second.line}",
    )


def _witness(
    first: Instruction, second: Instruction, other: Wave, w: Wave, earlier: str
) -> tuple[str, ...]:
    late = {"r": "samples LDS", "w": "lands", "d": "lands", "a": "takes effect"}[earlier]
    return (
        f"wave {other.index} issues line {first.line}: {first.text}",
        f"wave {w.index} executes line {second.line}: {second.text}",
        f"only now line {first.line} of wave {other.index} {late}",
    )
