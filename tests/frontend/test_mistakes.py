"""Each mistake is an error at the author's line: what, where, why, fix."""

import textwrap

import numpy as np
import pytest

import warploom as wl
from tests.frontend.sources import run_source
from warploom import (
    KernelCallError,
    KernelError,
    KernelMemoryError,
    KernelNameError,
    KernelShapeError,
    KernelSyntaxError,
    KernelTypeError,
)
from warploom.kernels.gemm import gemm

SIGNATURE = """
def kernel(x: wl.In["m", "k"], w: wl.In["n", "k"], rows: wl.In["m", wl.i32], v: wl.In["n"],
           sx: wl.In["m", "k/128"], out: wl.Out["m", "n"], *, eps: float = 1.0, choice=None):
"""
GOOD = """
m, n = wl.tile(out)
acc = wl.zeros(m, n)
for k in wl.steps(x.k):
    acc += x[m, k] @ w[n, k].T
out[m, n] = acc
"""
TYPES = {"x": "bf16", "w": "bf16", "v": "f32", "sx": "f32", "out": "bf16"}


def loop(text, after="out[m, n] = acc", before="acc = wl.zeros(m, n)"):
    body = textwrap.indent(textwrap.dedent(text).strip("\n"), "    ")
    return f"m, n = wl.tile(out)\n{before}\nfor k in wl.steps(x.k):\n{body}\n{after}"


def tail(text):
    return GOOD.replace("out[m, n] = acc", text)


