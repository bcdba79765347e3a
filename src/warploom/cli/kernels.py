"""Schedules and tile kernels by name, an author's own kernels, and what they cost.

What only kernels need, or only schedules, loads with the first of them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import field, replace
from functools import cached_property, lru_cache
from types import CodeType
from typing import TYPE_CHECKING, Any

from warploom.cli.author import user_object
from warploom.dataclass import dataclass
from warploom.errors import ConfigError, WarploomError
from warploom.frontend.tile_kernel import TileKernel
from warploom.ir.mbarrier_dialect import RolesDocument
from warploom.ir.tile import Access, DType, Walk, is_number
from warploom.kernels.declaration import Shipped
from warploom.passes.kernel_config import KernelConfig, pins_of_name
from warploom.targets.h200 import HopperTarget, h200
from warploom.targets.mi355x import MICROSCALED

if TYPE_CHECKING:
    from warploom.compiler.compiled import Compiled
    from warploom.passes.driver import Lowered
    from warploom.pipeline.schedule import PipelineSchedule
    from warploom.sim import RoleCosts

Knobs = dict[str, Any]
Tile = tuple[int, int, int]
DEFAULT = {"bf16": (256, 256, 64), "fp8": (256, 256, 128)}


def usual_tile(name: str, dtype: str) -> Tile | None:
    """The default tile of a schedule other than the double-buffer ones: a step of 128 bytes."""
    if name != "single_buffer":
        return None
    return (128, 128, 128 if dtype in ("fp8", *MICROSCALED) else 64)


def parse_tile(text: str | None, dtype: str, default: Tile | None = None) -> Tile:
    """``256x256x64`` as numbers; by default the shipped tile of the dtype."""
    if text is None:
        return default or DEFAULT["fp8" if dtype in ("fp8", *MICROSCALED) else "bf16"]
    parts = text.lower().split("x")
    if len(parts) != 3 or not all(p.isdigit() and int(p) for p in parts):
        raise ConfigError(f"{text!r} is no tile", where="--tile", fix="write it as 256x256x64")
    return int(parts[0]), int(parts[1]), int(parts[2])


def built_in(
    name: str, knobs: Knobs, tile: str | None, dtype: str, mma: str | None = None
) -> PipelineSchedule:
    """The built-in schedule of that name."""
    from warploom.pipeline.schedules.shipped import shipped, single_buffer

    shape = None if mma is None else parse_tile(mma, dtype)
    block = parse_tile(tile, dtype, usual_tile(name, dtype))
    if name != "single_buffer":
        return shipped(name, block, dtype, mma=shape, **knobs)[0]
    if knobs:
        raise ConfigError(
            f"single_buffer has no knobs, {', '.join(knobs)} given",
            why="its order and waits come from its barriers and the code generator",
        )
    return single_buffer(block, dtype, shape)


WHOLE = 128  # the size of an axis that is used whole, unless stated
_NAME = re.compile(
    r"(?P<kernel>[a-z0-9_]+?)(?:@(?P<said>.+?))?_(?P<sizes>\d+(?:x\d+)+)_(?P<tags>w\d+(?:_\w+)?)"
)
WORDS = {"true": True, "yes": True, "false": False, "no": False, "none": None}
_DTYPES = {"fp8": "e4m3", "fp16": "f16"}


@lru_cache(maxsize=1)
def listed() -> Mapping[str, Shipped]:
    """The shipped kernels that commands know, of all targets."""
    from warploom.kernels.registry import shipped

    return {name: one for name, one in shipped().items() if one.listed}


@lru_cache(maxsize=1)
def hopper_kernels() -> Mapping[str, Shipped]:
    """Those for the H200."""
    return {name: one for name, one in listed().items() if one.target == "h200"}


def words_of(code: CodeType) -> set[str]:
    """The strings that a function compares with or passes on."""
    result: set[str] = set()
    waiting: list[object] = [code]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            result.add(one)
        elif isinstance(one, CodeType):
            waiting += one.co_consts
        elif isinstance(one, tuple | frozenset):
            waiting += one
    return result


@dataclass(frozen=True)
class NamedKernel:
    """A kernel with types and pinned choices, as a command names it. ``free``: nothing else is
    pinned; otherwise what was measured for kernels of its kind is.
    """

    tile_kernel: TileKernel
    dtype: str = "bf16"
    pins: tuple[tuple[str, object], ...] = ()
    whole: tuple[tuple[str, int], ...] = ()
    choices: tuple[tuple[str, object], ...] = ()
    target: HopperTarget = field(default_factory=h200)
    free: bool = False

    def __post_init__(self) -> None:
        """A choice that is a word must be one that its source knows."""
        for name, value in self.choices:
            if isinstance(value, str) and value not in words_of(self.tile_kernel.function.__code__):
                raise ConfigError(
                    f"{self.tile_kernel.name} knows no {name} {value!r}",
                    where=f"{name}={value}",
                    fix="true, false, none, a number, file.py:function, or a string of its source",
                )

    @property
    def declaration(self) -> Shipped | None:
        """What is declared of it, if it ships."""
        from warploom.kernels.registry import declaration_of

        return declaration_of(self.tile_kernel)

    @property
    def decays(self) -> frozenset[str]:
        """Inputs that are exponents, which must not grow a sum for ever."""
        return self.declaration.decays if self.declaration else frozenset()

    @property
    def axes(self) -> list[str]:
        """All axes of its tensors."""
        tensors = self.tile_kernel.signature.tensors
        return list(dict.fromkeys(a.name for t in tensors for a in t.axes))

    @property
    def left_out(self) -> frozenset[str]:
        """The optional tensors: commands name none of them, but for a kernel's main results."""
        from warploom.runtime.attention_grad import TOGETHER

        optional = {t.name for t in self.tile_kernel.signature.tensors if t.optional}
        apart = {"dv"} if dict(self.whole).get("d", WHOLE) > TOGETHER else set()
        wanted = self.declaration.outputs if self.declaration else frozenset()
        return frozenset(optional - (wanted - apart))

    @property
    def element(self) -> str:
        """The element type of its inputs, as the language calls it."""
        if self.dtype in MICROSCALED:
            raise ConfigError(
                f"tile kernels have no tensors of {self.dtype}",
                where="--dtype",
                why="its blocks share scales; the shipped MI355X schedules multiply them",
                fix=f"warploom emit gfx950 fourwave --dtype {self.dtype}",
            )
        return _DTYPES.get(self.dtype, self.dtype)

    @cached_property
    def types(self) -> dict[str, DType]:
        """Element types of the tensors that are used; results of fp8 are bf16."""
        kind = DType(self.element)
        usual = {Access.OUT: DType.BF16 if kind.bits == 8 else kind}
        own = self.declaration.types if self.declaration else {}
        return {
            t.name: t.dtype or own.get(t.name) or usual.get(t.access, kind)
            for t in self.tile_kernel.signature.tensors
            if t.name not in self.left_out
        }

    def whole_sizes(self, axes: Iterable[str]) -> dict[str, int]:
        """The sizes of axes that are used whole: said, the kernel's usual ones, or 128."""
        own = self.declaration.sizes if self.declaration else {}
        return {a: own.get(a, WHOLE) for a in axes} | dict(self.whole)

    @cached_property
    def compiled(self) -> Compiled:
        """Its passes; optional tensors are left out, scalars count as positive."""
        from warploom.compiler.compiled import Compiled, compile_kernel
        from warploom.compiler.tuned import tuned_pins
        from warploom.kernels.measured import LONG

        chosen = dict(self.choices)
        whole = self.tile_kernel.whole_axes(self.types, constants=chosen, without=self.left_out)
        sizes = self.whole_sizes(whole)
        tile_kernel = self.pinned
        if (
            not self.pins and not self.free and self.target == h200()
        ):  # what a call of long rows runs
            known = dict.fromkeys(self.axes, LONG) | sizes
            kernel = tile_kernel.value_for(self.types, known, chosen, self.left_out)
            tile_kernel = tile_kernel.with_config(
                **dict(tuned_pins(tile_kernel, kernel, chosen, known))
            )
        result = compile_kernel(
            tile_kernel,
            self.types,
            sizes=sizes,
            constants=chosen,
            without=self.left_out,
            positive=frozenset(self.tile_kernel.signature.scalars),
            target=self.target,
            free=True,
        )
        assert isinstance(result, Compiled)
        return result

    @property
    def pinned(self) -> TileKernel:
        """The kernel with its pinned choices."""
        return self.tile_kernel.with_config(**dict(self.pins)) if self.pins else self.tile_kernel

    @property
    def config(self) -> KernelConfig:
        """The best config by estimate, or the pinned one."""
        return self.compiled.choices[0].config

    @cached_property
    def lowered(self) -> Lowered:
        """Its schedule, whose document says what was chosen."""
        found = self.compiled.lower(self.config)
        return replace(found, document=replace(found.document, name=self.name))

    @property
    def name(self) -> str:
        """The name of its document."""
        usual = self.tile_kernel.signature.choices
        chosen = [(n, v) for n, v in self.choices if v != usual[n]]
        said = ",".join(f"{n}={getattr(v, '__name__', v)}" for n, v in chosen)
        return f"{self.tile_kernel.name}{f'@{said}' if said else ''}_{self.config.name}"

    @property
    def work(self) -> str:
        """Its tile in words."""
        kernel = self.compiled.rewritten
        walked = {v.name for v in kernel.vars if v.walk in (Walk.TILE, Walk.STEP)}
        sizes = "x".join(str(e) for n, e in self.config.tile if n in walked)
        return f"{sizes} {self.dtype}"

    def costs(self, document: RolesDocument) -> RoleCosts:
        """What the document's ops cost."""
        from warploom.compiler.pricing import role_costs

        return role_costs(replace(self.lowered, document=document), self.target)

    def after(self, name: str) -> str:
        """What the kernel is after a pass, as text; of the config shown."""
        from warploom.compiler import pass_list

        name = pass_list.ALIASES.get(name, name)
        pipelined = not runs_threads(self) and self.compiled.loops
        if name == "codegen" and pipelined:
            return self.source(self.lowered.document)
        return pass_list.after(self.compiled, name, self.config if pipelined else None)

    def source(self, document: RolesDocument) -> str:
        """The kernel with a document's programs as one CUDA source."""
        from warploom.compiler.emit_cuda import emit_kernel

        return emit_kernel(replace(self.lowered, document=document), self.target).text


