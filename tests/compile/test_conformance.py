"""The conformance page: complete, true, and generated."""

import json
import sys

import pytest

from . import conformance as c

sys.path.insert(0, str(c.ROOT / "tests" / "golden"))


def items():
    return [(d, i) for d, rows in c.DOCUMENTS.items() for i in rows]


def test_every_item_is_somewhere_and_shown():
    for document, item in items():
        assert c.resolve(item.where) is not None, (document, item.text)
        assert c.test_exists(item.test), (document, item.text, item.test)
        assert item.verdict in (c.SAME, c.BETTER, c.DEVIATION)
        assert item.verdict == c.SAME or item.note, (document, item.text)
    assert len({(d, i.text) for d, i in items()}) == len(items())


def test_every_documented_field_and_method_is_an_item():
    from dataclasses import fields

    import warploom as w

    for name in ("PipelineConfig", "ScheduleConfig"):
        text = " ".join(i.text for i in c.DOCUMENTS[name])
        for field in fields(getattr(w, name)):
            assert f"field {field.name}" in text
    methods = [
        n
        for n in vars(w.PipelineConfig)
        if not n.startswith("_") and callable(getattr(w.PipelineConfig, n))
    ]
    text = " ".join(i.text for i in c.DOCUMENTS["PipelineConfig"])
    assert all(f"{name}(" in text for name in methods)


def test_the_page_is_generated_from_the_table():
    page = c.PAGE.read_text()
    assert page == c.page(c.table_of_defaults(page)), "run python -m tests.compile.conformance"


def test_a_missing_test_is_noticed():
    assert not c.test_exists("compile/test_documented::test_that_is_not_there")
    assert not c.test_exists("compile/nowhere::test_declarative_forms")


def test_a_sample_of_recorded_inputs_by_default():
    import defaults

    cases = list(defaults.recorded())[::45]
    said = [defaults.verdict(f, i, None) for f, i in cases]
    assert ("clean", "") in said
    for verdict, why in said:
        assert verdict == "clean" or f"| default | {verdict} | {why} |" in c.PAGE.read_text()


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_table_of_recorded_inputs_is_true():
    import defaults

    assert defaults.section().strip() == c.table_of_defaults(c.PAGE.read_text()).strip()
    total = sum(1 for _ in defaults.recorded())
    assert total == sum(
        len(json.loads((defaults.HERE / f"{f}.json").read_text())["cases"])
        for f in defaults.FAMILIES
    )


def test_every_deviation_that_a_trial_found_names_a_test():
    page = (c.ROOT / "docs" / "reference" / "deviations.md").read_text()
    _, _, section = page.partition("## What a trial of the documented API found")
    rows = [line.split("|") for line in section.splitlines() if "::" in line]
    assert len(rows) == 15
    for row in rows:
        assert c.test_exists(row[3].strip().strip("`")), row[1]
