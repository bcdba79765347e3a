"""Calls of a layout that came before: from a guess and one guard straight to the launch.

A call's plan is guessed by the address of one tensor (weights, keys), else it is the last one with
such options; torch's own guards, made for compiled graphs, tell whether the tensors are of its
layout: one call in place of a dozen to make a key. What follows is written out for the plan, word
by word, as Python, so that no call walks a list; that halves its time. New addresses make no
difference.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Any

from warploom.dataclass import dataclass
from warploom.runtime.overlap import Pair
from warploom.runtime.plan import POINTER_ALIGNMENT, Plan, Word
from warploom.runtime.tensors import on_stream
from warploom.runtime.workspace import Piece

PLACES = 4096  # addresses by which plans are guessed
GUARDS = 8  # that are made for a plan: tensors of one layout may differ in other things
FUNCTIONS = 256  # functions that are kept compiled

Check = Callable[..., bool]
Scalars = tuple[float, ...] | None
Call = Callable[[Sequence[Any], Scalars, int | None, int], Sequence[Any] | None]


@dataclass(slots=True, eq=False)
class Entry:
    """A plan, what makes the tensors the caller left out, and what gives the current stream.

    No plan: of a call without elements.

    ``given`` are the places of tensors that a call has. ``work``: gives memory to work in, for a
    stream and whether the caller named it. ``scalars``: those of a call that names none.
    ``apart``: tensors that must not overlap. ``calls`` are guards and calls that are written out
    (``_aliases``), by who keeps them.
    """

    plan: Plan | None
    given: tuple[int, ...]
    made: tuple[tuple[int, Callable[[], Any]], ...]
    stream: Callable[[], int]
    work: Callable[[int, bool], Piece] | None = None
    scalars: tuple[float, ...] = ()
    options: Hashable = None
    apart: tuple[Pair, ...] = ()
    calls: dict[object, list[tuple[dict[int, int], Check, Call]]] = field(default_factory=dict)

    def complete(self, tensors: Sequence[Any], stream: int | None) -> list[Any]:
        """The tensors with the missing outputs made, on the stream that will write them."""
        result = list(tensors)
        with on_stream(tensors[self.given[0]], stream):
            for i, make in self.made:
                result[i] = make()
        return result

    def run(self, tensors: Sequence[Any], scalars: Scalars, stream: int | None) -> list[Any]:
        """Launch with tensors of torch; they, with the missing outputs made."""
        done = self.complete(tensors, stream)
        values = [0 if t is None else t.data_ptr() for t in done]
        self.launch(stream, [*values, *(self.scalars if scalars is None else scalars)])
        return done

    def launch(self, stream: int | None, values: list[Any]) -> None:
        """Launch with addresses and scalars."""
        if self.plan is None:  # nothing has elements
            return
        for pair in self.apart:
            pair.check(values)
        at = self.stream() if stream is None else stream
        if self.work is None:
            self.plan.launch(at, values)
            return
        address, held = self.work(at, stream is not None)
        self.plan.launch(at, [*values, address])
        del held  # the launch is queued: later users of its memory come after it


class GuardedCalls:
    """Entries by what makes them one guess: options, and the address of a tensor, the ``probe``.

    ``guard_of`` makes what tells an entry's tensors; ``otherwise`` serves calls that are not known.
    Safe to use from several threads.
    """

    def __init__(
        self,
        probe: int,
        guard_of: Callable[[list[Any]], Check | None],
        otherwise: Callable[..., Any],
    ) -> None:
        self._probe, self._guard_of, self._otherwise = probe, guard_of, otherwise
        self._guesses: dict[int, tuple[Hashable, Call]] = {}
        self._find = self._guesses.get
        self._lock = threading.Lock()

    def launch(
        self,
        tensors: Sequence[Any],
        scalars: Scalars = (),
        options: Hashable = None,
        stream: int | None = None,
    ) -> Any:  # noqa: ANN401 (a sequence of tensors, or what ``otherwise`` gives)
        """Launch; the tensors in order, with outputs that were None made now.

        Tensors that are None are outputs to be made, or optional ones that are not given; which,
        the kernel's declaration says.
        """
        try:
            last, address = id(options), tensors[self._probe].data_ptr()
            guess = self._find(last + address) or self._find(last)
            if guess is not None and guess[0] is options:
                done = guess[1](tensors, scalars, stream, address)
                if done is not None:
                    return done
        except (AttributeError, TypeError, IndexError, ValueError, RuntimeError):
            done = None  # no tensors of torch; whoever plans tells what is wrong with them
        return self._otherwise(tensors, scalars, options, stream)

    def learn(self, entry: Entry, tensors: Sequence[Any], options: Hashable) -> None:
        """Know an entry by calls like this one from now on."""
        plan = entry.plan
        if plan is None or entry.options is not options or not plan.words or plan.moved:
            return
        if self._probe not in entry.given:
            return
        aliases = _aliases(entry.given, tensors)
        given = [tensors[i] for i in entry.given if i not in aliases]
        calls = entry.calls.setdefault(self, [])
        call = next(
            (call for same, check, call in calls if same == aliases and check(*given)), None
        )
        if call is None and len(calls) < GUARDS:
            check = self._guard_of(given)
            if check is not None:
                call = _call_of(entry, check, aliases, len(tensors), self._probe)
                calls.append((aliases, check, call))
        if call is not None:
            last = id(options)
            with self._lock:
                if len(self._guesses) >= PLACES:
                    self._guesses.clear()
                guess = self._guesses[last] = options, call
                self._guesses[last + tensors[self._probe].data_ptr()] = guess

    def forget(self) -> None:
        """Every guess."""
        with self._lock:
            self._guesses.clear()


def _aliases(given: Sequence[int], tensors: Sequence[Any]) -> dict[int, int]:
    """Tensors that a call gives twice: guards take each once."""
    first = {id(tensors[i]): i for i in reversed(given)}
    return {i: first[id(tensors[i])] for i in given if first[id(tensors[i])] != i}


def _call_of(entry: Entry, check: Check, aliases: dict[int, int], count: int, probe: int) -> Call:
    """What launches an entry with ``count`` tensors once ``check`` knows them; else gives None."""
    plan, made = entry.plan, tuple(i for i, _ in entry.made)
    assert plan is not None
    here, scalars = {*entry.given, *made}, range(count, count + plan.scalars)
    aligned = tuple(i for i in plan.aligned if i in entry.given)  # what is made is
    words = tuple(word for word in plan.words if word[2] >= count or word[2] in here)
    works, several = entry.work is not None, plan.several
    given, apart = entry.given, entry.apart
    source = _generated(
        count, given, aliases, made, scalars, aligned, words, probe, works, several, apart
    )
    makes = [make for _, make in entry.made]
    call: Call = _function(source)(plan, check, entry.stream, makes, entry.scalars, entry.work)
    return call


def _generated(
    count: int,
    given: Sequence[int],
    aliases: dict[int, int],
    made: Sequence[int],
    scalars: Sequence[int],
    aligned: Sequence[int],
    words: Sequence[Word],
    probe: int,
    works: bool,
    several: bool,
    apart: Sequence[Pair],
) -> str:
    """Python that launches: tensors are t, values of the call v, both by place."""
    tensors = _listed("t", range(count))
    absent = "".join(f"t{i} is not None or " for i in range(count) if i not in given)
    same = "".join(f"t{i} is not t{j} or " for i, j in aliases.items())
    here, guarded = [*given, *made], _listed("t", [i for i in given if i not in aliases])
    body = [f"{tensors} = tensors", f"if {absent}{same}not check({guarded}): return None"]
    if made or works:
        body += ["if stream is not None: return None"]  # memory of that stream is made elsewhere
    body += [f"t{i} = make{i}()" for i in made]
    body += [f"v{i} = t{i}.data_ptr()" for i in here if i != probe]
    if aligned:
        body += [f"if ({_listed('v', aligned, ' | ')}) & {POINTER_ALIGNMENT - 1}: return None"]
    for pair in apart:  # whoever plans looks closer
        far = f"-{pair.bytes[1]} < v{pair.other} - v{pair.out} < {pair.bytes[0]}"
        own = f" and v{pair.other} != v{pair.out}" if pair.same else ""
        body += [f"if {far}{own}: return None"]
    body += ["at = current() if stream is None else stream"]
    if scalars:
        body += [f"{_listed('v', scalars)}, = usual if scalars is None else scalars"]
    if works:
        body += [f"v{count + len(scalars)}, piece = work(at, False)"]
    body += ["try: block = pop()", "except IndexError: block = further(())"]
    addresses, factors = ([w for w in words if w[2] in place] for place in (here, scalars))
    body += _kept(addresses, factors, _listed("v", here))
    body += _written([w for w in words if w[2] not in here and w[2] not in scalars])
    body += ["config, held = configs.get(at) or new_config(at)"]
    if several:
        body += ["there(config, block)"]
    else:
        body += ["code = go(config, function, block.pointer, None)"]
        body += ["if code: again(code, config, block)"]
    body += ["push(block)", f"return {tensors}"]
    return "\n".join(
        [
            "def bound(plan, check, current, makes, usual, work):",
            "    go, function, again, further = plan.go, plan.function, plan.again, plan.block",
            "    configs, new_config, there = plan.configs, plan.new_config, plan.launch_there",
            "    pop, push = plan.free.pop, plan.free.append",
            *([f"    {_listed('make', made)}, = makes"] if made else []),
            f"    def call(tensors, scalars, stream, v{probe}):",
            *(f"        {line}" for line in body),
            "    return call",
        ]
    )


def _written(words: Sequence[Word], margin: str = "") -> list[str]:
    """Words into the block."""
    lines = [f"{form} = block.views['{form}']" for form in sorted({form for form, *_ in words})]
    lines += [
        f"{form}[{at}] = v{i}" + (f" - {less}" if less else "") for form, at, i, less in words
    ]
    return [margin + line for line in lines]


def _kept(addresses: Sequence[Word], factors: Sequence[Word], values: str) -> list[str]:
    """Addresses and usual scalars into the block where it does not hold them; others always."""
    lines = [f"now = ({values}, {'scalars is None' if factors else ''})", "if now != block.now:"]
    lines += [*_written([*addresses, *factors], "    "), "    block.now = now"]
    return lines + (["elif scalars is not None:", *_written(factors, "    ")] if factors else [])


def _listed(name: str, places: Sequence[int], between: str = ", ") -> str:
    return between.join(f"{name}{i}" for i in places)


@lru_cache(maxsize=FUNCTIONS)
def _function(source: str) -> Callable[..., Call]:
    """What binds the generated call to a plan."""
    names: dict[str, Callable[..., Call]] = {}
    exec(compile(source, "<launch of a plan>", "exec"), names)
    return names["bound"]