def runs_threads(found: NamedKernel) -> bool:
    """Whether what a kernel compiles to is a thread program: it has no schedule."""
    made = found.compiled
    if made.without_products() is not None:
        return made.module.threads is not None
    try:
        _ = found.lowered
    except WarploomError:
        with suppress(WarploomError):
            return made.program is not None
    return False


def split_spec(spec: str) -> tuple[str, dict[str, object]]:
    """A name and what it says after an ``@``: ``attention@d=64,causal=True``."""
    name, at, said = spec.partition("@")
    return name, assignments(said.split(",") if at else (), spec)


def assignments(said: Iterable[str], where: str) -> dict[str, object]:
    """``name=value`` pairs: numbers, true, false and none, functions as file.py:object, words."""
    result: dict[str, object] = {}
    for part in said:
        name, equals, value = part.partition("=")
        if not (name.isidentifier() and equals and value):
            raise ConfigError(f"{part!r} says nothing", where=where, fix="name=value")
        result[name] = _value(value)
    return result


def _value(text: str) -> object:
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return user_object(text) if ":" in text else text


def with_choices(kernel: NamedKernel, said: Mapping[str, object], spec: str) -> NamedKernel:
    """The kernel with sizes of its axes and choices as a spec says them."""
    choices = {n: v for n, v in said.items() if n in kernel.tile_kernel.signature.choices}
    for name, size in said.items():
        if name in choices or (name in kernel.axes and isinstance(size, int) and size > 0):
            continue
        known = (*kernel.axes, *kernel.tile_kernel.signature.choices)
        what = f"{size!r} is no size" if name in kernel.axes else f"it has no {name!r}"
        raise ConfigError(
            f"{kernel.tile_kernel.name}: {what}",
            where=spec,
            fix=f"sizes and choices: {', '.join(known)}",
        )
    sizes = tuple((n, v) for n, v in said.items() if isinstance(v, int) and n not in choices)
    return replace(kernel, whole=(*kernel.whole, *sizes), choices=tuple(choices.items()))


