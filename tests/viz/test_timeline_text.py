"""The timeline as text and as SVG: golden forms, and that they say what the events say."""

from xml.etree import ElementTree as ET

import pytest

from warploom.errors import ConfigError
from warploom.ir.schedule_ops import OpDesc
from warploom.sim import StallKind, simulate
from warploom.viz import representative_rows, steady_window, timeline_svg, timeline_text

from ..sim.documents import document, load, mma
from ..sim.test_roles import ring

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def tiny():
    return simulate(document(kernel=[load(), OpDesc.wait_vm(0), mma()]), trips=2)


def test_text_of_a_tiny_run_by_hand(tiny):
    # 432 cycles over 54 columns: 8 cycles a column; load 1, wait 199, MMA 16 cycles, twice.
    text = timeline_text(tiny, width=81)
    lines = text.splitlines()
    issue = next(line for line in lines if " issue " in line)[27:]
    assert issue == "~" * 25 + "bb" + "~" * 25 + "bb"
    unit = next(line for line in lines if " MMA_UNIT " in line)[27:]
    assert unit == " " * 25 + "bb" + " " * 25 + "bb"
    flight = next(line for line in lines if "in flight" in line)[27:]
    assert flight == "1" * 25 + "  " + "1" * 25
    assert "  a LOAD_A[0,0] K0          b MMA[0,0]" in lines
    assert "1 column = 8 cycles" in text
    assert "II 216 cycles" in lines[0]
    assert "LOAD_A[0,0] K0 (kernel 0, iteration 1) must complete" in " ".join(text.split())


def test_text_matches_its_golden_form(pingpong, fourwave, compare):
    compare("pingpong.txt", timeline_text(pingpong, width=140))
    compare("fourwave.txt", timeline_text(fourwave, width=140, window=steady_window(fourwave)))


def test_svg_matches_its_golden_form(pingpong, fourwave, compare):
    compare("pingpong.svg", timeline_svg(pingpong, window=steady_window(pingpong, 1)))
    compare("fourwave_steady.svg", timeline_svg(fourwave, window=steady_window(fourwave)))


def test_svg_has_a_bar_for_every_op_and_a_hatched_bar_for_every_stall(pingpong):
    root = ET.fromstring(timeline_svg(pingpong))
    rows = representative_rows(pingpong)
    assert [g.get("data-row") for g in root.iter(f"{SVG}g")] == [str(row) for row in rows]
    stalls = [r for r in root.iter(f"{SVG}rect") if r.get("class") == "stall"]
    assert len(stalls) == sum(stall.row in rows for stall in pingpong.stalls)
    bars = [r for r in root.iter(f"{SVG}rect") if r.get("class") == "bar"]
    shown = [op for op in pingpong.ops if op.row in rows]
    assert len(bars) == 2 * len(shown)  # once on the stream, once on the unit
    lines = [r for r in root.iter(f"{SVG}line") if r.get("class") == "barrier"]
    assert len(lines) == len(rows) * len(pingpong.barriers)
    titles = [t.text for t in root.iter(f"{SVG}title")]
    op = shown[7]
    assert any(
        t.startswith(f"{op.place.text()} of") and f"result at {op.done}" in t for t in titles
    )


def test_the_interval_is_marked(fourwave):
    assert "II 2672" in timeline_svg(fourwave)
    assert "II 2672" in timeline_text(fourwave)


def test_roles_are_rows_too():
    from warploom.sim import simulate_workload

    sim = simulate_workload(ring(2, 6))
    assert representative_rows(sim) == (0, 1)
    text = timeline_text(sim, width=100)
    assert "producer" in text
    assert "consumer" in text
    assert "! stall, a signal has not been given" in text
    assert {s.cause.kind for s in sim.stalls} >= {StallKind.SIGNAL}
    assert "TENSOR" in timeline_svg(sim)


def test_an_empty_run_still_gives_a_picture():
    sim = simulate(document(), trips=0)
    assert "Stalls: none" in timeline_text(sim)
    ET.fromstring(timeline_svg(sim))


def test_names_are_escaped():
    sim = simulate(document(kernel=[mma()], name="<b>&"), trips=2)
    root = ET.fromstring(timeline_svg(sim))
    assert next(root.iter(f"{SVG}text")).text.startswith("<b>&")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": (10, 5)}, "ends at 5"),
        ({"width": 10}, "is too narrow"),
    ],
)
@pytest.mark.parametrize("view", [timeline_text, timeline_svg])
def test_impossible_wishes_are_refused(tiny, view, options, message):
    with pytest.raises(ConfigError, match=message):
        view(tiny, **options)
