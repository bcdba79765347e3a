"""Import time of the core and compile time of the default schedules.

python bench/compile_time.py
"""

import statistics
import subprocess
import sys
import time


def import_ms(statement, runs=9):
    code = (
        f"import time; t = time.perf_counter(); {statement}; print((time.perf_counter() - t) * 1e3)"
    )
    times = [
        float(
            subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            ).stdout
        )
        for _ in range(runs)
    ]
    return statistics.median(times)


def compile_ms(make, runs=15, **options):
    from warploom import compile_schedule

    times = []
    for _ in range(runs):
        start = time.perf_counter()
        compile_schedule(make(), **options)
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def main():
    from warploom import (
        AMDScheduleHints,
        DeclarativeSchedule,
        KernelGeometry,
        Pipeline4Wave,
        SingleBufferSchedule,
    )

    geometry = KernelGeometry.four_wave((256, 256, 64))
    hints = AMDScheduleHints(4, 4, 2, 16, 16, 2, 2)
    schedules = {
        "ping-pong": lambda: DeclarativeSchedule(lgkm_a=8, lgkm_b=4),
        "4-wave (proven waits)": lambda: Pipeline4Wave(geometry),
        "single buffer": lambda: SingleBufferSchedule(2, hints),
    }
    core = "from warploom import DeclarativeSchedule, compile_schedule"
    for statement in ("import warploom", core):
        print(f"{statement}: {import_ms(statement):.0f} ms")
    for name, make in schedules.items():
        proven, plain = compile_ms(make), compile_ms(make, on_race="skip")
        print(f"compile {name}: {plain:.1f} ms, with verification {proven:.1f} ms")


if __name__ == "__main__":
    main()
