"""``OrderResult``: an order, what it costs, and how much of that is proven."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warploom.errors import CycleError
from warploom.seed.graph.loop_body import LoopBody
from warploom.seed.sched.bounds import asap_lower_bound
from warploom.seed.sched.evaluate import evaluate_schedule
from warploom.seed.sched.lifetimes import live_peak


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderResult:
    """An order with its makespan, registers and proof.

    ``vgpr_peak`` is the documented count (``vgpr_def`` added, ``vgpr_kill`` taken away);
    ``registers`` frees every value with its last reader.
    """

    order: tuple[int, ...]
    makespan: int
    vgpr_peak: int
    lower_bound: int  # no admissible order is faster than this
    exact: bool  # the search ended: this is the very order the definition names
    work: int  # ops placed by the search; 0 when the seed was good enough
    registers: int = 0  # most registers live at once, each freed by its last reader

    @classmethod
    def given(cls, body: LoopBody, order: Sequence[int]) -> OrderResult:
        """An order that no search made, evaluated; edges it breaks leave the bound at 0."""
        metrics = evaluate_schedule(body, order)
        try:
            bound = asap_lower_bound(body)
        except CycleError:
            bound = 0
        return cls(
            order=tuple(order),
            makespan=metrics.makespan,
            vgpr_peak=metrics.vgpr_peak,
            lower_bound=min(bound, metrics.makespan),
            exact=True,
            work=0,
            registers=live_peak(body, order),
        )

    @property
    def proven(self) -> bool:
        """Whether the makespan is proven to be the least possible."""
        return self.makespan <= self.lower_bound
