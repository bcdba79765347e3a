"""All programs of an attention kernel near the least interval: what there is to choose from.

The cost model leaves things out, so its best schedule is one candidate among several. The
candidates of a kernel are its *programs*, not its issue times: every order of a consumer's ops and
releases, every lag, every way to take turns and every lag between the producer's loads for which a
schedule exists at one of a few intervals. The enumeration is complete or says that it is not.

Each candidate is derived and verified like the chosen one and named by a digest of its programs, so
that documents, binaries and measurements can refer to it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import product

from warploom.document.roles import RolesDocument
from warploom.document.roles_json import roles_to_json
from warploom.errors import ConfigError, SchedulingError
from warploom.hopper.attention import (
    AttentionKernel,
    attention_plan,
    attention_problem,
    attention_roles,
)
from warploom.order import ModuloOptions, ModuloProblem, ModuloResult, check_result, solve_modulo
from warploom.order.enumerate import WORK, Enumeration, Found, enumerate_programs
from warploom.order.model import RingKind
from warploom.order.programs import Programs, Space
from warploom.target.h200 import HopperTarget, h200
from warploom.verify.roles import verify_roles

SLACKS = (0.0, 0.125, 0.25)
DIGITS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One program: its name, the schedule that proves it possible, and the derived document."""

    name: str
    kernel: AttentionKernel
    programs: Programs
    result: ModuloResult
    document: RolesDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What an interval gave: programs found, and whether these are all there are."""

    ii: int
    depths: tuple[int, ...]
    programs: int
    complete: bool
    nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The candidates of a kernel by interval and name, and an account of what was dropped."""

    kernel: AttentionKernel
    found: tuple[Candidate, ...]
    tried: tuple[Tried, ...]
    dropped: tuple[tuple[str, int], ...]

    @property
    def complete(self) -> bool:
        """True when no program at the intervals tried is missing."""
        return all(t.complete for t in self.tried)

    def text(self) -> str:
        """The claim in words, one line an interval."""
        lines = [
            f"interval {t.ii}: {t.programs} programs, "
            + ("all there are" if t.complete else f"search ended at {t.nodes} nodes")
            for t in self.tried
        ]
        lines += [f"dropped {count}: {why}" for why, count in self.dropped]
        return "\n".join([*lines, f"{len(self.found)} candidates"])


def free_body(kernel: AttentionKernel, target: HopperTarget | None = None) -> ModuloProblem:
    """The kernel's body without margin: every program with one is also a program without."""
    return attention_problem(replace(kernel, margin=0, program=""), target or h200())


def program_space(kernel: AttentionKernel, target: HopperTarget | None = None) -> Space:
    """Consumers run one program, take turns on the tensor cores and release K and V."""
    plan = attention_plan(kernel, target or h200())
    return Space(
        roles=tuple(role.members for role in plan.roles),
        names=plan.aliases,
        rings=tuple(r.name for r in plan.rings),
        unit=plan.turns.unit if plan.turns is not None else None,
    )


def attention_candidates(
    kernel: AttentionKernel,
    *,
    slacks: Sequence[float] = SLACKS,
    target: HopperTarget | None = None,
    options: ModuloOptions | None = None,
    problem: ModuloProblem | None = None,
    work: int = WORK,
) -> Candidates:
    """Every program at the least interval and at intervals longer by ``slacks``, verified.

    ``problem`` replaces the kernel's body, for example by one with corrected costs.
    """
    if not slacks or min(slacks) < 0:
        raise ConfigError("slacks must be a list of numbers >= 0", where="attention_candidates")
    target = target or h200()
    body = problem or free_body(kernel, target)
    best = solve_modulo(body, options or ModuloOptions(goals=()))
    sieve = _Sieve(kernel, target, best)
    for ii in sorted({int(best.ii * (1 + s)) for s in slacks}):
        for depths in _deepest(body):
            sieve.add(
                enumerate_programs(body, program_space(kernel, target), ii, depths, work=work)
            )
    return sieve.candidates()


