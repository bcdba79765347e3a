"""Launch files: what is read is what was written, and everything else is refused by place."""

from __future__ import annotations

import copy
import json
import sys

import numpy as np
import pytest

from tests.check.code import LOADS, kernel, launch
from tests.check_amdgcn.small import assembled, small_launch
from warploom.check import Launch, check
from warploom.check.formats import decode, encode
from warploom.errors import CheckError

GOOD = {
    "entry": "kernel",
    "grid": [2, 1, 1],
    "block": [384, 1, 1],
    "cluster": [1, 1, 1],
    "shared_bytes": 98304,
    "params": [
        {"kind": "pointer", "tensor": "a"},
        {"kind": "u32", "value": 128},
        {
            "kind": "tensormap", "tensor": "a", "dims": [64, 256], "strides": [128],
            "box": [64, 128], "element": "bf16", "swizzle": "128B", "interleave": "none",
            "oob": "zero",
        },
        {
            "kind": "struct", "bytes": 136,
            "fields": [{"offset": 128, "kind": "pointer", "tensor": "c"}],
        },
    ],
    "tensors": {
        "a": {"shape": [256, 64], "dtype": "bf16", "role": "in"},
        "c": {"shape": [256, 128], "dtype": "f32", "role": "out"},
    },
}  # fmt: skip


def test_a_launch_is_read_and_written_the_same():
    made = Launch.from_json(GOOD)
    assert Launch.from_json(json.loads(json.dumps(made.to_json()))) == made
    assert made.params[2].map.box_bytes == 64 * 128 * 2
    assert "256x64" in made.described()


def test_contents_come_from_the_seed_and_outputs_begin_as_nan():
    made = Launch.from_json(GOOD)
    first, again, other = made.initial(1), made.initial(1), made.initial(2)
    assert (first["a"] == again["a"]).all()
    assert (first["a"] != other["a"]).any()
    assert np.isnan(decode(first["c"], "f32")).all()


BAD = [
    (("grid",), "three"),
    (("grid",), [0, 1, 1]),
    (("block",), [2048, 1, 1]),
    (("cluster",), [3, 1, 1]),
    (("shared_bytes",), -1),
    (("entry",), 7),
    (("params", 0, "tensor"), "nobody"),
    (("params", 0, "kind"), "float4"),
    (("params", 1, "value"), "x"),
    (("params", 1, "value"), 1.5),
    (("params", 2, "swizzle"), "256B"),
    (("params", 2, "box"), [128, 128]),
    (("params", 2, "box"), [4, 128]),
    (("params", 2, "strides"), [100]),
    (("params", 2, "dims"), [64]),
    (("params", 3, "bytes"), 130),
    (("params", 3, "fields"), {}),
    (("tensors", "a", "dtype"), "bf17"),
    (("tensors", "a", "shape"), [1 << 39, 64]),
    (("tensors", "a", "role"), "both"),
    (("tensors", "a", "surprise"), 1),
    (("surprise",), 1),
    (("params", 1, "value"), float("inf")),
    (("params", 1, "value"), float("nan")),
    (("params", 1, "value"), 1 << 32),
]


@pytest.mark.parametrize(("path", "value"), BAD, ids=[str(p) + str(v) for p, v in BAD])
def test_what_is_wrong_is_refused_by_place(path, value):
    bad = copy.deepcopy(GOOD)
    at = bad
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    with pytest.raises(CheckError) as error:
        Launch.from_json(bad)
    assert error.value.where


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"grid": [1' + "]" * 9999, "\0"])
def test_hostile_texts_are_refused(text):
    with pytest.raises(CheckError):
        Launch.parse(text)


@pytest.mark.parametrize("dtype", ["bf16", "f16", "e4m3", "e5m2", "f32", "i32", "u8", "i8"])
def test_formats_keep_what_they_can_hold(dtype):
    if dtype in ("e4m3", "e5m2"):
        codes = np.arange(256, dtype=np.uint8)
        values = decode(codes, dtype)
        finite = np.isfinite(values)
        assert (encode(values[finite], dtype) == codes[finite]).all()
    else:
        values = np.array([0, 1, 2, 100, 96], np.float32)
        assert (decode(encode(values, dtype), dtype) == values).all()


AGAINST = {
    "a name that is no output": lambda x, **_: {"zz": x},
    "another shape": lambda x, **_: np.zeros(3),
    "nothing": lambda x, **_: None,
    "no output at all": lambda x, **_: {},
    "a text": lambda x, **_: "abc",
    "a ragged list": lambda x, **_: [[1, 2], [3]],
    "complex numbers": lambda x, **_: np.zeros(32, complex),
    "other arguments": lambda: 1,
    "an exit": lambda x, **_: sys.exit(7),
}
STORE = LOADS + " st.global.u32 [%d5], %r2;"


@pytest.mark.parametrize("name", AGAINST)
@pytest.mark.parametrize("kind", ["ptx", "amdgcn"])
def test_what_the_function_returns_is_an_error_of_the_input(name, kind):
    given = launch(y={"shape": [32]})
    text = kernel(STORE)
    if kind == "amdgcn":
        text = assembled("\tglobal_store_dword v1, v1, s[6:7]\n", threads=64)
        given = small_launch(threads=64)
    report = check(text, given, against=AGAINST[name])
    assert "against" in report.error, report.text()
    assert report.exit_code == 2
