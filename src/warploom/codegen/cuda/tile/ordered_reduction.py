"""Tiles that add to memory in turn, as CUDA source: the steps of an exchange, as they are checked.

Iterations whose rows are given on together take one turn: it is awaited at the first of them and
left at the last. A turn of one iteration is awaited before the product that is added, if nothing
stands between the two waits: they may change places, and asking a barrier takes its time.
"""

from __future__ import annotations

from warploom.codegen.cuda.device import device
from warploom.codegen.cuda.legality import unfaithful_step
from warploom.codegen.cuda.lowering import Site
from warploom.codegen.cuda.roles import indent
from warploom.codegen.cuda.tile.context import Context
from warploom.codegen.cuda.tile.from_module import printer
from warploom.errors import BackendError
from warploom.ir.dataflow import Across, Counted, Does, Exchange, ExchangeStep, Reach, Who
from warploom.ir.expr import IntExpr, Sym, SymKind, lift, substitute
from warploom.ir.mbarrier_dialect import Compute, RoleProgram, RolesDocument, WaitGroup
from warploom.ir.operations import TURN_ROW, Turn

NOW = Sym(SymKind.STEP, "t")


class _Turn:
    """The turn of the rows an iteration adds to: where the tiles that added to them are counted,
    whether they exist, how many come before, and whether the iteration is their first or last.
    ``at``: how many turns after it.
    """

    def __init__(self, context: Context, turn: Turn, iteration: IntExpr, at: int = 0) -> None:
        made, first = printer(context), substitute(turn.first, {NOW: iteration})
        rows: dict[Sym, IntExpr] = {TURN_ROW: lift(first + at * turn.rows) if at else first}

        def when(condition: IntExpr | None) -> str:
            return "" if condition is None else made.text(substitute(condition, {NOW: iteration}))

        self.begins, self.ends = when(turn.begins), when(turn.ends)
        self.exists = made.text(substitute(turn.exists, rows))
        self.before = made.text(substitute(turn.before, rows))
        parts = [
            f"({made.text(substitute(x, {**rows, NOW: iteration}))})"
            f" * {context.stride(turn.tensor, n)}"
            for n, x in enumerate(turn.at)
        ]
        self.place = f"(unsigned*){context.pointer(turn.tensor)} + ({' + '.join(parts)})"


def _turn(context: Context) -> Turn:
    if context.loop.turn is None:
        raise BackendError("turns of tiles that add to nothing", where=context.module.name)
    return context.loop.turn


_FLAGS = (Counted.OPEN, Counted.DONE, Counted.GIVEN)


def turn_bytes(exchange: Exchange) -> int:
    """Bytes of the barriers of turns."""
    return 8 * len(_FLAGS) * exchange.slots


def turn_barriers(exchange: Exchange, warps: int) -> list[str]:
    """Barriers of turns, a ring of them: the acquire warp opens one, warps leave it, the release
    warp gives it
    on, and then the acquire warp may open another in its place.
    """
    arrivals = {Counted.DONE: warps}
    return [
        f"{device.mbar_init}(smem + TURNS + {8 * (len(_FLAGS) * slot + n)},"
        f" {arrivals.get(flag, 1)});"
        for slot in range(exchange.slots)
        for n, flag in enumerate(_FLAGS)
    ]


def _barrier(exchange: Exchange, flag: Counted) -> str:
    """Of the turn a role has at hand: it counts those before."""
    at, apart = 8 * _FLAGS.index(flag), 8 * len(_FLAGS)
    return f"smem + TURNS + {at} + {apart} * (turn % {exchange.slots})"


def _wait(exchange: Exchange, step: ExchangeStep) -> str:
    """Wait for a barrier; what was given is that of the turn before in the same place."""
    if step.at or step.less:
        raise unfaithful_step(exchange, step)
    before = " ^ 1" if step.flag is Counted.GIVEN else ""
    phase = f"(turn / {exchange.slots} & 1){before}"
    return f"{device.mbar_wait}({_barrier(exchange, step.flag)}, {phase});"


