"""Bodies whose ops name the values they read and define: edges, phases and flow from the names.

A body is the loop of a single buffer in execution order. An op finds what was written last, so an
operand whose maker stands in front of it is of the same pass through the loop, one whose maker
stands after it of the pass before. That alone decides how many passes each op lags behind the
loads (``lags``): prologue and epilogue are the passes in which some ops have nothing to do yet, or
nothing any more.

A value made by a load that a store takes lives in registers, by other loads and by stores in LDS
(channel and sub-tile), by a fragment load in the fragment register of its channel and sub-tile, by
other ops in registers of its own.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from warploom.errors import ConfigError
from warploom.ir.dataflow import SETUP, STORE, WAVE, Flow, FlowOp, FlowOperand, Home, Key, When
from warploom.ir.schedule_ops import (
    DepEdge,
    OpDesc,
    OpRole,
    Phase,
    ScheduleEntry,
    ScheduleOps,
    operand as same_pass,
    previous,
)

_LOAD, _STORE, _FRAG = OpRole.GLOBAL_LOAD, OpRole.SHARED_STORE, OpRole.FRAGMENT_LOAD
_COMPUTED = (OpRole.COMPUTE, OpRole.VALU_COMPUTE)
_DATA = (_LOAD, _STORE, _FRAG, *_COMPUTED)
_LONGEST = 48


def is_named(body: Sequence[OpDesc]) -> bool:
    """Whether some op of a body names what it reads or defines."""
    return any(op.is_named for op in body)


def given(value: str) -> FlowOperand:
    """A value that is there before the loop and never changes, for ``takes``: queries, a scale."""
    return FlowOperand(value=value, before=value)


def _is_given(operand: FlowOperand) -> bool:
    return operand.back == 0 and operand.before == operand.value


def with_names(body: Sequence[OpDesc]) -> list[OpDesc]:
    """A body of a matrix product, named by roles, channels and sub-tiles.

    Load, store and fragment of one channel and sub-tile belong together; where a channel has one
    store, all its fragments read that. MMA ``[i, j]`` takes fragment ``i`` of channel 0 and ``j``
    of channel 1, or, where all fragments are of one channel, fragment ``j`` of it.
    """
    stores: dict[int, list[int]] = {}
    for op in body:
        if op.role is _STORE:
            stores.setdefault(op.channel, []).append(op.subtile)
    channels = sorted({op.channel for op in body if op.role is _FRAG})
    named = []
    for op in body:
        takes: tuple[FlowOperand, ...] = ()
        makes = ""
        at = f"{op.channel}_{op.subtile}"
        match op.role:
            case OpRole.GLOBAL_LOAD:
                makes = f"load_{at}"
            case OpRole.SHARED_STORE:
                takes, makes = (same_pass(f"load_{at}"),), f"lds_{at}"
            case OpRole.FRAGMENT_LOAD:
                filled = stores.get(op.channel, [])
                part = filled[0] if len(filled) == 1 else op.subtile
                source = "lds" if filled else "load"
                takes = (same_pass(f"{source}_{op.channel}_{part}"),)
                makes = f"fragment_{at}"
            case OpRole.COMPUTE:
                makes = f"sum_{op.stage}_{op.subtile}"
                pair = [(0, op.stage), (1, op.subtile)]
                read = pair if len(channels) > 1 else [(c, op.subtile) for c in channels]
                takes = (*(same_pass(f"fragment_{c}_{i}") for c, i in read), previous(makes))
        named.append(replace(op, takes=takes, makes=(makes,)) if makes else op)
    return named


def needs_names(body: Sequence[OpDesc]) -> bool:
    """Whether channels alone do not say which load a store takes: several sub-tiles are staged."""
    staged = {op.channel for op in body if op.role is _STORE}
    moved = [(op.channel, op.subtile) for op in body if op.role in (_LOAD, _STORE)]
    return any(len({s for c, s in moved if c == channel}) > 1 for channel in staged)


def require_names(body: Sequence[OpDesc]) -> None:
    """Refuse a body that roles and channels do not describe: it is no matrix product."""
    sums: dict[tuple[int, int], OpDesc] = {}
    for op in body:
        if op.role is OpRole.VALU_COMPUTE:
            _no_product(op, "is vector work")
        if op.role is OpRole.COMPUTE:
            other = sums.setdefault((op.stage, op.subtile), op)
            if other.tag != op.tag:
                _no_product(op, f"and {other.label()} would add to the same accumulator")


def _no_product(op: OpDesc, what: str) -> NoReturn:
    _refuse(
        op,
        f"{what}: this body is no matrix product",
        "say what every op takes and makes (PipelineBody: takes=[..], makes=[..]), or give each "
        "accumulator a stage and sub-tile of its own",
        "roles, channels and sub-tiles only say what the ops of a matrix product read",
    )


def check_names(body: Sequence[OpDesc]) -> None:
    """Refuse names that do not say of every op what it reads and defines."""
    maker: dict[str, int] = {}
    keys: set[Key] = set()
    for i, op in enumerate(body):
        if op.role in _DATA:
            _check_results(body, i, maker)
            if op.key in keys:
                fix = "another tag, or another sub-tile"
                _refuse(op, "cannot be told from another op of the same tag and sub-tile", fix)
            keys.add(op.key)
        elif op.is_named:
            _refuse(op, "is a barrier or hint and names values", "name those of data ops only")
    for op in body:
        for operand in op.takes:
            _check_operand(body, op, operand, maker)
        _check_movement(body, op, maker)


def _check_results(body: Sequence[OpDesc], at: int, maker: dict[str, int]) -> None:
    """An op defines values of new names; ``maker`` learns them."""
    op = body[at]
    if not op.makes:
        why = "the other ops of the body name theirs, so nothing says what this one is for"
        _refuse(op, "names no value that it defines", "makes=(name,)", why)
    for name in op.makes:
        if not name.isidentifier() or not name.isascii() or len(name) > _LONGEST:
            _refuse(op, f"defines {name!r}, which is no name", "a Python identifier")
        if name in maker:
            other = body[maker[name]].label()
            _refuse(op, f"defines {name!r} as {other} does", "one name a value")
        maker[name] = at


def _check_operand(
    body: Sequence[OpDesc], op: OpDesc, operand: FlowOperand, maker: dict[str, int]
) -> None:
    if _is_given(operand):
        if operand.value in maker:
            made = body[maker[operand.value]].label()
            _refuse(
                op, f"takes {operand.value!r} as given, but {made} defines it", "its name alone"
            )
        return
    if operand.value not in maker:
        near = ", ".join(list(maker)[:12])
        fix = f"known: {near}; or given({operand.value!r}) for a value from before the loop"
        _refuse(op, f"takes {operand.value!r}, which no op of the body defines", fix)
    if operand.before in maker:
        _refuse(op, f"starts from {operand.before!r}, which the loop defines", "previous(name)")
    if body[maker[operand.value]].role in (_LOAD, _STORE) and operand.back:
        _refuse(op, f"takes {operand.value!r} of an earlier pass", "the value of its own tile")


def _check_movement(body: Sequence[OpDesc], op: OpDesc, maker: dict[str, int]) -> None:
    """A load brings one tile, a store or fragment load moves one value along its channel."""
    if op.role not in (_LOAD, _STORE, _FRAG):
        return
    if len(op.makes) != 1 or len(op.takes) != (op.role is not _LOAD):
        what = "a load defines one value" if op.role is _LOAD else "it moves one value to another"
        _refuse(op, f"takes {len(op.takes)} and defines {len(op.makes)} values", what)
    if op.role is _LOAD:
        takers = [o for o in body if any(t.value == op.makes[0] for t in o.takes)]
        roles = {o.role for o in takers}
        if _STORE in roles and (len(takers) != 1 or roles != {_STORE}):
            _refuse(op, "is stored and read, too", "let one store take it, and others its value")
        if not roles <= {_STORE, _FRAG}:
            other = next(o for o in takers if o.role not in (_STORE, _FRAG))
            why = "a load's value lands in LDS, or in registers that a store takes"
            _refuse(other, f"takes {op.makes[0]!r} straight from a load", "a fragment load", why)
        return
    source = body[maker[op.takes[0].value]] if op.takes[0].value in maker else op
    wanted = (_LOAD,) if op.role is _STORE else (_LOAD, _STORE)
    if source.role not in wanted or (source.channel, source.stage) != (op.channel, op.stage):
        fix = " or ".join(r.name for r in wanted)
        _refuse(
            op,
            f"takes {op.takes[0].value!r} of {source.label()}, channel {source.channel}",
            f"the value of a {fix} of its own channel and stage",
        )


def _refuse(op: OpDesc, what: str, fix: str, why: str = "") -> NoReturn:
    raise ConfigError(f"{op.label()} {what}", where=op.label(), why=why, fix=fix)


def _makers(body: Sequence[OpDesc]) -> dict[str, int]:
    return {name: i for i, op in enumerate(body) for name in op.makes}


def lags(body: Sequence[OpDesc]) -> tuple[int, ...]:
    """How many passes every op lags behind the first ops of its chain; barriers count 0.

    Raises where an op would have to lag by two numbers at once: in this order its operands come
    from different tiles.
    """
    maker = _makers(body)
    near: list[list[tuple[int, int, str]]] = [[] for _ in body]
    for at, op in enumerate(body):
        for operand in op.takes:
            if _is_given(operand):
                continue
            made = maker[operand.value]
            apart = int(made >= at) - operand.back
            near[made].append((at, apart, operand.value))
            near[at].append((made, -apart, operand.value))
    lag: list[int | None] = [None] * len(body)
    for first, op in enumerate(body):
        if lag[first] is None and op.role in _DATA:
            group = _spread(body, near, lag, first)
            least = min(lag[i] or 0 for i in group)
            for i in group:
                lag[i] = (lag[i] or 0) - least
    return tuple(n or 0 for n in lag)


def _spread(
    body: Sequence[OpDesc],
    near: Sequence[Sequence[tuple[int, int, str]]],
    lag: list[int | None],
    first: int,
) -> list[int]:
    """Number all ops that share values with ``first``, which lags by 0; who they are."""
    lag[first] = 0
    group, waiting = [first], deque([first])
    while waiting:
        at = waiting.popleft()
        for other, apart, name in near[at]:
            wanted = (lag[at] or 0) + apart
            if lag[other] is None:
                lag[other] = wanted
                group.append(other)
                waiting.append(other)
            elif lag[other] != wanted:
                _mixed(body, at, other, name)
    return group


def _mixed(body: Sequence[OpDesc], one: int, other: int, name: str) -> NoReturn:
    first, second = sorted((one, other))
    raise ConfigError(
        f"in this order {body[second].label()} and {body[first].label()} work on different tiles",
        where=f"value {name!r} between op {first} and op {second} of the body",
        why="an op takes what was written last: by an op in front of it in the same pass, by an op "
        "after it in the pass before",
        fix="move the op in front of or after what makes its operands, or take "
        f"previous({name!r}) where the earlier value is meant",
    )


def named_edges(body: Sequence[OpDesc]) -> list[DepEdge]:
    """Flow from every maker to its takers, anti dependences from takers to the next definition."""
    maker = _makers(body)
    edges = []
    for at, op in enumerate(body):
        for operand in op.takes:
            if not _is_given(operand):
                made = maker[operand.value]
                edges.append(DepEdge.flow(made, at, int(made >= at)))
    for at, op in enumerate(body):
        for operand in op.takes:
            if not _is_given(operand) and maker[operand.value] != at:
                made = maker[operand.value]
                edges.append(DepEdge.anti(at, made, int(made < at)))
    return edges


def named_phases(
    body: Sequence[OpDesc],
) -> tuple[list[ScheduleEntry], list[ScheduleEntry], int]:
    """Prologue and epilogue of a named body, and the tiles that are under way when it loops."""
    lag = lags(body)
    most = max(lag, default=0)
    prologue = [op for n in range(most) for op in _pass(body, lag, range(n + 1))]
    epilogue = [op for n in range(most) for op in _pass(body, lag, range(n + 1, most + 1))]
    return (
        _entries(prologue, Phase.PROLOGUE, after=False),
        _entries(epilogue, Phase.EPILOGUE, after=True),
        most,
    )


def _pass(body: Sequence[OpDesc], lag: Sequence[int], kept: range) -> list[OpDesc]:
    """One pass through the loop with the ops of some lags only."""
    return [
        op
        for op, n in zip(body, lag, strict=True)
        if op.tag == ScheduleOps.BARRIER or (op.role in _DATA and n in kept)
    ]


def _entries(ops: Sequence[OpDesc], phase: Phase, *, after: bool) -> list[ScheduleEntry]:
    """Entries without barriers that have nothing to separate; ``after``: the loop runs before."""
    kept: list[OpDesc] = []
    apart = after
    for op in ops:
        barrier = op.tag == ScheduleOps.BARRIER
        if not barrier or apart:
            kept.append(op)
        apart = not barrier
    return [ScheduleEntry(op=op, time_slot=i, phase=phase) for i, op in enumerate(kept)]


def named_flow(body: Sequence[OpDesc]) -> Flow:
    """What a named body computes, as documents say it.

    What leaves the loop is every value that an op of a later pass takes, and every value that no
    op takes.
    """
    data = [op for op in body if op.role in _DATA]
    taken = [t for op in data for t in op.takes]
    staged = {t.value for op in data if op.role is _STORE for t in op.takes}
    homes = {name: _home(op, name, staged) for op in data for name in op.makes}
    first = {t.before: t for t in taken if t.before is not None}
    homes |= {name: name if _is_given(t) else homes[t.value] for name, t in first.items()}
    ops = [FlowOp(name="start", role=SETUP, when=When.HEAD, results=tuple(first))]
    for op in data:
        name, subtile, row = op.key
        args = (subtile, row) if row else (subtile,)
        operands = tuple(replace(t, before=None) if _is_given(t) else t for t in op.takes)
        ops.append(FlowOp(name=name, role=WAVE, args=args, operands=operands, results=op.makes))
    carried, used = {t.value for t in taken if t.back}, {t.value for t in taken}
    made = [name for op in data if op.role in _COMPUTED for name in op.makes]
    results = tuple(FlowOperand(value=v) for v in made if v in carried or v not in used)
    if not results:
        raise ConfigError(
            "the body computes nothing that leaves the loop",
            where="build_body()",
            why="no product or vector op defines a value that is carried or left to the end",
            fix="name what the last op of the body defines",
        )
    ops.append(FlowOp(name="store", role=STORE, when=When.TAIL, operands=results, stores=True))
    places = tuple(Home(value=value, place=place) for value, place in homes.items())
    return Flow(ops=tuple(ops), homes=places)


def _home(op: OpDesc, name: str, staged: set[str]) -> str:
    if op.role is _FRAG:
        return f"{op.channel}:{op.subtile}"
    in_lds = op.role is _STORE or (op.role is _LOAD and name not in staged)
    return f"{op.channel}.{op.subtile}" if in_lds else name
