"""Exported kernels: the C launcher is compiled and run against a driver that writes down calls."""

import json
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from examples.gallery import CASES

import warploom as wl
from tests.kernels import gallery
from warploom.codegen.cuda.tile.signature import (
    MapParam,
    OrderParam,
    PointerParam,
    ScalarParam,
    SizeParam,
    StrideParam,
)
from warploom.compiler.described import binary_of
from warploom.compiler.layout import Layout, map_geometry
from warploom.errors import ConfigError
from warploom.ir.tile import Access, DType
from warploom.kernels.attention import attention

pytestmark = [pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")]
HERE = Path(__file__).parent
ELEMENTS = ["FLOAT32", "BFLOAT16", "FLOAT16", "INT32", "UINT8"]
SPANS = [0, 32, 64, 128]


def launched(folder, title, made, sizes, scalars):
    """What a C program that includes the header asks of the driver, line by line."""
    binary = binary_of(made)
    lines = [f"  a.size.{n} = {sizes[n]};" for n in sizes]
    for i, t in enumerate(binary.tensors):
        lines.append(f"  a.{t.name}.data = {address(i)}ull;")
    lines += [f"  a.scalar.{s.name} = {scalars[s.name]};" for s in binary.scalars]
    program = "\n".join(
        [
            f"#define PARAMETERS {len(binary.parameters)}",
            f'#include "{title}.h"',
            "int main(void) {",
            f"  {title}_kernel k;",
            f"  {title}_args a;",
            "  memset(&a, 0, sizeof a);",
            *lines,
            f'  if ({title}_load(&k, "cubin")) return 2;',
            f"  return {title}_launch(&k, &a, 0);",
            "}",
        ]
    )
    source, out = folder / "main.c", folder / "main"
    source.write_text(program)
    command = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{HERE}", f"-I{folder}"]
    done = subprocess.run(
        [*command, str(source), "-o", str(out)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:3000]
    ran = subprocess.run([str(out)], capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout.splitlines()


def address(i):
    return 4096 * (i + 16)


def wanted_maps(binary, sizes):
    found = []
    at = {t.name: address(i) for i, t in enumerate(binary.tensors)}
    layouts = {}
    for t in binary.tensors:
        shape = tuple(-(-sizes[a.name] // a.per) + (t.access is Access.STARTS) for a in t.axes)
        strides = [1]
        for n in reversed(shape[1:]):
            strides.insert(0, strides[0] * n)
        layouts[t.name] = Layout(shape, tuple(strides), t.dtype)
    for p in binary.parameters:
        if isinstance(p, MapParam):
            g = map_geometry(p, layouts[p.tensor], binary.places.get(p.tensor))
            parts = [g.shape, g.strides, g.box]
            rest = " | ".join(" ".join(map(str, part)) for part in parts).replace("|  |", "| |")
            head = f"map {ELEMENTS.index(g.element)} {SPANS.index(p.span)} {at[p.tensor] - g.ahead}"
            found.append(f"{head} | {rest}")
    return found, layouts, at


def check(made, folder, title, sizes, scalars):
    binary = binary_of(made)
    code, lines = launched(folder, title, made, sizes, scalars)
    assert code == 0
    maps, layouts, at = wanted_maps(binary, sizes)
    assert [x for x in lines if x.startswith("map")] == maps
    grid, threads, shared, cluster = map(
        int, next(x for x in lines if x.startswith("launch")).split()[1:]
    )
    tiles = binary.grid.tiles(sizes)
    assert threads == binary.threads
    assert shared == binary.shared_bytes
    assert cluster == binary.cluster
    assert grid == min(tiles * cluster, 132 * (binary.grid.resident or 3))
    words = [int(x.split()[1]) for x in lines if x.startswith("parameter")]
    for p, word in zip(binary.parameters, words, strict=True):
        low = struct.unpack("<i", struct.pack("<I", word & 0xFFFFFFFF))[0]
        match p:
            case PointerParam():
                assert word == at[p.tensor]
            case SizeParam():
                assert low == sizes[p.axis]
            case StrideParam():
                places = binary.places.get(p.tensor)
                axis = places[p.axis] if places else p.axis
                assert word == layouts[p.tensor].strides[axis]
            case ScalarParam():
                real = struct.unpack("<f", struct.pack("<i", low))[0]
                value = low if p.dtype is DType.I32 else real
                assert value == pytest.approx(scalars[p.parameter])
            case OrderParam():
                assert word == 0  # the caller's copy of the list
    return lines


@pytest.mark.parametrize("name", ["layer_norm", "gemm_epilogue"])
def test_a_launcher_asks_for_what_a_call_would(name, tmp_path):
    case = next(c for c in CASES if c.name == name)
    arrays = gallery.inputs(case)
    made = gallery.compiled(case)
    files = made.export(tmp_path)
    assert [f.name for f in files] == [f"{name}.cubin", f"{name}.json", f"{name}.h"]
    assert files[0].read_bytes() == made.cubin
    sizes = gallery.sizes_of(case, arrays)
    check(made, tmp_path, name, sizes, case.scalars)
    told = json.loads(files[1].read_text())
    assert told["format"] == 1
    assert [t["name"] for t in told["tensors"]] == [t.name for t in binary_of(made).tensors]
    assert len(told["parameters"]) == len(binary_of(made).parameters)


def test_other_sizes_and_what_does_not_suit(tmp_path):
    case = next(c for c in CASES if c.name == "gemm_epilogue")
    made = gallery.compiled(case)
    made.export(tmp_path)
    check(made, tmp_path, "gemm_epilogue", {"m": 4096, "n": 1024, "k": 8}, {})
    code, _ = launched(tmp_path, "gemm_epilogue", made, {"m": 7, "n": 33, "k": 8}, {})
    assert code == 1  # rows of 66 bytes: tensor maps take multiples of 16


@wl.kernel
def named_badly(work: wl.In["size", "int"], out: wl.Out["size", "int"], *, scalar: float):
    size, int_ = wl.tile(out)
    out[size, int_] = work[size, int_] * scalar


def test_names_of_c_do_not_collide(tmp_path):
    made = named_badly.compile("f32")
    made.export(tmp_path, name="odd")
    text = (tmp_path / "odd.h").read_text()
    assert "int int_;" in text
    assert "odd_tensor2 work_;" in text
    with pytest.raises(ConfigError, match="name='a b'"):
        made.export(tmp_path, name="a b")


def test_a_list_of_tiles_is_exported_for_its_sizes(tmp_path):
    sizes = {"b": 1, "h": 2, "g": 2, "s": 512, "t": 512, "d": 64}
    how = {"without": ["lse"], "constants": {"causal": True}, "positive": {"scale"}}
    files = attention.export(tmp_path, "bf16", sizes=sizes, **how)
    told = json.loads(files[1].read_text())
    assert told["sizes"]["fixed"].get("d") == 64
    assert bool(told["visits"]) == (len(told["sizes"]["fixed"]) == len(told["sizes"]["names"]))
