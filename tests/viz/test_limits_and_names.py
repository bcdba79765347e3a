"""Source names, the bottleneck, the steady window, linked panels and long runs."""

import json
import re
from functools import lru_cache

import pytest

from warploom.cli.display import display
from warploom.cli.source import load
from warploom.codegen.cuda.tile.mma_slices import MARK
from warploom.compiler.cubin import find_nvdisasm
from warploom.compiler.emit_cuda import emit_kernel
from warploom.sim.events import StallKind
from warploom.viz.bottleneck import bottleneck, runs_ahead, stalls_of
from warploom.viz.html import timeline_html
from warploom.viz.panels import EntryLine, marked_code
from warploom.viz.scene import steady_window
from warploom.viz.svg import timeline_svg

from ..cli.runner import warploom
from .browser import opened, settled, started

browser = pytest.fixture(scope="module")(started)


@lru_cache
def run_of(name, trips=8):
    shown = display(load(name))
    return shown, shown.simulate(trips), shown.subject.pace()


@pytest.mark.parametrize("name", ["attention", "swiglu", "attention_grad", "fourwave", "pingpong"])
def test_the_steady_window_holds_nothing_but_iterations(name):
    _, sim, pace = run_of(name)
    start, end = steady_window(sim, pace=pace)
    assert end - start == round(2 * pace.interval)
    inside = [s for s in sim.spans if s.end > start and s.start < end]
    assert {s.row for s in inside} == set(range(len(sim.rows)))
    assert all(s.iteration is not None for s in inside)


def test_a_phase_that_comes_again_is_a_span_of_its_own():
    _, sim, _ = run_of("attention")
    prologues = [s for s in sim.spans if s.row == 2 and s.phase == "prologue"]
    assert len(prologues) == 2
    assert prologues[0].end <= prologues[1].start


def test_attention_is_shown_in_the_names_of_its_source():
    shown, sim, _ = run_of("attention")
    labels = {op.place.label for op in sim.ops}
    assert {"load k", "load v", "qs @ k", "p @ v", "o * keep"} <= labels
    words = " ".join(labels | {s.slot for s in sim.slots} | {s.cause.text for s in sim.stalls})
    assert not re.search(r"\bring_|\bv\d+\b|_here|make_", words)
    assert shown.title == "attention on h200, 128x128 bf16, 2 consumer warpgroups, 2 stages"
    assert shown.codes()["load k"] == "load_ring_v11.v11"
    assert run_of("gemm")[0].title == (
        "gemm on h200, 128x208x64 bf16, 2 consumer warpgroups, 4 stages"
    )


@pytest.mark.parametrize("name", ["gemm", "attention", "scan", "grouped"])
def test_other_names_take_the_same_cycles(name):
    shown, sim, _ = run_of(name)
    plain = shown.subject.simulate(8, tiles=2)
    assert (sim.cycles, sim.ii) == (plain.cycles, plain.ii)
    assert [op.issue for op in sim.ops] == [op.issue for op in plain.ops]
    assert len({op.place.label for op in sim.ops}) == len({op.place.label for op in plain.ops})


def test_waits_of_copies_for_a_free_slot_are_kept_apart():
    _, sim, _ = run_of("attention")
    found = stalls_of(sim)
    assert {s.label for s in found.ahead} == {"WaitEmpty(k)", "WaitEmpty(v)", "WaitEmpty(qs)"}
    assert not any(s.label.startswith("WaitEmpty") for s in found.cost)
    every = sum(s.end - s.start for s in sim.stalls)
    assert sum(s.cycles for s in (*found.cost, *found.ahead)) == every
    assert [runs_ahead(sim, r) for r in range(3)] == [True, False, False]