SYNTAX = [
    ("while", loop("acc += x[m, k] @ w[n, k].T\nwhile True:  # here\n    pass"), "while"),
    ("try", loop("try:  # here\n    pass\nfinally:\n    pass"), "try"),
    ("with", loop("with open('x'):  # here\n    pass"), "with"),
    ("raise", loop("raise ValueError  # here"), "raise"),
    ("assert", loop("assert choice  # here"), "assert"),
    ("break", loop("acc += x[m, k] @ w[n, k].T\nbreak  # here"), "break"),
    ("continue", loop("continue  # here"), "continue"),
    ("decorated function", loop("@len\ndef f():  # here\n    pass"), "decorated function in a"),
    ("stars of a function", loop("def f(*a):  # here\n    pass"), "'\\*a' of a function"),
    ("class", "class A:  # here\n    pass", "class in a kernel"),
    ("global", "global q  # here", "global"),
    ("del", loop("a = x[m, k]\ndel a  # here"), "del"),
    ("import", "import os  # here", "import"),
    ("match", loop("match choice:  # here\n    case _:\n        pass"), "match"),
    ("return", GOOD + "return acc  # here", "returns nothing"),
    ("dict comprehension", loop("y = {i: i for i in range(3)}  # here"), "dict comprehension"),
    ("long comprehension", loop("y = [i for i in range(999)]  # here"), "a comprehension over"),
    ("comprehension over a tile", loop("y = [i for i in x[m, k]]  # here"), "a comprehension over"),
    ("names of a comprehension", loop("y = [a for a, b in (1, 2)]  # here"), "'a, b'|'\\(a, b\\)'"),
    ("walrus", loop("y = (z := 1)  # here"), "':='"),
    ("f-string", loop("y = f'{choice}'  # here"), "f-string"),
    ("star call", loop("y = wl.maximum(*choice)  # here"), "written|write|'\\*'"),
    ("nested loops", loop("for j in wl.steps(x.k):  # here\n    pass"), "the loop has no effect"),
    (
        "no effect",
        loop("a = x[m, k]  # comment", before="acc = wl.zeros(m, n)").replace(
            "for k in wl.steps(x.k):", "for k in wl.steps(x.k):  # here"
        ),
        "no effect",
    ),
    ("dead loop", GOOD.replace("(x.k):", "(x.k):  # here").replace("= acc", "= 0.0"), "no effect"),
    ("unused expression", loop("acc + 1  # here"), "not used"),
    ("if on a value", loop("if x[m, k] > 0:  # here\n    pass"), "only known on the GPU"),
    ("for over a tile", loop("for i in x[m, k]:  # here\n    pass"), "a for over"),
    ("long for", loop("for i in range(1000):  # here\n    pass"), "1000 turns"),
    ("for else", loop("for i in range(2):  # here\n    pass\nelse:\n    pass"), "'else'"),
    ("steps alone", loop("y = wl.steps(x.k)  # here"), "outside a for"),
    ("tile twice", GOOD + "a, b = wl.tile(out)  # here", "twice"),
    ("store before tile", "out[0, 0] = 1.0  # here", "wl.tile"),
    ("loop before tile", "for k in wl.steps(x.k):  # here\n    pass", "wl.tile"),
    ("tile in a loop", "for k in wl.steps(x.k):  # here\n    m, n = wl.tile(out)", "wl.tile"),
    ("assign to attribute", loop("choice.x = 1  # here"), "cannot be assigned"),
]
NAMES = [
    ("append", loop("y = []\ny.append(choice)  # here"), "'y' is a tuple and has no 'append'"),
    ("a word of another language", loop("y = wl.dot(x[m, k], v[n])  # here"), "fix   a @ b"),
    ("unknown name", tail("out[m, n] = acd  # here"), "did you mean 'acc'"),
    ("unknown word", loop("acc += wl.zeroes(m, n)  # here"), "did you mean 'zeros'"),
    ("unknown axis", loop("y = x.kk  # here"), "did you mean 'k'"),
    ("unknown method", loop("y = x[m, k].median(axis=1)  # here"), "has no 'median'"),
    ("method of arrays", loop("y = x[m, k].var(axis=1)  # here"), "has no 'var'"),
    ("attribute of a variable", loop("y = k.size  # here"), "has no 'size'"),
    (".T of a variable", loop("y = k.T  # here"), "has no 'T'"),
    ("use before definition", loop("y = z + 1  # here\nz = 2"), "unknown name 'z'"),
    ("made in the loop only", loop("y = x[m, k]\nacc += y @ w[n, k].T",
                                   after="out[m, n] = acc * y.sum(axis=1)  # here"),
     "made only in the loop"),
    ("loop variable after", tail("out[m, n] = acc * v[k]  # here"), "variable of the loop"),
    ("shape changed in the loop, used after", loop(
        "z = x[m, k]\nacc += z @ w[n, k].T", before="acc, z = wl.zeros(m, n), wl.zeros(m)",
        after="out[m, n] = acc + z  # here"), "another shape"),
]  # fmt: skip
SHAPES = [
    ("three axes", loop("y = acc + x[m, k]  # here"), r"\(m, n\) and \(m, k\) do not go together"),
    ("turned", loop("y = x[m, k] + x[m, k].T  # here"), "different order"),
    ("product without .T", loop("acc += x[m, k] @ w[n, k]  # here"), "transpose the right side"),
    ("product of vectors", loop("acc += x[m, k] @ v[n]  # here"), "two axes on both"),
    ("gram", loop("y = x[m, k] @ x[m, k].T  # here"), "outer axes must differ"),
    ("store of another shape", tail("out[m, n] = acc.T  # here"), "transpose it"),
    ("store in the loop", loop("out[m, n] = x[m, k]  # here", after=""), "shapes differ"),
    ("too many indices", loop("y = x[m, k, 0]  # here"), "2 axes .m, k., 3 indices"),
    ("swapped indices", loop("y = x[k, m]  # here"), "walks axis 'k'"),
    ("index by a tile", loop("y = x[(acc.to(wl.i32)), k]  # here"), "at most two axes"),
    ("no such axis", tail("out[m, n] = acc + acc.sum(axis=2)  # here"), "no axis 2"),
    ("axis the value has not", tail("y = acc.sum(axis=1)\nout[m, n] = y.sum(axis=n)  # here"),
     "no axis 'n'"),
    (".T of a vector", loop("y = v[n].T  # here"), "only tiles of two axes"),
    ("zeros of equal axes", loop("y = wl.zeros(m, m)  # here"), "no tile has the axes"),
    ("carried shape", loop("t = t + acc.sum(axis=1)  # here",
                           before="acc, t = wl.zeros(m, n), 0.0"),
     r"from \(\) to \(m\)"),
    ("carried shape of tiles", loop("acc = acc.sum(axis=0)  # here"), r"from \(m, n\) to \(n\)"),
    ("blocks without a step", loop("acc += (x[m, k] @ w[n, k].T) * sx[m, k]  # here"),
     "do not go together"),
    ("steps that cut blocks", "m, n = wl.tile(out)\nacc = wl.zeros(m, n)\n"
     "for k in wl.steps(x.k, 96):\n    acc += (x[m, k] @ w[n, k].T) * sx[m, k]  # here\n"
     "out[m, n] = acc", "cut blocks of 128"),
    ("blocks from a start", "m, n = wl.tile(out)\nacc = wl.zeros(m, n)\n"
     "for k in wl.steps(x.k, 128, start=5):\n    acc += (x[m, k] @ w[n, k].T) * sx[m, k]  # here\n"
     "out[m, n] = acc", "may cut blocks"),
    ("whole first axis", "m = wl.tile(out, whole='q')  # here", "cannot be whole"),
    ("whole axis of another tensor", "m, n = wl.tile(out, whole='k')  # here", "leave it out"),
    ("all whole", "m = wl.tile(out, whole=('m', 'n'))  # here", "all axes"),
]  # fmt: skip
PARTS = GOOD.replace("wl.steps(x.k):", "wl.steps(x.k, {}):  # here")
KINDS = [
    ("unpacked tile", loop("y = [*x[m, k]]  # here"), "unpacks something that is no tuple"),
    ("sum of a function", loop("y = (lambda a: a) + 1  # here"), "a function cannot be computed"),
    ("lambda", loop("f = lambda a: a\ny = f()  # here"), "'lambda' does not take these"),
    ("a range of a size", loop("for i in range(x.m):  # here\n    pass"), "range of a number"),
    ("the maximum of one tile", loop("y = max(acc)  # here"), "maximum of one value"),
    ("any of numbers", loop("y = acc.any(axis=1)  # here"), "asks conditions"),
    ("sum of a tuple", loop("y = wl.sum((acc, acc))  # here"), "of a tuple"),
    ("an axis added", loop("y = acc.sum(axis=1)[:, None]  # here"), "adds an axis"),
    ("power of whole numbers", loop("y = wl.index(m) ** wl.index(m)  # here"), "of whole numbers"),
    ("part of a tile", PARTS.format("1, part=m"), "no number of the grid"),
    ("part of nothing", PARTS.format("1, part=2"), "no number of the grid"),
    ("tensor as a value", loop("acc += x * 2  # here"), "load a tile"),
    ("product of a number", loop("acc += x[m, k] @ 2  # here"), "product of two tiles"),
    ("product of tensors", loop("acc += x @ w  # here"), "is a tensor in memory"),
    ("mixed product", loop("acc += x[m, k].to(wl.f32) @ w[n, k].T  # here"), "f32 and bf16"),
    ("integer product", loop("y = x[m, k].to(wl.i32) @ w[n, k].to(wl.i32).T  # here"), "i32"),
    ("variable as a number", loop("acc += k  # here"), r"wl.index\(k\)"),
    ("float index", loop("y = x[0.5, k]  # here"), "indexed by a float"),
    ("float vector index", loop("y = x[v[n], k]  # here"), "type f32"),
    ("slice", loop("y = x[m, 0:4]  # here"), "slice with bounds"),
    ("no tensor", "m, k = wl.tile(eps)  # here", "takes a tensor"),
    ("groups of no starts", "m, n = wl.tile(out, groups=x)  # here", "offsets of the groups"),
    ("names of tile", "m, n, k = wl.tile(out)  # here", "3 names for 2 values"),
    ("steps of a number", GOOD.replace("(x.k):", "(64):  # here"), "size of an axis"),
    ("step of a tile", GOOD.replace("(x.k):", "(x.k, eps):  # here"), "unknown size"),
    ("negative step", GOOD.replace("(x.k):", "(x.k, -1):  # here"), "-1 elements"),
    ("bound is a tile", GOOD.replace("(x.k):", "(x.k, until=wl.index(m)):  # here"), "until="),
    ("steps argument", GOOD.replace("(x.k):", "(x.k, by=2):  # here"), "no argument 'by'"),
    ("zeros of a number", loop("y = wl.zeros(m, 64)  # here"), "no axis of a tile"),
    ("where of no condition", loop("acc += wl.where(acc, acc, 0)  # here"), "condition is needed"),
    ("condition as a number", loop("acc += acc > 0  # here"), "condition is no number"),
    ("and of numbers", loop("acc += wl.where(acc > 0 and acc, 1, 0)  # here"), "condition"),
    ("condition stored", tail("out[m, n] = acc > 0  # here"), "condition cannot be stored"),
    ("sum of conditions", tail("out[m, n] = acc + (acc > 0).sum(axis=1)  # here"), "no sum"),
    ("xor of floats", loop("y = x[m, k] ^ 4  # here"), "need whole numbers"),
    ("random bits of floats", loop("y = wl.philox(1, x[m, k])  # here"), "philox of a float"),
    ("too many of the largest", loop("y = wl.topk(x[m, k], 65)  # here"), "topk of 65"),
    ("argmax of a number", loop("y = wl.argmax(3)  # here"), "a number has no axis"),
    ("// of floats", loop("acc += acc // 2.0  # here"), "need whole numbers"),
    ("carried type", loop("i = i + eps  # here\nacc += i", before="acc, i = wl.zeros(m, n), 0"),
     "from i32 to f32"),
    ("to no type", loop("acc += x[m, k].to('bf16')  # here"), "element type"),
    ("condition converted", loop("acc += (acc > 0).to(wl.f32)  # here"), "not converted"),
    ("index of no variable", loop("y = wl.index(acc)  # here"), "takes a variable"),
    ("index of a count", loop("y = wl.index(8)  # here"), "of a whole axis"),
    ("too few arguments", loop("acc += wl.maximum(acc)  # here"), "maximum of one value"),
    ("strange argument", loop("acc += wl.exp(acc, base=2)  # here"), "no argument 'base'"),
    ("tile called", loop("acc += acc(1)  # here"), "is called"),
    ("type called", tail("out[m, n] = wl.f32(acc)  # here"), "is called"),
    ("None called", loop("acc += choice(acc)  # here"), "is not None"),
    ("NumPy on a tile", loop("acc += np.cumprod(acc)  # here"), "cannot be applied"),
    ("math on a tile", loop("acc += math.gamma(acc)  # here"), "cannot be applied"),
    ("bits of a float", loop("acc += acc >> 4  # here"), "whole numbers"),
    ("wrong arguments of a function", loop("acc += two(acc)  # here"), "does not take"),
    ("tile indexed", loop("acc += acc[0]  # here"), "cannot be indexed"),
    ("tensor bound again", loop("x = acc  # here"), "is a tensor"),
    ("string in arithmetic", loop("acc += 'a'  # here"), "cannot be computed with"),
    ("gelu", tail("out[m, n] = wl.gelu(acc, approximate='x')  # here"), "gelu"),
    ("static failure", loop("y = 1 // 0  # here"), "cannot be computed"),
]  # fmt: skip
MEMORY = [
    ("load of an output", loop("acc += out[m, n]  # here"), "is an output"),
    ("load after store", GOOD + "y = out[m, n]  # here", "is an output"),
    ("store to an input", tail("v[n] = acc  # here"), "is an input"),
    ("store twice", GOOD + "out[m, n] = acc * 2  # here", "stored twice"),
    ("= and +=", GOOD + "out[m, n] += acc  # here", "both stored"),
    ("store in every step", loop("acc += x[m, k] @ w[n, k].T\nout[m, n] = acc  # here", after=""),
     "every step of the loop"),
    ("store to a tile", loop("acc[m, n] = 0  # here"), "is no tensor"),
    ("-= on memory", tail("out[m, n] -= acc  # here"), "only \\+="),
    ("a negative place", loop("y = x[-1, k]  # here"), "indexed by -1"),
    ("many to one", "m, n = wl.tile(out, unit='m')\nout[m // 2, n] = v[n]  # here",
     "several tiles"),
    ("an axis left out", tail("out[m, 0] = acc.sum(axis=1)  # here"), "whole='n'"),
]  # fmt: skip
CASES = [
    *((KernelSyntaxError, *c) for c in SYNTAX),
    *((KernelNameError, *c) for c in NAMES),
    *((KernelShapeError, *c) for c in SHAPES),
    *((KernelTypeError, *c) for c in KINDS),
    *((KernelMemoryError, *c) for c in MEMORY),
]


