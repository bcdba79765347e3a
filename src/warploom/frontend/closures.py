"""Functions given to a kernel that use tensors of the Python around them.

A score function may read a bias, a mask function the numbers of documents. Such a function is
*lifted*: tensors it captures become further inputs of the kernel, everything else it uses stays as
it is. Lifted functions are values: two that read the same text and capture equal things are equal,
whatever tensors stand in the places of the captured ones. Of an object whose tensors and numbers a
function reads (``self.bias``) these are captured, not the object.
"""

import dis
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from numbers import Number
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any

from warploom.dataclass import dataclass
from warploom.errors import KernelCallError, KernelTypeError

MOST_CAPTURED = 8


@dataclass(frozen=True, slots=True)
class Captured:
    """A tensor a function captures: an input of the kernel. Without axes it is a number."""

    name: str
    rank: int


class Lifted:
    """A function whose captured tensors are inputs of a kernel."""

    __slots__ = ("_hash", "_key", "function")

    def __init__(self, function: Callable[..., Any], key: tuple[object, ...]) -> None:
        self.function = function
        self._key, self._hash = key, hash(key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lifted) and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"<lifted {getattr(self.function, '__qualname__', 'function')}>"


def is_tensor(found: object) -> bool:
    """Whether an object is an array of some library."""
    if isinstance(found, Number | type | ModuleType) or not hasattr(found, "shape"):
        return False
    ways = ("data_ptr", "__dlpack__", "__cuda_array_interface__", "__array__")
    return hasattr(found, "dtype") and any(hasattr(found, w) for w in ways)


def lift(functions: Mapping[str, Callable[..., Any]]) -> tuple[dict[str, Lifted], dict[str, Any]]:
    """The functions, by the choices they are for, lifted; and the tensors they capture, by name."""
    lifter = _Lifter()
    lifted = {name: lifter.function(f, name) for name, f in functions.items()}
    return lifted, lifter.tensors


def held(functions: Iterable[object]) -> Iterator[object]:
    """All that functions and those they use hold now: whether they still mean the same."""
    left, seen = list(functions), set[tuple[int, ...]]()
    while left:
        found = left.pop()
        if isinstance(found, tuple | list):
            left += found
            continue
        function, bound, named = _parts(found)
        key = (id(function), *map(id, bound))
        if not isinstance(function, FunctionType) or key in seen or not _is_open(function):
            continue
        seen.add(key)
        code = function.__code__
        whole = _around(function) | dict(zip(code.co_varnames, bound, strict=False))
        here = [*whole.values(), *bound, *named.values()]
        yield from here
        yield from (x for name, path in _attributes(code) for x in _read(whole, name, path))
        left += here


class _Lifter:
    def __init__(self) -> None:
        self.tensors: dict[str, Any] = {}
        self.names: dict[int, str] = {}
        self.done: dict[int, Lifted] = {}
        self.open: set[int] = set()

    def function(self, given: object, path: str) -> Lifted:
        """A function with what it captures."""
        if isinstance(given, Lifted):
            return given
        found, bound, named = _parts(given)
        if not isinstance(found, FunctionType):
            raise KernelTypeError(
                f"'{path}' is a {type(given).__name__}",
                why="functions given to a kernel are read from their Python text",
                fix="a function written with def, or a lambda",
            )
        if found is given and id(given) in self.done:
            return self.done[id(given)]
        code = found.__code__
        self.open.add(id(found))
        around = {n: x for n, x in _around(found).items() if x is not found}
        whole = around | dict(zip(code.co_varnames, bound, strict=False))
        stand_ins = {n: self.value(x, n) for n, x in _without_objects(code, whole).items()}
        world = {n: stand_ins[n] for n in around if n not in code.co_freevars}
        closure = tuple(
            CellType(stand_ins[n]) if n in around else CellType() for n in code.co_freevars
        )
        made = FunctionType(code, world, found.__name__, found.__defaults__, closure)
        made.__kwdefaults__ = found.__kwdefaults__
        made.__qualname__ = found.__qualname__
        first = [stand_ins.get(n) for n in code.co_varnames[: len(bound)]]
        more = {n: self.value(x, n) for n, x in named.items()}
        taken: Callable[..., Any] = partial(made, *first, **more) if bound or named else made
        parts = (*_keys({n: stand_ins[n] for n in around}), *map(_key, found.__defaults__ or ()))
        self.open.discard(id(found))
        done = Lifted(taken, (code, parts, tuple(map(_key, first)), _keys(more)))
        if found is given:
            self.done[id(given)] = done
        return done

    def value(self, found: Any, name: str) -> Any:  # noqa: ANN401
        """What stands in for something a function captures."""
        if isinstance(found, _Held):
            return _Held(**{n: self.value(x, n) for n, x in vars(found).items()})
        if is_tensor(found):
            lone = not found.shape and not getattr(found, "is_cuda", False)
            return found.item() if lone else self.tensor(found, name)
        function = _parts(found)[0]
        if isinstance(function, FunctionType) and id(function) not in self.open:
            return self.function(found, name) if _is_open(function) else found
        if isinstance(found, tuple | list):
            return tuple(self.value(x, f"{name}_{i}") for i, x in enumerate(found))
        return found

    def tensor(self, found: Any, name: str) -> Captured:  # noqa: ANN401
        """A tensor as an input; the same one twice is one input."""
        if id(found) not in self.names:
            if len(self.tensors) == MOST_CAPTURED:
                raise KernelCallError(
                    f"more than {MOST_CAPTURED} tensors are captured",
                    where=name,
                    fix="put some of them into one tensor",
                )
            own = name if name not in self.tensors else f"{name}_{len(self.tensors)}"
            self.names[id(found)] = f"given_{own}"
            self.tensors[f"given_{own}"] = found
        return Captured(self.names[id(found)], len(found.shape))