def candidate_of(
    kernel: AttentionKernel,
    target: HopperTarget | None = None,
    options: ModuloOptions | None = None,
) -> Candidate:
    """The candidate at the least interval that ``kernel.program`` names."""
    every = attention_candidates(
        replace(kernel, program=""), slacks=(0.0,), target=target, options=options
    )
    found = next((c for c in every.found if c.name == kernel.program), None)
    if found is None:
        near = get_close_matches(kernel.program, [c.name for c in every.found], 1)
        raise SchedulingError(
            f"no program {kernel.program!r} exists at the least interval",
            where=f"kernel {kernel.name}",
            why=f"it has {len(every.found)} programs: " + every.text().splitlines()[0],
            fix=f"did you mean {near[0]!r}?" if near else "attention_candidates lists them",
        )
    return replace(found, kernel=kernel, document=attention_roles(found.result, kernel, target))


class _Sieve:
    """Derives and judges what the enumeration finds, and counts what falls through."""

    def __init__(self, kernel: AttentionKernel, target: HopperTarget, best: ModuloResult) -> None:
        self.kernel, self.target, self.best = kernel, target, best
        self.found: dict[str, Candidate] = {}
        self.seen: set[tuple[Programs, tuple[int, ...]]] = set()
        self.tried: list[Tried] = []
        self.dropped: Counter[str] = Counter()

    def add(self, enumeration: Enumeration) -> None:
        """Take the new programs of one interval."""
        e = enumeration
        self.tried.append(
            Tried(
                ii=e.ii,
                depths=e.depths,
                programs=len(e.found),
                complete=e.complete,
                nodes=e.nodes,
            )
        )
        self._drop("the consumers would take turns irregularly", e.irregular)
        for found in e.found:
            if (found.programs, e.depths) in self.seen:
                self._drop("the same program at a smaller interval")
                continue
            self.seen.add((found.programs, e.depths))
            self._judge(found, e)

    def candidates(self) -> Candidates:
        """The candidates, shortest interval first."""
        ordered = sorted(self.found.values(), key=lambda c: (c.result.ii, c.name))
        return Candidates(
            kernel=self.kernel,
            found=tuple(ordered),
            tried=tuple(self.tried),
            dropped=tuple(sorted(self.dropped.items())),
        )

    def _drop(self, why: str, count: int = 1) -> None:
        if count:
            self.dropped[why] += count

    def _judge(self, found: Found, e: Enumeration) -> None:
        result = self._scheduled(found, e)
        try:
            document = attention_roles(result, self.kernel, self.target)
        except SchedulingError as error:
            self._drop(f"no programs can be derived: {error.what}")
            return
        codes = sorted({str(f.code) for f in verify_roles(document).findings})
        if codes:
            self._drop(f"the verifier objects: {', '.join(codes)}")
            return
        name = document_digest(document)
        if name in self.found:
            self._drop("another order, the same programs")
            return
        self.found[name] = Candidate(
            name=name,
            kernel=self.kernel,
            programs=found.programs,
            result=result,
            document=document,
        )

    def _scheduled(self, found: Found, e: Enumeration) -> ModuloResult:
        result = replace(
            self.best,
            ii=e.ii,
            times=found.times,
            depths=e.depths,
            proven=self.best.proven and e.ii == self.best.ii,
            goals=(),
            log=(),
        )
        check_result(result)
        return result


def _deepest(problem: ModuloProblem) -> Iterator[tuple[int, ...]]:
    """Ring depths that fit the budget and cannot be raised: shallower rings allow no more."""
    rings = problem.rings
    budget = problem.smem_budget
    choices = [
        range(r.min_depth, r.max_depth + 1) if r.kind is RingKind.SMEM else (r.max_depth,)
        for r in rings
    ]

    def fits(depths: tuple[int, ...]) -> bool:
        pairs = zip(rings, depths, strict=True)
        used = sum(r.size * d for r, d in pairs if r.kind is RingKind.SMEM)
        return budget is None or used <= budget

    fitting = [d for d in product(*choices) if fits(d)]
    for d in fitting:
        if not any(o != d and all(x >= y for x, y in zip(o, d, strict=True)) for o in fitting):
            yield d


def document_digest(document: RolesDocument) -> str:
    """A short name of what a document makes the machine do: everything but names and reasons."""
    bare = replace(document, name="", proof=None)
    text = json.dumps(_without_reasons(roles_to_json(bare)), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def _without_reasons(value: object) -> object:
    if isinstance(value, dict):
        return {k: _without_reasons(v) for k, v in value.items() if k != "reason"}
    return [_without_reasons(v) for v in value] if isinstance(value, list) else value
