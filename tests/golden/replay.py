"""Replay golden cases: ``python tests/golden/replay.py FILE...``

A case is *equal* if every recorded output is; it is *skipped* if a rule of deviations.toml covers
its inputs and every output the rule does not name is equal; otherwise it is *different*. Cases the
reference itself rejects have no result to compare: they are counted apart, as refused with a typed
error or as given a result that passes verification. Prints one line per skipped or differing case,
the error cases, then ``N equal, M different, K skipped``; exit 1 if any differ.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "src")]

import deviations  # noqa: E402
import families  # noqa: E402

from warploom.errors import WarploomError, WarploomWarning  # noqa: E402


def first_difference(expected, got, path="$", named=()):
    """Path, expected and got of the first difference outside the named fields, or None."""
    if path.removeprefix("$.") in named:
        return None
    if isinstance(expected, dict) and isinstance(got, dict):
        for key in expected:
            if f"{path}.{key}".removeprefix("$.") in named:
                continue
            if key not in got:
                return f"{path}.{key}", expected[key], "missing"
            found = first_difference(expected[key], got[key], f"{path}.{key}", named)
            if found:
                return found
        extra = [k for k in got if k not in expected]
        return (path, "no more keys", extra) if extra else None
    if isinstance(expected, list) and isinstance(got, list):
        for i, (a, b) in enumerate(zip(expected, got, strict=False)):
            found = first_difference(a, b, f"{path}[{i}]")
            if found:
                return found
        if len(expected) != len(got):
            return f"{path}.length", len(expected), len(got)
        return None
    same = expected == got and isinstance(expected, bool) == isinstance(got, bool)
    return None if same else (path, expected, got)


def replay_case(family, case):
    """None if equal, else (path, expected, got)."""
    got = result_of(family, case["inputs"], case["outputs"])
    if isinstance(got, WarploomError):
        return "$", "a result", f"{type(got).__name__}: {got.what}"
    return first_difference(case["outputs"], got)


def result_of(family, inputs, outputs):
    """warploom's outputs, or the typed error it raises."""
    try:
        return families.run(family, inputs, list(outputs))
    except WarploomError as error:
        return error


def replay_under(rule, family, case):
    """The same under a rule: only what it names may differ."""
    inputs, outputs = case["inputs"], case["outputs"]
    got = result_of(family, inputs, outputs)
    if isinstance(got, WarploomError):
        if type(got).__name__ not in rule.get("error", ()):
            return "$", f"a result or one of {rule.get('error', [])}", repr(got)
        if "instead" not in rule:
            return None
    if "instead" in rule:
        got = result_of(family, deviations.instead(rule, inputs), outputs)
        if isinstance(got, WarploomError):
            return "$", "a result", repr(got)
    return first_difference(outputs, got, named=rule.get("fields", ()))


def replay_error(case):
    """``refused`` or ``verified``, or what is wrong as (path, expected, got)."""
    family, inputs = case.get("family", ""), case["inputs"]
    if "function" in inputs and inputs["function"] == "compile_schedule":
        family = "generic_compile"
    try:
        families.run(family, inputs, deviations.called_functions(inputs))
        sound = families.passes_verification(family, inputs, deviations.called_functions(inputs))
    except WarploomError:
        return "refused"
    except Exception as error:  # a crash is a difference, whatever it is
        return "$", "a typed error or a verified result", repr(error)
    return "verified" if sound else ("$", "an error", "a result that is not sound")


def replay(paths):
    """Replay files; returns counts of equal, different, skipped, refused and verified cases."""
    counts = Counter()
    for path in paths:
        data = json.loads(Path(path).read_text())
        for case in data["cases"]:
            family = case.get("family") or data["family"]
            said, difference, rule = "equal", None, None
            if "error" in case:
                said = replay_error(case)
                if isinstance(said, tuple):
                    said, difference = "different", said
            elif difference := replay_case(family, case):
                rule = deviations.covering(family, case["inputs"], case["outputs"])
                if rule is not None:
                    difference = replay_under(rule, family, case)
                said = "different" if difference or rule is None else "skipped"
            counts[said] += 1
            if said == "skipped":
                print(f"skipped {case['name']}: {rule['name']}")
                counts["rule", rule["name"]] += 1
            elif said == "different":
                under = f" (under {rule['name']})" if rule else ""
                where, expected, got = difference
                print(f"{case['name']}{under}: {where}: expected {expected!r}, got {got!r}"[:400])
    return counts


def main(argv):
    """Command line."""
    warnings.simplefilter("ignore", WarploomWarning)
    counts = replay(argv or sorted(HERE.glob("*.json")))
    print(
        f"{counts['refused'] + counts['verified']} inputs the reference rejects: "
        f"{counts['refused']} refused, {counts['verified']} given a verified result"
    )
    print(f"{counts['equal']} equal, {counts['different']} different, {counts['skipped']} skipped")
    return 1 if counts["different"] else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
