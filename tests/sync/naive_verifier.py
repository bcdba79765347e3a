"""A verifier for tests: the hazard model written down as directly as possible, all pairs.

Shares nothing with the package under test nor with the shipped verifier. Slow, and meant to be.
"""

from collections import Counter

from warploom.ir import BarrierKind, RegisterWaits
from warploom.ir.schedule_ops import KOffsetKind, OpRole, Phase, ScheduleOps

LIMIT = {"vm": 62, "lgkm": 14}


def clean(document, trips=range(7)):
    return all(not findings(document, n) for n in trips)


def findings(document, n):
    """Names of everything wrong for trip count n (a list, empty if clean)."""
    p = document.protocol
    waves = [(g, w) for g in range(p.groups) for w in range(min(2, p.waves_per_group))]
    runs = [Run(document, n, g) for g, _ in waves]
    out = []
    if len({r.barriers for r in runs}) > 1:
        out.append("DEADLOCK")
    out += runs[0].data_findings()
    for i, v in enumerate(runs):
        out += v.own_findings()
        for j, u in enumerate(runs):
            out += v.pair_findings(u, i == j)
    return out


class Run:
    """One wave: events in program order with the barriers executed before each."""

    def __init__(self, document, n, group):
        self.doc, self.n = document, n
        p = document.protocol
        ops = []  # (op or string, phase, iteration)
        for i, e in enumerate(document.prologue):
            if p.stagger_index == i:
                ops += [("stagger", None, 0)] * group
            ops.append((e.op, Phase.PROLOGUE, 0))
        if p.stagger_index is not None and p.stagger_index >= len(document.prologue):
            ops += [("stagger", None, 0)] * group
        ops += [("barrier", None, 0)] * p.barrier_after_prologue
        for i in range(n):
            ops += [(e.op, Phase.KERNEL, i) for e in document.kernel]
        if p.epilogue_drain:
            ops += [("drain", None, 0), ("barrier", None, 0)]
        ops += [(e.op, Phase.EPILOGUE, 0) for e in document.epilogue]
        ops += [("barrier", None, 0)] * p.tail_barriers[group]
        self.events = ops
        # Stagger barriers exist for some waves only, so event positions are matched by number
        # among the others; those events carry everything that is compared.
        self._channels()
        self._walk()

    def _channels(self):
        self.tag = {}
        for op, _, _ in self.events:
            if not isinstance(op, str) and op.channel >= 0:
                self.tag.setdefault(int(op.tag), op.channel)
        for e in (*self.doc.kernel, *self.doc.epilogue):
            if e.op.channel >= 0:
                self.tag.setdefault(int(e.op.tag), e.op.channel)
        self.staged = {
            self.channel(op)
            for op, _, _ in self.events
            if not isinstance(op, str) and op.role is OpRole.SHARED_STORE
        }

    def channel(self, op):
        if op.channel >= 0:
            return op.channel
        return self.tag.get(int(op.tag), {"A": 0, "B": 1}.get(op.name[-1], -1))

    def slot(self, op):
        c = self.channel(op)
        return (c, op.stage) if c in self.staged else (c, op.stage, op.subtile)

    def _walk(self):
        counters, p = self.doc.counters, self.doc.protocol
        fencing = p.barrier is BarrierKind.FENCING
        self.nb, self.done, self.key = [], {}, []
        queue = {"vm": [], "lgkm": []}
        issued = {"vm": 0, "lgkm": 0}
        barriers = ordinal = 0
        guarded = p.register_waits is RegisterWaits.COMPILER
        filled, joint = {}, self._joint()

        def wait(name, count, t):
            while queue[name] and issued[name] - queue[name][0][1] >= count:
                self.done[queue[name].pop(0)[0]] = t

        def guard(name, registers, t):
            """The code generator's own wait in front of an op that takes registers."""
            last = max(filled.get(r, -1) for r in registers) if guarded else -1
            while queue[name] and queue[name][0][0] <= last:
                self.done[queue[name].pop(0)[0]] = t

        for t, (op, _, _) in enumerate(self.events):
            self.nb.append(barriers)
            self.key.append(ordinal)
            ordinal += op != "stagger"
            if isinstance(op, str):
                if op == "drain" or (fencing and op == "barrier"):
                    wait("vm", 0, t)
                    wait("lgkm", 0, t)
                barriers += op != "drain"
            elif op.tag == ScheduleOps.BARRIER:
                if fencing:
                    wait("vm", 0, t)
                    wait("lgkm", 0, t)
                barriers += 1
            elif op.tag in (ScheduleOps.WAIT_VM, ScheduleOps.WAIT_LGKM):
                name = "vm" if op.tag == ScheduleOps.WAIT_VM else "lgkm"
                if op.wait_value <= LIMIT[name]:
                    wait(name, op.wait_value, t)
            elif op.role is OpRole.GLOBAL_LOAD:
                issued["vm"] += counters.vm_per_load[self.channel(op)]
                queue["vm"].append((t, issued["vm"]))
                filled["staging", self.channel(op)] = t
            elif op.role is OpRole.COMPUTE and op.tag <= 127:
                guard("lgkm", operands(op, joint), t)
            elif op.role in (OpRole.FRAGMENT_LOAD, OpRole.SHARED_STORE):
                if op.role is OpRole.SHARED_STORE:
                    guard("vm", [("staging", self.channel(op))], t)
                else:
                    filled[self.channel(op), op.subtile] = t
                cost = counters.lgkm_per_load[self.channel(op)]
                if op.role is OpRole.SHARED_STORE and op.lgkm_cost:
                    cost = op.lgkm_cost
                issued["lgkm"] += cost
                queue["lgkm"].append((t, issued["lgkm"]))
        self.barriers = barriers

    def writes_and_reads(self):
        """(t, 'w'/'r', slot); reads only those some MMA uses."""
        out, reg, used = [], {}, set()
        joint = self._joint()
        for t, (op, _, _) in enumerate(self.events):
            if isinstance(op, str) or op.tag > 127:
                continue
            if op.role is OpRole.FRAGMENT_LOAD:
                reg[self.channel(op), op.subtile] = t
                out.append((t, "r", self.slot(op)))
            elif op.role is OpRole.SHARED_STORE or (
                op.role is OpRole.GLOBAL_LOAD and self.channel(op) not in self.staged
            ):
                out.append((t, "w", self.slot(op)))
            elif op.role is OpRole.COMPUTE:
                used |= {reg[r] for r in operands(op, joint) if r in reg}
        return [x for x in out if x[1] == "w" or x[0] in used]

    def _joint(self):
        reads = {
            self.channel(op)
            for op, _, _ in self.events
            if not isinstance(op, str) and op.role is OpRole.FRAGMENT_LOAD
        }
        return min(reads) if len(reads) == 1 and reads <= self.staged else None

    def data_findings(self):
        p, joint = self.doc.protocol, self._joint()
        slots, regs, staging, nxt = {}, {}, {}, Counter()
        sums, out = {}, []
        for op, phase, it in self.events:
            if isinstance(op, str) or op.tag > 127:
                continue
            if op.role is OpRole.GLOBAL_LOAD:
                c = self.channel(op)
                if op.k_offset is KOffsetKind.NONE:
                    key = (c, -1 if c in self.staged else op.subtile)
                    k = nxt[key]
                    nxt[key] += 1
                else:
                    base = {Phase.PROLOGUE: 0}.get(
                        phase,
                        p.kernel_k_base
                        + p.k_tiles_per_iteration * (it if phase is Phase.KERNEL else self.n),
                    )
                    k = base + op.k_offset.signed_bk_multiple()
                if c in self.staged:
                    staging[c] = k
                else:
                    slots[self.slot(op)] = k
            elif op.role is OpRole.SHARED_STORE:
                slots[self.slot(op)] = staging.get(self.channel(op))
            elif op.role is OpRole.FRAGMENT_LOAD:
                regs[self.channel(op), op.subtile] = slots.get(self.slot(op))
            elif op.role is OpRole.COMPUTE:
                ks = {regs.get(r) for r in operands(op, joint)}
                if len(ks) != 1 or None in ks:
                    out.append("TOKEN")
                sums.setdefault((op.stage, op.subtile), []).extend(ks)
        total = list(range(p.kernel_k_base + p.k_tiles_per_iteration * self.n))
        for cell in {
            (e.op.stage, e.op.subtile)
            for e in (*self.doc.kernel, *self.doc.epilogue)
            if e.op.role is OpRole.COMPUTE
        }:
            if sorted(x for x in sums.get(cell, []) if x is not None) != total:
                out.append("COVERAGE")
        return out

    def own_findings(self):
        out = []
        guarded = self.doc.protocol.register_waits is RegisterWaits.COMPILER
        reg, staging, joint = {}, {}, self._joint()
        for t, (op, _, _) in enumerate(self.events):
            if isinstance(op, str) or op.tag > 127:
                continue
            if op.role is OpRole.FRAGMENT_LOAD:
                reg[self.channel(op), op.subtile] = t
            elif op.role is OpRole.GLOBAL_LOAD and self.channel(op) in self.staged:
                staging[self.channel(op)] = t
            elif op.role is OpRole.SHARED_STORE and not guarded:
                if self.done.get(staging.get(self.channel(op)), t) >= t:
                    out.append("RAW-REG")
            elif op.role is OpRole.COMPUTE and not guarded:
                for r in operands(op, joint):
                    if self.done.get(reg.get(r), t) >= t:
                        out.append("RAW-REG")
        return out

    def before(self, t, other, q, same):
        """Does the completion of my event t happen before other's event q issues?"""
        if t not in self.done:
            return False
        c = self.done[t]
        if same:
            return c < q
        return other.nb[q] >= self.nb[c] + 1

    def pair_findings(self, other, same):
        """My operations against the other wave's later ones."""
        mine, theirs = self.writes_and_reads(), other.writes_and_reads()
        out = []
        for t, kind, slot in mine:
            for q, other_kind, other_slot in theirs:
                if other_slot != slot or other.key[q] <= self.key[t]:
                    continue
                # Every earlier write of the slot counts, also one that was overwritten since.
                name = {"wr": "RAW-LDS", "rw": "WAR-LDS"}.get(kind + other_kind)
                if name is not None and not self.before(t, other, q, same):
                    out.append(name)
        if same:
            out += self._write_after_write(mine)
        return out

    def _write_after_write(self, mine):
        out = []
        for i, (t, kind, slot) in enumerate(mine):
            if kind != "w":
                continue
            later = [x for x in mine[i + 1 :] if x[2] == slot]
            writes = [x for x in later if x[1] == "w"]
            if not writes:
                continue
            q = writes[0][0]
            follow = later[later.index(writes[0]) + 1 :]
            read = bool(follow) and follow[0][1] == "r"
            if read and self.done.get(t, q) >= q:
                out.append("WAW-LDS")
        return out


def operands(op, joint):
    if joint is not None:
        return [(joint, op.subtile)]
    return [(0, op.stage), (1, op.subtile)]