def two(a, b):
    return a + b


def make(signature, body):
    import math

    text = f"@wl.kernel{signature}{textwrap.indent(body.strip(chr(10)), '    ')}\n"
    return run_source(text, wl=wl, np=np, math=math, two=two)["kernel"], text


@pytest.mark.parametrize(
    ("kind", "body", "says"), [(c[0], *c[2:]) for c in CASES], ids=[c[1] for c in CASES]
)
def test_mistake(kind, body, says):
    made, text = make(SIGNATURE, body)
    with pytest.raises(KernelError, match=says) as caught:
        made.specialise(TYPES)
    error = caught.value
    line = text.splitlines()[error.line - 1]
    assert "# here" in line, f"{line}\n{error}"
    assert f"{error.file}:{error.line}" in error.where
    assert line.strip() in error.where
    assert "^" in error.where
    assert error.what
    assert error.why
    assert error.fix
    assert type(error) is kind, error


def test_the_good_one_is_good():
    made, _ = make(SIGNATURE, GOOD)
    assert made.specialise(TYPES).loops


PARAMETERS = [
    ("annotation missing", 'x, out: wl.Out["m", "n"]', KernelTypeError, "not annotated"),
    ("scalar before *", 'e: float, out: wl.Out["m", "n"]', KernelTypeError, "after a \\*"),
    ("tensor after *", 'out: wl.Out["m"], *, x: wl.In["m"]', KernelTypeError, "after the \\*"),
    ("no output", 'x: wl.In["m", "k"]', KernelTypeError, "no output"),
    ("two equal axes", 'x: wl.In["m", "m"], out: wl.Out["m"]', KernelTypeError, "two axes"),
    ("strange axis", 'x: wl.In["m k"], out: wl.Out["m"]', KernelTypeError, "not the name"),
    ("blocks of 0", 'x: wl.In["m/0"], out: wl.Out["m"]', KernelTypeError, "not the name"),
    ("number as axis", 'x: wl.In["m", 3], out: wl.Out["m"]', KernelTypeError, "not the name"),
    ("blocks of nothing", 'x: wl.In["k/8"], out: wl.Out["m"]', KernelTypeError, "to belong to"),
    ("no axes", 'x: wl.In[wl.f32], out: wl.Out["m"]', KernelTypeError, "no axes"),
    ("starts of two", 's: wl.Starts["e", "m"], out: wl.Out["m"]', KernelTypeError, "exactly one"),
    ("default tensor", 'out: wl.Out["m"], x: wl.In["m"] = 3', KernelTypeError, "not None"),
    ("*args", 'out: wl.Out["m"], *x', KernelTypeError, "collects"),
    ("reserved name", 'out: wl.Out["m"], *, exact: float', KernelError, "use themselves"),
    ("axis called dtype", 'out: wl.Out["dtype"]', KernelTypeError, "dtype"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("parameters", "kind", "says"), [c[1:] for c in PARAMETERS], ids=[c[0] for c in PARAMETERS]
)
def test_mistake_in_the_parameters(parameters, kind, says):
    with pytest.raises(kind, match=says) as caught:
        make(f"\ndef kernel({parameters}):\n", "pass")
    assert caught.value.line == 2
    assert caught.value.fix


def test_never_tiled_and_never_stored():
    made, _ = make(SIGNATURE, "pass")
    with pytest.raises(KernelSyntaxError, match=r"never uses wl\.tile"):
        made.specialise(TYPES)
    made, _ = make(SIGNATURE, "m, n = wl.tile(out)")
    with pytest.raises(KernelMemoryError, match="'out' is never stored"):
        made.specialise(TYPES)


def test_a_tile_that_does_not_own_what_it_stores():
    made, text = make(
        '\ndef kernel(x: wl.In["m", "n"], out: wl.Out["m", "n"], top: wl.Out["m"]):\n',
        "m, n = wl.tile(out)\nout[m, n] = x[m, n]\ntop[m] = x[m, n].max(axis=1)  # here",
    )
    with pytest.raises(KernelMemoryError, match="every tile along 'n'") as caught:
        made.specialise(dict.fromkeys(("x", "out", "top"), "f32"))
    assert "# here" in text.splitlines()[caught.value.line - 1]


def test_elements_of_8_bits_in_memory_are_not_added_to():
    made, _ = make(
        '\ndef kernel(x: wl.In["m", "n"], out: wl.Out["m", "n"]):\n',
        "m, n = wl.tile(out)\nout[m, n] += x[m, n]",
    )
    with pytest.raises(KernelTypeError, match="cannot be added to"):
        made.specialise({"x": "f32", "out": "i8"})


ASKED = [
    ("type missing", {"types": {"a": "bf16"}}, "'b' is not given"),
    ("strange type", {"types": {"a": "float7"}}, "no element type"),
    ("strange tensor", {"types": {"q": "bf16"}}, "no tensor of the kernel"),
    ("strange size", {"sizes": {"q": 3}}, "axis 'q'"),
    ("size 0", {"sizes": {"k": 0}}, "axis 'k'"),
    ("strange choice", {"constants": {"q": 3}}, "no scalar or choice"),
    ("input left out", {"without": {"a"}}, "cannot be left out"),
    ("grid left out", {"without": {"out", "bias", "residual"}}, "makes the grid"),
]


@pytest.mark.parametrize(("asked", "says"), [c[1:] for c in ASKED], ids=[c[0] for c in ASKED])
def test_mistake_in_specialise(asked, says):
    given = {"types": dict.fromkeys(("a", "b", "out"), "bf16"), "without": {"bias", "residual"}}
    with pytest.raises(KernelError, match=says) as caught:
        gemm.specialise(**(given | asked))
    assert caught.value.fix


def test_unknown_whole_size():
    made, _ = make(
        '\ndef kernel(x: wl.In["m", "d"], out: wl.Out["m", "d"]):\n',
        'm = wl.tile(out, whole="d")\nout[m] = x[m]',
    )
    assert made.whole_axes({"x": "f32", "out": "f32"}) == {"d"}
    with pytest.raises(KernelCallError, match="size is not known"):
        made.specialise({"x": "f32", "out": "f32"})
    assert made.specialise({"x": "f32", "out": "f32"}, sizes={"d": 8})


def arrays():
    return np.zeros((4, 6)), np.zeros((5, 6))


CALLED = [
    ("too few", lambda a, b: ((a,), {"alpha": 1.0}), "1 arrays for 2"),
    ("rank", lambda a, b: ((a, b[0]), {"alpha": 1.0}), "'b' has 1 axes"),
    ("sizes", lambda a, b: ((a, b[:, 1:]), {"alpha": 1.0}), "axis 'k'"),
    ("scalar missing", lambda a, b: ((a, b), {}), "alpha"),
    ("strange scalar", lambda a, b: ((a, b), {"alpha": 1.0, "beta": 1.0}), "beta"),
]


@pytest.mark.parametrize(("call", "says"), [c[1:] for c in CALLED], ids=[c[0] for c in CALLED])
def test_mistake_in_a_call(call, says):
    types = dict.fromkeys(("a", "b", "out"), "bf16")
    kernel = gemm.specialise(types, without={"bias", "residual"})
    args, scalars = call(*arrays())
    with pytest.raises(KernelCallError, match=says) as caught:
        kernel.reference(*args, **scalars)
    assert "gemm" in caught.value.where


@pytest.mark.parametrize("word", ["tile", "steps", "zeros", "exp", "silu", "index"])
def test_builtins_outside_a_kernel(word):
    with pytest.raises(KernelError, match=f"warploom.{word} was called outside a kernel"):
        getattr(wl, word)(1)


def test_not_a_function():
    with pytest.raises(KernelTypeError, match="no function"):
        wl.kernel(3)


def test_text_that_is_nowhere():
    space = {"wl": wl}
    with pytest.raises(KernelSyntaxError, match="cannot be found"):
        exec('@wl.kernel\ndef f(out: wl.Out["m"]):\n    pass\n', space)


def test_recursion_without_end():
    made, _ = make(SIGNATURE, tail("out[m, n] = choice(choice, acc)"))

    def again(f, x):
        return f(f, x)

    with pytest.raises(KernelSyntaxError, match="calls itself without end"):
        made.specialise(TYPES, constants={"choice": again})


def test_an_error_in_a_called_function_points_there():
    made, _ = make(SIGNATURE, tail("out[m, n] = choice(acc)"))

    def wrong(x):
        return x @ x  # the line blamed

    with pytest.raises(KernelShapeError) as caught:
        made.specialise(TYPES, constants={"choice": wrong})
    assert caught.value.file == __file__
    assert "# the line blamed" in caught.value.where


def test_strange_arguments_of_builtins():
    """Found by damaging texts."""
    for text in ("m, n = wl.tile(out, whole=0)", "m, n = wl.tile(out, whole=None)"):
        made, _ = make(SIGNATURE, text)
        with pytest.raises(KernelShapeError, match="cannot be whole"):
            made.specialise(TYPES)
    made, _ = make(SIGNATURE, tail("if choice:\n    acc += 1\nout[m, n] = acc"))
    with pytest.raises(KernelTypeError, match="cannot be computed"):
        made.specialise(TYPES, constants={"choice": np.zeros(3)})
