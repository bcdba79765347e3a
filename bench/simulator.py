"""Simulated intervals of the ready-made schedules, and how fast the simulator is.

python bench/simulator.py > bench/results/simulator.md
"""

import platform
import sys
import time
from datetime import date

import warploom
from warploom import (
    DeclarativeSchedule,
    KernelGeometry,
    Pipeline4Wave,
    SyncPolicy,
    build_default_matmul_schedule,
    compile_schedule,
    mi355x_target,
)
from warploom.cli.kernels import KERNELS, NamedKernel
from warploom.sim import MachineCosts, mi355x_costs, simulate, simulate_roles

TRIPS = 16


def schedules():
    for sync in (SyncPolicy.REFERENCE, SyncPolicy.PROVEN_WEAKEST, SyncPolicy.PROVEN_FEWEST):
        schedule = DeclarativeSchedule(lgkm_a=8, lgkm_b=4, target=mi355x_target(2, 2, 1))
        yield f"ping-pong 256x256x64, {sync.value}", compile_schedule(schedule, sync=sync), 256
    geometry = KernelGeometry.four_wave((256, 256, 64))
    for sync in (SyncPolicy.PROVEN_WEAKEST, SyncPolicy.PROVEN_FEWEST):
        compiled = compile_schedule(Pipeline4Wave(geometry), sync=sync)
        yield f"4-wave 256x256x64, {sync.value}", compiled, 512
    yield "single buffer, 2 k-tiles", build_default_matmul_schedule(2, 4, 4, 2, 16, 16, 2, 2), 256


def row(name, sim):
    busy = max(sim.units, key=lambda use: (use.steady_utilisation or 0, use.unit))
    site = sim.sites[0] if sim.sites else None
    worst = f"{site.phase} {site.index} {site.label}" if site else "none"
    kind = "exact" if sim.steady else "average"
    bound = f"{float(sim.bound.bound):g} by {sim.bound.unit}"
    return (
        f"| {name} | {sim.costs} | {sim.ii:g} | {kind}, period {sim.state.period} | "
        f"{bound} | {busy.steady_utilisation:.0%} | {worst} |"
    )


def timed(run, repeat=5):
    run()
    start = time.process_time()
    for _ in range(repeat):
        run()
    return (time.process_time() - start) / repeat


def main():
    print("# Simulated intervals\n")
    print(
        f"Made by `bench/simulator.py` on {date.today()}, warploom {warploom.__version__}, "
        f"Python {platform.python_version()}. {TRIPS} iterations, all waves. The MI355X costs are "
        "derived or assumed, not measured; those of Hopper are measured.\n"
    )
    print("| schedule | costs | II | | bound | busiest unit | worst stall |")
    print("|---|---|---|---|---|---|---|")
    for name, compiled, mma in schedules():
        document = compiled.document()
        for costs in (MachineCosts(), mi355x_costs(mma_cycles=mma)):
            print(row(name, simulate(document, costs, trips=TRIPS)))
    for one in KERNELS.values():
        kernel = NamedKernel(one.kernel)
        document = kernel.lowered.document
        sim = simulate_roles(document, kernel.costs(document), trips=32)
        print(row(f"Hopper {kernel.name} (II {document.proof.ii})", sim))
    print("\n## Speed (CPU seconds of one run, ping-pong, 70 kernel entries)\n")
    print("| waves | trips | seconds |")
    print("|---|---|---|")
    document = compile_schedule(DeclarativeSchedule(lgkm_a=8, lgkm_b=4)).document()
    for waves, trips in ((1, 8), (1, 16), (None, 16)):
        seconds = timed(lambda w=waves, t=trips: simulate(document, trips=t, waves=w))
        print(f"| {waves or 4} of 4 in each of 2 groups | {trips} | {seconds:.3f} |")


if __name__ == "__main__":
    sys.exit(main())
