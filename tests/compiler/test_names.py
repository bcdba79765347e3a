"""Names that mean something to emitted code, or differ little, change nothing but text."""

import linecache
import re

import numpy as np
import pytest

import warploom as wl

SOURCES = {
    "product": """
def KERNEL(A: wl.In["M", "K"], B: wl.In["N", "K"], BIAS: wl.In["N", wl.f32],
           OUT: wl.Out["M", "N"], *, SCALE: float = 2.0):
    i, j = wl.tile(OUT)
    ACC = wl.zeros(i, j)
    ALSO = wl.zeros(i, j)
    for STEP in wl.steps(A.K):
        LEFT = A[i, STEP]
        RIGHT = B[j, STEP]
        ACC += LEFT @ RIGHT.T
        ALSO += LEFT @ (RIGHT * 2.0).to(A.dtype).T
    SUM = ACC + ALSO * SCALE
    OUT[i, j] = SUM + BIAS[j]
""",
    "rows": """
def KERNEL(A: wl.In["M", "N"], BIAS: wl.In["N", wl.f32], OUT: wl.Out["M", "N"],
           *, SCALE: float = 2.0):
    i = wl.tile(OUT, whole="N")
    LEFT = A[i]
    ACC = LEFT * BIAS[:] * SCALE
    SUM = ACC.sum(axis=1)
    OUT[i] = ACC - SUM
""",
}
WORDS_OF = "A B BIAS OUT SCALE M N K ACC ALSO STEP LEFT RIGHT SUM"
NAMES = WORDS_OF.split()
PLAIN = {n: n.lower() for n in NAMES}
# Words of C++, CUDA, LLVM and the emitted programs, and names that differ in case or seams alone.
ODD = tuple(
    dict(zip(NAMES, names.split(), strict=True))
    for names in (
        "int float auto register double this new short template union long char void operator",
        "smem warp lane out tile tiles count_m k instance whose k_tiles slot depth staging",
        "map_a len_m arg_alpha dynamic_smem threadIdx blockIdx min max opaque Cursor step_k "
        "full empty row_of",
        "x X xX Xx x_ n N_ K p P s p_q P_Q pQ",
        "i32 b ptr define ret entry undef e0 v0 v1 v2 v3 product product_1",
        "bias_tile a_tile a product kept_acc vars ring turn acc_in acc at ring_a kept_a acc_out",
    )
)
WORDS = re.compile(r"\b[A-Z]+\b")


def kernel(what, names):
    """The kernel of that source under these names."""
    text = WORDS.sub(lambda found: names.get(found[0], found[0]), SOURCES[what])
    text = text.replace("KERNEL", "some_kernel")
    file = f"<{what} {'_'.join(names.values())}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = {"wl": wl}
    exec(compile(text, file, "exec"), space)
    return wl.kernel(space["some_kernel"])


def sizes(names):
    return {names["M"]: 130, names["N"]: 96, names["K"]: 72}


@pytest.mark.parametrize("what", SOURCES)
@pytest.mark.parametrize("names", ODD, ids=lambda names: names["A"])
def test_any_names_give_the_same_code(what, names):
    def instructions(by):
        some = {n: s for n, s in sizes(by).items() if what == "product" or n != by["K"]}
        lines = kernel(what, by).compile("bf16", sizes=some).ptx.splitlines()
        return [x for x in lines if not x.startswith(".global")]  # constants, by their names

    assert instructions(names) == instructions(PLAIN)


# Scheduling a loop for MI355X takes seconds.
ON_MI355X = [
    pytest.param(what, names, marks=pytest.mark.slow if long else (), id=f"{names['A']}-{what}")
    for names in ODD
    for what in SOURCES
    for long in [what == "product"]
]


@pytest.mark.parametrize(("what", "names"), ON_MI355X)
def test_any_names_run_on_mi355x(what, names):
    rng = np.random.default_rng(3)
    a, b, bias = rng.normal(size=(33, 72)), rng.normal(size=(40, 72)), rng.normal(size=40)
    given = (a, b, bias) if what == "product" else (a, rng.normal(size=72))
    made = kernel(what, names)
    found = made.interpret(*given, types="bf16", target="mi355x")
    np.testing.assert_allclose(found, made.reference(*given), rtol=0.05, atol=0.8)
