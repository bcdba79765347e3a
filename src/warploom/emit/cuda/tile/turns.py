"""Tiles that add to memory in turn, as CUDA text: the steps of an exchange, as they are judged.

Iterations whose rows are given on together take one turn: it is awaited at the first of them and
left at the last.
"""

from __future__ import annotations

from warploom.document.exchange import Counted, Does, Exchange, ExchangeStep, Reach, Who
from warploom.emit.cuda.judged import unfaithful_step
from warploom.emit.cuda.roles import indent
from warploom.emit.cuda.tile.context import Context
from warploom.emit.cuda.tile.iterations import last_row
from warploom.kernel.values import Access, Store, Walk
from warploom.lower.ranges import cut_of
from warploom.lower.visits import turn_rows


class _Turn:
    """The turn of the rows an iteration adds to: where the tiles that added to them are counted,
    whether they exist, and whether the iteration is their first or last.
    """

    def __init__(self, context: Context, op: Store, iteration: str, at: int = 0) -> None:
        body, kernel = context.layout.body, context.kernel
        rows, columns = body.values[op.value].vars
        extent = context.layout.extent(rows)
        cut = cut_of(body, context.layout.steps)
        tile = next(n for n in kernel.grid.vars if kernel.var(n).walk is Walk.TILE)
        most = context.layout.extent(tile) if cut is not None and cut.bounds else None
        together = turn_rows(extent, context.layout.extent(columns), most)
        here = context.position(rows, iteration)
        begins = f"{iteration} == 0 || {here} % {together} == 0"
        ends = f"{iteration} == k_tiles - 1 || ({here} + {extent}) % {together} == 0"
        self.begins, self.ends = begins, ends
        first = f"{here} / {together} * {together}" if together > extent else here
        first += f" + {at * together}" if at else ""
        self.exists = f"{first} < {context.limit(op.tensor, kernel.var(rows).axis, rows)}"
        self.end = f"{first} + {together}"
        turns = next(t for t in kernel.tensors if t.access is Access.TURNS)
        named = {a.name: p for a, p in zip(kernel.tensor(op.tensor).axes, op.at, strict=True)}
        units = {a: context.index(p, iteration) for a, p in named.items()}
        parts = [
            f"({first if named[a.name].var == rows else units[a.name]})"
            f" * {context.stride(turns.name, n)}"
            for n, a in enumerate(turns.axes)
        ]
        self.place = f"(unsigned*){context.pointer(turns.name)} + ({' + '.join(parts)})"


def _counts(context: Context) -> tuple[str, str]:
    """Where a warp counts turns it has left, and the usher those that may be taken."""
    own = "smem + TURNS + 4 * (4 * instance + warp_in_group)"
    return own, f"smem + TURNS + {16 * context.layout.tiling.consumers}"


def consumer_turn(
    context: Context, exchange: Exchange, op: Store, iteration: str, adds: list[str]
) -> list[str]:
    """A consumer's steps of a turn; ``adds`` is its text of the op."""
    turn = _Turn(context, op, iteration)
    own, opened = _counts(context)
    lines: list[str] = []
    for step in _own(exchange, Who.CONSUMER):
        match step.does, step.flag:
            case Does.ADD, _:
                lines += adds
            case Does.AWAIT, Counted.OPEN:
                ahead = f"(int)(counted_shared({opened}) - counted_shared({own}))"
                lines += [f"if ({turn.begins})", f"  while ({ahead} <= {step.at - step.less}) {{}}"]
                lines.append("__syncwarp();")
            case Does.PUBLISH, Counted.DONE if not step.at:
                lines += ["__syncwarp();", f"if (lane == 0 && ({turn.ends})) count_shared({own});"]
            case _:
                raise unfaithful_step(exchange, step)
    return lines


def usher_tile(context: Context, exchange: Exchange) -> list[str]:
    """The usher opens turns: it waits until the tiles after this one have added to the rows, as far
    as they do.
    """
    op = _turn_store(context)
    begins = _Turn(context, op, "k").begins
    tile = next(n for n in context.kernel.grid.vars if context.kernel.var(n).walk is Walk.TILE)
    cut = cut_of(context.layout.body, context.layout.steps)
    lines: list[str] = []
    for step in _own(exchange, Who.USHER):
        match step.does, step.flag:
            case Does.AWAIT, Counted.TURN:
                turn = _Turn(context, op, "k", step.at)
                rows = f"pos_{tile} / {context.layout.extent(tile)}"
                after = f"{last_row(context, cut, turn.end)} - {rows}"
                after += f" - {step.less}" if step.less else ""
                seen = "load_acquire" if step.reach is Reach.GPU else "load_acquire_near"
                wait = f"while ((int){seen}({turn.place}) < {after}) __nanosleep(32);"
                lines.append(f"if ({turn.exists}) {wait}")
            case Does.PUBLISH, Counted.OPEN if not step.at:
                lines.append(f"count_shared({_counts(context)[1]});")
            case _:
                raise unfaithful_step(exchange, step)
    return _each_turn(begins, lines)


def clerk_tile(context: Context, exchange: Exchange) -> list[str]:
    """The clerk gives turns on."""
    op, warps = _turn_store(context), 4 * context.layout.tiling.consumers
    lines = ["++given;"]
    for step in _own(exchange, Who.CLERK):
        match step.does, step.flag:
            case Does.AWAIT, Counted.DONE:
                behind = "(int)(counted_shared(smem + TURNS + 4 * lane) - given)"
                lines += [
                    f"if (lane < {warps - step.less})",
                    f"  while ({behind} < {step.at}) __nanosleep(32);",
                    "__syncwarp();",
                ]
            case Does.PUBLISH, Counted.TURN:
                turn = _Turn(context, op, "k", step.at)
                fence = "fence_gpu();" if step.reach is Reach.GPU else "__threadfence_block();"
                lines += [fence, f"if (lane == 0 && {turn.exists}) add_relaxed({turn.place});"]
            case _:
                raise unfaithful_step(exchange, step)
    return _each_turn(_Turn(context, op, "k").ends, lines)


def _own(exchange: Exchange, who: Who) -> list[ExchangeStep]:
    return [s for s in exchange.steps if s.by is who]


def _each_turn(when: str, lines: list[str]) -> list[str]:
    head = ["for (int k = 0; k < k_tiles; ++k) {", f"  if (!({when})) continue;"]
    return [*head, *indent(lines, 2), "}"]


def _turn_store(context: Context) -> Store:
    return next(op for op in context.layout.body.loop.body if isinstance(op, Store))
