"""Steps of a warp-specialised kernel on Hopper, each timed alone by the SM's clock.

    python bench/h200_micro.py build FOLDER   writes and compiles FOLDER/micro (needs nvcc, no GPU)
    python bench/h200_micro.py run FOLDER     runs it on a GPU, writes h200_micro.json beside it

Asks: how long issuing products holds the warps (by width, count, place of A, warpgroups, after
another group's products), what vector work takes with idle and with busy tensor cores, what waiting
for a complete barrier costs inside a turn, what handing over costs. ``warploom.targets.h200`` holds
the figures the compiler uses; each names this script or its document as its origin.
"""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent
WIDTHS = (64, 128, 176, 256)
HEADER = """#pragma once
#include <cstdint>
#define FN __device__ __forceinline__
FN uint32_t shared_address(const void* p) { return (uint32_t)__cvta_generic_to_shared(p); }
FN void products_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
FN void products_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> FN void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
FN uint64_t operand(uint32_t at) {
  return (uint64_t)((at & 0x3FFFF) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62);
}
template <int N, bool REG> FN void product(float (&d)[N / 2], uint64_t a, const uint32_t (&r)[4],
                                           uint64_t b);
"""


def wrapper(n: int, *, registers: bool) -> str:
    """One matrix instruction m64nNk16 in bf16, A from shared memory or registers."""
    count = n // 2
    sums = ", ".join(f"%{i}" for i in range(count))
    if registers:
        a = "{" + ", ".join(f"%{count + i}" for i in range(4)) + "}"
        b, flag, transposed = f"%{count + 4}", f"%{count + 5}", "0"
        inputs = ", ".join(f'"r"(r[{i}])' for i in range(4)) + ', "l"(b), "r"(1)'
    else:
        a, b, flag, transposed = f"%{count}", f"%{count + 1}", f"%{count + 2}", "0, 0"
        inputs = '"l"(a), "l"(b), "r"(1)'
    outputs = ", ".join(f'"+f"(d[{i}])' for i in range(count))
    return (
        f"template <> FN void product<{n}, {str(registers).lower()}>(float (&d)[{count}], uint64_t"
        " a, const uint32_t (&r)[4], uint64_t b) {\n"
        f'  asm volatile("{{.reg .pred p; setp.ne.b32 p, {flag}, 0; wgmma.mma_async.sync.aligned.'
        f'm64n{n}k16.f32.bf16.bf16 {{{sums}}}, {a}, {b}, p, 1, 1, {transposed};}}"\n'
        f"    : {outputs}\n    : {inputs});\n}}\n"
    )


def build(folder: Path) -> None:
    """Write the wrappers, compile the program."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = [wrapper(n, registers=r) for n in WIDTHS for r in (False, True)]
    (folder / "products.h").write_text(HEADER + "".join(texts))
    subprocess.run(
        [
            "nvcc",
            "-std=c++17",
            "-O3",
            "-gencode=arch=compute_90a,code=sm_90a",
            f"-I{folder}",
            "-o",
            str(folder / "micro"),
            str(HERE / "micro" / "hopper.cu"),
        ],
        check=True,
    )


def run(folder: Path) -> None:
    """Run on the GPU and keep every line."""
    done = subprocess.run(
        [str(folder / "micro")], capture_output=True, text=True, check=False, timeout=60
    )
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    asked = "name,driver_version,clocks.sm"
    gpu = subprocess.run(
        ["nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        check=False,
    )
    result = {
        "script": "bench/h200_micro.py run",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "gpu": gpu.stdout.strip(),
        "returned": done.returncode,
        "rows": rows,
    }
    (folder / "h200_micro.json").write_text(json.dumps(result, indent=1) + "\n")
    for row in rows:
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("build", "run"):
        sys.exit(__doc__)
    {"build": build, "run": run}[sys.argv[1]](Path(sys.argv[2]))
