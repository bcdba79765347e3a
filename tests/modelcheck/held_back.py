"""Runs in which one step, or one copy, is held back while everything else goes as far as it can.

Nothing in a role program chooses: who may go on may still do so after anybody else has moved. So
what can happen before a step at all happens when that step is held back and all others run. One
such run for each step of each strand (and for each copy) therefore shows every race of two steps,
in time that grows with the square of a run. That is no search over interleavings: deep rings and
long sequences of tiles can be tried. The machine is the model checker's.
"""

from __future__ import annotations

import random

from .alone import alone
from .checker import Checker, Wrong


class HeldBack(Checker):
    """A machine that runs with one step or copy held back."""

    def start(self):
        strands = len(self.strands)
        return (
            (0,) * strands,
            (None,) * strands,
            tuple((n, 0, 0) for n, _ in self.bar_start),
            ((0, 0),) * len(self.named_need),
            (None,) * len(self.slot_ids),
            (),
        )

    def points(self):
        """Steps (strand, place) and copies (slot, use) that can be held back."""
        steps = [
            (i, pc)
            for i, s in enumerate(self.strands)
            for pc in range(len(s.code))
            if not s.quiet[pc] and not s.early[pc]
        ]
        copies = {("copy", c[1], c[2]) for s in self.strands for c in s.code if c[0] == "load"}
        return [*steps, *sorted(copies)]

    def run_with(self, point, state=None):
        """None, or what goes wrong with a point held back and then let go; from a state on."""
        try:
            state = self._go_on(self.start() if state is None else state, point)
            self._ended(self._go_on(state, None))
        except Wrong as wrong:
            return str(wrong)
        return None

    def reached(self):
        """The state of the run without anything held back in which a point is first reached.

        Until then, holding it back changes nothing: its run may begin there.
        """
        found, state = {}, self.start()
        while state is not None:
            state = self._settle(state)
            for point in (*enumerate(state[0]), *(("copy", c[0], c[1]) for c in state[5])):
                found.setdefault(point, state)
            state = self._first_move(state, None)
        return found

    def _go_on(self, state, point):
        """As far as it can."""
        while True:
            state = self._settle(state)
            after = self._first_move(state, point)
            if after is None:
                return state
            state = after

    def _first_move(self, state, point):
        for copy in state[5]:
            if point != ("copy", copy[0], copy[1]):
                return self._land(state, copy)
        for i, s in enumerate(self.strands):
            pc = state[0][i]
            if pc == len(s.code):
                continue
            group = self.groups[i][pc]
            if len(group) > 1 and any(state[0][j] != pc for j in group):
                continue
            if any((j, pc) == point for j in group):
                continue
            after = self._step(state, i, s, s.code[pc], group)
            if after is not None:
                return after
        return None


def first_fault(document, intended, tiles, *, most=None, seed=0):
    """What goes wrong in some run over tiles with something held back, or None.

    ``most``: so many of the points, drawn at random.
    """
    found, wanted = alone(document, tiles), alone(intended, tiles)
    if isinstance(found, str):
        return found
    if found != wanted:
        return "other values are computed"
    machine = HeldBack(document, tiles)
    points = [None, *machine.points()]
    if most is not None and len(points) > most:
        points = [None, *random.Random(seed).sample(points, most - 1)]
    wrong = machine.run_with(None)
    if wrong:
        return wrong
    states = machine.reached()
    tried = (machine.run_with(p, states[p]) for p in points if p in states)
    return next(filter(None, tried), None)
