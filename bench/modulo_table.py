"""Exact modulo schedules of the shipped bodies: II, bounds, depths, registers, solve time.

Writes bench/results/modulo.md. The second table runs the reference's orders and the modulo
schedules through the timing simulator, which shares no code with the solver.

    python bench/modulo_table.py [--slow]
"""

import platform
import sys
import warnings
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from tests.modulo.bodies.attention import AttentionShape, attention_body
from tests.modulo.bodies.attention_costs import MI355X_ATTENTION
from tests.modulo.bodies.gemm import Fragments, Lds, gemm_body

from warploom.ir.schedule_ops import OpRole, ResourceKind
from warploom.modulo import Goal, ModuloOptions, RingKind, check_result, solve_modulo
from warploom.pipeline.amd_target.cost import (
    AMDScheduleHints,
    PingPongOps,
    mi355x_double_buffer,
)
from warploom.pipeline.amd_target.geometry import KernelGeometry
from warploom.pipeline.compile import compile_schedule
from warploom.pipeline.config.target import (
    TargetProfile,
)
from warploom.pipeline.cost_model import (
    OpCost,
    TargetCostModel,
)
from warploom.pipeline.modulo.bridge import ModuloRequest
from warploom.pipeline.schedules.fourwave import Pipeline4Wave
from warploom.pipeline.schedules.pingpong import DeclarativeSchedule
from warploom.pipeline.schedules.single_buffer import SingleBufferSchedule
from warploom.pipeline.sync.marks import SyncPolicy
from warploom.sim import MachineCosts, mi355x_costs, simulate
from warploom.targets.occupancy import OccupancyModel

HINTS = AMDScheduleHints(2, 2, 2, 16, 16, 4, 4)
RESULTS = Path(__file__).parent / "results"


def gemm_bodies():
    yield gemm_body(2, 2)
    yield gemm_body(2, 2, smem_budget=8)
    yield gemm_body(2, 2, lds=Lds.RING, smem_budget=12)
    yield gemm_body(4, 4)
    yield gemm_body(4, 8)
    yield gemm_body(4, 4, fragments=Fragments.RING, lds=Lds.RING)


def attention_bodies(slow):
    for shape in ({"in_order": True}, {}, {"s_copies": 2}, {"consumers": 2}):
        yield attention_body(AttentionShape(**shape))
    for shape in ({}, {"s_copies": 2}, {"consumers": 2}):
        yield attention_body(AttentionShape(**shape), MI355X_ATTENTION)
    if slow:
        for shape in (
            {"chunks": 4},
            {"chunks": 4, "s_copies": 2},
            {"consumers": 2, "in_order": True},
        ):
            yield attention_body(AttentionShape(**shape))


def pair(result, goal):
    found = result.goal(goal)
    return "-" if found is None else f"{found.value}/{found.bound}"


def body_rows(slow):
    for body in [*gemm_bodies(), *attention_bodies(slow)]:
        r = solve_modulo(body)
        check_result(r)
        budget = f", budget {body.smem_budget}" if body.smem_budget else ""
        yield (
            f"| {body.name}{budget} | {len(body.ops)} | {r.res_mii} | {r.rec_mii} | {r.ii} | "
            f"{r.lower_bound} | {'yes' if r.proven else 'no'} | {pair(r, Goal.SMEM)} | "
            f"{pair(r, Goal.RING_REGISTERS)} | {pair(r, Goal.REGISTERS)} | "
            f"{pair(r, Goal.LENGTH)} | {r.overlap} | {r.seconds_to_ii:.2f} | {r.seconds:.2f} | "
            f"{r.limit} |"
        )
        assert r.storage(RingKind.SMEM) >= 0


def chip_target():
    """The 4-wave kernel in chip cycles, with the ports shared by four waves.

    A load is 4 instructions of 16 cycles, a fragment 8 of 8, each times four waves: 256 cycles of
    port time on top of 900 and 128 of latency; a quadrant of MFMAs is 512.
    """
    load = OpCost(ResourceKind.GLOBAL_MEM, 900 + 256, OpRole.GLOBAL_LOAD)
    read = OpCost(ResourceKind.LDS, 128 + 256, OpRole.FRAGMENT_LOAD, vgpr_def=8)
    mma = OpCost(ResourceKind.MMA_UNIT, 512, OpRole.COMPUTE, vgpr_def=4)
    t = PingPongOps
    costs = {t.LOAD_A: load, t.LOAD_B: load, t.COMPUTE: mma, t.MMA: mma}
    costs |= {t.MMA_LOAD_A: read, t.MMA_LOAD_B: read}
    return TargetProfile(TargetCostModel(costs), mi355x_double_buffer(), name="mi355x")


