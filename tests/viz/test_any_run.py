"""Every picture of every run is well formed: random programs through all views."""

import json
import re
from xml.etree import ElementTree as ET

import jsonschema
from hypothesis import given, settings, strategies as st

from warploom.sim import simulate
from warploom.viz import perfetto_trace, timeline_html, timeline_svg, timeline_text

from ..sim.documents import document
from ..sim.test_properties import bodies, machines, units
from .test_trace import SCHEMA


@given(
    bodies,
    bodies,
    units,
    machines(shared=True),
    st.integers(0, 5),
    st.integers(1, 2),
    st.integers(60, 160),
)
@settings(max_examples=15, deadline=None)
def test_views_of_any_run_are_well_formed(body, last, lgkm, costs, trips, waves, width):
    doc = document(kernel=body, epilogue=last, lgkm=lgkm, waves_per_group=waves)
    sim = simulate(doc, costs, trips=trips)
    text = timeline_text(sim, width=width)
    picture = [line for line in text.splitlines() if re.match(r".{15}(issue|  in flight)", line)]
    assert picture
    assert all(len(line) <= width for line in picture)
    ET.fromstring(timeline_svg(sim, width=600))
    page = timeline_html(sim)
    json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    trace = json.loads(json.dumps(perfetto_trace(sim)))
    trace["traceEvents"] = trace["traceEvents"][-60:]  # the schema check is slow
    jsonschema.validate(trace, SCHEMA)
