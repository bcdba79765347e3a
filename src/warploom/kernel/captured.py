"""Functions given to a kernel that use tensors of the Python around them.

A score function may read a bias, a mask function the numbers of documents. Such a function is
*lifted*: tensors it captures become further inputs of the kernel, everything else it uses stays as
it is. Lifted functions are values: two that read the same text and capture equal things are equal,
whatever tensors stand in the places of the captured ones.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Number
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import Any

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


def reached(functions: Iterable[object]) -> Iterator[FunctionType]:
    """The functions given and those they use, each once."""
    left, seen = list(functions), set[int]()
    while left:
        found = left.pop()
        if isinstance(found, tuple | list):
            left += found
        elif isinstance(found, MethodType):
            left.append(found.__func__)
        elif isinstance(found, FunctionType) and id(found) not in seen and _is_open(found):
            seen.add(id(found))
            yield found
            left += [c.cell_contents for c in found.__closure__ or ()]
            left += [found.__globals__.get(n) for n in found.__code__.co_names]


class _Lifter:
    def __init__(self) -> None:
        self.tensors: dict[str, Any] = {}
        self.names: dict[int, str] = {}
        self.done: dict[int, Lifted] = {}
        self.open: set[int] = set()

    def function(self, given: object, path: str) -> Lifted:
        """A function with what it captures."""
        bound: tuple[object, ...] = ()
        if isinstance(given, MethodType):
            bound, given = (given.__self__,), given.__func__
        if isinstance(given, Lifted):
            return given
        if not isinstance(given, FunctionType):
            raise KernelTypeError(
                f"'{path}' is a {type(given).__name__}",
                why="functions given to a kernel are read from their Python text",
                fix="a function written with def, or a lambda",
            )
        if id(given) in self.done:
            return self.done[id(given)]
        code = given.__code__
        self.open.add(id(given))
        cells = {
            n: self.value(cell.cell_contents, n)
            for n, cell in zip(code.co_freevars, given.__closure__ or (), strict=True)
            if _is_filled(cell)
        }
        world = {
            n: self.value(given.__globals__[n], n)
            for n in code.co_names
            if n in given.__globals__ and given.__globals__[n] is not given
        }
        closure = tuple(CellType(cells[n]) if n in cells else CellType() for n in code.co_freevars)
        made = FunctionType(code, world, given.__name__, given.__defaults__, closure)
        made.__kwdefaults__ = given.__kwdefaults__
        made.__qualname__ = given.__qualname__
        taken: Callable[..., Any] = MethodType(made, bound[0]) if bound else made
        parts = (*_keys(cells), *_keys(world), *(_key(d) for d in given.__defaults__ or ()))
        self.open.discard(id(given))
        key = (code, parts, tuple(map(_key, bound)))
        self.done[id(given)] = found = Lifted(taken, key)
        return found

    def value(self, found: Any, name: str) -> Any:  # noqa: ANN401
        """What stands in for something a function captures."""
        if is_tensor(found):
            lone = not found.shape and not getattr(found, "is_cuda", False)
            return found.item() if lone else self.tensor(found, name)
        if isinstance(found, FunctionType) and id(found) not in self.open and _is_open(found):
            return self.function(found, name)
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