class _Held(SimpleNamespace):
    """What a function reads of an object."""


def _parts(found: object) -> tuple[object, tuple[object, ...], dict[str, Any]]:
    """A function, and what it is bound to: of a method, of a partial one, of a callable object."""
    if isinstance(found, partial):
        function, bound, named = _parts(found.func)
        return function, (*bound, *found.args), {**named, **found.keywords}
    if isinstance(found, MethodType):
        return found.__func__, (found.__self__,), {}
    calls = (vars(c).get("__call__") for c in type(found).__mro__)
    own = next((c for c in calls if c is not None), None)
    if isinstance(own, FunctionType) and not isinstance(found, Lifted) and _is_open(own):
        return own, (found,), {}
    return found, (), {}


def _around(function: FunctionType) -> dict[str, Any]:
    """The names that a function finds around it."""
    code = function.__code__
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    world = {n: function.__globals__[n] for n in code.co_names if n in function.__globals__}
    return world | {n: c.cell_contents for n, c in cells if _is_filled(c)}


@lru_cache(maxsize=1024)
def _attributes(code: CodeType) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Names that a function reads, each with the attributes it reads of it: self, (bias,)."""
    found: list[tuple[str, tuple[str, ...]]] = []
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and found:
            name, path = found.pop()
            found.append((name, (*path, str(step.argval))))
        elif step.opname.startswith("LOAD_") and step.opname != "LOAD_CONST":
            loaded = step.argval if isinstance(step.argval, tuple) else (step.argval,)
            found += [(str(name), ()) for name in loaded]
        elif found:
            found.append(("", ()))  # an attribute that follows is not of that name
    return tuple(dict.fromkeys(f for f in found if f[0]))


def _read(whole: Mapping[str, Any], name: str, path: tuple[str, ...]) -> list[Any]:
    """What the attributes of a name are; nothing where it has none of them."""
    found, missing = whole.get(name), object()
    for part in path:
        found = getattr(found, part, missing)
    return [] if found is missing or not path else [found]


def _without_objects(code: CodeType, whole: Mapping[str, Any]) -> dict[str, Any]:
    """Names with what they hold; of an object whose tensors and numbers are read, just those."""
    result = dict(whole)
    for name, value in whole.items():
        paths = [path for n, path in _attributes(code) if n == name]
        if isinstance(value, ModuleType | type) or is_tensor(value) or () in paths or not paths:
            continue
        ends = [_read(whole, name, path) for path in paths]
        if not all(e and (is_tensor(e[0]) or isinstance(e[0], Number | str | None)) for e in ends):
            continue
        if not any(is_tensor(e[0]) for e in ends):
            continue
        result[name] = made = _Held()
        for path, (end,) in zip(paths, ends, strict=True):
            inner = made
            for part in path[:-1]:
                inner = vars(inner).setdefault(part, _Held())
            setattr(inner, path[-1], end)
    return result


def _is_open(function: FunctionType) -> bool:
    """Whether a function is the author's, or joins authors' functions; libraries have others."""
    module = function.__module__ or ""
    return module.startswith("torch.nn.attention") or not module.startswith(("torch", "warploom"))


def _is_filled(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018 (asks whether there is something in it)
    except ValueError:
        return False
    return True


def _keys(found: Mapping[str, object]) -> tuple[object, ...]:
    return tuple((n, _key(v)) for n, v in sorted(found.items()))


def _key(found: object) -> object:
    """What makes captured things equal: numbers and texts by value, objects by themselves."""
    if isinstance(found, tuple):
        return tuple(map(_key, found))
    if isinstance(found, _Held):
        return _keys(vars(found))
    if isinstance(found, Captured | Lifted | BuiltinFunctionType | type):
        return found
    if isinstance(found, Number | str | bool | None):
        return (type(found).__name__, found)
    return _Same(found)


class _Same:
    """An object that equals nothing but itself; kept, so that no other takes its place."""

    __slots__ = ("found",)

    def __init__(self, found: object) -> None:
        self.found = found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.found is other.found

    def __hash__(self) -> int:
        return id(self.found)
