"""``dataclass`` as the standard library has it, with methods that are made when first needed.

The standard decorator compiles up to six functions a class, as text. A compile loads some four
hundred classes, makes instances of half of them and prints none: a fifth of its time went there.
Here ``__init__`` is compiled for the first instance and the other methods are closures over the
names of the fields. Fields, ``replace``, ``asdict``, signatures, pickles, hashes, errors and what
type checkers see are those of the standard library.

``frozen``, ``slots``, ``kw_only``, ``eq`` and ``repr`` are what the package uses. A class with
``order`` or ``InitVar`` takes the standard decorator.
"""

from __future__ import annotations

import dataclasses as standard
from collections.abc import Callable, Iterable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

Values = Callable[[Any], tuple[object, ...]]
Fields = tuple["standard.Field[Any]", ...]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Callable[[type], type] | type:
        """Give the class the methods that its fields call for."""
        return _made(cls, **options) if cls else lambda cls: _made(cls, **options)


def _made(
    cls: Any,  # noqa: ANN401 (a class that is given methods)
    *,
    frozen: bool = False,
    slots: bool = False,
    kw_only: bool = False,
    eq: bool = True,
    repr: bool = True,
) -> type:
    own = set(cls.__dict__)
    if "__eq__" in own and cls.__dict__.get("__hash__") is None:
        own.discard("__hash__")  # Python's own, because of ``__eq__``
    if cls.__doc__ is None:
        cls.__doc__ = cls.__name__  # the standard library would write the signature
    cls = standard.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
    fields = standard.fields(cls)
    methods: dict[str, Any] = {}
    if "__init__" not in own:
        methods["__init__"] = _later(cls, fields, frozen=frozen, slots=slots)
        methods["__signature__"] = _SIGNATURE
    if repr:
        methods["__repr__"] = _repr_of(tuple(f.name for f in fields if f.repr))
    if eq:
        methods |= _comparison(fields, hashed=frozen)
    if frozen:
        methods |= _refusals(cls, frozenset(f.name for f in fields))
    if frozen and slots:
        methods |= {"__getstate__": _get_state, "__setstate__": _set_state}
    for name, method in methods.items():
        if name not in own:
            setattr(cls, name, method)
    return cls  # type: ignore[no-any-return]


def _values(names: Iterable[str]) -> Values:
    """A function from an instance to the tuple of these fields."""
    names = tuple(names)
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda _: ()
    get = attrgetter(names[0])
    return lambda instance: (get(instance),)


def _comparison(fields: Fields, *, hashed: bool) -> dict[str, Any]:
    """``__eq__`` with a ``__hash__``: of the fields, or none."""
    values = _values(f.name for f in fields if f.compare)
    key = _values(f.name for f in fields if (f.compare if f.hash is None else f.hash))

    def __eq__(self: object, other: object) -> bool:  # noqa: N807
        if other.__class__ is self.__class__:
            return values(self) == values(other)
        return NotImplemented

    def __hash__(self: object) -> int:  # noqa: N807
        return hash(key(self))

    return {"__eq__": __eq__, "__hash__": __hash__ if hashed else None}


def _repr_of(names: tuple[str, ...]) -> Callable[[Any], str]:
    @recursive_repr()
    def __repr__(self: object) -> str:  # noqa: N807
        said = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({said})"

    return __repr__


def _refusals(cls: Any, names: frozenset[str]) -> dict[str, Any]:  # noqa: ANN401
    """``__setattr__`` and ``__delattr__`` of a frozen class."""

    def __setattr__(self: object, name: str, value: object) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise standard.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: object, name: str) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise standard.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


def _get_state(self: Any) -> list[object]:  # noqa: ANN401
    return [getattr(self, f.name) for f in standard.fields(self)]


def _set_state(self: Any, state: list[object]) -> None:  # noqa: ANN401
    for field, value in zip(standard.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


def _later(cls: Any, fields: Fields, *, frozen: bool, slots: bool) -> Callable[..., None]:  # noqa: ANN401
    """An ``__init__`` that compiles the real one, puts it in its place and calls it."""

    def real() -> Any:  # noqa: ANN401
        result = _compiled(cls, fields, frozen=frozen, slots=slots)
        if cls.__dict__["__init__"] is __init__:
            cls.__init__ = result
        return result

    def __init__(self: object, /, *args: object, **kwargs: object) -> None:  # noqa: N807
        real()(self, *args, **kwargs)

    __init__.real = real  # type: ignore[attr-defined]
    return __init__


class _Default:
    """Stands in signatures for what a factory makes."""

    def __repr__(self) -> str:
        return "<factory>"


_DEFAULT = _Default()


def _compiled(cls: Any, fields: Fields, *, frozen: bool, slots: bool) -> Any:  # noqa: ANN401
    """``__init__`` of the fields, from text."""
    me = "_self" if any(f.name == "self" for f in fields) else "self"
    known: dict[str, Any] = {"_set": object.__setattr__, "_by_factory": _DEFAULT}
    lines = []
    for f in fields:
        value = f.name
        if f.default is not standard.MISSING:
            known[f"_of_{f.name}"] = f.default
            value = f.name if f.init else f"_of_{f.name}"
            set_here = f.init or slots  # else the attribute of the class stands
        elif f.default_factory is not standard.MISSING:
            known[f"_of_{f.name}"] = f.default_factory
            value = f"_of_{f.name}()"
            value += f" if {f.name} is _by_factory else {f.name}" if f.init else ""
            set_here = True
        else:
            set_here = f.init
        if set_here:
            to = f"_set({me}, {f.name!r}, {value})" if frozen else f"{me}.{f.name} = {value}"
            lines.append(to)
    if hasattr(cls, "__post_init__"):
        lines.append(f"{me}.__post_init__()")
    positional = [_parameter(f) for f in fields if f.init and not f.kw_only]
    keywords = [_parameter(f) for f in fields if f.init and f.kw_only]
    parameters = ", ".join([me, *positional, *(["*", *keywords] if keywords else [])])
    body = "\n    ".join(lines or ["pass"])
    text = f"def make({', '.join(known)}):\n  def __init__({parameters}):\n    {body}\n"
    space: dict[str, Any] = {}
    exec(f"{text}  return __init__", space)  # names of fields are identifiers
    result = space["make"](**known)
    result.__qualname__, result.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    result.__annotations__ = {f.name: f.type for f in fields if f.init} | {"return": None}
    return result


def _parameter(f: standard.Field[Any]) -> str:
    if f.default is not standard.MISSING:
        return f"{f.name}=_of_{f.name}"
    return f.name if f.default_factory is standard.MISSING else f"{f.name}=_by_factory"


class _Signature:
    """``__signature__`` of a class, for ``inspect``: of ``__init__`` as it is when compiled."""

    def __get__(self, instance: object, owner: type) -> object:
        from inspect import signature  # noqa: PLC0415 (loaded for those who ask)

        init = owner.__init__  # type: ignore[misc]
        found = signature(getattr(init, "real", lambda: init)())
        _, *rest = found.parameters.values()
        return found.replace(parameters=rest)


_SIGNATURE = _Signature()
