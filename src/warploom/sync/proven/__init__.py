"""Proven synchronisation: waits and barriers derived from the hazard model, minimal and explained.

In goes a schedule document (an order and the barriers it insists on), out comes one without races
for any timing and trip count: ``synthesise`` replaces all waits, ``repair`` changes as little as it
can. Nothing here judges: the verifier is another room, and ``check_minimal`` takes any judge.

    result = synthesise(document)
    for reason in result.reasons:
        print(reason.text)
"""

from warploom.sync.proven.cost import CHIP, REFERENCE, Cost, StallModel
from warploom.sync.proven.minimal import Judge, Loose, check_minimal
from warploom.sync.proven.program import Hazard
from warploom.sync.proven.reasons import Reason, Served
from warploom.sync.proven.repair import Change, ChangeKind, Repair, repair
from warploom.sync.proven.synthesis import Mode, PhaseCounts, Synthesis, count_sync, synthesise
from warploom.sync.proven.text import Queue

__all__ = [
    "CHIP",
    "REFERENCE",
    "Change",
    "ChangeKind",
    "Cost",
    "Hazard",
    "Judge",
    "Loose",
    "Mode",
    "PhaseCounts",
    "Queue",
    "Reason",
    "Repair",
    "Served",
    "StallModel",
    "Synthesis",
    "check_minimal",
    "count_sync",
    "repair",
    "synthesise",
]