def test_the_bottleneck_is_one_sentence():
    for name, words in (
        ("gemm", "Bound by tensor: it works 832 of the 832 cycles"),
        ("attention", "where tensor needs 2048: consumer 1 itself is busy"),
        ("pingpong", "group 0 wave 0 stalls"),
    ):
        _, sim, pace = run_of(name)
        text = bottleneck(sim, pace)
        assert words in text
        assert text.endswith(".")
    assert "no loop" in bottleneck(run_of("fourwave", 0)[1], None)


def test_cuda_knows_the_entry_of_each_line():
    shown, _, _ = run_of("attention")
    panels = shown.panels()
    (code,) = panels.codes
    kernel = shown.subject.kernel
    assert "\n".join(code.lines) == emit_kernel(kernel.lowered, kernel.target).text.rstrip("\n")
    assert MARK.strip() not in "\n".join(code.lines)
    by_entry = {}
    for line, owners in zip(code.lines, code.owners, strict=True):
        for n in owners:
            by_entry.setdefault(n, []).append(line)
    for n, entry in enumerate(panels.entries):
        if entry.list == "consumer.kernel" and entry.label == "Commit":
            assert any("wgmma_commit" in line for line in by_entry[n])
        if entry.op == "load_ring_v11.v11":
            assert any("map_k_" in line for line in by_entry[n])
    source = {line.key for line in panels.source}
    assert {e.source for e in panels.entries if e.source} <= source


def test_code_that_marking_changed_is_not_linked():
    entries = (EntryLine(list="kernel", index=0, label="a", op="a"),)
    text = "x\n//@ 0 kernel 0\ny\n//@ 0 \nz"
    assert marked_code("C", text, "//@ ", entries, "x\ny\nz").owners == ((), (0,), ())
    assert marked_code("C", text, "//@ ", entries, "x\ny2\nz").owners == ((), (), ())


def test_machine_code_lies_beside_the_schedule():
    pytest.importorskip("llvmlite")
    panels = display(load("fourwave")).panels(machine_code=True)
    (code,) = panels.codes
    owned = {}
    for line, owners in zip(code.lines, code.owners, strict=True):
        for n in owners:
            owned.setdefault(n, []).append(line)
    for n, entry in enumerate(panels.entries):
        if entry.label.startswith("MMA["):
            assert owned[n]
            assert all("v_mfma" in line for line in owned[n])
        if entry.label == "BARRIER":
            assert any("s_barrier" in line for line in owned[n])


@pytest.mark.parametrize("name", ["attention", pytest.param("fourwave", marks=pytest.mark.slow)])
def test_a_page_of_512_iterations_is_small(name):
    shown, sim, pace = run_of(name, 512)
    page = timeline_html(sim, pace=pace, reasons=shown.subject.reasons(), title=shown.title)
    assert len(page) < 2_000_000


# --- in a browser ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    done = warploom("timeline", "attention", "-o", folder / "attention.html")
    assert done.returncode == 0, done.stderr
    shown, sim, pace = run_of("attention", 512)
    (folder / "long.html").write_text(timeline_html(sim, pace=pace, title=shown.title))
    return folder


def ready(browser, path, **size):
    page, messages = opened(browser, path, **size)
    page.wait_for_selector("html[data-ready=yes]")
    return page, messages


def test_a_long_run_draws_what_is_visible(browser, folder):
    page, messages = ready(browser, folder / "long.html")
    assert page.locator("rect[data-what=op]").count() < 200
    page.keyboard.press("0")
    settled(page)
    assert 0 < page.locator("svg rect").count() < 15_000
    assert "zoom in" in page.locator(".notice").text_content()
    assert messages == []


def test_search_walks_from_hit_to_hit(browser, folder):
    page, messages = ready(browser, folder / "attention.html")
    page.keyboard.press("/")
    page.keyboard.type("load k")
    assert page.locator("#hits").inner_text() == "16 found"
    page.keyboard.press("Enter")
    assert page.locator("#hits").inner_text().endswith("of 16")
    assert "load k" in page.locator("#detail").inner_text()
    settled(page)
    assert page.locator("rect.match, rect.selected").count() >= 1
    page.keyboard.press("Escape")
    assert page.locator("#hits").inner_text() == ""
    assert messages == []


