"""A sweep of 500 and more configurations: throughput, a kill half-way, local processes and Dask.

python bench/explore.py [--points 504] [--dask 60] [--out bench/results/explore.md]
"""

import argparse
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from pathlib import Path

from warploom.autotune import Cache, Sweep, explore, ranked

SWEEP = Sweep(
    tiles=((256, 256, 64), (128, 256, 64), (256, 128, 64), (128, 128, 64), (128, 128, 128)),
    max_globals=(None, 0, 1, 2),
    lds_penalties=(0, 2, 4, 8, 16, 32),
)
CHILD = """
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
sys.path.insert(0, {here!r})
from explore import SWEEP
from warploom.autotune import Cache, explore
with ProcessPoolExecutor(2) as pool:
    explore(list(SWEEP.points())[:{points}], executor=pool, cache=Cache(Path({cache!r})))
"""


def killed_half_way(points, cache):
    """Start a sweep in a process of its own and kill it when half the results are there."""
    code = CHILD.format(here=str(Path(__file__).parent), points=points, cache=str(cache))
    child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    while child.poll() is None:
        done = len(cache.read_text().splitlines()) if cache.exists() else 0
        if done >= points // 2:
            os.killpg(child.pid, signal.SIGKILL)
        time.sleep(0.1)
    return len(Cache(cache))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=504)
    parser.add_argument("--dask", type=int, default=60)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    points = list(SWEEP.points())[: arguments.points]
    cache = Path(tempfile.mkdtemp()) / "sweep.jsonl"
    begin = time.perf_counter()
    kept = killed_half_way(len(points), cache)
    half = time.perf_counter() - begin
    begin = time.perf_counter()
    with ProcessPoolExecutor(2) as pool:
        outcomes = ranked(explore(points, executor=pool, cache=Cache(cache)))
    rest = time.perf_counter() - begin
    written = len(cache.read_text().splitlines())
    lines = [
        "# Exploration",
        "",
        f"{date.today()}, Python {platform.python_version()}, `python bench/explore.py "
        f"--points {len(points)} --dask {arguments.dask}`, 2 processes.",
        "",
        f"* {len(points)} configurations; killed (SIGKILL) with {kept} results kept after "
        f"{half:.0f} s, resumed and finished in {rest:.0f} s.",
        f"* {(len(points) - kept) / rest:.1f} configurations a second in the resumed part.",
        f"* {written - len(points)} results computed twice.",
        "* verdicts: "
        + ", ".join(
            f"{sum(o.verdict == v for o in outcomes)} {v}" for v in ("clean", "race", "refused")
        ),
    ]
    if arguments.dask:
        lines.append(dask_line(points[: arguments.dask], cache))
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.out:
        arguments.out.write_text(text)


def dask_line(points, cache):
    """The same points through a local Dask cluster, from nothing; the ranking must agree."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        through = ranked(explore(points, executor=client.get_executor()))
    same = through == ranked(explore(points, cache=Cache(cache)))
    word = "equal" if same else "DIFFERENT"
    return f"* {len(points)} of them through a Dask cluster, uncached: ranking {word}."


if __name__ == "__main__":
    main()
