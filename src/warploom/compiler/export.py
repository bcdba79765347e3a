"""``kernel.export(folder, ...)``: a kernel for Hopper as files that need no warploom.

``NAME.cubin`` is the machine code; ``NAME.json`` states arguments, sizes, grid and tensor maps as
data; ``NAME.h`` is a C header whose launcher fills tensor maps and parameters and starts the kernel
through the CUDA driver. The header is complete: including it once defines the functions.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from warploom.codegen.cuda.tile.signature import (
    WRAP,
    WRAP_STRIDE,
    MapParam,
    OrderParam,
    PointerParam,
    ScalarParam,
    SizeParam,
    StrideParam,
    WorkParam,
)
from warploom.compiler.binary import Binary
from warploom.compiler.compiled import Compiled
from warploom.compiler.described import binary_of, facts_of
from warploom.errors import ConfigError
from warploom.ir.tile import Access, DType, Tensor

VERSION = 1
"""Of the files' format; launchers of another version are not to be mixed with them."""

STRIDE_ALIGNMENT, MOST_RANK = 16, 5
INVALID = "CUDA_ERROR_INVALID_VALUE"
_ELEMENTS = {
    DType.F32: "FLOAT32",
    DType.BF16: "BFLOAT16",
    DType.F16: "FLOAT16",
    DType.I32: "INT32",
}
_SWIZZLE = {0: "NONE", 32: "32B", 64: "64B", 128: "128B"}


def export(made: Compiled, folder: str | Path, *, name: str = "") -> tuple[Path, ...]:
    """Write cubin, description and C header; gives the files."""
    title = name or made.kernel.name
    if not re.fullmatch(r"[A-Za-z_]\w*", title):
        raise ConfigError(
            f"name={title!r}",
            where="export",
            why="functions of the C header begin with it",
            fix="a C identifier",
        )
    binary = binary_of(made)
    turns = [t.name for t in binary.tensors if t.access is Access.TURNS]
    if turns:
        raise ConfigError(
            f"export of kernel {made.kernel.name}, which adds in turns ('{turns[0]}')",
            where="export",
            why="its CTAs wait for one another, for which a launch reserves the chip",
            fix="the form of the kernel that adds in any order",
        )
    facts = facts_of(made)
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    writer = _Writer(title, made, binary, facts)
    files = {
        f"{title}.cubin": binary.cubin,
        f"{title}.json": (json.dumps(writer.description(), indent=2) + "\n").encode(),
        f"{title}.h": writer.header().encode(),
    }
    for file, content in files.items():
        (place / file).write_bytes(content)
    return tuple(place / f for f in files)


WORDS_OF_C = """
auto break case char const continue default do double else enum extern float for goto if inline int
long register restrict return short signed sizeof static struct switch typedef union unsigned void
volatile while
"""
OWN_FIELDS = ("size", "scalar", "work", "visits")
KEYWORDS = frozenset((*WORDS_OF_C.split(), *OWN_FIELDS))


def c_name(name: str) -> str:
    """A name as a field of the header: words of C, and the header's own, get an underscore."""
    return f"{name}_" if name in KEYWORDS else name


