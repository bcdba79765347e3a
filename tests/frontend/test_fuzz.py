"""Damaged texts: an error at a line, or a well-formed kernel; never a bare traceback or a hang."""

import ast
import copy
import inspect
import random

import numpy as np
import pytest

from tests.frontend.sources import run_source
from tests.frontend.well_formed import check_kernel
from warploom import KernelError
from warploom.frontend.simplify import simplify
from warploom.frontend.tile_kernel import TileKernel
from warploom.kernels import (
    attention as attention_tile_kernel,
    attention_grad,
    block_scaled,
    gemm,
    grouped,
    rms_gemm,
    swiglu,
)

KERNELS = [attention_tile_kernel, attention_grad, block_scaled, gemm, grouped, rms_gemm, swiglu]
NAMES = ["m", "n", "k", "t", "s", "b", "h", "acc", "x", "q", "out", "wl", "scale", "None", "d"]
SNIPPETS = [
    "None", "0", "1.5", "True", "'d'", "-1", "wl", "wl.inf", "wl.f32", "x", "out", "m", "k", "n",
    "acc", "wl.zeros", "wl.tile(out)", "wl.index(k)", "wl.index(m)", "(1, 2)", "x[m, k]", "acc.T",
    "acc > 0", "wl.steps(x.k)", "lambda y: y", "[1]", "...", "acc.sum(axis=0)", "out[m, n]",
]  # fmt: skip


def mutated(tree, rng):
    """One random change somewhere in a function."""
    tree = copy.deepcopy(tree)
    function = rng.choice([f for f in tree.body if isinstance(f, ast.FunctionDef)])
    nodes = list(ast.walk(ast.Module(function.body, [])))
    match rng.randrange(6):
        case 0:
            for node in rng.sample(nodes, len(nodes)):
                if isinstance(node, ast.Name):
                    node.id = rng.choice(NAMES)
                    break
        case 1:
            _replace(function, rng, nodes)
        case 2:
            holders = [n for n in (function, *nodes) if getattr(n, "body", None)]
            body = rng.choice([h.body for h in holders if isinstance(h.body, list)])
            body.pop(rng.randrange(len(body)))
            body or body.append(ast.Pass())
        case 3:
            holders = [h for h in (function, *nodes) if isinstance(getattr(h, "body", None), list)]
            body = rng.choice(holders).body
            body.insert(rng.randrange(len(body) + 1), copy.deepcopy(rng.choice(body)))
        case 4:
            body = function.body
            one, two = rng.randrange(len(body)), rng.randrange(len(body))
            body[one], body[two] = body[two], body[one]
        case _:
            for node in rng.sample(nodes, len(nodes)):
                if isinstance(node, ast.Subscript | ast.Call | ast.Tuple):
                    parts = getattr(node, "args", None) or getattr(node, "elts", None)
                    parts = parts or getattr(getattr(node, "slice", None), "elts", None)
                    if parts:
                        parts.pop(rng.randrange(len(parts)))
                        break
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _replace(function, rng, nodes):
    holders = [
        (n, field, i)
        for n in nodes
        for field, value in ast.iter_fields(n)
        for i, part in enumerate(value if isinstance(value, list) else [value])
        if isinstance(part, ast.expr) and not isinstance(getattr(part, "ctx", None), ast.Store)
    ]
    node, field, i = rng.choice(holders)
    new = ast.parse(rng.choice(SNIPPETS), mode="eval").body
    if isinstance(getattr(node, field), list):
        getattr(node, field)[i] = new
    else:
        setattr(node, field, new)


def try_text(text):
    """What a text becomes: kernels, or the error it deserves."""
    try:
        space = run_source(text)
    except (KernelError, SyntaxError):
        return 0
    read = 0
    for made in [v for v in space.values() if isinstance(v, TileKernel)]:
        types = {t.name: "bf16" for t in made.signature.tensors if t.dtype is None}
        try:
            kernel = made.specialise(types, sizes={"d": 8} if _has(made, "d") else {})
        except KernelError as error:
            complete = bool(error.what and error.where)
            if not complete:
                raise
            continue
        read += 1
        check_kernel(kernel)
        check_kernel(simplify(kernel))
        try_meaning(made, kernel)
    return read


def _has(made, axis):
    return any(a.name == axis for t in made.signature.tensors for a in t.axes)


def try_meaning(made, kernel):
    """A kernel that can be read can be computed."""
    sizes = {"d": 8, "m": 5, "n": 6, "k": 7, "b": 1, "h": 2, "g": 1, "s": 3, "t": 4, "e": 2, "i": 2}
    sizes |= {"c": 1, "half": 2}
    arrays = []
    for text in made.signature.inputs:
        shape = [-(-sizes[a.name] // a.per) for a in text.axes]
        if text.access == "starts":
            arrays.append(np.array([0, 2, 3]))
        else:
            arrays.append(np.ones(shape))
    kernel.reference(*arrays, **{p.name: 1 for p in kernel.parameters}, sizes=sizes)


@pytest.mark.parametrize("text", KERNELS, ids=lambda t: t.__name__.rpartition(".")[2])
def test_damaged_sources(text):
    tree = ast.parse(inspect.getsource(text))
    rng = random.Random(text.__name__)
    few = text in (attention_tile_kernel, attention_grad, grouped)  # long ones
    read = sum(try_text(mutated(tree, rng)) for _ in range(12 if few else 30))
    assert read, "no damaged text can be read: the damage is too great to tell anything"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_many_damaged_sources(seed):
    rng = random.Random(seed)
    trees = [ast.parse(inspect.getsource(t)) for t in KERNELS]
    for _ in range(1500):
        tree = rng.choice(trees)
        text = mutated(tree, rng)
        try:
            try_text(text)
        except Exception as problem:
            raise AssertionError(f"{problem!r}\n{text}") from problem
