"""Findings of a run, one for each pair of instructions and kind, with witness and fix."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from warploom.check.ptx.memory import Conflict, Event
from warploom.report import AddressRange, CodeEvent, CodeFinding, Verdict

_KINDS = {
    "RAW": "reads what the other writes",
    "WAR": "overwrites what the other reads",
    "WAW": "writes what the other writes",
}


_ROUNDED = (
    "both write the same number to the same bytes without an order, but computed in different "
    "orders: the result depends on timing by rounding alone"
)


class Findings:
    """What was found, over all runs of a launch."""

    def __init__(self) -> None:
        self.found: dict[tuple[Any, ...], CodeFinding] = {}
        self.lapped: set[int] = set()  # warps whose waits can come after a later phase

    def defects(self) -> set[str]:
        """Codes of what is no note."""
        return {f.code for f in self.found.values() if f.kind is not Verdict.NOTE}

    def got_through(self) -> None:
        """Late waiters were held back as long as anything else went on, and no wait was for ever.

        With that delay a waiter meets the last phase that completes without it, at every wait: if
        its parity is that of the phase that was meant, it goes on, and so it does with any smaller
        delay (it waits for one more phase, which comes). So the parities of this launch fit.
        """
        if self.defects() != {"LAPPED"}:
            return
        for key, f in self.found.items():
            if f.code == "LAPPED":
                why = f"{f.why}; held back as long as possible it still gets through in this launch"
                self.found[key] = replace(f, kind=Verdict.NOTE, why=why)

    def __len__(self) -> int:
        return len(self.found)

    def add(self, key: tuple[Any, ...], finding: CodeFinding) -> None:
        """Keep a finding; the same again is counted."""
        have = self.found.get(key)
        self.found[key] = finding if have is None else replace(have, count=have.count + 1)

    def has(self, key: tuple[Any, ...]) -> bool:
        """Whether the same was found before; then it is counted."""
        have = self.found.get(key)
        if have is not None:
            self.found[key] = replace(have, count=have.count + 1)
        return have is not None

    # -- accesses without an order

    def conflict(self, machine: Any, c: Conflict, space: str, cta: Any) -> None:  # noqa: ANN401
        """A pair of accesses."""
        key = ("conflict", c.old.pc, c.new.pc, c.kind, c.same, c.proxy, c.rounded)
        if self.has(key):
            return
        old, new = _event(machine, c.old, c.old_lane), _event(machine, c.new, c.new_lane)
        address = _address(machine, space, c.start, c.stop, cta)
        if c.same and c.kind == "WAW":
            self.add(
                key,
                CodeFinding(
                    kind=Verdict.NOTE,
                    code="SAME-VALUE",
                    events=(old, new),
                    address=address,
                    why=(
                        "both write the same value to the same bytes without an order; the "
                        "result does "
                        "not depend on it"
                    ),
                ),
            )
            return
        if c.rounded and c.kind == "WAW":
            self.add(
                key,
                CodeFinding(
                    kind=Verdict.NOTE,
                    code="ROUNDING",
                    events=(old, new),
                    address=address,
                    why=_ROUNDED,
                ),
            )
            return
        code, why, fix = _reason(machine, c)
        self.add(
            key,
            CodeFinding(
                kind=Verdict.RACE,
                code=code,
                events=(old, new),
                address=address,
                why=why,
                fix=fix,
                axiom=_axiom(c),
                witness=_witness(c, old, new),
            ),
        )

    # -- rules

    def fault(
        self,
        machine: Any,
        g: Any,
        pc: int,
        code: str,
        why: str,
        fix: str = "",
        *,  # noqa: ANN401
        kind: Verdict = Verdict.INVALID,
        lane: int | None = None,
    ) -> None:
        """A broken rule at an instruction."""
        key = (code, pc, why[:40])
        if self.has(key):
            return
        self.add(
            key,
            CodeFinding(
                kind=kind,
                code=code,
                events=(place(machine, g.warp, pc, lane, g.lanes),),
                why=why,
                fix=fix,
            ),
        )

    def rounded(self, machine: Any, g: Any, pc: int, lane: int) -> None:  # noqa: ANN401
        """Lanes of one store that write the same number but for rounding."""
        self.fault(machine, g, pc, "ROUNDING", _ROUNDED, kind=Verdict.NOTE, lane=lane)

    def between(
        self,
        machine: Any,
        code: str,
        old: CodeEvent,
        g: Any,
        pc: int,
        why: str,  # noqa: ANN401
        fix: str = "",
        *,
        kind: Verdict = Verdict.RACE,
        witness: tuple[str, ...] = (),
        axiom: str = "",
        once: bool = False,
    ) -> None:
        """Two instructions that break a rule together; ``once`` for all that follow the first."""
        key = (code, old.line, -1 if once else pc)
        if self.has(key):
            return
        new = place(machine, g.warp, pc, None, g.lanes)
        self.add(
            key,
            CodeFinding(
                kind=kind,
                code=code,
                events=(old, new),
                why=why,
                fix=fix,
                witness=witness,
                axiom=axiom,
            ),
        )

    def deadlock(self, machine: Any, groups: list[Any], *, spinning: bool) -> None:  # noqa: ANN401
        """Nobody can go on: who waits for what."""
        events: list[CodeEvent] = []
        lines: list[str] = []
        seen: set[int] = set()
        invalid = False
        for g in groups:
            pc = min(g.pc, len(machine.program.instrs) - 1)
            what = g.wait.describe() if g.wait is not None else "repeats the same instructions"
            if g.wait is not None and g.wait.aligned and not invalid:
                invalid = True
            lines.append(
                f"CTA {g.warp.cta.number} warp {g.warp.index} lanes {_lanes(g.lanes)} at line "
                f"{machine.program.instrs[pc].line}: {what}"
            )
            if pc not in seen and len(events) < 8:
                seen.add(pc)
                events.append(replace(place(machine, g.warp, pc, None, g.lanes), what=what))
        key = ("deadlock", tuple(sorted(seen)))
        if self.has(key):
            return
        lines = [f"in this order: {_ordered(machine.order)}", *lines]
        if (
            invalid
            and not spinning
            and all(
                g.wait is not None and (g.wait.aligned or g.wait.polls is False) for g in groups
            )
            and any(g.wait.aligned for g in groups)
        ):
            self.add(
                (*key, "aligned"),
                CodeFinding(
                    kind=Verdict.INVALID,
                    code="DIVERGED",
                    events=tuple(events),
                    why="an instruction that all threads of the warp have to execute together is "
                    "reached by a part of the warp only",
                    fix=(
                        "move it out of the divergent branch, or make the condition uniform "
                        "in the warp"
                    ),
                    witness=tuple(lines[:16]),
                ),
            )
            return
        why = (
            "the threads that still run repeat the same instructions and nothing they look "
            "at changes"
            if spinning
            else "no thread can go on: every one waits for something that only waiting "
            "threads could do"
        )
        self.add(
            key,
            CodeFinding(
                kind=Verdict.DEADLOCK,
                code="DEADLOCK",
                events=tuple(events),
                why=why,
                witness=tuple(lines[:16]),
                fix=(
                    "compare arrival counts, expected bytes and phases of the barriers named "
                    "with what "
                    "is executed"
                ),
            ),
        )


def _ordered(order: str) -> str:
    """An order of execution, in words."""
    if order.startswith("starve"):
        return f"warp {order[6:] or 0} of every CTA runs only when no other warp can go on"
    shuffled = "warps take turns of 200 instructions in a random order"
    return {"forward": "warps in turn, the first one first", "reverse": "the last warp first"}.get(
        order, shuffled
    )


def _lanes(lanes: Any) -> str:  # noqa: ANN401
    numbers = [int(x) for x in lanes]
    if len(numbers) == numbers[-1] - numbers[0] + 1:
        return f"{numbers[0]}..{numbers[-1]}" if len(numbers) > 1 else str(numbers[0])
    return ",".join(map(str, numbers[:8])) + ("..." if len(numbers) > 8 else "")


def place(machine: Any, warp: Any, pc: int, lane: int | None, lanes: Any) -> CodeEvent:  # noqa: ANN401
    """An instruction as a report names it."""
    pc = min(pc, len(machine.program.instrs) - 1)
    instr = machine.program.instrs[pc]
    return CodeEvent(
        line=instr.line,
        instruction=_short(instr.text),
        source=machine.program.place(pc),
        cta=warp.cta.number,
        warp=warp.index,
        thread=None if lane is None else 32 * warp.index + lane,
        lanes=() if len(lanes) > 4 else tuple(int(x) for x in lanes),
        iteration=max(warp.visits.get(pc, 1) - 1, 0),
    )


def _event(machine: Any, event: Event, lane: int) -> CodeEvent:  # noqa: ANN401
    instr = machine.program.instrs[event.pc]
    return CodeEvent(
        line=instr.line,
        instruction=_short(instr.text),
        source=machine.program.place(event.pc),
        cta=event.warp.cta.number,
        warp=event.warp.index,
        thread=32 * event.warp.index + lane,
        iteration=event.iteration,
        what=("writes" if event.write else "reads")
        + (" through the async proxy" if event.proxy == "async" else "")
        + (f" ({event.what})" if event.what else ""),
    )


def _short(text: str) -> str:
    joined = " ".join(text.split())
    return joined if len(joined) <= 100 else joined[:97] + "..."


def _address(machine: Any, space: str, start: int, stop: int, cta: Any) -> AddressRange:  # noqa: ANN401
    if space == "shared":
        stride = machine.shared_stride
        rank, offset = divmod(start, stride)
        name = next(
            (
                n.split(".")[1] if n.count(".") > 1 else n
                for n, (s, at) in sorted(machine.names.items(), key=lambda i: -i[1][1])
                if s == "shared" and at <= offset
            ),
            "",
        )
        number = None if cta is None else cta.cluster.ctas[rank].number
        return AddressRange(
            space="shared", start=offset, stop=offset + stop - start, name=name, cta=number
        )
    for low, high, name in machine.regions:
        if low <= start < high:
            return AddressRange(space="global", start=start - low, stop=stop - low, name=name)
    return AddressRange(space="global", start=start, stop=stop)


def _axiom(c: Conflict) -> str:
    if c.old.what == "wgmma" and c.kind == "WAR":
        return "wgmma_per_warp"
    return "war_proxy" if c.kind == "WAR" and c.proxy else ""


def _reason(machine: Any, c: Conflict) -> tuple[str, str, str]:  # noqa: ANN401
    """Code, why and fix of a race."""
    old, new = c.old, c.new
    if c.proxy:
        return (
            "PROXY",
            "a barrier orders the two, but the first goes through the generic proxy and the second "
            "through the async proxy, and no fence.proxy.async lies on the path between them",
            "fence.proxy.async by the writing threads after their writes and before the "
            "barrier, or "
            "by the issuing thread after the barrier",
        )
    same_warp = old.warp is new.warp
    lanes = same_warp and c.old_lane != c.new_lane
    start = f"the second access {_KINDS[c.kind]}, and nothing orders them: "
    if old.what == "wgmma":
        return (
            f"{c.kind}-WGMMA",
            start
            + "a wgmma reads its operands until the wgmma.wait_group that covers it, in its own "
            "warp, and no synchronisation leads from there to the second access",
            "wgmma.wait_group by every warp, then an arrival or barrier before the overwrite",
        )
    if old.what in ("bulk read", "bulk write") or old.what.startswith("bulk"):
        wait = (
            "cp.async.bulk.wait_group.read 0" if c.kind == "WAR" else "cp.async.bulk.wait_group 0"
        )
        if old.what == "bulk load":
            return (
                f"{c.kind}-BULK",
                start
                + "the copy's bytes are there when the phase of its mbarrier is complete, and "
                "the second access does not wait for that phase",
                "mbarrier.try_wait on the copy's barrier with the phase of this copy before "
                "the access",
            )
        return (
            f"{c.kind}-BULK",
            start + "the bulk copy is complete when its issuing thread has waited for its group",
            f"{wait} by the issuing thread, then a barrier",
        )
    if old.what == "cp.async":
        return (
            f"{c.kind}-CP-ASYNC",
            start + "cp.async is complete when its own thread has waited for its group",
            "cp.async.wait_group by every copying thread, then a barrier",
        )
    if lanes:
        return (
            f"{c.kind}-LANES",
            start + "they are lanes of one warp, and convergence orders control, not memory",
            "bar.warp.sync (__syncwarp) between them",
        )
    where = "CTA" if old.warp.cta is new.warp.cta else "cluster"
    if old.warp.cta.cluster is not new.warp.cta.cluster:
        where = "grid"
    fix = {
        "CTA": "a barrier (bar.sync, or an mbarrier arrival and wait) between them",
        "cluster": "barrier.cluster, or an mbarrier arrival of cluster scope, between them",
        "grid": "a release and an acquire of GPU scope (fence, atomic, flag) between them",
    }[where]
    instr = machine.program.instrs[new.pc]
    _ = instr
    return (
        c.kind,
        start + f"no chain of synchronisation of the {where} leads from one to the other",
        fix,
    )


def _witness(c: Conflict, old: CodeEvent, new: CodeEvent) -> tuple[str, ...]:
    """An interleaving in which it goes wrong."""
    first, second = ("the earlier", "the later")
    if c.kind == "RAW":
        return (
            f"1. CTA {new.cta} warp {new.warp} comes to line {new.line} before line {old.line} of "
            f"CTA {old.cta} warp {old.warp} has taken effect",
            f"2. it reads bytes that {first} write has not yet put there",
        )
    if c.kind == "WAR":
        return (
            f"1. CTA {old.cta} warp {old.warp} has issued line {old.line} and is still reading",
            f"2. CTA {new.cta} warp {new.warp} executes line {new.line}: {second} write is read",
        )
    return (
        f"1. line {new.line} of CTA {new.cta} warp {new.warp} takes effect first",
        f"2. line {old.line} of CTA {old.cta} warp {old.warp} takes effect last and stays",
    )
