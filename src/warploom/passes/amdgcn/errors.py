"""Refusals of the lowering, at the author's line."""

from typing import NoReturn

from warploom.errors import BackendError
from warploom.ir.tile import Line


class BudgetError(BackendError):
    """A tile that does not fit LDS or registers; a smaller one may."""


def refuse(line: Line | None, what: str, *, why: str, fix: str) -> NoReturn:
    """Refuse a kernel at the author's line."""
    raise BackendError(
        f"the gfx950 back end does not take {what}",
        where=f"{line}: {line.text}" if line else "",
        why=why,
        fix=fix,
    )
