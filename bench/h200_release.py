"""What it costs that CTAs of a cluster release slots to one another, form by form.

    python bench/h200_release.py build           the kernels, on a machine without a GPU
    python bench/h200_release.py run [--out F]   times on an H200: ``h200_release.json``

Forms: ``shared`` is what is emitted (a release of shared memory at cluster scope before a relaxed
arrival, an acquire after the wait, and producers that wait in the end until all slots are free);
``cta`` the weaker default of ``mbarrier.arrive``, ``all`` the release of all memory
(``.release.cluster``). In ``forward`` and ``forward all`` consumers release to a spare warp of
their own CTA, and that warp to the other CTA, off their way, by the first and the third form. In
``met`` CTAs meet in the end, in ``released`` with a release. Prepared launches, in one shuffled
rotation; ``shared`` is entered twice, so that the noise stands in the table.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

from warploom.codegen.cuda.ptx import HELPERS
from warploom.compiler.compiled import Compiled
from warploom.compiler.cubin import compile_source
from warploom.ir.tile import DType
from warploom.kernels.gemm import gemm

LARGE = {"m": 128, "n": 256, "consumer_warpgroups": 2, "epilogue_stages": 4}
CASES = (  # type, (M, N, K), the tile but for its cluster
    ("bf16", (4096, 4096, 4096), LARGE),
    ("bf16", (8192, 8192, 8192), LARGE),
    ("bf16", (4096, 14336, 4096), LARGE),
    ("bf16", (8192, 5120, 8192), LARGE),
    ("bf16", (2048, 4096, 7168), LARGE),
    ("bf16", (512, 8192, 8192), LARGE),
    (
        "bf16",
        (1000, 3000, 5000),
        {"m": 128, "n": 192, "consumer_warpgroups": 2, "epilogue_stages": 3},
    ),
    ("bf16", (256, 4096, 7168), {"m": 64, "n": 128, "consumer_warpgroups": 1}),
    ("bf16", (512, 4096, 4096), {"m": 128, "n": 128, "consumer_warpgroups": 2}),
    ("bf16", (1024, 1024, 16384), {"m": 128, "n": 128, "consumer_warpgroups": 2, "split_k": 2}),
    ("bf16", (128, 7168, 16384), {"m": 64, "n": 112, "consumer_warpgroups": 1}),
    ("e4m3", (4096, 4096, 4096), {"m": 128, "n": 256, "consumer_warpgroups": 2}),
    ("e4m3", (8192, 8192, 8192), {"m": 128, "n": 256, "consumer_warpgroups": 2}),
    ("e4m3", (1024, 1024, 16384), {"m": 64, "n": 128, "consumer_warpgroups": 1}),
    ("e4m3", (128, 7168, 16384), {"m": 64, "n": 112, "consumer_warpgroups": 1}),
    ("bf16", (16384, 16384, 16384), LARGE),
)
FORMS = ("shared", "cta", "all", "forward", "forward all", "met", "released")
FENCES = r"fence\.(release|acquire)\.sync_restrict::shared::[a-z]+\.cluster;"
ARRIVE = "mbarrier.arrive.relaxed.cluster.shared::cluster"


def formed(text, form):
    """An emitted text with another form of release."""
    assert ARRIVE in text, "the kernel has no cluster"
    bare = re.sub(FENCES + r"(\\n)?", "", text).replace(".parity.relaxed.cluster.", ".parity.")
    match form:
        case "cta":
            return bare.replace(ARRIVE, "mbarrier.arrive.shared::cluster")
        case "all":
            return bare.replace(ARRIVE, "mbarrier.arrive.release.cluster.shared::cluster")
        case "met":
            return ended(text, "relaxed")
        case "released":
            return ended(text, "release")
    return text


def ended(text, order):
    """CTAs meet in the end; producers do not wait for slots."""
    text, many = re.subn(r" *// all CTAs have released it[^\n]*\n[^\n]*\n", "", text)
    assert many, "the producer does not wait"
    meet = f"barrier.cluster.arrive.{order};\\nbarrier.cluster.wait.acquire;"
    return text.rstrip().removesuffix("}") + f'  asm volatile("{meet}" ::: "memory");\n}}\n'


def forwarded(text, end):
    """Consumers release to warp 1, which releases to all CTAs; its barriers lie at ``end``."""
    ring, count = re.search(r"mbar_init\(smem \+ (\w+)_EMPTY \+ 8 \* i, (\d+)\);", text).groups()
    walk = re.search(rf"( *Cursor<{ring}_DEPTH> (\w+);\n.*?const int k_tiles[^\n]*\n)", text, re.S)
    position = walk[2]
    at = f"{end} + 8 * {position}.slot"
    text = text.replace(
        f"mbar_init(smem + {ring}_EMPTY + 8 * i, {count});",
        f"mbar_init(smem + {ring}_EMPTY + 8 * i, 2);"
        f" mbar_init(smem + {end} + 8 * i, {int(count) // 2});",
    )
    text, many = re.subn(
        rf"if \(lane < 2\) mbar_arrive_at\(smem \+ {ring}_EMPTY \+ 8 \* ([^;]*), lane\);",
        rf"if (lane == 0) mbar_arrive(smem + {end} + 8 * \1);",
        text,
    )
    assert many, "nothing is released"
    turn = [
        f"for (int k = 0; k < k_tiles; ++k, {position}.advance()) {{",
        f"  mbar_wait(smem + {at}, {position}.phase);",
        f"  mbar_arrive_at(smem + {ring}_EMPTY + 8 * {position}.slot, lane);",
        "} } }",
    ]
    producer = "\n    }\n  } else {\n"
    assert text.count(producer) == 1
    warp = "\n    } else if (warp == 1 && lane < 2) {\n" + walk[1] + "\n".join(turn)
    helpers = "\n".join(HELPERS[h] for h in ("mbar_arrive", "mbar_wait") if f"{h}(uint" not in text)
    text = text.replace(producer, warp + "\n  } else {\n")
    return text.replace("DEVICE void mbar_arrive_at", helpers + "DEVICE void mbar_arrive_at", 1)


def made(dtype, sizes, tile):
    """The compiled kernel and its builds by form."""
    types = dict.fromkeys(("a", "b"), DType(dtype)) | {"out": DType.BF16}
    kernel = gemm.specialise(
        types,
        constants={"activation": None, "alpha": 1.0},
        without=frozenset({"bias", "residual"}),
    )
    named = dict(zip("mnk", sizes, strict=True))
    compiled = Compiled(kernel, sizes=named, pins={**tile, "cluster": 2})
    plain = compiled.build(compiled.choices[0].config)
    builds = {}
    end = plain.source.shared_bytes + 15 & ~15
    for form in FORMS:
        text = plain.source.text
        text = forwarded(text, end) if form.startswith("forward") else text
        text = formed(text, form.removeprefix("forward").strip() or "shared")
        source = replace(plain.source, text=text, shared_bytes=end + 128)
        cubin = compile_source(source.text, name=f"{plain.config.name} {form}", checked=False)
        assert cubin.report.kept, (plain.config.name, form, cubin.report.messages)
        builds[form] = replace(plain, source=source, cubin=cubin)
    return compiled, builds


def build():
    for case in CASES:
        builds = made(*case)[1]
        built = builds["forward"]
        print(case[0], case[1], built.config.name, built.source.shared_bytes, flush=True)


def run(out):
    import torch
    from lib.protocol import compare, environment, geometric_mean, sets_for

    from warploom.runtime.direct import Direct

    kinds = {"bf16": torch.bfloat16, "e4m3": torch.float8_e4m3fn}
    table, about = [], environment()
    for dtype, (m, n, k), tile in CASES:
        compiled, builds = made(dtype, (m, n, k), tile)
        size = (m + n) * k * kinds[dtype].itemsize + 2 * m * n
        sets = [
            {
                "a": torch.randn(m, k, device="cuda", dtype=torch.bfloat16).to(kinds[dtype]),
                "b": torch.randn(n, k, device="cuda", dtype=torch.bfloat16).to(kinds[dtype]),
                "out": torch.empty(m, n, device="cuda", dtype=torch.bfloat16),
            }
            for _ in range(sets_for(size))
        ]
        calls = {f: [Direct(compiled, b, s, {}) for s in sets] for f, b in builds.items()}
        bits = []
        for form in calls:
            sets[0]["out"].fill_(float("nan"))
            calls[form][0]()
            torch.cuda.synchronize()
            bits.append(sets[0]["out"].clone())
        exact = sets[0]["a"][:64].double() @ sets[0]["b"].double().T
        error = ((bits[0][:64].double() - exact).norm() / exact.norm()).item()
        same = error < 6e-3 and all(torch.equal(bits[0], b) for b in bits)
        del exact
        calls["shared again"] = calls["shared"]
        times = compare(calls, rounds=5, run_ms=16.0, slice_ms=4.0, preheat_s=0.1)
        base = times["cta"]
        ratio = {f: base / t for f, t in times.items()}
        table.append({"dtype": dtype, "shape": (m, n, k), "config": builds["shared"].config.name})
        table[-1] |= {"ms": times, "ratio": ratio, "error": error, "same_bits": same}
        said = "  ".join(f"{f} {r:.3f}" for f, r in ratio.items())
        print(dtype, f"{m}x{n}x{k}", table[-1]["config"], said, "" if same else "WRONG", flush=True)
        means = {f: geometric_mean(r["ratio"][f] for r in table) for f in ratio}
        data = {"script": "bench/h200_release.py run", "environment": about}
        data |= {"over": "time of the form cta over that of each form", "means": means}
        (Path(out) / "h200_release.json").write_text(
            json.dumps({**data, "table": table}, indent=1) + "\n"
        )
        del sets, calls, bits
        torch.cuda.empty_cache()
    print("means", {f: round(v, 4) for f, v in means.items()}, flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["build"]:
        build()
    elif sys.argv[1:2] == ["run"]:
        run(sys.argv[3] if sys.argv[2:3] == ["--out"] else Path(__file__).parent / "results")
    else:
        sys.exit(__doc__)
