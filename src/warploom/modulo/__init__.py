"""Exact order: schedules of least initiation interval, with a proof and a reason.

In: a ``ModuloProblem`` (ops with occupancy, edges with latency and distance, storage rings,
budgets, roles). Out: a ``ModuloResult`` whose ``proven`` flag, bounds and ``limit`` say how good it
is and why it is not better.
"""

from warploom.modulo.model import (
    MAIN_ROLE,
    Goal,
    Hold,
    ModuloEdge,
    ModuloOp,
    ModuloProblem,
    Read,
    Ring,
    RingKind,
    Role,
    Unit,
    Value,
)
from warploom.modulo.result import GoalValue, Limit, LimitKind, ModuloResult
from warploom.modulo.validate import validate

__all__ = [
    "MAIN_ROLE",
    "Goal",
    "GoalValue",
    "Hold",
    "Limit",
    "LimitKind",
    "ModuloEdge",
    "ModuloOp",
    "ModuloProblem",
    "ModuloResult",
    "Read",
    "Ring",
    "RingKind",
    "Role",
    "Unit",
    "Value",
    "validate",
]
