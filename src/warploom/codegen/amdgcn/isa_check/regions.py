"""The gate for loops inside of larger kernels: each scheduled region against its schedule.

A region begins at the first scheduled load and ends with the last step of its epilogue. Every path
through it must be the schedule, run some number of times: the same order, the same waits, nothing
added, no spills. What stands before and after (the plain loop for left-over steps, stores) belongs
to no schedule.
"""

from __future__ import annotations

from collections.abc import Sequence

from warploom.codegen.amdgcn.isa import Assembly, parse_assembly, read_resources
from warploom.codegen.amdgcn.isa_check import TRIPS, GateReport, matrix_hazards
from warploom.codegen.amdgcn.isa_check.expected import (
    Gated,
    Step,
    blocks_of,
    expected_steps,
    guarded_barrier,
    join_waits,
    scheduled_step,
    side_by_side,
)

FIRST = "dma"
GUARDED = Step("guarded barrier", (), "one group of waves alone")
MAX_VISITS = 2


def check_regions(plans: Sequence[Gated], assembly_text: str) -> GateReport:
    """Compare the scheduled regions of a kernel, in the order of its text, with their schedules."""
    assembly = parse_assembly(assembly_text)
    differences = matrix_hazards(assembly_text)
    seen: set[int] = set()
    steps = inner = 0
    for plan in plans:
        expected = expected_steps(plan)
        steps += len(expected.run(1))
        inner += len(expected.kernel)
        start = next((i for i in _loads(assembly) if i not in seen), None)
        if start is None:
            differences.append(f"no region for schedule {plan.document.name!r}")
            continue
        region = _Region(assembly, {n: expected.run(n) for n in TRIPS}, start)
        differences += region.differences()
        seen |= region.visited
    left = [i for i in _loads(assembly) if i not in seen]
    if left:
        where = assembly.instructions[left[0]]
        differences.append(f"outside of every schedule: line {where.line}: {where.text}")
    return GateReport(
        exact=not differences,
        differences=tuple(dict.fromkeys(differences)),
        steps=steps,
        kernel_steps=inner,
        compiler_waits=0,
        resources=read_resources(assembly_text),
    )


def _loads(assembly: Assembly) -> list[int]:
    found = enumerate(assembly.instructions)
    return [i for i, ins in found if (s := scheduled_step(ins)) is not None and s.kind == FIRST]


class _Region:
    """All paths from a first load on, followed while they are those of a schedule."""

    def __init__(self, assembly: Assembly, wanted: dict[int, tuple[Step, ...]], start: int) -> None:
        self.assembly, self.wanted, self.start = assembly, wanted, start
        self.blocks = blocks_of(assembly)
        self.visited: set[int] = set()
        self.matched: set[int] = set()
        self.wrong: list[str] = []

    def differences(self) -> list[str]:
        """What is not the schedule."""
        starts = sorted(self.blocks)
        block = max(b for b in starts if b <= self.start)
        stack: list[tuple[int, int, tuple[Step, ...], tuple[int, ...]]] = [
            (block, self.start, (), ())
        ]
        while stack and not self.wrong:
            block, first, steps, past = stack.pop()
            if past.count(block) >= MAX_VISITS:
                continue
            done, steps = self._follow(block, first, steps)
            if done:
                continue
            staggered = self._staggered(block, steps)
            if staggered is not None:
                join, steps = staggered
                stack.append((join, join, steps, (*past, block)))
                continue
            after = self.blocks[block].successors
            whole = self._whole(steps)
            if not after and whole is not None:
                self.matched.add(whole)
            elif not after:
                self.wrong.append(self._difference(steps))
            stack += [(b, b, steps, (*past, block)) for b in after]
        if not self.wrong:
            self.wrong += [
                f"no path runs the loop {n} time(s)" for n in self.wanted if n not in self.matched
            ]
        return self.wrong

    def _follow(
        self, block: int, first: int, steps: tuple[Step, ...]
    ) -> tuple[bool, tuple[Step, ...]]:
        """The steps of a block: whether the path ends there, as the schedule or not."""
        ends = [b for b in sorted(self.blocks) if b > block]
        end = ends[0] if ends else len(self.assembly.instructions)
        for i in range(first, end):
            step = scheduled_step(self.assembly.instructions[i])
            if step is None:
                continue
            whole = self._whole(steps)
            if whole is not None and not self._goes_on((*steps, step)):
                self.matched.add(whole)
                return True, steps
            self.visited.add(i)
            steps = join_waits((*steps, step))
            if not self._goes_on(steps):
                if sum(s.kind == "s_barrier" for s in steps) > self._barriers():
                    return True, steps  # more turns than are compared
                self.wrong.append(self._difference(steps))
                return True, steps
        return False, steps

    def _staggered(
        self, block: int, steps: tuple[Step, ...]
    ) -> tuple[int, tuple[Step, ...]] | None:
        """Where a path goes on after barriers that one group of waves alone executes."""
        guarded = guarded_barrier(self.blocks, self.blocks[block])
        if guarded is None:
            return None
        inner, join = guarded
        own = self.blocks[inner].steps
        steps = (*steps, *(GUARDED for _ in own))
        alone = all(s.kind == "s_barrier" for s in own)
        return (join, steps) if alone and self._goes_on(steps) else None

    def _whole(self, steps: tuple[Step, ...]) -> int | None:
        """How often the loop ran, where these are all steps of a run."""
        return next((n for n, want in self.wanted.items() if _same(want, steps)), None)

    def _barriers(self) -> int:
        most = self.wanted[max(self.wanted)]
        return sum(s.kind == "s_barrier" for s in most)

    def _goes_on(self, steps: tuple[Step, ...]) -> bool:
        """Whether a schedule begins like this; a last wait may still grow."""
        joined = join_waits(steps)
        *head, last = joined
        for want in self.wanted.values():
            if len(joined) > len(want) or not _same(want[: len(head)], tuple(head)):
                continue
            next_ = want[len(head)]
            if next_.same(last) or (next_.kind == last.kind == "wait" and _weaker(last, next_)):
                return True
        return False

    def _difference(self, steps: tuple[Step, ...]) -> str:
        near = min(self.wanted, key=lambda n: -_common(self.wanted[n], steps))
        want = self.wanted[near]
        return side_by_side(want[: len(steps) + 2], steps, near)


def _same(want: tuple[Step, ...], got: tuple[Step, ...]) -> bool:
    return len(want) == len(got) and all(a.same(b) for a, b in zip(want, got, strict=True))


def _weaker(got: Step, want: Step) -> bool:
    return all(g >= w for g, w in zip(got.detail, want.detail, strict=True))


def _common(want: tuple[Step, ...], got: tuple[Step, ...]) -> int:
    for i, (a, b) in enumerate(zip(want, got, strict=False)):
        if not a.same(b):
            return i
    return min(len(want), len(got))
