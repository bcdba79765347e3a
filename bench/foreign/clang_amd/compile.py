"""Compile ``kernels.c`` with clang (PyPI ``ziglang``), without a GPU: assembly and launch files.

python compile.py OUT PYTHON_WITH_ZIGLANG
"""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def tensor(*shape, dtype="u32", role="in", **more):
    return {"shape": list(shape), "dtype": dtype, "role": role, **more}


def floats(n, **more):
    return tensor(n, dtype="f32", **more)


U, F = tensor(256, range=[0, 1 << 20]), floats(256)
OUT_U, OUT_F = tensor(256, role="out"), floats(256, role="out")
# kernel: tensors by argument, threads, groups
KERNELS = {
    "tree_sum": ({"x": floats(512), "out": floats(2, role="out")}, 256, 2),
    "reverse_block": ({"x": F, "out": OUT_F}, 256, 1),
    "transpose16": ({"x": F, "out": OUT_F}, 256, 1),
    "histogram": ({"x": U, "out": tensor(64, role="inout", init="zero")}, 256, 1),
    "block_scan": ({"x": F, "out": OUT_F}, 256, 1),
    "collatz": ({"x": tensor(256, range=[0, 40]), "out": OUT_U}, 256, 1),
    "choose": ({"x": U, "out": OUT_U}, 256, 1),
    "wide": ({"x": U, "out": tensor(1024, role="out")}, 256, 1),
    "divisions": ({"x": F, "out": OUT_F}, 256, 1),
    "doubles": ({"x": F, "out": OUT_F}, 256, 1),
    "halves": ({"x": tensor(512, dtype="f16"), "out": tensor(512, dtype="f16", role="out")},
               256, 1),
    "private_array": ({"x": U, "out": OUT_U}, 256, 1),
    "calls": ({"x": U, "out": OUT_U}, 256, 1),
    "table": ({"x": U, "out": OUT_U}, 256, 1),
    "bpermute": ({"x": U, "out": OUT_U}, 256, 1),
    "dpp_sum": ({"x": U, "out": OUT_U}, 256, 1),
    "ballot": ({"x": U, "out": OUT_U}, 256, 1),
    "bits": ({"x": tensor(256, range=[0, 1 << 32]), "out": OUT_U}, 256, 1),
    "mfma_chain": ({"x": floats(512), "out": floats(256, role="out")}, 64, 1),
    "to_lds": ({"x": U, "out": OUT_U}, 256, 1),
    "bytes": ({"x": tensor(256, dtype="u8"), "out": tensor(256, dtype="u8", role="out")}, 256, 1),
    "fp8": ({"x": floats(512), "out": OUT_U}, 256, 1),
    "last_group": ({"x": F, "part": floats(4, role="inout"),
                    "count": tensor(1, role="inout", init="zero"), "out": floats(1, role="out")},
                   64, 4),
    "early_exit": ({"x": F, "out": floats(128, role="out")}, 256, 1),
}  # fmt: skip


def main(out, python):
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    for target in ("gfx942", "gfx950"):
        for level in ("O0", "O1", "O2"):
            made = out / f"all-{target}-{level}.s"
            subprocess.run(
                [python, "-m", "ziglang", "clang", "--target=amdgcn-amd-amdhsa", f"-mcpu={target}",
                 f"-{level}", "-nogpulib", "-ffp-contract=off", "-g1", "-S",
                 str(HERE / "kernels.c"), "-o", str(made)], check=True,
            )  # fmt: skip
            for name, (tensors, threads, groups) in KERNELS.items():
                launch = {
                    "entry": name, "grid": [groups, 1, 1], "block": [threads, 1, 1],
                    "params": [{"kind": "pointer", "tensor": t} for t in tensors],
                    "tensors": tensors,
                }  # fmt: skip
                described = {
                    "name": f"{name}-{level}", "target": target, "file": made.name,
                    "launch": launch, "reference": f"c_{name}", "tolerance": None,
                }  # fmt: skip
                (out / f"{name}-{target}-{level}.json").write_text(json.dumps(described, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:3])
