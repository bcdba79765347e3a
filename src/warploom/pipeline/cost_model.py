"""What ops cost on a target: ``TargetCostModel``, and the pricing of declared ops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from warploom.dataclass import dataclass
from warploom.errors import CostModelError
from warploom.ir.schedule_ops import MAX_KERNEL_TAG, OpDesc, OpRole, ResourceKind, tag_name
from warploom.ir.validation import all_of, check_fields, instance, integer
from warploom.pipeline.body import Pipe


@dataclass(frozen=True, slots=True)
class OpCost:
    """What one op costs: its unit, latency in cycles, role, registers defined and freed."""

    resource: ResourceKind
    latency: int
    role: OpRole
    vgpr_def: int = 0
    vgpr_kill: int = 0

    def __post_init__(self) -> None:
        check_fields(self, error=CostModelError)

    @classmethod
    def none(cls) -> OpCost:
        """No cost, no role."""
        return cls(ResourceKind.NONE, 0, OpRole.NONE)


class TargetCostModel:
    """Costs by kernel tag (0..127). Immutable: ``with_cost`` returns a new model."""

    __slots__ = ("_costs",)

    def __init__(self, costs: Mapping[int, OpCost] | None = None) -> None:
        if costs is not None:
            instance(costs, Mapping, "costs", "TargetCostModel", error=CostModelError)
        for tag, cost in (costs or {}).items():
            _check_tag(tag, "TargetCostModel.costs")
            instance(cost, OpCost, f"costs[{int(tag)}]", "TargetCostModel", error=CostModelError)
        self._costs: Mapping[int, OpCost] = MappingProxyType(dict(costs or {}))

    @property
    def costs(self) -> Mapping[int, OpCost]:
        """The registered costs."""
        return self._costs

    def with_cost(self, tag: int, cost: OpCost) -> TargetCostModel:
        """This model with one cost added or replaced."""
        _check_tag(tag)
        return TargetCostModel({**self._costs, tag: cost})

    def set_cost(self, tag: int, cost: OpCost) -> None:
        """Add or replace one cost in place, as the documented builder does."""
        _check_tag(tag)
        instance(cost, OpCost, "cost", "TargetCostModel.set_cost", error=CostModelError)
        self._costs = MappingProxyType({**self._costs, tag: cost})

    def get_cost(self, tag: int) -> OpCost:
        """The cost of a tag; ``OpCost.none()`` if it is not registered."""
        _check_tag(tag)
        return self._costs.get(tag, OpCost.none())

    def price(self, op: OpDesc) -> OpCost:
        """The cost of a declared op; raises if the model does not know it."""
        _check_tag(op.tag)
        try:
            return self._costs[op.tag]
        except KeyError:
            known = ", ".join(f"{tag_name(t)} ({int(t)})" for t in sorted(self._costs)) or "nothing"
            raise CostModelError(
                f"the cost model does not know {op.name} (tag {int(op.tag)})",
                where=op.label(),
                why="an unpriced op has no unit, latency or role, so it would silently vanish",
                fix=f"add it with set_cost; known: {known}",
            ) from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TargetCostModel) and dict(self._costs) == dict(other._costs)

    __hash__ = None  # type: ignore[assignment]  # set_cost changes it

    def __repr__(self) -> str:
        return f"TargetCostModel({dict(self._costs)!r})"


def _check_tag(tag: int, owner: str = "TargetCostModel") -> None:
    integer(tag, "tag", owner, error=CostModelError)
    if not 0 <= tag <= MAX_KERNEL_TAG:
        raise CostModelError(
            f"tag {int(tag)} is not a kernel tag",
            where=f"{owner}: {tag_name(tag)}",
            why="tags 128 and up belong to barriers, waits and hints, which have no cost",
            fix=f"use a tag in 0..{MAX_KERNEL_TAG}",
        )


def annotate_ops(ops: Iterable[OpDesc], model: TargetCostModel) -> list[OpDesc]:
    """Price every kernel op; infrastructure ops pass through. Idempotent."""
    instance(model, TargetCostModel, "model", "annotate_ops", error=CostModelError)
    instance(ops, Iterable, "ops", "annotate_ops")
    ops = list(ops)
    all_of(ops, OpDesc, "ops", "annotate_ops")
    return [_annotated(op, model, registers=True) for op in ops]


def annotate_pipe(pipe: Pipe, model: TargetCostModel) -> Pipe:
    """Price the ops of a pipe, leaving their register numbers as they are."""
    return Pipe(tuple(_annotated(op, model, registers=False) for op in pipe))


def _annotated(op: OpDesc, model: TargetCostModel, *, registers: bool) -> OpDesc:
    if op.tag > MAX_KERNEL_TAG:
        return op
    cost = model.price(op)
    priced = replace(op, resource=cost.resource, latency=cost.latency, role=cost.role)
    if registers:
        priced = replace(priced, vgpr_def=cost.vgpr_def, vgpr_kill=cost.vgpr_kill)
    return priced
