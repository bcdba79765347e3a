"""Every golden schedule of the two-partition kernels: clean and minimal, or refused for cause."""

import pytest

from tests.sync.minimal import check_minimal
from warploom.errors import OrderError, WarploomError
from warploom.guard.counters import repair, synthesise
from warploom.verify import verify

from .golden_documents import cases, fourwave, pingpong, single_buffer
from .judges import verified

pytestmark = pytest.mark.slow

MAKERS = {"pingpong": pingpong, "fourwave": fourwave, "single_buffer": single_buffer}
NAMES = [name for family in MAKERS for name in cases(family)]


@pytest.mark.parametrize("name", NAMES)
def test_golden(name):
    family, _, case = name.partition("/")
    document = MAKERS[family](case)
    try:
        results = [
            synthesise(document, keep_barriers=keep, mode=mode, limit=8)
            for keep in (True, False)
            for mode in ("weakest", "fewest")
        ]
    except OrderError:
        codes = {f.code.value for f in verify(_without_negatives(document)).findings}
        assert codes & {"TOKEN", "COVERAGE", "WAR-REG"}
        return
    for result in results:
        assert verified(result.document)
        assert not check_minimal(result.document, verified, barriers=result.derived_barriers)
    done = repair(document)
    assert verified(done.document)
    changed = [(c.phase, c.index) for c in done.changes if c.reason and c.reason.queue]
    assert not check_minimal(done.document, verified, waits=changed)
    assert not repair(done.document).changes


def _without_negatives(document):
    """A negative count is malformed for the verifier; the order is what is asked about."""
    try:
        verify(document)
    except WarploomError:
        from dataclasses import replace

        phases = {
            name: tuple(
                replace(e, op=replace(e.op, wait_value=max(0, e.op.wait_value)))
                for e in getattr(document, name)
            )
            for name in ("prologue", "kernel", "epilogue")
        }
        return replace(document, **phases)
    return document
