"""Replay golden cases: ``python tests/golden/replay.py FILE...``

Prints one line per differing case, then ``N equal, M different, K skipped``; exit 1 if any differ.
A case is skipped only when a rule of deviations.toml covers its inputs.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "src")]

import deviations  # noqa: E402
import families  # noqa: E402

from warploom.errors import WarploomError, WarploomWarning  # noqa: E402


def first_difference(expected, got, path="$"):
    """Path, expected and got of the first difference, or None."""
    if isinstance(expected, dict) and isinstance(got, dict):
        for key in expected:
            if key not in got:
                return f"{path}.{key}", expected[key], "missing"
            found = first_difference(expected[key], got[key], f"{path}.{key}")
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
    if "error" in case:
        return replay_error(case)
    try:
        got = families.run(family, case["inputs"], list(case["outputs"]))
    except WarploomError as error:
        return "$", "a result", f"{type(error).__name__}: {error.what}"
    return first_difference(case["outputs"], got)


def replay_error(case):
    """Equal when a typed error is raised, or the result passes its own verification."""
    family, inputs = case.get("family", ""), case["inputs"]
    wanted = deviations.called_functions(inputs)
    try:
        if "function" in inputs and inputs["function"] == "compile_schedule":
            family = "generic_compile"
        families.run(family, inputs, wanted)
    except WarploomError:
        return None
    except Exception as error:  # a crash is a difference, whatever it is
        return "$", "a typed error or a verified result", repr(error)
    return None if deviations.result_is_sound(family, inputs) else ("$", "an error", "a result")


def replay(paths):
    """Replay files; returns (equal, different, skipped)."""
    equal = different = skipped = 0
    for path in paths:
        data = json.loads(Path(path).read_text())
        for case in data["cases"]:
            family = case.get("family") or data["family"]
            difference = replay_case(family, case)
            if difference is None:
                equal += 1
            elif rule := deviations.covering(family, case["inputs"]):
                skipped += 1
                print(f"skipped {case['name']}: {rule}")
            else:
                different += 1
                where, expected, got = difference
                print(f"{case['name']}: {where}: expected {expected!r}, got {got!r}"[:400])
    return equal, different, skipped


def main(argv):
    """Command line."""
    warnings.simplefilter("ignore", WarploomWarning)
    equal, different, skipped = replay(argv or sorted(HERE.glob("*.json")))
    print(f"{equal} equal, {different} different, {skipped} skipped")
    return 1 if different else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