def per_pair(compiled, costs):
    """Steady-state cycles per two K-tiles."""
    document = compiled.document()
    found = simulate(document, costs, trips=16, waves=1)
    return found.ii * 2 / document.protocol.k_tiles_per_iteration


def simulated_rows():
    warnings.simplefilter("ignore")
    geometry = KernelGeometry.four_wave((256, 256, 64))
    kinds = ResourceKind
    chip = OccupancyModel(
        by_unit={kinds.GLOBAL_MEM: 256, kinds.LDS: 256},
        issue={kinds.GLOBAL_MEM: 16, kinds.LDS: 32, kinds.MMA_UNIT: 512},
    )
    roomy = ModuloOptions(goals=())
    cases = [
        ("ping-pong, op latencies", DeclarativeSchedule(False, 8, 8), None, ModuloRequest()),
        ("4-wave, op latencies", Pipeline4Wave(geometry), None, ModuloRequest()),
        ("single buffer, op latencies", SingleBufferSchedule(2, HINTS), None, ModuloRequest()),
        (
            "4-wave, chip cycles, least LDS",
            Pipeline4Wave(geometry, target=chip_target()),
            mi355x_costs(mma_cycles=512),
            ModuloRequest(occupancies=chip),
        ),
        (
            "4-wave, chip cycles, LDS not minimised",
            Pipeline4Wave(geometry, target=chip_target()),
            mi355x_costs(mma_cycles=512),
            ModuloRequest(occupancies=chip, options=roomy),
        ),
    ]
    for name, schedule, machine, request in cases:
        costs = machine or MachineCosts()
        own = compile_schedule(schedule, on_race="report")
        proven = compile_schedule(schedule, sync=SyncPolicy.PROVEN_WEAKEST, on_race="report")
        modulo = compile_schedule(schedule, modulo=request)
        r = modulo.modulo
        yield (
            f"| {name} | {own.schedule_config.scheduling.name} | {per_pair(own, costs):g} | "
            f"{per_pair(proven, costs):g} | {per_pair(modulo, costs):g} | {r.ii} | "
            f"{'yes' if r.proven else 'no'} | {r.overlap} | "
            f"{modulo.protocol.k_tiles_per_iteration} | {modulo.report.verdict} |"
        )


def main():
    slow = "--slow" in sys.argv
    head = (
        f"Made by `bench/modulo_table.py` on {datetime.now(UTC):%Y-%m-%d}, warploom "
        f"{version('warploom') if _installed() else 'source'}, OR-tools {version('ortools')}, "
        f"Python {platform.python_version()}, 2 cores shared with other work (times are upper "
        "estimates). A pair v/b is value/proven bound; equal means proven least."
    )
    lines = ["# Exact modulo schedules", "", head, ""]
    lines += [
        "| body | ops | ResMII | RecMII | II | bound | proven | smem | ring regs | live regs | "
        "length | overlap | s to II | s all | limited by |",
        "|" + "---|" * 15,
    ]
    add(lines, () if "--only-simulated" in sys.argv else body_rows(slow))
    lines += [
        "",
        "## Against the reference's order, in the timing simulator",
        "",
        "Steady-state cycles per two K-tiles, one wave of each group standing for all. The model "
        "knows no waits and barriers: with op latencies that costs MODULO little, in chip cycles "
        "its least-storage schedule has no slack for them and is slower than the reference's.",
        "",
        "| schedule, costs | reference strategy | its waits | proven waits | MODULO | model II | "
        "proven | overlap | K-tiles a trip | verdict |",
        "|" + "---|" * 10,
    ]
    add(lines, simulated_rows())


def add(lines, rows):
    """Append rows and write the file after each: a long run may be cut short."""
    for row in rows:
        print(row, flush=True)
        lines.append(row)
        (RESULTS / "modulo.md").write_text("\n".join([*lines, ""]))


def _installed():
    try:
        version("warploom")
    except Exception:
        return False
    return True


if __name__ == "__main__":
    main()
