"""Compile the cases with Triton, without a GPU: assembly and a launch file for each.

    python compile.py OUT [NAME...]

Run it with the Python of an environment that has ``triton`` and ``numpy`` (``setup.sh``).
"""

import json
import os
import sys
from pathlib import Path

import cases
import more_cases

TYPES = {
    "f32": "fp32", "f16": "fp16", "bf16": "bf16", "f64": "fp64", "i32": "i32", "u32": "u32",
    "i8": "i8", "u8": "u8", "e4m3": "fp8e4nv", "e5m2": "fp8e5", "i64": "i64",
}  # fmt: skip


def launch_of(compiled, case):
    """The launch file of a compiled kernel: what its metadata and its signature say."""
    metadata = compiled.metadata
    params, tensors = [], {}
    for name, argument in case["arguments"].items():
        if "kind" in argument:
            params.append(argument)
        else:
            params.append({"kind": "pointer", "tensor": name})
            tensors[name] = argument
    return {
        "entry": metadata.name, "grid": case["grid"],
        "block": [metadata.num_warps * metadata.warp_size, 1, 1],
        "shared_bytes": metadata.shared, "params": params, "tensors": tensors,
    }  # fmt: skip


def compile_case(case, target):
    import more_kernels
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    import kernels

    kernel = getattr(kernels, case["kernel"], None) or getattr(more_kernels, case["kernel"])
    signature, attributes = {}, {}
    for index, name in enumerate(kernel.arg_names):
        argument = case["arguments"].get(name)
        if argument is None:
            signature[name] = "constexpr"
        elif "kind" in argument:
            signature[name] = TYPES[argument["kind"]]
            if argument["kind"] == "i32" and argument["value"] % 16 == 0:
                attributes[(index,)] = [["tt.divisibility", 16]]
        else:
            signature[name] = "*" + TYPES[argument["dtype"]]
            attributes[(index,)] = [["tt.divisibility", 16], ["tt.pointer_range", 32]]
    constants = {
        name: getattr(tl, value["tl"]) if isinstance(value, dict) else value
        for name, value in case["constants"].items()
    }
    source = ASTSource(kernel, signature, constants, attributes)
    return triton.compile(source, target=GPUTarget("hip", target, 64), options=case["options"])


def main(out, names):
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("TRITON_CACHE_DIR", str(out / "cache"))
    for case in (*cases.CASES, *more_cases.CASES):
        if names and case["name"] not in names:
            continue
        for target in case["targets"]:
            for key in ("TRITON_HIP_USE_ASYNC_COPY", "TRITON_HIP_USE_BLOCK_PINGPONG",
                        "AMDGCN_USE_BUFFER_OPS"):  # fmt: skip
                os.environ.pop(key, None)
            os.environ.update(case["environment"])
            stem = f"{case['name']}-{target}"
            try:
                compiled = compile_case(case, target)
            except Exception as error:
                print(f"{stem}: not compiled: {type(error).__name__}: {str(error)[:200]}")
                continue
            (out / f"{stem}.s").write_text(compiled.asm["amdgcn"])
            described = {
                "launch": launch_of(compiled, case), "reference": case["reference"],
                "tolerance": case["tolerance"], "name": case["name"], "target": target,
            }  # fmt: skip
            (out / f"{stem}.json").write_text(json.dumps(described, indent=1))
            print(stem, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
