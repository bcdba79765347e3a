"""Autotune: declared spaces searched by one engine, by a model or by measurement.

``search``: orders of a schedule's body. ``joint.search_tiles``: all knobs of a kernel. ``explore``:
a grid of choices (``Sweep``), all of it. The engine is ``warploom.search_engine``; what a search
learns is in a ``Journal`` and, where workers find it, in the content-addressed cache, so that what
was stopped goes on where it was. Runs through any ``concurrent.futures.Executor``.
"""

from warploom.autotune.find import SearchOptions, SearchResult, search
from warploom.autotune.store import Journal
from warploom.autotune.sweep import (
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

Cache = Journal  # of a sweep
