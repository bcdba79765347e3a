"""``@warploom.kernel``: a kernel's source, of which values are made for given types and sizes."""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any, NoReturn

from warploom.errors import KernelCallError, KernelTypeError
from warploom.frontend import hooks
from warploom.frontend.closures import Lifted, lift
from warploom.frontend.parser import read
from warploom.frontend.signature import MISSING, Signature, TensorText, read_signature
from warploom.frontend.source import Source, read_source
from warploom.ir.tile import Access, Axis, DType, Kernel, Tensor

if TYPE_CHECKING:
    from warploom.frontend.compare import Difference

Types = Mapping[str, str | DType] | str | DType


class TileKernel:
    """A kernel as its author wrote it; ``specialise`` makes its value for given types."""

    def __init__(
        self,
        function: Callable[..., Any],
        pins: Mapping[str, object] | None = None,
        choices: Mapping[str, Lifted] | None = None,
        captured: tuple[TensorText, ...] = (),
    ) -> None:
        self.function = function
        self.pins: dict[str, object] = dict(pins or {})
        self.given, self.captured = dict(choices or {}), captured
        self.name = function.__name__
        self.source: Source = read_source(function)
        self.signature: Signature = _joined(
            read_signature(function, self.source), self.given, captured
        )
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.__module__ = function.__module__
        self.__wrapped__ = function

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Kernels are pickled by name, as functions are; choices that were made go with them."""
        module, name = self.function.__module__, self.function.__qualname__
        found: object = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is self:
            return name
        if isinstance(found, TileKernel) and found.function is self.function:
            return TileKernel._again, (found, self.pins, self.given, self.captured)
        self._fail(
            f"kernel '{self.name}' cannot be pickled",
            why=f"it is found again by its name, and '{module}.{name}' is something else",
            fix="define it at the top of a module, under its own name",
        )

    def _again(
        self,
        pins: Mapping[str, object],
        given: Mapping[str, Lifted],
        captured: tuple[TensorText, ...],
    ) -> TileKernel:
        """The same kernel with these choices."""
        return TileKernel(self.function, pins, given, captured)

    def __repr__(self) -> str:
        return f"<kernel {self.name}({', '.join(t.name for t in self.signature.tensors)})>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the source."""
        text = "\n".join(line.rstrip() for line in self.source.lines)
        return f"<div><b>{escape(repr(self))}</b></div><pre>{escape(text)}</pre>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 (arrays of any library)
        """Run it on the GPU: inputs in order, the rest by name; gives the outputs.

        Outputs may be given by name, else they are made; an optional one is made where it is
        ``True``. ``types={"out": "f32"}`` names element types of outputs that are made, ``stream``
        a CUDA stream. The first call with a set of layouts compiles, later ones launch.
        """
        if hooks.launcher is None:
            raise self._no_back_end("cannot run here")
        return hooks.launcher(self, args, kwargs)

    def benchmark(
        self,
        *args: Any,  # noqa: ANN401 (arrays of any library)
        against: Mapping[str, Callable[..., object]] | None = None,
        rounds: int = 5,
        **given: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401 (``warploom.runtime.tuning.Benchmark``, a package above)
        """Median milliseconds of a call with these arguments, on the GPU.

        ``against``: functions of the same tensors by name, timed in turn with it.
        """
        if hooks.benchmark is None:
            raise self._no_back_end("cannot be timed here")
        return hooks.benchmark(self, args, given, against=against, rounds=rounds)

    def with_config(self, **pins: object) -> TileKernel:
        """The same kernel with a part of its configuration pinned.

        The tile by variable, and knobs such as ``consumer_warpgroups`` and ``stages``
        (``warploom.passes.kernel_config.knobs()`` lists them).
        """
        if hooks.check_pins is not None:
            hooks.check_pins(self, pins)
        return TileKernel(self.function, {**self.pins, **pins}, self.given, self.captured)

    def given_functions(self, **functions: Any) -> tuple[TileKernel, dict[str, Any]]:  # noqa: ANN401
        """The same kernel with functions for its choices, and the tensors these capture.

        Captured tensors are further inputs of the kernel, by name.
        """
        for name in functions:
            if name not in self.signature.choices:
                self._fail(
                    f"'{name}' is no choice of the kernel",
                    why=f"it has {', '.join(self.signature.choices) or 'none'}",
                    fix="names that stand after the * in its text",
                )
        lifted, tensors = lift(functions)
        return self.with_lifted(lifted, {n: len(t.shape) for n, t in tensors.items()}), tensors

    def with_lifted(self, lifted: Mapping[str, Lifted], captured: Mapping[str, int]) -> TileKernel:
        """The same kernel with choices made, and captured tensors with their numbers of axes."""
        texts = tuple(
            TensorText(
                name=name,
                axes=tuple(Axis(name=f"{name}_{i}") for i in range(max(1, rank))),
                access=Access.IN,
                dtype=None,
                optional=False,
                captured=True,
            )
            for name, rank in captured.items()
        )
        return TileKernel(self.function, self.pins, {**self.given, **lifted}, texts)

    def compile(
        self,
        types: Types | None = None,
        *,
        sizes: Mapping[str, int] | None = None,
        constants: Mapping[str, object] | None = None,
        without: Collection[str] = (),
        positive: Collection[str] = (),
        target: object = None,
        check: Mapping[str, int] | None = None,
    ) -> Any:  # noqa: ANN401 (``warploom.compiler.compiled.Compiled``, a package above)
        """What every pass makes of it, without a GPU: listings, schedule, proof, CUDA, cubin.

        ``sizes`` steer the choice of tiles (4096 where not given). ``types``, ``constants`` and
        ``without`` as in ``specialise``; ``positive``: scalars that will exceed 0. ``target``: the
        ``HopperTarget`` to derive for (H200), or ``"mi355x"``. ``check``: sizes of a small launch
        for which the machine code is checked for races; ``CheckError`` where it is not clean.
        """
        if hooks.compiler is None:
            raise self._no_back_end("cannot be compiled here")
        result = hooks.compiler(
            self,
            types or {},
            sizes=sizes or {},
            constants=constants or {},
            without=without,
            positive=frozenset(positive),
            target=target,
        )
        if check is not None:
            result.require_checked(check)
        return result

    def export(
        self,
        folder: Any,  # noqa: ANN401 (a path or its text)
        types: Types | None = None,
        *,
        sizes: Mapping[str, int] | None = None,
        constants: Mapping[str, object] | None = None,
        without: Collection[str] = (),
        positive: Collection[str] = (),
        target: object = None,
        name: str = "",
    ) -> tuple[Any, ...]:
        """Compile it ahead of time into files that need no warploom; gives their paths.

        For Hopper: a cubin, a JSON of arguments, grid and tensor maps, a C header with a launcher.
        For MI355X: code object, assembly, JSON and a host program. All else as in ``compile``.
        """
        made = self.compile(
            types,
            sizes=sizes,
            constants=constants,
            without=without,
            positive=positive,
            target=target,
        )
        result: tuple[Any, ...] = made.export(folder, name=name)
        return result

    def interpret(
        self,
        *arrays: Any,  # noqa: ANN401 (arrays of any library)
        types: Types | None = None,
        target: str = "h200",
        config: object = None,
        timing: str = "adversarial",
        seed: int = 0,
        sizes: Mapping[str, int] | None = None,
        scalars: Mapping[str, float] | None = None,
        initial: Mapping[str, Any] | None = None,
        **given: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401 (arrays)
        """Execute the kernel's module on the CPU: its program, with values and synchronisation.

        Inputs are NumPy arrays or CPU tensors in order, rounded to ``types``; optional ones,
        scalars and choices by name. Gives float32 arrays with the rounded values, integers as
        integers; elements nobody wrote are NaN. ``config``: a ``KernelConfig`` or its pins;
        otherwise
        the first choice for these sizes. ``timing``: ``in_order``, ``random``, ``adversarial``.
        """
        if hooks.interpreter is None:
            raise self._no_back_end("cannot be interpreted here")
        return hooks.interpreter(
            self,
            arrays,
            given,
            types=types,
            target=target,
            config=config,
            timing=timing,
            seed=seed,
            sizes=sizes or {},
            scalars=scalars or {},
            initial=initial or {},
        )

    def spell(self, types: Types, without: Collection[str] = ()) -> dict[str, str | DType]:
        """Types by tensor; one type stands for all tensors whose annotation names none."""
        if isinstance(types, Mapping):
            return dict(types)
        return {
            t.name: types
            for t in self.signature.tensors
            if t.dtype is None and t.name not in without
        }

    def _no_back_end(self, what: str) -> KernelCallError:
        return KernelCallError(
            f"kernel '{self.name}' {what}",
            where=str(self.source.line(self.source.tree)),
            why="no GPU back end has been loaded",
            fix="import warploom, or use .reference(...)",
        )

    def specialise(
        self,
        types: Types | None = None,
        *,
        sizes: Mapping[str, int] | None = None,
        constants: Mapping[str, object] | None = None,
        without: Collection[str] = (),
    ) -> Kernel:
        """The kernel's value.

        Args:
            types: element types of tensors whose annotation names none, or one for all of them.
            sizes: sizes of axes, by name; those used whole must be given, others may.
            constants: compile-time choices, and scalars that are to be built in.
            without: outputs that are not wanted, and optional inputs that are not given.
        """
        kinds = self.spell(types or {}, without)
        return self._read(kinds, sizes or {}, constants or {}, without, None)

    def whole_axes(
        self,
        types: Types,
        *,
        constants: Mapping[str, object] | None = None,
        without: Collection[str] = (),
    ) -> frozenset[str]:
        """The axes whose sizes ``specialise`` needs."""
        found: set[str] = set()
        self._read(self.spell(types, without), {}, constants or {}, without, found)
        return frozenset(found)

    def value_for(
        self,
        types: Mapping[str, str | DType],
        sizes: Mapping[str, int],
        constants: Mapping[str, object],
        without: Collection[str],
    ) -> Kernel:
        """The value for a problem: of its sizes, those of axes used whole shape the kernel."""
        whole = self.whole_axes(types, constants=constants, without=without)
        known = {a: n for a, n in sizes.items() if a in whole}
        return self.specialise(types, sizes=known, constants=constants, without=without)

    def reference(
        self,
        *arrays: Any,  # noqa: ANN401 (arrays of any library)
        types: Types | None = None,
        constants: Mapping[str, object] | None = None,
        without: Collection[str] = (),
        **given: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401 (NumPy arrays)
        """What the kernel computes for these inputs, in NumPy; types not named are f32.

        Inputs may be given by name, as compile-time choices are; optional ones are left out by None
        or by nothing. All else as in ``Kernel.reference``: scalars by name, ``exact``,
        ``extents``, ``sizes``, ``initial``.
        """
        from warploom.frontend.pointwise import as_declared  # noqa: PLC0415 (NumPy when asked)

        kernel, every, rest = self._evaluated(arrays, types, constants, without, given)
        made = kernel.reference(*every, **rest)
        kinds = {t.name: t.dtype for t in self.signature.tensors} | self.spell(types or {})
        outputs = [
            DType(kinds[t.name] or DType.F32) for t in kernel.tensors if t.access is Access.OUT
        ]
        if isinstance(made, tuple):
            return tuple(as_declared(x, d) for x, d in zip(made, outputs, strict=True))
        return as_declared(made, outputs[0])

    def compare(
        self,
        *arrays: Any,  # noqa: ANN401 (arrays of any library)
        types: Types | None = None,
        constants: Mapping[str, object] | None = None,
        without: Collection[str] = (),
        tolerance: float = 0.05,
        **given: Any,  # noqa: ANN401
    ) -> Difference | None:
        """The first line whose value in the declared types is not near that in float64.

        Takes what ``reference`` takes. ``print`` of what it gives names the line, the tile and the
        step: the first NaN, infinity or difference above the tolerance. None: all are near.
        """
        from warploom.frontend.compare import compare  # noqa: PLC0415 (NumPy only when asked)

        kernel, every, rest = self._evaluated(arrays, types, constants, without, given)
        named = ("extents", "sizes", "initial")
        options = {n: rest.pop(n) for n in named if n in rest}
        return compare(kernel, tuple(every), rest, tolerance=tolerance, **options)

    def _evaluated(
        self,
        arrays: tuple[Any, ...],
        types: Types | None,
        constants: Mapping[str, object] | None,
        without: Collection[str],
        given: dict[str, Any],
    ) -> tuple[Kernel, list[Any], dict[str, Any]]:
        """The kernel of an evaluation in NumPy, its arrays in order, and all else by name."""
        inputs = self.signature.inputs
        rest = inputs[len(arrays) :]
        named_arrays = [given.pop(t.name, None) for t in rest if t.optional or t.name in given]
        every = (*arrays, *named_arrays)
        if len(every) != len(inputs):
            self._fail(
                f"{len(arrays)} arrays for {len(inputs)} tensors",
                why=f"the kernel takes {', '.join(t.name for t in inputs)}; outputs are made",
                fix="one array for each, in order",
            )
        pairs = list(zip(inputs, every, strict=True))
        left_out = {t.name for t, a in pairs if a is None} | set(without)
        kinds = self.spell(DType.F32) | self.spell(types or {}, left_out)
        named = {n: given.pop(n) for n in list(given) if n in self.signature.choices}
        choices = dict(constants or {}) | named
        sizes = {
            axis.name: size
            for t, a in pairs
            if a is not None
            for axis, size in zip(t.axes, a.shape, strict=False)
            if axis.per == 1 and t.access is not Access.STARTS
        }
        self.check_arguments(given.get("sizes") or {}, given.get("initial") or {}, types)
        kernel = self.value_for(kinds, sizes, choices, left_out)
        extents = given.get("extents") or {}
        variables = [v.name for v in kernel.vars]
        self.check_names("extents", extents, variables, "variables of the kernel")
        scalars = [n for n in given if n not in ("sizes", "initial", "extents", "exact")]
        known = [*self.signature.scalars, *self.signature.choices]
        self.check_names("an argument", scalars, known, "scalars and choices of the kernel")
        built_in = {n: v for n, v in self.signature.scalar_defaults.items() if n not in choices}
        return kernel, *self._as_stored(pairs, kinds, built_in | given)

    def _as_stored(
        self,
        pairs: Sequence[tuple[TensorText, Any]],
        kinds: Mapping[str, str | DType],
        given: dict[str, Any],
    ) -> tuple[list[Any], dict[str, Any]]:
        """Arrays, and what outputs hold before, as the kernel's tensors hold them."""
        import numpy as np  # noqa: PLC0415 (only when asked)

        from warploom.frontend.pointwise import as_stored  # noqa: PLC0415

        stated = {t.name: t.dtype for t in self.signature.tensors if t.dtype is not None}
        types = {n: DType(d) for n, d in (stated | dict(kinds)).items()}
        arrays = [as_stored(np.asarray(a), types[t.name]) for t, a in pairs if a is not None]
        if given.get("initial"):
            before = {n: as_stored(np.asarray(a), types[n]) for n, a in given["initial"].items()}
            given = given | {"initial": before}
        return arrays, given

    def _read(
        self,
        types: Mapping[str, str | DType],
        sizes: Mapping[str, int],
        constants: Mapping[str, object],
        without: Collection[str],
        assumed: set[str] | None,
    ) -> Kernel:
        given = self._choices(constants)
        tensors = self._tensors(types, without)
        axes = {a.name for t in self.signature.tensors for a in t.axes}
        for name, size in sizes.items():
            if name not in axes or type(size) is not int or size < 1:
                empty = name in axes and size == 0
                self._fail(
                    f"size {size!r} of axis '{name}'",
                    why="a tile has all of this axis, which then has an element at least"
                    if empty
                    else "sizes are positive numbers of axes the kernel has",
                    fix="give results for tensors without elements before the call"
                    if empty
                    else f"its axes are {', '.join(sorted(axes))}",
                )
        return read(
            self.function,
            self.source,
            self.signature,
            tensors=tensors,
            sizes=sizes,
            constants=given,
            without=without,
            assumed=assumed,
        )

    def _choices(self, constants: Mapping[str, object]) -> dict[str, object]:
        known = {*self.signature.choices, *self.signature.scalars}
        for name in constants:
            if name not in known:
                self._fail(
                    f"'{name}' is no scalar or choice of the kernel",
                    why=f"it has {', '.join(sorted(known)) or 'none'}",
                    fix=_nearest(name, known) or "names that stand after the * in its text",
                )
        given = {n: constants.get(n, d) for n, d in self.signature.choices.items()}
        for name, value in given.items():
            if value is MISSING:
                self._fail(
                    f"choice '{name}' is not given",
                    why="it has no default",
                    fix=f"constants={{'{name}': ...}}",
                )
        return given | {n: v for n, v in constants.items() if n in self.signature.scalars}

    def _tensors(
        self, types: Mapping[str, str | DType], without: Collection[str]
    ) -> dict[str, Tensor]:
        texts = {t.name: t for t in self.signature.tensors}
        for name in (*types, *without):
            if name not in texts:
                self._fail(
                    f"'{name}' is no tensor of the kernel",
                    why=f"its tensors are {', '.join(texts)}",
                    fix=_nearest(name, texts) or "one of them",
                )
        for name in without:
            if texts[name].access is not Access.OUT and not texts[name].optional:
                self._fail(
                    f"input '{name}' cannot be left out",
                    why="its text has no default of None",
                    fix=f"{name}: wl.In[...] = None",
                )
        return {
            name: Tensor(
                name=name,
                axes=text.axes,
                dtype=self._dtype(name, types, left_out=name in without),
                access=text.access,
                optional=text.optional,
                blocked=text.blocked,
                captured=text.captured,
            )
            for name, text in texts.items()
        }

    def _dtype(self, name: str, types: Mapping[str, str | DType], *, left_out: bool) -> DType:
        stated = next(t.dtype for t in self.signature.tensors if t.name == name)
        given = types.get(name)
        if given is None:
            if stated is None and not left_out:
                self._fail(
                    f"the element type of '{name}' is not given",
                    why="its annotation names none, so the call decides",
                    fix=f"types={{'{name}': 'bf16'}}",
                )
            return stated or DType.F32
        try:
            dtype = DType(given)
        except ValueError:
            self._fail(
                f"{given!r} is no element type (of '{name}')",
                why="known are " + ", ".join(d.value for d in DType),
                fix=f"types={{'{name}': 'bf16'}}",
            )
        if stated is not None and stated is not dtype:
            self._fail(
                f"'{name}' cannot be of type {dtype}",
                why=f"its text says {stated}",
                fix="the type of the text",
            )
        return dtype

    @property
    def axes(self) -> frozenset[str]:
        """The names of all axes of its tensors."""
        return frozenset(a.name for t in self.signature.tensors for a in t.axes)

    def check_names(
        self, option: str, given: Collection[str], known: Collection[str], what: str
    ) -> None:
        """``KernelCallError`` for a name that the kernel has not, with the nearest one."""
        names = sorted(known)
        for name in given:
            if name not in names:
                hint = _nearest(name, names)
                self._fail(
                    f"{option}{'=' * option.isidentifier()} names '{name}'",
                    why=f"it names {what}",
                    fix=f"{hint} known: {', '.join(names) or 'none'}".strip(),
                )

    def check_arguments(
        self,
        sizes: Mapping[str, int],
        initial: Mapping[str, Any],
        types: Types | None,
    ) -> None:
        """Names that an evaluation takes: of axes, outputs and tensors."""
        self.check_names("sizes", sizes, self.axes, "axes of the kernel")
        outputs = [t.name for t in self.signature.outputs]
        self.check_names("initial", initial, outputs, "outputs of the kernel")
        if isinstance(types, Mapping):
            tensors = [t.name for t in self.signature.tensors]
            self.check_names("types", types, tensors, "tensors of the kernel")

    def _fail(self, what: str, *, why: str, fix: str) -> NoReturn:
        self.source.fail(KernelCallError, self.source.tree, what, why=why, fix=fix)


Text = TileKernel  # its name until 0.2


def _joined(
    signature: Signature, choices: Mapping[str, Lifted], captured: tuple[TensorText, ...]
) -> Signature:
    """A signature with choices made, and the tensors that functions among them capture."""
    return replace(
        signature, tensors=(*signature.tensors, *captured), choices={**signature.choices, **choices}
    )


def _nearest(name: object, known: Collection[str]) -> str:
    """A suggestion among what is known, letters of the other case first."""
    names = sorted(known)
    near = [n for n in names if n.lower() == str(name).lower()]
    near = near or difflib.get_close_matches(str(name), names, n=1, cutoff=0.0)
    return f"did you mean '{near[0]}'?" if near else ""


def kernel(function: Callable[..., Any]) -> TileKernel:
    """Make a tile kernel of a Python function; its source is parsed, it never runs as Python."""
    if getattr(function, "__name__", "") == "<lambda>":
        code = function.__code__
        raise KernelTypeError(
            "a lambda is no kernel",
            where=f"{code.co_filename}:{code.co_firstlineno}",
            why="tensors are declared by annotations and tiles by statements; a lambda has neither",
            fix="@warploom.kernel\ndef name(x: wl.In[...], out: wl.Out[...]): ...",
        )
    if not callable(function) or not hasattr(function, "__code__"):
        raise KernelTypeError(
            "@warploom.kernel stands over something that is no function",
            why="a kernel is read from the text of a function",
            fix="@warploom.kernel\ndef name(x: wl.In[...], out: wl.Out[...]): ...",
        )
    # Decorators below this one wrap a call that is never made: what they wrap is read.
    return TileKernel(inspect.unwrap(function))