def test_a_range_is_measured_with_mouse_and_keys(browser, folder):
    page, messages = ready(browser, folder / "attention.html")
    page.keyboard.press("i")
    settled(page)
    box = page.locator("#plot svg").bounding_box()
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + 400, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 700, box["y"] + 60)
    page.mouse.up()
    page.keyboard.up("Shift")
    settled(page)
    text = page.locator("#detail").inner_text()
    cycles = int(re.search(r"(\d+) cycles", text)[1])
    assert page.locator("#range").text_content() == f"{cycles} cycles"
    assert "tensor" in text
    page.keyboard.press("Escape")
    settled(page)
    assert page.locator("#range").count() == 0
    page.locator("#plot").focus()
    for key in ("n", "m", "n", "n", "m"):
        page.keyboard.press(key)
    settled(page)
    assert "Range" in page.locator("#detail").inner_text()
    assert messages == []


def test_ops_are_walked_with_keys_and_read_aloud(browser, folder):
    page, messages = ready(browser, folder / "attention.html")
    assert page.locator("#plot").get_attribute("role") == "application"
    assert page.locator("#detail").get_attribute("aria-live") == "polite"
    page.locator("#plot").focus()
    page.keyboard.press("n")
    first = page.locator("#detail").inner_text()
    page.keyboard.press("n")
    second = page.locator("#detail").inner_text()
    assert first != second
    page.keyboard.press("ArrowDown")
    assert "consumer 0" in page.locator("#detail").inner_text()
    row = page.locator("tr.jump").first
    row.focus()
    page.keyboard.press("Enter")
    assert "Stall" in page.locator("#detail").inner_text()
    assert page.locator("#ahead").count() == 1
    assert messages == []


def test_source_schedule_and_code_light_up_together(browser, folder):
    page, messages = ready(browser, folder / "attention.html")
    columns = page.locator("#panels .lines")
    assert columns.count() == 3
    columns.nth(1).locator("div", has_text="qs @ k").last.click()
    lit = [columns.nth(i).locator("div.on").all_inner_texts() for i in range(3)]
    assert any("qs @ k[b, g, t].T" in line for line in lit[0])
    assert any("qs @ k" in line for line in lit[1])
    assert any("wgmma_m64" in line for line in lit[2])
    columns.nth(0).locator("div", has_text="p.to(v.dtype) @ v").click()
    assert any("p @ v" in line for line in columns.nth(1).locator("div.on").all_inner_texts())
    assert "p @ v" in page.locator("#detail").inner_text() or page.locator("rect.selected").count()
    assert messages == []


@pytest.mark.parametrize("width", [1500, 380])
def test_nothing_is_wider_than_the_screen(browser, folder, width):
    page, messages = ready(browser, folder / "attention.html", width=width, height=800)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert messages == []


def test_data_is_what_the_run_was():
    shown, sim, pace = run_of("gemm")
    page = timeline_html(sim, pace=pace, title=shown.title)
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    issue = 0
    for n, op in enumerate(sim.ops):
        issue += data["ops"]["issue"][n]
        assert issue == op.issue
        assert issue + data["ops"]["start"][n] + data["ops"]["end"][n] == op.end
    ahead = [s["ahead"] for s in data["stalls"]]
    rows = [runs_ahead(sim, s.row) and s.cause.kind is StallKind.SIGNAL for s in sim.stalls]
    assert ahead == rows


TWO_LOOPS = """
import warploom as wl


@wl.kernel
def norm_then_product(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n"], *, eps: float):
    m, n = wl.tile(out)
    squares = wl.zeros(m)
    for k in wl.steps(x.k):
        a = x[m, k]
        squares += (a.to(wl.f32) * a).sum(axis=1)
    r = wl.rsqrt(squares / x.k + eps)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += (x[m, k] * r).to(x.dtype) @ w[n, k].T
    out[m, n] = acc
"""


