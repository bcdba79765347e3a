"""Every golden schedule of the two-partition kernels: clean and minimal, or refused for cause."""

import pytest

from tests.sync.minimal import check_minimal
from warploom.errors import ConfigError, OrderError
from warploom.sync.counters import repair, synthesise
from warploom.verify import verify

from .golden_documents import cases, fourwave, pingpong, single_buffer
from .verifiers import verified

pytestmark = pytest.mark.slow

MAKERS = {"pingpong": pingpong, "fourwave": fourwave, "single_buffer": single_buffer}
NAMES = [name for family in MAKERS for name in cases(family)]


@pytest.mark.parametrize("name", NAMES)
def test_golden(name):
    family, _, case = name.partition("/")
    if "-1" in case:  # a wait for fewer than nothing, stated by hand
        with pytest.raises(ConfigError, match="wait_value = -1 is negative"):
            MAKERS[family](case)
        return
    document = MAKERS[family](case)
    try:
        results = [
            synthesise(document, keep_barriers=keep, mode=mode, limit=8)
            for keep in (True, False)
            for mode in ("weakest", "fewest")
        ]
    except OrderError:
        codes = {f.code.value for f in verify(document).findings}
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
