"""``warploom.dataclass`` against the decorator of the standard library."""

import copy
import dataclasses as standard
import inspect
import pickle
import sys
import threading
from dataclasses import field

import pytest

from warploom import dataclass as ours
from warploom.dataclass import dataclass

COMBINATIONS = [
    {"frozen": frozen, "slots": slots, "kw_only": kw_only, "eq": eq, "repr": shown}
    for frozen in (False, True)
    for slots in (False, True)
    for kw_only in (False, True)
    for eq in (False, True)
    for shown in (False, True)
]


def two(make):
    """The same classes by both decorators, under the same name."""
    return make(dataclass), make(standard.dataclass)


def errors_of(run):
    try:
        return run()
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("options", COMBINATIONS, ids=str)
def test_instances_do_what_those_of_the_standard_library_do(options):
    def make(decorate):
        @decorate(**options)
        class Both:
            """A class."""

            self: int
            other: object = None
            seen: list = field(default_factory=list, compare=False)
            hidden: int = field(default=3, repr=False)
            never: int = field(default=7, init=False)
            made: tuple = field(default_factory=tuple, init=False)
            hashed: list = field(default_factory=list, hash=False)

        return Both

    mine, standards = two(make)
    nan = float("nan")
    for arguments in ({}, {"self": 1}, {"self": 1, "other": [nan]}, {"self": 1, "never": 2}):
        a, b = (errors_of(lambda c=c: c(**arguments)) for c in (mine, standards))  # noqa: B023
        if isinstance(b, type):
            assert a is b
            continue
        same = mine(**arguments)
        assert (a == same) is (b == standards(**arguments))
        assert (a == 1, a != same) == (b == 1, b != standards(**arguments))
        assert errors_of(lambda a=a: hash(a)) == errors_of(lambda b=b: hash(b)) or not options["eq"]
        if options["repr"]:
            assert repr(a) == repr(b)
        assert standard.asdict(a) == standard.asdict(b)
        assert standard.replace(a, self=2).self == 2
        assert copy.copy(a).other is a.other
        found = [errors_of(lambda x=x: setattr(x, "self", 1)) for x in (a, b)]
        assert found[0] is found[1]
        assert found[0] is (standard.FrozenInstanceError if options["frozen"] else None)
        found = [errors_of(lambda x=x: delattr(x, "self")) for x in (a, b)]
        assert found[0] is found[1]
        assert [f.name for f in standard.fields(a)] == [f.name for f in standard.fields(b)]
    assert mine.__match_args__ == standards.__match_args__
    assert str(inspect.signature(mine)) == str(inspect.signature(standards))
    assert hasattr(mine(self=1), "__dict__") is hasattr(standards(self=1), "__dict__")


def test_methods_of_the_class_stay():
    def make(decorate):
        @decorate(frozen=True, slots=True)
        class Own:
            x: int

            def __init__(self, x):
                object.__setattr__(self, "x", x + 1)

            def __repr__(self):
                return "own"

            def __eq__(self, other):
                return True

            def __hash__(self):
                return 5

        @decorate(frozen=True)
        class Equal:  # noqa: PLW1641
            x: int

            def __eq__(self, other):
                return True

        return Own, Equal

    for mine, standards in zip(*two(make), strict=True):
        assert (repr(mine(3)) == "own") is (repr(standards(3)) == "own")
        assert (mine(3).x, mine(3) == 4, hash(mine(3))) == (
            standards(3).x,
            standards(3) == 4,
            hash(standards(3)),
        )


def test_heirs_and_what_runs_after():
    def make(decorate):
        @decorate(frozen=True, slots=True, kw_only=True)
        class Base:
            a: int
            b: int = 2

            def __post_init__(self):
                if self.a < 0:
                    raise ValueError("negative")

        @decorate(frozen=True, slots=True, kw_only=True)
        class Heir(Base):
            c: int

        class Plain(Heir):
            pass

        return Base, Heir, Plain

    for mine, standards in zip(*two(make), strict=True):
        given = {f.name: 1 for f in standard.fields(standards)}
        assert repr(mine(**given)) == repr(standards(**given))
        assert errors_of(lambda m=mine, g=given: m(**g | {"a": -1})) is ValueError
        assert mine(**given) != 1
        assert str(inspect.signature(mine)) == str(inspect.signature(standards))


@dataclass(frozen=True, slots=True)
class Kept:
    """Of a module, for pickles."""

    x: int
    y: object = None


def test_pickles_and_copies():
    kept = Kept(1, [2])
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(kept, protocol)) == kept
    assert copy.deepcopy(kept) == kept


def test_a_value_that_holds_itself_is_printed():
    @dataclass
    class Ring:
        """Of one."""

        next: object = None

    ring = Ring()
    ring.next = ring
    assert "..." in repr(ring)


def test_the_first_instances_of_many_threads():
    for _ in range(20):

        @dataclass(frozen=True, slots=True)
        class Raced:
            """Made by many at once."""

            x: int
            y: int = 2

        found, ready = [], threading.Barrier(8)

        def make(raced=Raced, found=found, ready=ready):
            ready.wait()
            found.append(raced(1))

        threads = [threading.Thread(target=make) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert found == [Raced(1)] * 8


def test_nothing_is_compiled_before_the_first_instance(monkeypatch):
    counted = []
    compiled = ours._compiled
    module = sys.modules["warploom.dataclass"]
    monkeypatch.setattr(module, "_compiled", lambda *a, **k: counted.append(a) or compiled(*a, **k))

    @dataclass(frozen=True, slots=True)
    class Quiet:
        """Never made until asked for."""

        x: int

    assert not counted
    assert Quiet(1) == Quiet(1)
    assert Quiet(2) != Quiet(1)
    assert len(counted) == 1