def owned_lines(code):
    """Text of lines that belong to an entry, by entry."""
    found = {}
    for line, owners in zip(code.lines, code.owners, strict=True):
        for owner in owners:
            found.setdefault(owner, []).append(line)
    return found


def test_every_loop_has_its_code_beside_its_schedule(tmp_path):
    path = tmp_path / "two.py"
    path.write_text(TWO_LOOPS)
    first, last = load(f"{path}:norm_then_product").loops
    panels = [display(part).panels() for part in (first, last)]
    assert [len(p.codes) for p in panels] == [1, 1]
    assert panels[0].codes[0].lines == panels[1].codes[0].lines  # one kernel, printed once
    lines = [{n for n, o in enumerate(p.codes[0].owners) if o} for p in panels]
    assert lines[0]
    assert lines[1]
    assert not lines[0] & lines[1]  # what a loop is printed as belongs to that loop alone
    products = [
        [line for own in owned_lines(p.codes[0]).values() for line in own if "wgmma_m64" in line]
        for p in panels
    ]
    assert not products[0]
    assert products[1]


def test_machine_code_belongs_to_the_entries_of_its_lines():
    pytest.importorskip("cuda.bindings.nvrtc", reason="cuda-bindings is not installed")
    panels = display(load("gemm")).panels(machine_code=True)
    names = [c.name for c in panels.codes]
    assert names == ["CUDA", "PTX", *(["SASS"] if find_nvdisasm() else [])]
    product = {n for n, e in enumerate(panels.entries) if "@" in e.label and "kernel" in e.list}
    assert product
    words = {"CUDA": "wgmma_m64", "PTX": "wgmma.mma_async", "SASS": "HGMMA"}
    for code in panels.codes:
        mine = [line for o, own in owned_lines(code).items() if o in product for line in own]
        assert any(words[code.name] in line for line in mine), code.name
        assert not any("//##" in line or ".loc" in line for line in code.lines)


def test_the_first_of_two_loops_has_the_names_of_its_source(tmp_path):
    path = tmp_path / "two.py"
    path.write_text(TWO_LOOPS)
    first, _ = load(f"{path}:norm_then_product").loops
    shown = display(first)
    assert "2 consumer warpgroups" in shown.title  # it has vector work and no product
    assert {"load a", "squares"} <= set(shown.names.ops.values())
    assert not any("?" in name or "_loop" in name for name in shown.names.ops.values())


def test_a_graph_has_the_names_of_the_source_and_holds_its_labels():
    drawn = warploom("graph", "attention", "--format", "svg").stdout
    assert "consumer p @ v" in drawn
    widths = [float(w) for w in re.findall(r'width="([\d.]+)" height="24"', drawn)]
    labels = re.findall(r'class="in">([^<]*)<', drawn)
    assert len(widths) == len(labels) == 9
    assert all(6 * len(label) < width for label, width in zip(labels, widths, strict=True))


def test_a_comparison_of_long_names_fits_a_phone(browser, tmp_path):
    page = tmp_path / "diff.html"
    warploom("diff", "gemm", "swiglu", "-o", str(page))
    shown, messages = opened(browser, page, width=390, height=800)
    assert shown.evaluate("document.documentElement.scrollWidth") <= 390
    assert messages == []


def test_a_long_headline_of_an_svg_fits_its_picture(browser, tmp_path):
    _, sim, pace = run_of("attention")
    page = tmp_path / "attention.svg"
    page.write_text(timeline_svg(sim, width=900, pace=pace))
    shown, _ = opened(browser, page, width=1500, height=900)
    ends = "[...document.querySelectorAll('text.h')].map(t => t.getBBox().x + t.getBBox().width)"
    wide = float(re.search(r'<svg[^>]* width="([\d.]+)"', page.read_text())[1])
    assert all(end <= wide for end in shown.evaluate(ends))
