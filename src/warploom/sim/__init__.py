"""Runs a schedule against machine costs, cycle by cycle, and reports typed events.

In: a ``ScheduleDocument`` (or programs of roles) and ``MachineCosts``. Out: a ``Simulation``.
It shares no code with the solver and imports errors, ops and interchange only; it checks time,
never correctness.
"""

from warploom.ir.machine_costs import MachineCosts, OpTiming, RoleCosts, RoleOpCost, UnitSpec
from warploom.sim.costs import TargetCosts, mi355x_costs
from warploom.sim.events import Place, Row, StallKind
from warploom.sim.pace import Pace, steady_interval
from warploom.sim.program import (
    Await,
    Issue,
    Priority,
    Program,
    Signal,
    Slot,
    Unit,
    WaitQueue,
    Workload,
)
from warploom.sim.simulation import (
    Simulation,
    interval_cost,
    simulate,
    simulate_roles,
    simulate_workload,
    simulation_to_json,
)
