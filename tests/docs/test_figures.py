"""Figures that the README tells are those of the files in ``bench/results``."""

import inspect
import json
import pkgutil
import re
from importlib import import_module
from pathlib import Path
from statistics import geometric_mean

import pytest

from warploom import kernels
from warploom.kernel.text import Text

ROOT = Path(__file__).parents[2]
README = " ".join((ROOT / "README.md").read_text().split())


def file(name):
    return json.loads((ROOT / "bench/results" / f"{name}.json").read_text())


def ratios(name):
    return [row["ratio"]["warploom"] for row in file(name)["table"]]


def told(words):
    """The numbers of a sentence: each ``#`` stands for one."""
    found = re.search(re.escape(words).replace(r"\#", r"(\d+(?:\.\d+)?)"), README)
    assert found, words
    return found.groups()


def check(told, *right):
    """Equal in the digits that are told."""
    for text, number in zip(told, right, strict=True):
        assert abs(float(text) - number) <= 0.51 * 10.0 ** -len(text.partition(".")[2]), told


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("grouped GEMM # to # of `torch._grouped_mm`", "grouped"),
        ("SwiGLU # to # of `torch.compile`", "swiglu"),
        ("fp8 with block scales # to # of `torch._scaled_mm`", "scaled"),
        ("of 4 bits # to # times dequantising", "int4"),
        ("of 8 bits # to #;", "fp8"),
        ("the scan # to # of Triton kernels", "scan"),
    ],
)
def test_fused_products(words, name):
    found = ratios(f"h200_fused_{name}")
    check(told(words), min(found), max(found))


def test_attention_with_functions():
    found = {row["case"]: row["ratio"]["warploom"] for row in file("h200_flex")["table"]}
    words = "attention with a softcap # times FlexAttention, with ALiBi in a window # times"
    check(told(words), found["softcap"], found["alibi_window"])


def test_products():
    means = {n: file(f"h200_gemm_final_{n}")["geometric_means"] for n in ("bf16_main", "e4m3_main")}
    main = means["bf16_main"]["main"]
    words = "`bench/h200_gemm.py`) | # | 1 | # | | # |"
    count = len(ratios("h200_gemm_final_bf16_main"))
    check(told(words), count, main["library again"], main["warploom"])
    large, few = (ratios(f"h200_gemm_final_bf16_{n}") for n in ("large", "skinny"))
    words = (
        "large products stand at # of cuBLAS, nine of few rows or odd sizes at #, the least at #;"
    )
    check(told(words), *map(geometric_mean, (large, few)), min(large + few))
    large, few = (ratios(f"h200_gemm_final_e4m3_{n}") for n in ("large", "skinny"))
    words = (
        "in fp8 the first seven at #, nine large ones at #, those of few rows at #, the least at #."
    )
    own = means["e4m3_main"]["main"]["warploom"]
    check(told(words), own, *map(geometric_mean, (large, few)), min(large + few))


def test_attention():
    main = file("h200_attention_final")["geometric_means"]["main"]
    words = "`bench/h200_attention.py`) | # | 1 | # | # | # |"
    count = len(ratios("h200_attention_final"))
    check(told(words), count, main["cudnn again"], main["fa3"], main["warploom"])


def test_attention_backward():
    rows = file("h200_attention_grad")["rows"]
    usual = [r for r in rows if r["case"][3] in (64, 128)]
    mean = {n: geometric_mean(r[n] for r in usual) for n in ("again", "ratio")}
    words = "`bench/h200_attention_grad.py`) | # | 1 | # | | # |"
    check(told(words), len(usual), mean["again"], mean["ratio"])
    words = "Backward stands at # of cuDNN at head dimension 64, # at 128 and # at 256;"
    of = (geometric_mean(r["ratio"] for r in rows if r["case"][3] == d) for d in (64, 128, 256))
    check(told(words), *of)


def test_texts_are_as_short_as_told():
    lines = [
        len(inspect.getsource(text.function).splitlines())
        for module in pkgutil.iter_modules(kernels.__path__)
        for text in vars(import_module(f"warploom.kernels.{module.name}")).values()
        if isinstance(text, Text)
    ]
    check(told("Every kernel is a text of # to # lines"), min(lines), max(lines))