def kernel_names() -> tuple[str, ...]:
    """The shipped kernels."""
    return tuple(hopper_kernels())


def described(tile_kernel: TileKernel) -> str:
    """One line about a kernel: the first of its docstring, else of its module's."""
    function = tile_kernel.function
    said = inspect.getdoc(function) or inspect.getdoc(inspect.getmodule(function)) or ""
    return said.partition("\n")[0].replace("``", "")


def kernel_named(
    spec: str, tile: str | None = None, dtype: str | None = None
) -> NamedKernel | None:
    """The shipped kernel of that name or of a document's name; None for another kind of name."""
    return _named(spec, tile, dtype) if ":" in spec else _known(spec, tile, dtype)


def _named(spec: str, tile: str | None, dtype: str | None) -> NamedKernel | None:
    if spec.partition("@")[0] in listed() and not _NAME.fullmatch(spec):
        name, said = split_spec(spec)
        kind = dtype or listed()[name].dtype
        return with_tile(with_choices(NamedKernel(listed()[name].kernel, kind), said, spec), tile)
    name, found = spec, _NAME.fullmatch(spec)
    if found is None or found["kernel"] not in hopper_kernels():
        return None
    if tile is not None:
        raise ConfigError(f"{name} has its tile in its name", where="--tile", fix="drop it")
    return _from_name(found, dtype or hopper_kernels()[found["kernel"]].dtype)


