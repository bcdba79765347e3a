"""Rewrites of a kernel that keep its meaning; each has a name and can be left out."""

from __future__ import annotations

from collections.abc import Callable, Collection

from warploom.errors import ConfigError
from warploom.kernel.simplify.base2 import exp_to_exp2
from warploom.kernel.simplify.fold import (
    accumulate,
    fold,
    hoist,
    remove_dead,
    share,
    without_copies,
)
from warploom.kernel.values import Kernel

Rewrite = Callable[[Kernel], Kernel]

REWRITES: dict[str, Rewrite] = {
    "fold": fold,
    "share": share,
    "hoist": hoist,
    "exp2": exp_to_exp2,
    "copies": without_copies,
    "accumulate": accumulate,
    "dead": remove_dead,
}
# Scaled factors make new constants to fold and share; sums of products are joined when no other
# rewrite can still tell the product apart.
ORDER = (
    *("fold", "copies", "share", "hoist", "exp2"),
    *("fold", "share", "hoist", "dead", "accumulate"),
)


def simplify(kernel: Kernel, *, without: Collection[str] = ()) -> Kernel:
    """The kernel after all rewrites but those left out."""
    for name in without:
        if name not in REWRITES:
            raise ConfigError(
                f"no rewrite is called '{name}'",
                where="argument without",
                fix=f"one of {', '.join(REWRITES)}",
            )
    for name in ORDER:
        if name not in without:
            kernel = REWRITES[name](kernel)
    return kernel
