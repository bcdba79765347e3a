"""Exact order: schedules of least initiation interval, with a proof and a reason.

In: a ``ModuloProblem`` (ops with occupancy, edges with latency and distance, storage rings,
budgets, roles). Out: a ``ModuloResult`` whose ``proven`` flag, bounds and ``limit`` say how good it
is and why it is not better.
"""

from warploom.modulo.check import check_result, check_schedule
from warploom.modulo.model import (
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
from warploom.modulo.options import ExactUse, ModuloOptions, Progress
from warploom.modulo.result import Limit, LimitKind, ModuloResult
from warploom.modulo.search import solve_modulo, what_blocks
from warploom.modulo.validate import validate
