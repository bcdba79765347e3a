"""Open roles in the CP-SAT model: who runs what is decided together with when.

Each op takes exactly one of its roles. A role's instruction stream is a circular unit of optional
intervals; an arc whose ends differ costs the hand-off, a ring reuse across roles the release; rings
and values charge the role that owns them. Interchangeable roles are numbered by first use.
"""

from warploom.modulo.bounds.system import must_cross, ring_role
from warploom.modulo.exact.model import CoreModel, Expr
from warploom.modulo.exact.registers import live_registers
from warploom.modulo.model import ModuloProblem, RingKind, Value


class RoleLayer:
    """Role literals and everything that depends on them."""

    def __init__(self, core: CoreModel) -> None:
        self.core = core
        self.problem: ModuloProblem = core.request.problem
        self.names = self.problem.role_names()
        self.on: list[dict[str, Expr]] = []
        self._cut: dict[tuple[int, int], Expr] = {}
        for v in range(core.system.n):
            allowed = self.problem.allowed_roles(v)
            self.on.append({r: core.m.new_bool_var(f"op{v} on {r}") for r in allowed})
            core.m.add_exactly_one(list(self.on[v].values()))
        for role in self.names:
            self._add_stream(role)
        self._break_symmetry()
        core.release = self.release

    def cut(self, a: int, b: int) -> Expr:
        """A literal that is true when two ops run on different roles."""
        if must_cross(self.problem, a, b):
            return 1
        if set(self.on[a]) == set(self.on[b]) and len(self.on[a]) == 1:
            return 0
        if (a, b) not in self._cut:
            literal = self.core.m.new_bool_var(f"cut {a} {b}")
            for role in self.names:
                self.core.m.add(literal >= self.on[a].get(role, 0) - self.on[b].get(role, 0))
            self._cut[a, b] = literal
        return self._cut[a, b]

    def add_arcs(self) -> None:
        """Edges with hand-off, ties, and the order of ring writers."""
        for e, arc in zip(self.problem.edges, self.core.system.arcs, strict=False):
            cost = self.problem.handoff if e.handoff is None else e.handoff
            if e.tie:
                for role in self.names:
                    self.core.m.add(self.on[e.src].get(role, 0) == self.on[e.dst].get(role, 0))
            extra = self._extra(e.src, e.dst, cost)
            self.core.after(arc.dst, arc.src, arc.latency, arc.distance, extra)
        for arc in self.core.system.arcs[len(self.problem.edges) :]:
            self.core.after(arc.dst, arc.src, arc.latency, arc.distance)

    def release(self, op: int, writer: int) -> Expr:
        """What a ring reuse costs more when its reader and next writer are on different roles."""
        return self._extra(op, writer, self.problem.release)

    def _extra(self, a: int, b: int, cost: int) -> Expr:
        """Sure crossings are priced in the system already."""
        if a == b or not cost or must_cross(self.problem, a, b):
            return 0
        return self.core.up(cost) * self.cut(a, b)

    def add_registers(self) -> None:
        """Budgets per role over static registers, rings and live values."""
        m = self.core.m
        for name in self.names:
            budget = self.problem.role(name).register_budget
            if budget is None:
                continue
            used: Expr = self.problem.role(name).static_registers
            for index, ring in enumerate(self.problem.rings):
                if ring.kind is RingKind.REG:
                    used = used + ring.size * self._owned_depth(index, name)
            owned = [(v, self._owns(v, name)) for v in self.problem.values]
            live = [(v, here) for v, here in owned if not isinstance(here, int) or here]
            used = used + live_registers(self.core, name, live)
            m.add(used <= budget)

    def _owns(self, value: Value, name: str) -> Expr:
        """1, 0 or the literal that a role's registers hold a value."""
        if value.role is not None:
            return int(value.role == name)
        on = self.on[value.src]
        return int(name in on) if len(on) == 1 else on.get(name, 0)

    def _owned_depth(self, index: int, name: str) -> Expr:
        ring, depth = self.problem.rings[index], self.core.depth[index]
        owner = ring_role(self.problem, index)
        if owner is not None:
            return depth if owner == name else 0
        reader = next((u.op for reads in ring.readers for u in reads), ring.writers[0])
        own = self.on[reader].get(name, 0)
        if isinstance(depth, int) or isinstance(own, int):
            return depth * own
        held = self.core.m.new_int_var(0, ring.max_depth, f"ring{index} on {name}")
        self.core.m.add(held >= depth - ring.max_depth * (1 - own))
        return held

    def cuts(self) -> Expr:
        """How many pairs of ops synchronise across roles."""
        pairs = {(e.src, e.dst) for e in self.problem.edges if e.src != e.dst}
        for ring in self.problem.rings:
            pairs |= {
                (u.op, w)
                for reads in ring.readers
                for u in reads
                for w in ring.writers
                if u.op != w
            }
        return sum(self.cut(a, b) for a, b in sorted(pairs))

    def _add_stream(self, role: str) -> None:
        core, intervals = self.core, []
        for v in range(len(self.problem.ops)):
            literal, held = self.on[v].get(role), self.problem.stream_cycles(v)
            if literal is None or not held:
                continue
            steps = core.up(held)
            for back in (0, core.period):
                intervals.append(
                    core.m.new_optional_fixed_size_interval_var(
                        core.cycle[v] - back, steps, literal, f"stream {role} {v}"
                    )
                )
        if len(intervals) > 1:
            core.m.add_no_overlap(intervals)

    def _break_symmetry(self) -> None:
        """Of interchangeable roles the first op that may use them takes the first."""
        for i, first in enumerate(self.names):
            for second in self.names[i + 1 :]:
                if self._interchangeable(first, second):
                    v = next((v for v in range(len(self.on)) if second in self.on[v]), None)
                    if v is not None:
                        self.core.m.add(self.on[v][second] == 0)

    def _interchangeable(self, a: str, b: str) -> bool:
        ra, rb = self.problem.role(a), self.problem.role(b)
        same = (ra.register_budget, ra.static_registers) == (
            rb.register_budget,
            rb.static_registers,
        )
        named = {r.role for r in self.problem.rings} | {v.role for v in self.problem.values}
        return (
            same
            and not named & {a, b}
            and all((a in allowed) == (b in allowed) for allowed in self.on)
        )
