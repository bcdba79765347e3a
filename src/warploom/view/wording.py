"""Events in words: the same sentences in tooltips, traces and reports."""

from __future__ import annotations

from warploom.sim.events import OpEvent, SlotEvent, WaitEvent
from warploom.view.palette import op_word


def op_text(op: OpEvent, row: str) -> str:
    """An op with all its times, over several lines."""
    lines = [
        f"{op.place.text()} of {row}",
        f"{op_word(op.kind)} on {op.unit}",
        f"issued {op.issue}..{op.issued}, unit held {op.start}..{op.end}, result at {op.done}",
    ]
    if op.queue:
        lines.append(f"takes {op.count} units of {op.queue}")
    lines += [f"{name}: {value}" for name, value in op.detail if name != "role"]
    return "\n".join(lines)


def wait_text(wait: WaitEvent) -> str:
    """A wait in words: for what, and what it cost."""
    if wait.op is None:
        return f"{wait.place.text()}: nothing was in flight that it could wait for"
    cost = wait.end - wait.start
    fate = f"stalls {cost} cycles" if cost else f"no stall: complete since {wait.ready}"
    return f"{wait.place.text()}: {wait.text}; {fate}"


def slot_text(life: SlotEvent) -> str:
    """A slot's life in one sentence."""
    what = f" with {life.content}" if life.content else ""
    reads = f"read {len(life.readers)} times until {life.end}" if life.readers else "never read"
    return f"{life.slot}: filled{what} from {life.start}, complete at {life.ready}, {reads}"


def short_labels(label: str) -> tuple[str, ...]:
    """Ever shorter forms of an op's label, for bars with little room."""
    plain = label.split(" ", maxsplit=1)[0]
    inner = plain[plain.find("[") :] if "[" in plain else plain
    return (label, plain, inner) if inner != plain else (label, plain)
