"""What a document of roles names must be declared: rings, parts, copies, barriers, values."""

import re
from typing import Any

from warploom.errors import DocumentError
from warploom.ir import mbarrier_dialect as roles
from warploom.ir.dataflow import (
    Across,
    Counted,
    Does,
    Exchange,
    ExchangeStep,
    Flow,
    FlowOp,
    FlowOperand,
    When,
    Who,
)
from warploom.ir.limits import check_limits
from warploom.ir.mbarrier_dialect import RoleEntry, RolesDocument

MAX_EXCHANGES, MAX_STEPS, MAX_APART = 16, 64, 4096
_PLACED = (Does.WRITE, Does.READ)
_MEMBERS = {
    Across.PARTS: (Who.ALL, Who.OTHERS, Who.LAST),
    Across.NEAR: (Who.SENDER, Who.OWNER),
    Across.TURNS: (Who.CONSUMER, Who.ACQUIRE_WARP, Who.RELEASE_WARP),
}
_FLAGS = {
    Across.PARTS: (Counted.LEFT,),
    Across.NEAR: (Counted.FULL, Counted.FREE),
    Across.TURNS: (Counted.TURN, Counted.OPEN, Counted.DONE, Counted.GIVEN),
}
_PLACE = re.compile(r"\d{1,3}[.:]\d{1,3}|[A-Za-z_]\w{0,60}")

MOST_STEPS = 64  # of a loop in one iteration


def check_document(document: RolesDocument) -> None:
    """``DocumentError`` where a document names what is not declared, or declares what cannot be."""
    check_limits(document)
    if not 1 <= document.unroll <= MOST_STEPS:
        raise DocumentError(
            f"{document.unroll} steps of the loop in an iteration",
            path="$.unroll",
            fix=f"1 to {MOST_STEPS}",
        )
    check_names(document)
    _check_exchanges(document)


def check_names(document: RolesDocument) -> None:
    """Everything an entry or the flow names is declared, once."""
    rings = {r.name: {p.name for p in r.parts} for r in document.rings}
    buffers = {b.name: b.copies for b in document.buffers}
    barriers = {b.name for b in document.barriers}
    for name in ("rings", "programs", "buffers", "barriers"):
        _check_unique(getattr(document, name), f"$.{name}")
    for i, ring in enumerate(document.rings):
        _check_unique(ring.parts, f"$.rings[{i}].parts")
    for i, program in enumerate(document.programs):
        registers = {n for n, _ in program.registers}
        for phase, entries in program.phases():
            for j, entry in enumerate(entries):
                path = f"$.programs[{i}].{phase}[{j}]"
                _check_entry(entry, path, rings, buffers)
                named = getattr(entry, "barrier", None)
                if named is not None and named not in barriers:
                    raise DocumentError(f"no barrier {named!r}", path=f"{path}.barrier")
                _check_registers(entry, path, registers)
    if document.flow is not None:
        check_flow(document.flow, tuple(p.name for p in document.programs), document)


def _check_exchanges(document: RolesDocument) -> None:
    """CTAs meet once at an op of a role, by steps that such a meeting has."""
    known = {p.name for p in document.programs}
    seen: set[tuple[str, str]] = set()
    if len(document.exchanges) > MAX_EXCHANGES:
        raise DocumentError(f"more than {MAX_EXCHANGES} exchanges", path="$.exchanges")
    for i, exchange in enumerate(document.exchanges):
        path, key = f"$.exchanges[{i}]", (exchange.role, exchange.op)
        if exchange.role not in known:
            raise DocumentError(f"no role {exchange.role!r}", path=f"{path}.role")
        if key in seen:
            raise DocumentError(f"two exchanges at op {exchange.op!r}", path=path)
        seen.add(key)
        check_exchange(exchange, path)
        if exchange.across is Across.NEAR and exchange.parts != document.cluster:
            why = f"{exchange.parts} parts meet in the shared memory of a cluster of "
            fix = "as many parts as CTAs of the cluster"
            raise DocumentError(f"{why}{document.cluster}", path=f"{path}.parts", fix=fix)


def check_exchange(exchange: Exchange, path: str = "$") -> None:
    """``DocumentError`` for a step that no meeting of CTAs has."""
    several = exchange.across in (Across.PARTS, Across.NEAR)
    if exchange.across is Across.NOTHING or (exchange.parts > 1) is not several:
        raise DocumentError("parts of a tile are two or more, and turns have none", path=path)
    if len(exchange.steps) > MAX_STEPS:
        raise DocumentError(f"more than {MAX_STEPS} steps", path=f"{path}.steps")
    for j, step in enumerate(exchange.steps):
        _check_step(exchange, step, f"{path}.steps[{j}]")


def _check_step(exchange: Exchange, step: ExchangeStep, path: str) -> None:
    across = exchange.across
    counts = step.does in (Does.PUBLISH, Does.AWAIT)
    adds = step.does is Does.ADD
    known = counts or adds is (across is Across.TURNS)
    if not known or step.by not in _MEMBERS[across]:
        why = f"no {step.does} by {step.by} where CTAs meet in {across}"
        raise DocumentError(why, path=path, fix=f"by: {', '.join(_MEMBERS[across])}")
    if step.flag not in (_FLAGS[across] if counts else (Counted.NOTHING,)):
        fix = ", ".join(_FLAGS[across]) if counts else "no flag"
        raise DocumentError(f"{step.does} of flag {step.flag!r}", path=f"{path}.flag", fix=fix)
    turned = step.flag is Counted.TURN
    awaits = step.does is Does.AWAIT and (turned or across is Across.PARTS)
    some = awaits or step.does is Does.READ
    if (step.less and not some) or (step.at and not (turned or step.does in _PLACED)):
        raise DocumentError(f"{step.does} speaks of no others", path=path, fix="less = at = 0")
    if max(abs(step.less), abs(step.at)) > MAX_APART:
        raise DocumentError(f"{MAX_APART} parts or turns away at most", path=path)


