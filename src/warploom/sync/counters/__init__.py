"""Proven synchronisation: waits and barriers derived from the hazard model, minimal and explained.

In goes a schedule document (an order and the barriers it insists on), out comes one without races
for any timing and trip count: ``synthesise`` replaces all waits, ``repair`` changes as little as it
can. Nothing here judges: the verifier is another room.

    result = synthesise(document)
    for reason in result.reasons:
        print(reason.text)
"""

from warploom.document.counters import Queue
from warploom.guard.counters.cost import CHIP, REFERENCE, StallModel
from warploom.guard.counters.emit import Reason
from warploom.guard.counters.program import Hazard
from warploom.guard.counters.repair import Change, ChangeKind, Repair, repair
from warploom.guard.counters.synthesis import Synthesis, count_sync, guarded, synthesise
