"""The interactive page: what it holds, and how it behaves in a real browser from disk."""

import json
import os
import re
import shutil

import pytest

from tests.recorded import recorded as golden
from warploom.sim import mi355x_costs, simulate
from warploom.viz import timeline_html

from ..sim.documents import document, mma


def embedded(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


def test_the_page_needs_no_network(fourwave):
    page = timeline_html(fourwave)
    markup = page.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://|//cdn|@import|fetch\(|XMLHttp", markup)
    assert not re.search(r"<script[^>]+src|<link[^>]+stylesheet", markup)


def test_the_page_holds_every_event(fourwave):
    data = embedded(timeline_html(fourwave))
    assert len(data["ops"]["kind"]) == len(fourwave.ops)
    assert len(data["stalls"]) == len(fourwave.stalls)
    assert len(data["waits"]) == len(fourwave.waits)
    assert len(data["barriers"]) == len(fourwave.barriers)
    assert [band["name"] for band in data["bands"]] == [row.name for row in fourwave.rows]
    assert [band["representative"] for band in data["bands"]] == [True, False, False, False]


def test_names_cannot_break_out_of_the_page():
    sim = simulate(document(kernel=[mma()], name="</script><b>x"), trips=2)
    page = timeline_html(sim, reasons={("kernel", 0): "</script>"})
    assert page.count("</script>") == 2
    assert "<b>x" not in page


# --- in a browser ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chromium():
    for name in (os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome"):
        if name and (path := shutil.which(name)):
            return path
    pytest.skip("no Chromium: install it or set CHROMIUM to its path")


@pytest.fixture(scope="module")
def sim():
    return simulate(
        golden("pingpong", "pingpong/grid_mg0_vm1x1_lgkm4x4_s0"), mi355x_costs(), trips=6
    )


@pytest.fixture(scope="module")
def browser(chromium):
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser, sim, tmp_path):
    """The page opened from disk, without network; it must end without a console message."""
    path = tmp_path / "timeline.html"
    path.write_text(timeline_html(sim, reasons={("kernel", 29): "because of LB[0,1]"}))
    context = browser.new_context(viewport={"width": 1500, "height": 800}, offline=True)
    page = context.new_page()
    messages = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("requestfailed", lambda request: messages.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready=yes]")
    yield page
    context.close()
    assert messages == []


@pytest.mark.parametrize("trips", [0, 1])
def test_short_runs_open_too(browser, tmp_path, trips):
    path = tmp_path / "short.html"
    path.write_text(timeline_html(simulate(document(kernel=[mma()]), trips=trips)))
    page = browser.new_page()
    messages = []
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("console", lambda message: messages.append(message.text))
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready=yes]")
    page.click("#steady")
    page.close()
    assert messages == []


def settle(page):
    """Wait until the frame that was asked for is drawn."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_one_row_of_each_group_shows_until_all_are_wanted(page, sim):
    names = "els => els.map(e => e.dataset.name)"
    assert page.eval_on_selector_all("g.row", names) == ["group 0 wave 0", "group 1 wave 0"]
    page.check("#all")
    settle(page)
    assert page.eval_on_selector_all("g.row", names) == [row.name for row in sim.rows]


def test_hover_tells_about_the_op_under_the_mouse(page, sim):
    page.click("#steady")
    settle(page)
    bar = page.locator('g.row[data-row="0"] rect[data-what=op].bar').nth(9)
    op = sim.ops[int(bar.get_attribute("data-id"))]
    bar.hover()
    text = page.locator("#tip").inner_text()
    assert text.startswith(f"{op.place.text()} of {sim.rows[0].name}")
    assert f"unit held {op.start}..{op.end}, result at {op.done}" in text
    page.mouse.move(2, 2)
    assert not page.locator("#tip").is_visible()


def test_the_bar_lies_where_the_cycles_say(page, sim):
    box = "el => [el.x.baseVal.value, el.width.baseVal.value]"
    bars = page.locator('g.row[data-row="0"] rect[data-what=op].bar')
    picked = [bars.nth(i) for i in (5, bars.count() - 3)]
    ops = [sim.ops[int(bar.get_attribute("data-id"))] for bar in picked]
    width = page.evaluate("document.getElementById('plot').clientWidth")
    for bar, op in zip(picked, ops, strict=True):
        x, _ = bar.evaluate(box)
        times = (op.issue, op.start)
        wanted = [178 + t / sim.cycles * (width - 178 - 14) for t in times]
        assert min(abs(x - w) for w in wanted) < 1


def test_a_click_on_a_stall_tells_what_it_waits_for(page, sim):
    page.click("#steady")
    settle(page)
    stall = page.locator('g.row[data-row="0"] rect[data-what=stall]').nth(2)
    event = sim.stalls[int(stall.get_attribute("data-id"))]
    stall.click()
    settle(page)
    detail = page.locator("#detail").inner_text()
    assert event.cause.text in detail
    assert f"stalls {event.end - event.start} cycles" in detail
    assert page.locator("path.link").count() == 1


def test_a_click_on_a_wait_tells_its_reason(page, sim):
    page.click("#steady")
    settle(page)
    waits = page.locator('g.row[data-row="0"] path[data-what=wait]')
    events = [sim.waits[int(waits.nth(i).get_attribute("data-id"))] for i in range(waits.count())]
    wanted = next(i for i, w in enumerate(events) if w.place.index == 29)
    waits.nth(wanted).click()
    detail = page.locator("#detail").inner_text()
    assert events[wanted].place.label in detail
    assert "why it is there: because of LB[0,1]" in detail


def test_a_click_on_an_edge_tells_the_data_it_carries(page, sim):
    page.click("#steady")
    settle(page)
    reader = next(
        i
        for i, op in enumerate(sim.ops)
        if op.row == 0 and op.kind == "FRAGMENT_LOAD" and op.place.iteration == 3
    )
    page.locator(f'rect.bar[data-id="{reader}"]').last.click(force=True)
    settle(page)
    edges = page.locator("path.linkhit[data-what=link]")
    links = [link for link in sim.links if reader in (link.src, link.dst)]
    assert edges.count() == len(links)
    edges.first.dispatch_event("click")
    settle(page)
    assert page.locator("#detail").inner_text().startswith("Data")
    assert " reads " in page.locator("#detail").inner_text()


def test_wheel_zooms_and_drag_moves(page):
    ticks = "els => els.filter(e => e.textContent.match(/^\\d+$/)).map(e => +e.textContent)"
    before = page.eval_on_selector_all("text.tick", ticks)
    box = page.locator("#plot svg").bounding_box()
    page.mouse.move(box["x"] + 700, box["y"] + 120)
    page.mouse.wheel(0, -600)
    settle(page)
    closer = page.eval_on_selector_all("text.tick", ticks)
    assert max(closer) - min(closer) < (max(before) - min(before)) / 2
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 120, steps=4)
    page.mouse.up()
    settle(page)
    assert min(page.eval_on_selector_all("text.tick", ticks)) > min(closer)
    page.keyboard.press("0")
    settle(page)
    assert page.eval_on_selector_all("text.tick", ticks) == before


def test_the_interval_is_marked_and_the_list_of_stalls_leads_to_one(page, sim):
    assert page.locator("#ii").text_content() == f"II {sim.ii:g}"
    row = page.locator("tr.jump").nth(1)
    stall = sim.stalls[int(row.get_attribute("data-stall"))]
    row.click()
    settle(page)
    assert stall.cause.text in page.locator("#detail").inner_text()
    assert page.locator(".stall.selected").count() == 1
