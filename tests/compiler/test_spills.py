"""What ptxas says of default configurations: nothing spilled where parts of a loop meet."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from warploom.compiler import cubin as build
from warploom.errors import BackendError
from warploom.kernels.gemm import gemm

pytest.importorskip("cuda.bindings.nvrtc", reason="cuda-bindings is not installed")
SIZES = {"m": 256, "n": 256, "k": 8192}


@pytest.fixture(autouse=True)
def nvrtc():
    try:
        build.find_toolchain()
    except BackendError:
        pytest.skip("no CUDA compiler")


@pytest.mark.parametrize(
    "pins",
    [
        {"m": 128, "n": 256, "consumer_warpgroups": 2, "split_k": 2, "split_k_in_cluster": False},
        pytest.param(
            {"m": 64, "n": 128, "consumer_warpgroups": 1, "split_k": 8}, marks=pytest.mark.slow
        ),
        {"m": 128, "n": 192, "consumer_warpgroups": 2, "split_k": 2, "split_k_in_cluster": True},
        {"m": 64, "n": 16, "consumer_warpgroups": 1, "split_k": 31, "split_k_in_cluster": False},
        pytest.param(
            {
                "m": 128,
                "n": 128,
                "consumer_warpgroups": 2,
                "split_k": 4,
                "split_k_in_cluster": True,
            },
            marks=pytest.mark.slow,
        ),
    ],
    ids=str,
)
def test_parts_of_a_split_loop_meet_without_spills(pins):
    made = gemm.with_config(cluster=1, **pins).compile(
        "bf16",
        sizes=SIZES,
        without=("bias", "residual"),
        constants={"activation": None, "alpha": 1.0},
    )
    report = made.build(made.choices[0].config).cubin.report
    assert report.spill_bytes == 0
    assert report.kept


def test_a_kernel_whose_products_the_assembler_serialises_is_built_with_a_warning(monkeypatch):
    made = gemm.compile(
        "bf16",
        sizes={"m": 128, "n": 128, "k": 128},
        without=("bias", "residual"),
        constants={"activation": None, "alpha": 1.0},
    )
    honest = type(made).build

    def serialised(self, config, **how):
        found = honest(self, config, **how)
        report = replace(found.cubin.report, messages=("C7518: as if",))
        return replace(found, cubin=replace(found.cubin, report=report))

    monkeypatch.setattr(type(made), "build", serialised)
    monkeypatch.setattr("warploom.compiler.compiled.MOST_TRIED", 1)
    with pytest.warns(build.SpillWarning, match="waits for every product"):
        assert made.built.cubin.report.serialised


@pytest.mark.parametrize(
    ("score", "spilled", "taken"),
    [
        (lambda x: x * 2, (24, 0), "own"),
        (lambda x: x * 2, (24, 40), "measured"),
        (lambda x: x * 2, (0, 0), "measured"),
        (None, (24, 0), "measured"),
    ],
)
def test_what_was_measured_without_a_callers_function_is_left_where_it_spills_with_it(
    monkeypatch, score, spilled, taken
):
    from warploom.runtime import kernel_calls

    def compiled(kernel, sizes, pins, *rest):
        which = "measured" if pins else "own"
        return SimpleNamespace(
            which=which, spill_bytes=spilled[which == "own"], spills_in_parts=False
        )

    monkeypatch.setattr(kernel_calls, "_compiled", compiled)
    request = SimpleNamespace(
        kernel=None,
        sizes=(),
        pins=(),
        positive=frozenset(),
        origin=SimpleNamespace(tile_kernel=gemm, choices=(("score", score),)),
        measured=lambda: (("m", 128),),
    )
    assert kernel_calls.compiled_or_chosen(request).which == taken