def _check_unique(values: tuple[Any, ...], path: str) -> None:
    seen: set[str] = set()
    for i, value in enumerate(values):
        if value.name in seen:
            why = f"the name {value.name!r} is declared twice"
            raise DocumentError(why, path=f"{path}[{i}].name")
        seen.add(value.name)


def _check_entry(
    entry: RoleEntry, path: str, rings: dict[str, set[str]], buffers: dict[str, int]
) -> None:
    ring = getattr(entry, "ring", None)
    pairs = [(ring, getattr(entry, "part", None))] if ring is not None else []
    pairs += [(s.ring, s.part) for s in getattr(entry, "slots", ())]
    pairs += [(s.ring, s.part) for s in getattr(entry, "fills_slots", ())]
    for name, part in pairs:
        if name not in rings:
            raise DocumentError(f"no ring {name!r}", path=path, fix=f"known: {', '.join(rings)}")
        if part is not None and part not in rings[name]:
            raise DocumentError(f"ring {name!r} has no part {part!r}", path=path)
    copies = [*getattr(entry, "fills", ())]
    copies += [entry.source] if isinstance(entry, roles.BulkStore) else []
    for c in copies:
        if not 0 <= c.copy < buffers.get(c.buffer, 0):
            raise DocumentError(f"no copy {c.copy} of a buffer {c.buffer!r}", path=path)


def _check_registers(entry: RoleEntry, path: str, known: set[str]) -> None:
    names = [*getattr(entry, "reads", ()), *getattr(entry, "writes", ())]
    names += [*getattr(entry, "registers", ())]
    names += [entry.accumulator] if isinstance(entry, roles.Mma) else []
    for name in names:
        if name not in known:
            raise DocumentError(
                f"no register array {name!r}", path=path, fix=f"known: {', '.join(sorted(known))}"
            )


def check_flow(flow: Flow, known: tuple[str, ...], document: RolesDocument | None = None) -> None:
    """Every value is defined once, by an op of a ``known`` role, and has one home."""
    made = _defined(known, flow)
    homes: dict[str, str] = {}
    for i, home in enumerate(flow.homes):
        path = f"$.flow.homes[{i}]"
        if home.value not in made:
            raise DocumentError(f"no op defines the value {home.value!r}", path=path)
        if home.value in homes:
            raise DocumentError(f"the value {home.value!r} has two homes", path=path)
        homes[home.value] = home.place
        if document is not None:
            _check_place(document, made[home.value], home.place, path)
        elif not _PLACE.fullmatch(home.place):
            raise DocumentError(
                f"no home {home.place!r}",
                path=f"{path}.place",
                fix="channel.part of LDS, channel:index of fragments, or a name",
            )
    for i, op in enumerate(flow.ops):
        for j, operand in enumerate(op.operands):
            _check_operand(op, operand, made, f"$.flow.ops[{i}].operands[{j}]")
    for name, op in made.items():
        if name not in homes:
            raise DocumentError(
                f"the value {name!r} of op {op.name!r} has no home",
                path="$.flow.homes",
                fix="name the register array, ring.part or buffer#copy it lives in",
            )


def _defined(roles_known: tuple[str, ...], flow: Flow) -> dict[str, FlowOp]:
    result: dict[str, FlowOp] = {}
    seen: set[tuple[str, str, tuple[int, ...]]] = set()
    for i, op in enumerate(flow.ops):
        path = f"$.flow.ops[{i}]"
        if op.role not in roles_known:
            raise DocumentError(f"no role {op.role!r}", path=f"{path}.role")
        if (op.role, op.name, op.args) in seen:
            raise DocumentError(f"the op {op.name!r} is declared twice", path=f"{path}.name")
        seen.add((op.role, op.name, op.args))
        for name in op.results:
            if name in result:
                raise DocumentError(
                    f"the value {name!r} is defined by two ops", path=f"{path}.results"
                )
            result[name] = op
    return result


def _check_operand(op: FlowOp, operand: FlowOperand, made: dict[str, FlowOp], path: str) -> None:
    for name in (operand.value, operand.before):
        if name is not None and name not in made:
            raise DocumentError(f"no op defines the value {name!r}", path=path)
    if operand.before is not None and made[operand.before].when is not When.HEAD:
        raise DocumentError(f"{operand.before!r} is no value of the head", path=path)
    when, back = made[operand.value].when, operand.back
    if when is When.LOOP:
        right = op.when is not When.HEAD
    else:
        right = back == 0 and (when is When.HEAD or op.when is When.TAIL)
    if not right:
        raise DocumentError(
            f"a {op.when.value} op cannot read a {when.value} value of {back} iterations back",
            path=path,
        )


def _check_place(document: RolesDocument, op: FlowOp, place: str, path: str) -> None:
    """A text that names nothing; which of several it means is the verifier's matter."""
    parts = {f"{r.name}.{p.name}" for r in document.rings for p in r.parts}
    arrays = {n for n, _ in document.program(op.role).registers}
    known = place in parts or place in arrays
    for buffer in document.buffers:
        copy = place.removeprefix(f"{buffer.name}#")
        whole = copy != place and copy.isdecimal() and len(copy) < 10
        known = known or (whole and int(copy) < buffer.copies)
    if not known:
        raise DocumentError(
            f"no home {place!r} for a value of role {op.role!r}",
            path=f"{path}.place",
            fix="a register array of the role, ring.part or buffer#copy",
        )
