"""Predicted against measured: the simulator and the power model rank kernels as the H200 does."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from warploom.hopper import Dtype
from warploom.hopper.energy import Shape
from warploom.hopper.timing import predict
from warploom.launch.choose import choose
from warploom.launch.shipped import SHIPPED, shipped_schedule

DATA = json.loads((Path(__file__).parent / "h200_rates.json").read_text())
KERNELS = {k.name: k for k in SHIPPED}
COPY_BOUND = {"gemm_64x256_w1", "gemm_64x128_w1_s6", "gemm_128x64_w2_s6"}


def ranks(values):
    order = sorted(range(len(values)), key=lambda i: values[i])
    out = [0] * len(values)
    for position, i in enumerate(order):
        out[i] = position
    return out


def spearman(a, b):
    n = len(a)
    squares = sum((x - y) ** 2 for x, y in zip(ranks(a), ranks(b), strict=True))
    return 1 - 6 * squares / (n * (n * n - 1))


def shape_of(row):
    m, n, k = row["shape"]
    return Shape(m=m, n=n, k=k, dtype=Dtype(row["dtype"]))


def predicted(name, shape):
    kernel = replace(KERNELS[name], dtype=shape.dtype)
    return predict(shipped_schedule(name), kernel, shape)


VARIANTS = next(r for r in DATA["tflops"] if r["run"] == "variants")


def test_the_ranking_of_all_variants():
    """29 kernels: tiles, stages, clusters, wait depths and staging."""
    shape = shape_of(VARIANTS)
    names = list(VARIANTS["kernels"])
    assert len(names) >= 12
    expected = [1.0 / predicted(n, shape).seconds for n in names]
    measured = [VARIANTS["kernels"][n] for n in names]
    assert spearman(expected, measured) >= 0.8


def test_simulated_cycles_match_the_profiler():
    """Within 1 % where the tensor cores bind, and in the right order."""
    shape = Shape(m=8192, n=8192, k=8192)
    found = {n: predicted(n, shape).cycles for n in DATA["profiled_cycles_8192"]}
    profiled = DATA["profiled_cycles_8192"]
    bound = [n for n in found if n not in COPY_BOUND and "128x128" not in n]
    assert len(bound) >= 12
    for name in bound:
        assert found[name] == pytest.approx(profiled[name], rel=0.01), name
    assert spearman([found[n] for n in found], [profiled[n] for n in found]) >= 0.8


@pytest.mark.parametrize("row", DATA["tflops"], ids=lambda r: f"{r['shape']} {r['dtype']}")
def test_absolute_rates_are_near(row):
    shape = shape_of(row)
    flops = 2.0 * shape.m * shape.n * shape.k
    for name, tflops in row["kernels"].items():
        if name not in COPY_BOUND:
            rate = flops / predicted(name, shape).seconds / 1e12
            assert rate == pytest.approx(tflops, rel=0.07), name


SCREENS = [r for r in DATA["tflops"] if r["run"] == "screen"]


@pytest.mark.parametrize("row", SCREENS, ids=lambda r: f"{r['shape']} {r['dtype']}")
def test_the_heuristic_picks_a_kernel_within_noise_of_the_best(row):
    name = choose(shape_of(row)).kernel.name
    assert row["kernels"][name] >= 0.975 * max(row["kernels"].values())
