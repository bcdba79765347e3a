"""Every golden case is equal to the reference or covered by a justified deviation."""

import sys
import warnings
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import deviations  # noqa: E402
import replay  # noqa: E402

from warploom.errors import WarploomWarning  # noqa: E402

FILES = sorted(HERE.glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_family_equals_the_reference(path, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WarploomWarning)
        equal, different, _ = replay.replay([path])
    assert different == 0, capsys.readouterr().out
    assert equal > 0


def test_a_changed_output_is_noticed():
    case = {"inputs": {"num_k_mmas": 2}, "outputs": {"derive_safe_max_globals": 0}}
    assert replay.replay_case("misc", case) == ("$.derive_safe_max_globals", 0, 1)


def test_every_deviation_rule_is_justified_and_exists():
    for rule in deviations.rules():
        assert callable(getattr(deviations, rule["predicate"]))
        assert len(rule["why"]) > 80


def test_a_default_case_is_covered_by_no_rule():
    import json

    case = json.loads((HERE / "pingpong.json").read_text())["cases"][0]
    assert deviations.covering("pingpong", case["inputs"]) is None