_known = lru_cache(maxsize=64)(_named)  # names without a file, which may change


def _from_name(found: re.Match[str], dtype: str) -> NamedKernel | None:
    said = assignments((found["said"] or "").split(",") if found["said"] else (), found[0])
    kernel = with_choices(
        NamedKernel(hopper_kernels()[found["kernel"]].kernel, dtype), said, found[0]
    )
    numbers = [int(n) for n in found["sizes"].split("x")]
    named = [name for name, extent in kernel.config.tile if extent > 1]
    if len(numbers) != len(named):
        return None
    value, sizes = kernel.compiled.kernel, dict(zip(named, numbers, strict=True))
    whole = [v for v in value.vars if v.walk is Walk.WHOLE and v.name in sizes]
    pins = pins_of_name(found["tags"])
    if pins is None:
        return None
    given = pins.pop("given", None)
    pins |= {v.name: sizes[v.name] for v in value.vars if v.extent is None and v.name in sizes}
    kernel = replace(kernel, whole=tuple((v.axis, sizes[v.name]) for v in whole))
    masked = "causal" in kernel.tile_kernel.signature.choices and not kernel.choices
    for choices in (kernel.choices, *([(("causal", True),)] if masked else [])):
        usual = replace(kernel, choices=choices)  # what a name does not say is of the usual choice
        if found[0].endswith(f"_{usual.config.name}"):
            return usual
    return None if given else replace(kernel, pins=tuple(pins.items()))


def with_tile(kernel: NamedKernel, tile: str | None) -> NamedKernel:
    """The kernel with extents as ``128x256x64``, in the order of its variables."""
    if tile is None:
        return kernel
    free = [v.name for v in kernel.compiled.kernel.vars if v.extent is None]
    parts = tile.lower().split("x")
    if len(parts) > len(free) or not all(p.isdigit() and int(p) for p in parts):
        raise ConfigError(
            f"{tile!r} is no tile of {kernel.tile_kernel.name}",
            where="--tile",
            fix=f"extents of {', '.join(free)}, e.g. {'x'.join(['128'] * len(free))}",
        )
    pins: Mapping[str, object] = dict(zip(free, (int(p) for p in parts), strict=False))
    return replace(kernel, pins=tuple(pins.items()))


def tile_extents(kernel: NamedKernel, tile: str | None) -> dict[str, int]:
    """``128x128x64`` as extents: of the grid's tiles, then of the loops' steps."""
    if tile is None:
        return {}
    own = kernel.compiled.kernel
    free = [v.name for v in own.vars if v.walk in (Walk.TILE, Walk.STEP) and not is_number(v)]
    parts = tile.lower().split("x")
    if len(parts) != len(free) or not all(p.isdigit() and int(p) for p in parts):
        example = "x".join(["64"] * len(free)) or "nothing: it has no tiles"
        raise ConfigError(
            f"{tile!r} is no tile of {kernel.tile_kernel.name}",
            where="--tile",
            fix=f"an extent for each of {', '.join(free)}: {example}",
        )
    return dict(zip(free, map(int, parts), strict=True))