def consumer_turn(
    context: Context, exchange: Exchange, turn: Turn, site: Site, now: IntExpr, adds: list[str]
) -> list[str]:
    """A consumer's steps of a turn in iteration ``now``; ``adds`` is its text of the op."""
    mine = _Turn(context, turn, now)
    steps = _own(exchange, Who.CONSUMER)
    if asked_before(context, site.document, site.program, site.phase) is not None:
        steps = steps[1:]
    lines: list[str] = []
    closes = False
    for step in steps:
        match step.does, step.flag:
            case Does.ADD, _:
                lines += adds
                closes = False
            case Does.AWAIT, Counted.OPEN | Counted.GIVEN | Counted.DONE:
                lines += [f"{_if(mine.begins)}{_wait(exchange, step)}", "__syncwarp();"]
                closes = False
            case Does.PUBLISH, Counted.DONE:
                arrive = f"if (lane == 0) {device.mbar_arrive}({_barrier(exchange, step.flag)});"
                lines += ["__syncwarp();", f"{_if(mine.ends)}{{", f"  {arrive}", "}"]
                closes = True
            case _:
                raise unfaithful_step(exchange, step)
    if closes:  # one branch for both: two of them cost 5 % at head dimension 64
        return [*lines[:-1], "  ++turn;", "}"]
    return [*lines, f"{_if(mine.ends)}++turn;"]


def _if(condition: str) -> str:
    return f"if ({condition}) " if condition else ""


def asked_before(
    context: Context, document: RolesDocument, program: RoleProgram, phase: str
) -> tuple[int, list[str]] | None:
    """The entry of a list that awaits the product which is added in turn, where the turn can be
    awaited before it, and how; None elsewhere.
    """
    exchange = next((x for x in document.exchanges if x.across is Across.TURNS), None)
    entries = getattr(program, phase)
    if exchange is None or program.name != exchange.role:
        return None
    at = [i for i, e in enumerate(entries) if isinstance(e, Compute) and e.op == exchange.op]
    steps = _own(exchange, Who.CONSUMER)
    first = bool(steps) and (steps[0].does, steps[0].flag) == (Does.AWAIT, Counted.OPEN)
    if len(at) != 1 or not first or _turn(context).begins is not None:
        return None
    if at[0] == 0 or not isinstance(entries[at[0] - 1], WaitGroup):
        return None
    return at[0] - 1, [_wait(exchange, steps[0]), "__syncwarp();"]


def acquire_tile(context: Context, exchange: Exchange) -> list[str]:
    """The acquire warp opens turns: it waits until the tiles after this one have added to the
    rows, as far
    as they do. A spare warp, so that nobody who computes waits for an answer of the L2.
    """
    return _each_turn(
        context, exchange, Who.ACQUIRE_WARP, _Turn(context, _turn(context), NOW).begins
    )


def release_tile(context: Context, exchange: Exchange) -> list[str]:
    """The release warp gives turns on: a spare warp, so that nobody who computes waits for the
    fence."""
    return _each_turn(context, exchange, Who.RELEASE_WARP, _Turn(context, _turn(context), NOW).ends)


def _each_turn(context: Context, exchange: Exchange, who: Who, when: str) -> list[str]:
    lines = ["for (int k = 0; k < k_tiles; ++k) {"]
    lines += [f"  if (!({when})) continue;"] if when else []
    for step in _own(exchange, who):
        turn = _Turn(context, _turn(context), NOW, step.at)
        wide = step.reach is Reach.GPU
        match step.does, step.flag:
            case Does.AWAIT, Counted.TURN:
                after = turn.before + (f" - {step.less}" if step.less else "")
                seen = device.load_acquire if wide else device.load_acquire_near
                wait = f"while ((int){seen}({turn.place}) < {after}) __nanosleep(32);"
                text = [f"if ({turn.exists}) {wait}"]
            case Does.PUBLISH, Counted.TURN:
                fence = f"{device.fence_gpu}();" if wide else "__threadfence_block();"
                text = [fence, f"if ({turn.exists}) {device.add_relaxed}({turn.place});"]
            case Does.AWAIT, _:
                text = [_wait(exchange, step)]
            case Does.PUBLISH, Counted.OPEN | Counted.GIVEN:
                text = [f"{device.mbar_arrive}({_barrier(exchange, step.flag)});"]
            case _:
                raise unfaithful_step(exchange, step)
        lines += indent(text, 2)
    return [*lines, "  ++turn;", "}"]


def _own(exchange: Exchange, who: Who) -> list[ExchangeStep]:
    return [s for s in exchange.steps if s.by is who]
