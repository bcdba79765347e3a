"""Every golden case is equal to the reference, or equal in all that a justified rule leaves."""

import ast
import json
import sys
import warnings
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import deviations  # noqa: E402
import replay  # noqa: E402

from warploom import errors  # noqa: E402
from warploom.errors import WarploomWarning  # noqa: E402

FILES = sorted(HERE.glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_family_equals_the_reference(path, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WarploomWarning)
        counts = replay.replay([path])
    assert counts["different"] == 0, capsys.readouterr().out
    if path.stem == "errors":
        assert counts["equal"] == counts["skipped"] == 0
        assert counts["refused"] + counts["verified"] > 0
    else:
        assert counts["equal"] > 0
        assert counts["refused"] == counts["verified"] == 0


def test_a_changed_output_is_noticed():
    case = {"inputs": {"num_k_mmas": 2}, "outputs": {"derive_safe_max_globals": 0}}
    assert replay.replay_case("misc", case) == ("$.derive_safe_max_globals", 0, 1)


def cases():
    for path in FILES:
        data = json.loads(path.read_text())
        for case in data["cases"]:
            if "outputs" in case:
                yield case.get("family") or data["family"], case


@pytest.fixture(scope="module")
def covered():
    """One differing case of every rule that has one, with the rule."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WarploomWarning)
        for family, case in cases():
            rule = deviations.covering(family, case["inputs"], case["outputs"])
            if rule and rule["name"] not in found and replay.replay_case(family, case):
                found[rule["name"]] = (rule, family, case)
    return found


def test_a_rule_excuses_only_what_it_names(covered):
    """Any other output, changed in the record, is noticed although the rule covers the case."""
    looked_at = 0
    for rule, family, case in covered.values():
        if rule.get("error") and "instead" not in rule and not rule.get("fields"):
            continue
        named = {field.split(".")[0] for field in rule.get("fields", ())}
        for key in set(case["outputs"]) - named:
            changed = {**case, "outputs": {**case["outputs"], key: "something else"}}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", WarploomWarning)
                found = replay.replay_under(rule, family, changed)
            if found is not None and found[0] == "$":
                continue  # this very case is refused, which the rule names
            assert found is not None, (rule["name"], key)
            assert found[0] == f"$.{key}", (rule["name"], key)
            looked_at += 1
    assert looked_at > 20


def test_a_rule_excuses_no_other_error(covered):
    for rule, family, case in covered.values():
        if not rule.get("error") or "instead" in rule:
            continue
        strict = {**rule, "error": ["VerificationError"], "fields": []}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WarploomWarning)
            assert replay.replay_under(strict, family, case) is not None


def test_every_deviation_rule_is_justified_and_exists():
    for rule in deviations.rules():
        assert callable(getattr(deviations, rule["predicate"]))
        assert len(rule["why"]) > 80
        assert rule.get("error") or "fields" in rule
        for name in rule.get("error", ()):
            assert issubclass(getattr(errors, name), errors.WarploomError)


def test_no_predicate_asks_warploom():
    for name in ("deviations.py", "reference_rules.py"):
        tree = ast.parse((HERE / name).read_text())
        imported = {
            alias.name.split(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
        } | {
            (node.module or "").split(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
        }
        assert not imported & {"warploom", "families", "forms", "replay"}
    reading = [r["name"] for r in deviations.rules() if r.get("reads_result")]
    assert reading == ["searched-order"]


def test_a_default_case_is_covered_by_no_rule():
    case = json.loads((HERE / "pingpong.json").read_text())["cases"][0]
    assert deviations.covering("pingpong", case["inputs"], case["outputs"]) is None
