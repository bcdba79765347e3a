"""An explicit-state model checker for small role programs: every interleaving, tried.

It reads ``RolesDocument`` and shares nothing with the verifier or the executor. An agent with more
than one thread runs as up to three *strands*: the elected thread, another lane of its warp, and
another warp. Strands run the same entries apart and meet where the hardware makes them meet. A
warp sees a barrier as one: where its elected thread has passed a wait, its other lanes do too.
Copies land at any time after they were issued. Products stay in flight until a wait covers them,
and bulk stores until theirs: that is the worst case, because nothing waits for them to be quick.

What agents do in registers does not depend on the others as long as slots hold what they should,
so values are compared once, in program order (``alone``); interleavings are tried for slots,
barriers and staging copies only.
"""

from __future__ import annotations

from warploom.ir.mbarrier_dialect import RolesDocument
from warploom.ir.rings import Scope

from .alone import alone
from .machine import LEAD, MATE, OTHER, Machine

UNDECIDED = "undecided"


class Wrong(Exception):  # noqa: N818
    pass


class Checker(Machine):
    """Every interleaving of a machine's strands."""

    def run(self):
        """None when every interleaving is right, else what went wrong (or ``UNDECIDED``)."""
        start = (
            (0,) * len(self.strands),
            (None,) * len(self.strands),
            tuple((n, 0, 0) for n, _ in self.bar_start),
            ((0, 0),) * len(self.named_need),
            (None,) * len(self.slot_ids),
            (),
        )
        stack, seen = [start], set()
        try:
            while stack:
                state = self._settle(stack.pop())
                if state in seen:
                    continue
                seen.add(state)
                if len(seen) > self.limit:
                    return UNDECIDED
                following = list(self._moves(state))
                if not following:
                    self._ended(state)
                stack += following
        except Wrong as wrong:
            return str(wrong)
        return None

    def _ended(self, state):
        pcs, _, _, _, _, copies = state
        if any(pc < len(s.code) for pc, s in zip(pcs, self.strands, strict=True)):
            raise Wrong("deadlock")
        if copies:
            raise Wrong("a copy is in flight at the end")
        if any(s.unfinished for s in self.strands if s.kind == LEAD):
            raise Wrong("a store is in flight at the end")

    def _settle(self, state):
        """Take all steps that nobody else can notice, and issue products as early as may be.

        A product that finds its slots right now keeps them until it retires, so whatever would
        have changed them before a later issue is caught then.
        """
        pcs = list(state[0])
        moving = [i for i, move in enumerate(self.moving) if move[pcs[i]]]
        while moving:
            i = moving.pop()
            s = self.strands[i]
            while s.quiet[pcs[i]]:
                pcs[i] += 1
            if not s.early[pcs[i]]:
                continue
            pc, group = pcs[i], self.groups[i][pcs[i]]
            if any(pcs[j] != pc for j in group):
                continue
            for j in group:
                pcs[j] += 1
            moving += [j for j in group if self.moving[j][pc + 1]]
            if s.code[pc][0] == "product":
                self._check_slots((pcs, *state[1:]), s.code[pc][1], product=True)
        if not self.twins:
            return (tuple(pcs), *state[1:])
        joined = state[1]
        for rows in self.twins:
            held = sorted(
                [(pcs[i], -1 if joined[i] is None else joined[i]) for i in row] for row in rows
            )
            joined = list(joined)
            for row, values in zip(rows, held, strict=True):
                for i, (pc, generation) in zip(row, values, strict=True):
                    pcs[i], joined[i] = pc, None if generation < 0 else generation
            joined = tuple(joined)
        return (tuple(pcs), joined, *state[2:])

    def _moves(self, state):
        for copy in state[5]:
            yield self._land(state, copy)
        done = set()
        for i, s in enumerate(self.strands):
            pc = state[0][i]
            if pc == len(s.code):
                continue
            code = s.code[pc]
            group = self.groups[i][pc]
            if group in done:
                continue
            if len(group) > 1 and any(state[0][j] != pc for j in group):
                continue
            done.add(group)
            after = self._step(state, i, s, code, group)
            if after is not None:
                yield after

    def _go(self, state, group, joined=None, bars=None, named=None, slots=None, copies=None):
        pcs = list(state[0])
        for j in group:
            pcs[j] += 1
        return (
            tuple(pcs),
            state[1] if joined is None else joined,
            state[2] if bars is None else bars,
            state[3] if named is None else named,
            state[4] if slots is None else slots,
            state[5] if copies is None else copies,
        )

    def _step(self, state, i, s, code, group):
        _, _, bars, named, _, _ = state
        match code[0]:
            case "local" | "sync" | "join" | "retire":
                return self._go(state, group)
            case "wait":
                _, _, parity = bars[code[1]]
                passed = s.kind == MATE and state[0][i - 1] > state[0][i]
                return self._go(state, group) if passed or parity != code[2] else None
            case "expect":
                if s.kind != LEAD:
                    return self._go(state, group)
                return self._go(state, group, bars=self._count(bars, code[1], 1, code[2]))
            case "load":
                if s.kind != LEAD:
                    return self._go(state, group)
                return self._load(state, group, code)
            case "arrive":
                n = self._arrivals(s, code)
                return self._go(state, group, bars=self._count(bars, code[1], n, 0))
            case "product":
                self._check_slots(state, code[1], product=True)
                return self._go(state, group)
            case "compute":
                self._check_slots(state, code[1], product=False)
                self._check_fill(state, i, s, code)
                return self._go(state, group)
            case "store":
                self._check_store(state, s, code)
                return self._go(state, group)
            case "come":
                share = code[2] if s.kind == LEAD and not self._has_other(i) else None
                if share is None:
                    share = {LEAD: 32, MATE: 0, OTHER: code[2] - 32}[s.kind]
                return self._go(state, group, named=self._come(named, code[1], share)[0])
            case "meet":
                return self._meet(state, group, code)
        raise AssertionError(code)

    def _has_other(self, i):
        agent = self.strands[i].agent
        return any(s.kind == OTHER for s in self.strands if s.agent == agent)

    def _arrivals(self, s, code):
        _, _, scope, warps, threads, _ = code
        apart = any(x.kind == OTHER for x in self.strands if x.agent == s.agent)
        if s.kind == MATE:
            return 0
        if scope is Scope.WARP:
            return (1 if s.kind == LEAD else warps - 1) if apart else warps
        if s.kind == OTHER:
            return 0
        return 1 if scope is Scope.THREAD else max(1, threads // 128)

    def _count(self, bars, which, arrivals, extra):
        pending, tx, parity = bars[which]
        tx += extra
        if not arrivals and pending == 0 and tx == 0:
            pending, parity = self.bar_start[which][0], 1 - parity
        for _ in range(arrivals):
            if pending == 0:
                raise Wrong("more arrivals than a lap takes")
            pending -= 1
            if pending == 0 and tx == 0:
                pending, parity = self.bar_start[which][0], 1 - parity
        new = list(bars)
        new[which] = (pending, tx, parity)
        return tuple(new)

    def _come(self, named, which, threads):
        count, generation = named[which]
        count += threads
        if count > self.named_need[which]:
            raise Wrong("too many threads at a named barrier")
        mine = generation
        if count == self.named_need[which]:
            count, generation = 0, (generation + 1) % 4
        new = list(named)
        new[which] = (count, generation)
        return tuple(new), mine

    def _meet(self, state, group, code):
        joined = list(state[1])
        if joined[group[0]] is None:
            named, mine = self._come(state[3], code[1], code[2])
            for j in group:
                joined[j] = mine
            return (*state[:1], tuple(joined), state[2], named, *state[4:])
        if state[3][code[1]][1] == joined[group[0]]:
            return None
        for j in group:
            joined[j] = None
        return self._go(state, group, joined=tuple(joined))

    def _load(self, state, group, code):
        _, slot, use, bar, size, bad = code
        if bad:
            raise Wrong("a copy of another size than its place")
        if any(c[0] == slot for c in state[5]):
            raise Wrong("two copies into one place")
        if any(slot in s.reading[pc] for pc, s in zip(state[0], self.strands, strict=True)):
            raise Wrong("a copy into a slot that a product reads")
        slots = list(state[4])
        slots[slot] = None
        copies = tuple(sorted((*state[5], (slot, use, bar, size))))
        return self._go(state, group, slots=tuple(slots), copies=copies)

    def _land(self, state, copy):
        slot, use, bar, size = copy
        slots = list(state[4])
        slots[slot] = use
        copies = list(state[5])
        copies.remove(copy)
        bars = self._count(state[2], bar, 0, -size)
        return (*state[:2], bars, state[3], tuple(slots), tuple(copies))

    def _check_slots(self, state, reads, *, product):
        for slot, use in reads:
            if slot in self.filled:
                every = [
                    s.slots[pc].get(slot) for pc, s in zip(state[0], self.strands, strict=True)
                ]
                mine = [every[i] for i in self.fillers.get((slot, use), ())]
                wrong = not mine or any(f and f[0] > use for f in every)
                if wrong or any(f is None or f[0] != use or (product and not f[1]) for f in mine):
                    raise Wrong("a slot is read that is not written, or not for products")
            elif state[4][slot] != use:
                raise Wrong("a slot holds something else than is read")

    def _check_fill(self, state, i, s, code):
        for copy in code[2]:
            for pc, other in zip(state[0], self.strands, strict=True):
                if other.agent != s.agent:
                    continue
                for held, scope in other.storing[pc]:
                    same = s.kind == other.kind or {s.kind, other.kind} == {LEAD, MATE}
                    if held == copy and (scope is not Scope.WARP or same):
                        raise Wrong("a staging copy is overwritten while it is stored")
        for slot, _ in code[3]:
            if any(slot in o.reading[pc] for pc, o in zip(state[0], self.strands, strict=True)):
                raise Wrong("a slot is written that a product reads")

    def _check_store(self, state, s, code):
        _, copy, scope = code
        if s.kind == MATE or (s.kind == OTHER and scope is not Scope.WARP):
            return
        version = None
        for pc, other in zip(state[0], self.strands, strict=True):
            if other is s:
                version = other.filled[pc].get(copy)
        if version is None:
            raise Wrong("a store of nothing")
        for pc, other in zip(state[0], self.strands, strict=True):
            if other.agent != s.agent:
                continue
            same = s.kind == other.kind or {s.kind, other.kind} == {LEAD, MATE}
            covered = scope is not Scope.WARP or same
            if covered and other.filled[pc].get(copy) != (version[0], True):
                raise Wrong("a store reads writes that are not there")


def check(document: RolesDocument, intended: RolesDocument, tiles, limit=20_000):
    """None, or what goes wrong in some interleaving; ``intended`` says what must be computed."""
    found, wanted = alone(document, tiles), alone(intended, tiles)
    if isinstance(found, str):
        return found
    if found != wanted:
        return "other values are computed"
    return Checker(document, tiles, limit).run()
