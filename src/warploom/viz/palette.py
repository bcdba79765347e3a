"""Colours, symbols and words of events: one home, so that all pictures speak alike.

The op colours are those of Okabe and Ito, which stay apart for colour-blind readers.
"""

from zlib import crc32

from warploom.sim.events import OpEvent, SlotEvent, StallKind, WaitEvent

OP_COLOURS = {
    "GLOBAL_LOAD": "#0072b2",
    "SHARED_STORE": "#cc79a7",
    "FRAGMENT_LOAD": "#56b4e9",
    "COMPUTE": "#e69f00",
    "VALU_COMPUTE": "#009e73",
}
OP_WORDS = {
    "GLOBAL_LOAD": "global load",
    "SHARED_STORE": "shared store",
    "FRAGMENT_LOAD": "fragment load",
    "COMPUTE": "matrix op",
    "VALU_COMPUTE": "vector op",
}
_OTHER = ("#8c6bb1", "#66a61e", "#a6761d", "#1b9e77", "#7570b3", "#d95f02")

STALL_COLOURS = {
    StallKind.QUEUE: "#d55e00",
    StallKind.BARRIER: "#7f7f7f",
    StallKind.SIGNAL: "#b2182b",
    StallKind.REGISTER: "#b8860b",
    StallKind.UNIT: "#5e3c99",
    StallKind.CAPACITY: "#1b7837",
}
STALL_SYMBOLS = {
    StallKind.QUEUE: "~",
    StallKind.BARRIER: "|",
    StallKind.SIGNAL: "!",
    StallKind.REGISTER: "?",
    StallKind.UNIT: ":",
    StallKind.CAPACITY: "^",
}
STALL_WORDS = {
    StallKind.QUEUE: "a wait: an op in flight has not completed",
    StallKind.BARRIER: "a barrier: other rows have not arrived",
    StallKind.SIGNAL: "a signal has not been given",
    StallKind.REGISTER: "a register result is not there yet",
    StallKind.UNIT: "the unit is busy",
    StallKind.CAPACITY: "the counter is full",
}


def op_colour(kind: str) -> str:
    """The colour of an op kind; kinds not known get a stable one of their own."""
    return OP_COLOURS.get(kind) or _OTHER[crc32(kind.encode()) % len(_OTHER)]


def op_word(kind: str) -> str:
    """An op kind in words."""
    return OP_WORDS.get(kind, kind.lower().replace("_", " "))


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
    """Ever shorter forms of an op's label, for narrow bars."""
    if "[" not in label:
        return (label, label.replace(" ", ""))
    plain = label.split(" ", maxsplit=1)[0]
    inner = plain[plain.find("[") :] if "[" in plain else plain
    return (label, plain, inner) if inner != plain else (label, plain)