class _Writer:
    def __init__(self, title: str, made: Compiled, binary: Binary, facts: Any) -> None:  # noqa: ANN401
        self.title, self.made, self.binary, self.facts = title, made, binary, facts
        self.axes = list(
            dict.fromkeys(a.name for t in binary.tensors for a in t.axes if a.per == 1)
        )
        self.axes += [a.name for t in binary.tensors for a in t.axes if a.name not in self.axes]
        self.axes = list(dict.fromkeys(self.axes))
        self.fixed = self._fixed()
        self.visits = self._visits()

    # What a launch is made of, as data.

    def _fixed(self) -> dict[str, int]:
        """Sizes that the machine code was made for."""
        known = {v.axis: v.extent for v in self.made.kernel.vars if v.walk == "whole" and v.extent}
        whole = {a: int(n) for a, n in known.items() if n}
        if self._ordered():
            missing = [a for a in self.axes if a not in self.made.sizes]
            if missing:
                raise ConfigError(
                    f"export of kernel {self.made.kernel.name} without a size of '{missing[0]}'",
                    where="export",
                    why="its tiles differ in length, and the list of who takes which is made here",
                    fix=f"sizes={{'{missing[0]}': ...}}, those of the launches",
                )
            whole |= {a: self.made.sizes[a] for a in self.axes}
        return whole

    def _ordered(self) -> bool:
        return any(isinstance(p, OrderParam) for p in self.binary.parameters)

    def _visits(self) -> list[int]:
        if not self._ordered():
            return []
        sms = self.made.target.limits.sms
        tiles = self.binary.grid.tiles(self.fixed)
        grid = min(tiles, sms * (self.binary.grid.resident or 1))
        self.ordered_grid = grid
        return [int(v) for v in self.binary.visits(self.fixed, grid)]

    def description(self) -> dict[str, Any]:
        binary = self.binary
        return {
            "format": VERSION,
            "kernel": self.made.kernel.name,
            "target": self.made.target.name,
            "config": self.facts.config,
            "cubin": f"{self.title}.cubin",
            "entry": binary.entry,
            "threads": binary.threads,
            "cluster": binary.cluster,
            "shared_bytes": binary.shared_bytes,
            "registers": self.made.registers,
            "sizes": {"names": self.axes, "fixed": self.fixed},
            "tensors": [
                {
                    "name": t.name,
                    "axes": [a.name if a.per == 1 else f"{a.name}/{a.per}" for a in t.axes],
                    "dtype": t.dtype.value,
                    "access": t.access.value,
                    "aligned": 16 if self._is_aligned(t) else max(1, t.dtype.bits // 8),
                }
                for t in binary.tensors
            ],
            "scalars": [{"name": s.name, "dtype": s.dtype.value} for s in binary.scalars],
            "parameters": [self._parameter(p) for p in binary.parameters],
            "grid": {
                "tiles": self._tiles("{}"),
                "ctas_per_sm": binary.grid.resident,
                "times_cluster": binary.cluster,
            },
            "work": self.facts.work_bytes is not None,
            "visits": self.visits,
        }

    def _is_aligned(self, tensor: Tensor) -> bool:
        maps = {p.tensor for p in self.binary.parameters if isinstance(p, MapParam)}
        return tensor.name in maps or tensor.name in self.binary.aligned

    def _parameter(self, p: object) -> dict[str, Any]:  # noqa: PLR0911 (one a kind)
        match p:
            case MapParam():
                return {
                    "kind": "tensor_map",
                    "tensor": p.tensor,
                    "box": list(p.box),
                    "swizzle": _SWIZZLE[p.span],
                    "bounded": p.bounded,
                    "stacked": p.stacked,
                }
            case PointerParam():
                return {"kind": "pointer", "tensor": p.tensor}
            case StrideParam():
                return {"kind": "stride", "tensor": p.tensor, "axis": self._place(p.tensor, p.axis)}
            case SizeParam():
                return {"kind": "size", "axis": p.axis}
            case ScalarParam():
                return {"kind": "scalar", "name": p.parameter, "dtype": p.dtype.value}
            case WorkParam():
                return {"kind": "work"}
            case _:
                return {"kind": "visits"}

    def _place(self, tensor: str, axis: int) -> int:
        places = self.binary.places.get(tensor)
        return places[axis] if places else axis

    def _tiles(self, form: str) -> str:
        """How many tiles (and parts of them) there are, as an expression of sizes."""
        factors = []
        for terms in self.facts.tiles:
            parts = []
            for axis, extent in terms:
                size = form.format(c_name(axis))
                parts.append(size if extent == 1 else f"({size} + {extent - 1}) / {extent}")
            factors.append(f"({' + '.join(parts)})")
        split = 1 if self.facts.near else self.facts.split
        return " * ".join(factors + ([str(split)] if split > 1 else []))

    # The header.

    def header(self) -> str:
        title, binary = self.title, self.binary
        guard = f"WARPLOOM_{title.upper()}_H"
        fields = ["  struct {", *(f"    int {c_name(a)};" for a in self.axes), "  } size;"]
        for t in binary.tensors:
            axes = ", ".join(a.name if a.per == 1 else f"{a.name}/{a.per}" for a in t.axes)
            note = f"{t.dtype.value} [{axes}], {t.access.value}"
            fields.append(f"  {title}_tensor{len(t.axes)} {c_name(t.name)};  /* {note} */")
        kinds = {s.name: "int" if s.dtype is DType.I32 else "float" for s in binary.scalars}
        if kinds:
            fields += ["  struct {", *(f"    {k} {c_name(n)};" for n, k in kinds.items())]
            fields += ["  } scalar;"]
        ranks = sorted({len(t.axes) for t in binary.tensors})
        tensors = [
            f"/* {r} axes: the address, and strides in elements (all 0: contiguous). */\n"
            f"typedef struct {{ CUdeviceptr data; long long strides[{r}]; }} {title}_tensor{r};"
            for r in ranks
        ]
        work = self._work_lines()
        return "\n".join(
            [
                f"/* Launcher of kernel {self.made.kernel.name} ({self.facts.config}) for"
                f" {self.made.target.name}, format {VERSION}. */",
                f"#ifndef {guard}",
                f"#define {guard}",
                "#include <cuda.h>",
                "#include <string.h>",
                "",
                f"#define {title}_FORMAT {VERSION}",
                "",
                *tensors,
                "",
                "typedef struct {",
                *fields,
                "  CUdeviceptr work;  /* see NAME_work_bytes; 0 where that is 0 */",
                "  CUdeviceptr visits;  /* see NAME_visits; 0 where there are none */",
                f"}} {title}_args;",
                "",
                "typedef struct { CUmodule module; CUfunction function; int sms; }"
                f" {title}_kernel;",
                "",
                *self._visit_lines(),
                "",
                "/* Bytes of memory the kernel works in; the first 65536 are 0 before the first"
                " launch. */",
                f"static inline size_t {title}_work_bytes(const {title}_args *a) {{",
                "  (void)a;",
                f"  return {work};",
                "}",
                "",
                *self._load_lines(),
                "",
                *self._launch_lines(),
                "",
                f"#endif  /* {guard} */",
                "",
            ]
        )

    def _work_lines(self) -> str:
        facts = self.facts
        if facts.work_bytes is None:
            return "0"
        if facts.split == 1:
            return "65536"
        return f"65536 + (size_t)({self._tiles('a->size.{}')}) * {facts.work_bytes}"

    def _visit_lines(self) -> list[str]:
        if not self.visits:
            return []
        numbers = ", ".join(map(str, self.visits))
        return [
            "/* Which tiles each CTA visits: to be copied to the device, its address in"
            " args.visits. */",
            f"static const int {self.title}_visits[{len(self.visits)}] = {{{numbers}}};",
        ]

    def _load_lines(self) -> list[str]:
        title, binary = self.title, self.binary
        lines = [
            "/* Load the cubin (its bytes, or of a file: cuModuleLoad) in the current context. */",
            f"static inline CUresult {title}_load({title}_kernel *k, const void *cubin) {{",
            "  CUdevice device;",
            "  CUresult r = cuModuleLoadData(&k->module, cubin);",
            "  if (r != CUDA_SUCCESS) return r;",
            f'  r = cuModuleGetFunction(&k->function, k->module, "{binary.entry}");',
            "  if (r != CUDA_SUCCESS) return r;",
        ]
        if binary.shared_bytes > 48 * 1024:
            lines += [
                "  r = cuFuncSetAttribute(k->function,"
                " CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,",
                f"                         {binary.shared_bytes});",
                "  if (r != CUDA_SUCCESS) return r;",
            ]
        return [
            *lines,
            "  r = cuCtxGetDevice(&device);",
            "  if (r != CUDA_SUCCESS) return r;",
            "  return cuDeviceGetAttribute(&k->sms,"
            " CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);",
            "}",
        ]

    def _shape(self, tensor: Tensor, n: int) -> str:
        axis = tensor.axes[n]
        size = f"a->size.{c_name(axis.name)}"
        size = size if axis.per == 1 else f"(({size} + {axis.per - 1}) / {axis.per})"
        return f"({size} + 1)" if tensor.access is Access.STARTS else size

    def _stride(self, tensor: str, n: int) -> str:
        return f"s_{tensor}[{n}]"

    def _launch_lines(self) -> list[str]:
        title, binary = self.title, self.binary
        lines = [
            "/* Start the kernel; CUDA_ERROR_INVALID_VALUE where sizes or strides do not suit. */",
            f"static inline CUresult {title}_launch(const {title}_kernel *k, const {title}_args *a,"
            " CUstream stream) {",
            "  CUresult r;",
            "  (void)r;",
        ]
        for axis, size in self.fixed.items():
            lines.append(
                f"  if (a->size.{c_name(axis)} != {size}) return CUDA_ERROR_INVALID_VALUE;"
            )
        for axis in self.axes:
            lines.append(f"  if (a->size.{c_name(axis)} < 0) return {INVALID};")
        for t in binary.tensors:
            rank = len(t.axes)
            lines += [
                f"  long long s_{t.name}[{rank}];",
                f"  memcpy(s_{t.name}, a->{c_name(t.name)}.strides, sizeof s_{t.name});",
                f"  if ({' && '.join(f's_{t.name}[{n}] == 0' for n in range(rank))}) {{",
                f"    s_{t.name}[{rank - 1}] = 1;",
                *(
                    f"    s_{t.name}[{n}] = s_{t.name}[{n + 1}] * {self._shape(t, n + 1)};"
                    for n in reversed(range(rank - 1))
                ),
                "  }",
            ]
            if self._is_aligned(t):
                lines.append(
                    f"  if (a->{c_name(t.name)}.data & 15) return CUDA_ERROR_INVALID_VALUE;"
                )
        lines += [
            f"  const long long tiles = {self._tiles('(long long)a->size.{}')};",
            "  if (tiles == 0) return CUDA_SUCCESS;",
        ]
        names = []
        for n, p in enumerate(binary.parameters):
            made, name = self._argument(n, p)
            lines += [f"  {line}" for line in made]
            names.append(f"(void *)&{name}")
        lines += [
            f"  void *parameters[] = {{{', '.join(names)}}};",
            "  CUlaunchConfig config;",
            "  memset(&config, 0, sizeof config);",
            "  config.gridDimY = config.gridDimZ = 1;",
            f"  config.blockDimX = {binary.threads};",
            "  config.blockDimY = config.blockDimZ = 1;",
            f"  config.sharedMemBytes = {binary.shared_bytes};",
            "  config.hStream = stream;",
            *self._cluster_lines(),
            *self._grid_lines(),
            "  config.gridDimX = (unsigned)grid;",
        ]
        return [*lines, "  return cuLaunchKernelEx(&config, k->function, parameters, NULL);", "}"]

    def _cluster_lines(self) -> list[str]:
        """CTAs of a cluster, where the machine code does not declare them itself."""
        cluster = self.binary.cluster
        if cluster == 1:
            return []
        return [
            "  int declared = 0;",
            "  r = cuFuncGetAttribute(&declared, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,"
            " k->function);",
            "  if (r != CUDA_SUCCESS) return r;",
            "  CUlaunchAttribute cluster;",
            "  memset(&cluster, 0, sizeof cluster);",
            "  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;",
            f"  cluster.value.clusterDim.x = {cluster};",
            "  cluster.value.clusterDim.y = cluster.value.clusterDim.z = 1;",
            "  config.attrs = declared ? NULL : &cluster;",
            "  config.numAttrs = declared ? 0 : 1;",
        ]

    def _grid_lines(self) -> list[str]:
        cluster, resident = self.binary.cluster, self.binary.grid.resident
        if self.visits:
            return [f"  const long long grid = {self.ordered_grid};"]
        if cluster > 1:
            lines = [
                "  int together = 0;",
                f"  config.gridDimX = {cluster};",
                "  r = cuOccupancyMaxActiveClusters(&together, k->function, &config);",
                "  if (r != CUDA_SUCCESS) return r;",
                "  const long long most = together;",
            ]
        elif resident is None:
            lines = [
                "  int each = 0;",
                "  r = cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, k->function,"
                f" {self.binary.threads}, {self.binary.shared_bytes});",
                "  if (r != CUDA_SUCCESS) return r;",
                "  const long long most = (long long)k->sms * each;",
            ]
        else:
            lines = [f"  const long long most = (long long)k->sms * {resident};"]
        times = f" * {cluster}" if cluster > 1 else ""
        return [*lines, f"  const long long grid = (tiles < most ? tiles : most){times};"]

    def _argument(self, n: int, p: object) -> tuple[list[str], str]:  # noqa: PLR0911 (a kind)
        """A parameter of the kernel as a C variable."""
        name = f"p{n}"
        match p:
            case MapParam():
                return self._map(name, p), name
            case PointerParam():
                return [f"const CUdeviceptr {name} = a->{c_name(p.tensor)}.data;"], name
            case StrideParam():
                text = self._stride(p.tensor, self._place(p.tensor, p.axis))
                return [f"const long long {name} = {text};"], name
            case SizeParam():
                return [f"const int {name} = a->size.{c_name(p.axis)};"], name
            case ScalarParam():
                kind = "int" if p.dtype is DType.I32 else "float"
                return [f"const {kind} {name} = a->scalar.{c_name(p.parameter)};"], name
            case WorkParam():
                return [f"const CUdeviceptr {name} = a->work;"], name
            case _:
                return [f"const CUdeviceptr {name} = a->visits;"], name

    def _map(self, name: str, p: MapParam) -> list[str]:
        """A tensor map: the geometry that ``runtime.layout.map_geometry`` states."""
        tensor = next(t for t in self.binary.tensors if t.name == p.tensor)
        size = max(1, tensor.dtype.bits // 8)
        axes = [self._place(p.tensor, i) for i in range(len(tensor.axes))]
        lengths = [self._shape(tensor, a) for a in axes]
        steps = [f"{self._stride(p.tensor, a)} * {size}" for a in axes]
        legal = f"({lengths[-1]} * {size}LL + {STRIDE_ALIGNMENT - 1}) / {STRIDE_ALIGNMENT}"
        lines = [f"if (s_{p.tensor}[{axes[-1]}] != 1) return CUDA_ERROR_INVALID_VALUE;"]
        shape, strides = [f"(cuuint64_t){s}" for s in lengths], []
        for i, step in enumerate(steps[:-1]):
            own = f"b_{name}_{i}"
            lines += [
                f"const long long {own} = {lengths[i]} == 1 ? {legal} * {STRIDE_ALIGNMENT}"
                f" : {step};",
                f"if ({own} <= 0 || {own} % {STRIDE_ALIGNMENT}) return CUDA_ERROR_INVALID_VALUE;",
            ]
            strides.append(own)
        strides.append(str(size))
        box, ahead = list(p.box), "0"
        if p.bounded is not None and len(axes) > MOST_RANK - 2:
            at = p.bounded
            ahead = f"{lengths[at]} * {strides[at]}"
            shape = [f"(cuuint64_t){lengths[at]} + 1", *shape]
            strides, box = [strides[at], *strides], [1, *box]
        elif p.bounded is not None:
            at = p.bounded
            shape = [str(WRAP + 1), f"(cuuint64_t){lengths[at]} + 1", *shape]
            strides = [f"{WRAP_STRIDE}LL", f"{WRAP_STRIDE}LL - {strides[at]}", *strides]
            box = [1, 1, *box]
        if p.stacked:
            wide = box[-1]
            last = shape[-1]
            shape = [f"({last} / {wide} > 1 ? {last} / {wide} : 1)", *shape[:-1], str(wide)]
            strides = [str(wide * size), *strides]
            box = [p.stacked, *box]
        rank = len(shape)
        element = _ELEMENTS.get(tensor.dtype, "UINT8")
        joined = ", ".join(reversed(shape))
        between = ", ".join(f"(cuuint64_t)({s})" for s in reversed(strides[:-1])) or "16"
        return [
            *lines,
            f"CUtensorMap {name};",
            f"const cuuint64_t shape_{name}[] = {{{joined}}};",
            f"const cuuint64_t strides_{name}[] = {{{between}}};",
            f"const cuuint32_t box_{name}[] = {{{', '.join(str(b) for b in reversed(box))}}};",
            f"const cuuint32_t ones_{name}[] = {{{', '.join(['1'] * rank)}}};",
            f"r = cuTensorMapEncodeTiled(&{name}, CU_TENSOR_MAP_DATA_TYPE_{element}, {rank},",
            f"    (void *)(a->{c_name(p.tensor)}.data - ({ahead})), shape_{name}, strides_{name},"
            f" box_{name}, ones_{name},",
            "    CU_TENSOR_MAP_INTERLEAVE_NONE, "
            f"CU_TENSOR_MAP_SWIZZLE_{_SWIZZLE[p.span]}, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,",
            "    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);",
            "if (r != CUDA_SUCCESS) return r;",
        ]
