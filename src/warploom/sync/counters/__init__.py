"""Proven synchronisation: waits and barriers derived from the hazard model, minimal and explained.

In goes a schedule document (an order and the barriers it insists on), out comes one without races
for any timing and trip count: ``synthesise`` replaces all waits, ``repair`` changes as little as it
can. Nothing here checks: the verifier is another package.

    result = synthesise(document)
    for reason in result.reasons:
        print(reason.text)
"""

from warploom.ir.counter_dialect import Queue
from warploom.sync.counters.cost import CHIP, REFERENCE, StallModel
from warploom.sync.counters.emit import Reason
from warploom.sync.counters.program import Hazard
from warploom.sync.counters.repair import Change, ChangeKind, Repair, repair
from warploom.sync.counters.synthesis import Synthesis, count_sync, guarded, synthesise
