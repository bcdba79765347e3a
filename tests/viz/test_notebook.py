"""Notebook forms: fragments that stand alone, and the example notebook executed again."""

import base64
import importlib.util
import re
from html import unescape
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.recorded import recorded as golden
from warploom import DeclarativeSchedule, LoopBody, SyncPolicy, compile_schedule
from warploom.sim import simulate
from warploom.verify import verify
from warploom.viz.notebook import InteractiveTimeline, graph_html, schedule_html, verdict_html

from ..sim.documents import document, mma

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "first_look.ipynb"


def picture_in(fragment):
    data = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', fragment)[1]
    return ET.fromstring(base64.b64decode(data))


def test_a_run_shows_itself_as_a_picture(fourwave):
    root = picture_in(fourwave._repr_html_())
    assert root.tag.endswith("svg")
    assert repr(fourwave) == "<Simulation fourwave/geom0_default: 6 trips, 21036 cycles, II 2672>"


def test_a_graph_is_a_picture():
    doc = golden("pingpong", "pingpong/grid_mg0_vm1x1_lgkm4x4_s0")
    assert picture_in(graph_html(doc.body, doc.edges)).tag.endswith("svg")


def test_a_schedule_shows_every_entry_and_its_reasons():
    doc = golden("fourwave", "fourwave/geom0_default")
    fragment = schedule_html(doc, {("KERNEL", 0): "because <this>"})
    entries = len(doc.prologue) + len(doc.kernel) + len(doc.epilogue)
    assert fragment.count("<span style") == entries + 3
    assert 'title="because &lt;this&gt;"' in fragment
    ET.fromstring(fragment.replace("<br>", "<br/>"))


def test_a_verdict_lists_its_findings():
    racy = verify(golden("fourwave", "fourwave/geom0_default"))
    fragment = verdict_html(racy)
    assert "race</b>" in fragment
    assert fragment.count("<tr>") == 1 + len(racy.findings)
    clean = verify(golden("pingpong", "pingpong/grid_mg0_vm1x1_lgkm4x4_s0"))
    assert "clean</b>" in verdict_html(clean)
    assert "<table" not in verdict_html(clean)


def test_schedules_graphs_and_verdicts_show_themselves():
    compiled = compile_schedule(DeclarativeSchedule(lgkm_a=8, lgkm_b=4))
    assert compiled._repr_html_() == schedule_html(compiled.document())
    body = LoopBody.of(compiled.body, compiled.edges)
    assert body._repr_html_() == graph_html(compiled.body, compiled.edges)
    assert compiled.report._repr_html_() == verdict_html(compiled.report)
    reasoned = compile_schedule(
        DeclarativeSchedule(lgkm_a=8, lgkm_b=4), sync=SyncPolicy.PROVEN_WEAKEST
    )
    assert reasoned._repr_html_().count("title=") == len(reasoned.reasons)


def test_the_interactive_page_is_framed():
    sim = simulate(document(kernel=[mma()], name='"><b>'), trips=3)
    fragment = InteractiveTimeline(sim, height=300)._repr_html_()
    page = unescape(re.search(r'srcdoc="([^"]*)"', fragment)[1])
    assert page.startswith("<!DOCTYPE html>")
    assert 'sandbox="allow-scripts"' in fragment
    assert "height:300px" in fragment


def example():
    spec = importlib.util.spec_from_file_location(
        "make_notebook", EXAMPLE.with_name("make_notebook.py")
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def forms(notebook):
    """The kinds of output of every code cell."""
    return [
        [(item.output_type, sorted(item.get("data", ()))) for item in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def figures(notebook):
    """The line with the interval, which the text around it speaks of."""
    texts = [item.get("text", "") for cell in notebook.cells for item in cell.get("outputs", ())]
    return next(line for text in texts for line in text.splitlines() if line.startswith("II "))


@pytest.mark.filterwarnings("default")
def test_the_example_notebook_is_what_its_cells_give_now():
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    module = example()
    stored = nbformat.read(EXAMPLE, as_version=4)
    fresh = module.build()
    assert [c.source for c in stored.cells] == [c.source for c in fresh.cells]
    module.execute(fresh)
    assert forms(stored) == forms(fresh)
    assert all(kind != "error" for cell in forms(fresh) for kind, _ in cell)
    assert sum("text/html" in data for cell in forms(fresh) for _, data in cell) == 5
    stale = "the example notebook is stale: run examples/make_notebook.py"
    assert figures(stored) == figures(fresh), stale
