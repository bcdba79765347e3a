"""The small records that configurations are made of, and what their fields say of themselves."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from enum import Enum

from warploom.document.fields import judge
from warploom.document.ops import OpRole


def field_docs(cls: type) -> dict[str, str]:
    """Field name -> description."""
    docs: dict[str, str] = {}
    name = ""
    for line in (inspect.getdoc(cls) or "").partition("Attributes:")[2].splitlines():
        indent = len(line) - len(line.lstrip())
        head, colon, rest = line.strip().partition(": ")
        if colon and indent == 4 and head.isidentifier():
            name = head
            docs[name] = rest
        elif name and line.strip():
            docs[name] += " " + line.strip()
    return docs


class SchedulingStrategy(Enum):
    """How the ops of a body are put in order.

    MODULO minimises the initiation interval and derives stages, buffer depths and phases as well.
    AUTO takes the best of many orders, each synchronised, verified and simulated.
    """

    IDENTITY = 0
    GREEDY = 1
    CSP = 2
    MODULO = 3
    AUTO = 4


@dataclass(frozen=True, slots=True)
class LoopCarriedSpec:
    """Which ops cross the loop boundary: those of ``role`` with subtile ``selector``."""

    role: OpRole
    selector: int

    def __post_init__(self) -> None:
        judge(self)

    @classmethod
    def fragment_zero(cls) -> LoopCarriedSpec:
        """The fragment load of subtile 0."""
        return cls(OpRole.FRAGMENT_LOAD, 0)

    @classmethod
    def none(cls) -> LoopCarriedSpec:
        """No role. The selector is still 0, which some derivations look at."""
        return cls(OpRole.NONE, 0)


@dataclass(frozen=True, slots=True)
class BlockSizing:
    """How many ops an MMA block takes: ``heavy`` when it opens a row, else ``light``.

    ``max_globals`` caps the global loads of a block; 0 means no cap.
    """

    heavy: int
    light: int
    max_globals: int = 0

    def __post_init__(self) -> None:
        judge(self)

    @classmethod
    def default_2x2(cls) -> BlockSizing:
        """The sizing of a 2x2 grid: 4 and 2, no cap."""
        return cls(4, 2, 0)

    @classmethod
    def uniform(cls, n: int) -> BlockSizing:
        """The same size for every block."""
        return cls(n, n, 0)


@dataclass(frozen=True, slots=True)
class FragOrder:
    """Whether a block reads its B fragment before its A fragment."""

    b_before_a: bool

    def __post_init__(self) -> None:
        judge(self)

    @classmethod
    def b_first(cls) -> FragOrder:
        """B, then A."""
        return cls(True)

    @classmethod
    def a_first(cls) -> FragOrder:
        """A, then B."""
        return cls(False)


@dataclass(frozen=True, slots=True)
class WarpStaggerRule:
    """Where the second wave group falls behind: nowhere, after the stage-0 loads, or fixed."""

    enabled: bool
    compute_from_body: bool
    fixed_amount: int

    def __post_init__(self) -> None:
        judge(self, why={"fixed_amount": "it is the index of a prologue entry"})

    @classmethod
    def none(cls) -> WarpStaggerRule:
        """No stagger."""
        return cls(False, False, 0)

    @classmethod
    def auto(cls) -> WarpStaggerRule:
        """After the prefetches of stage 0."""
        return cls(True, True, 0)

    @classmethod
    def fixed(cls, amount: int) -> WarpStaggerRule:
        """Before prologue entry ``amount``."""
        return cls(True, False, amount)
