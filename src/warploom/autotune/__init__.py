"""Explore: many configurations of a schedule, compiled, verified, simulated and ranked.

In: a ``Sweep`` (the grid of choices). Out: ``Outcome`` rows, cached on disk by content, so that a
sweep that was stopped goes on where it was. Runs through any ``concurrent.futures.Executor``.
"""

from warploom.autotune.find import search
from warploom.autotune.result import SearchOptions, SearchResult
from warploom.autotune.sweep import (
    Cache,
    Outcome,
    Point,
    Sweep,
    evaluate,
    explore,
    ranked,
    refusals,
    scatter_html,
    to_csv,
)
