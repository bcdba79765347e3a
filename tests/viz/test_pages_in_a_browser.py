"""All HTML views in a real browser: their parts are there, they draw, and nothing complains."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from warploom.cli.kernels import kernel_named
from warploom.sim.roles import entry_label

from ..cli.runner import warploom
from ..cli.test_one_truth import TWO_LOOPS
from .browser import opened, settled, started, unpainted

ROOT = Path(__file__).parents[2]
browser = pytest.fixture(scope="module")(started)


def stamps():
    """Clocks as a run of the shipped GEMM writes them: an entry every 100 cycles."""
    kernel, roles = kernel_named("gemm"), []
    for program in kernel.lowered.document.programs:
        labels = [entry_label(e) for e in program.kernel]
        rows = [[1000 * turn + 100 * i for i in range(len(labels))] for turn in range(3)]
        roles.append({"role": program.name, "labels": labels, "stamps": [rows] * program.instances})
    return {"name": kernel.name, "device": "a GPU", "problem": "small", "roles": roles}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    (folder / "stamps.json").write_text(json.dumps(stamps()))
    for name, more in (
        ("gemm", ("--stamps", folder / "stamps.json")),
        ("attention", ()),
        ("fourwave", ("--trips", "3")),
    ):
        done = warploom("timeline", name, "--format", "html", "-o", folder / f"{name}.html", *more)
        assert done.returncode == 0, done.stderr
    done = warploom("diff", "pingpong", "fourwave", "--format", "html", "-o", folder / "diff.html")
    assert done.returncode == 1, done.stderr
    return folder


def ready(browser, path, **size):
    page, messages = opened(browser, path, **size)
    page.wait_for_selector("html[data-ready=yes]")
    return page, messages


@pytest.mark.parametrize("name", ["gemm", "attention", "fourwave"])
def test_a_timeline_has_all_its_parts(browser, folder, name):
    page, messages = ready(browser, folder / f"{name}.html")
    legend = page.locator("#legend").inner_text()
    for word in ("global load", "matrix op", "slot holds data", "a wait", "data handed over"):
        assert word in legend
    assert page.locator("#legend").bounding_box()["y"] < page.locator("#plot").bounding_box()["y"]
    figures = page.locator("#figures").inner_text()
    for word in ("initiation interval", "resource bound", "matrix unit"):
        assert word in figures
    assert page.locator("g.row").count() >= 1
    assert page.locator("rect[data-what=op]").count() > 20
    page.keyboard.press("i")
    settled(page)
    fills, missing = unpainted(page)
    assert len(fills) >= 4
    assert missing == []
    shares = [float(t.rstrip("%")) for t in page.locator("td.num").all_inner_texts() if "%" in t]
    assert max(shares) <= 100
    assert messages == []


def test_roles_show_their_hand_overs(browser, folder):
    page, messages = ready(browser, folder / "attention.html")
    names = page.eval_on_selector_all("g.row", "els => els.map(e => e.dataset.name)")
    assert names == ["producer", "consumer 0", "consumer 1"]
    assert page.locator("path.hand.full").count() > 4
    assert page.locator("path.hand.free").count() > 1
    page.keyboard.press("h")
    settled(page)
    assert page.locator("path.hand").count() == 0
    assert messages == []


def test_counter_schedules_keep_theirs_until_asked(browser, folder):
    page, _ = ready(browser, folder / "fourwave.html")
    assert page.locator("path.hand").count() == 0
    assert not page.locator("#hands").is_checked()


def test_the_keys_are_reported(browser, folder):
    page, _ = ready(browser, folder / "gemm.html")
    assert not page.locator("#keys").is_visible()
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    assert "steady state" in page.locator("#keys").inner_text()
    page.click("#help")
    assert not page.locator("#keys").is_visible()


def test_a_wait_of_a_role_tells_its_reason(browser, folder):
    page, _ = ready(browser, folder / "gemm.html")
    page.keyboard.press("i")
    settled(page)
    page.locator("path[data-what=wait]").first.dispatch_event("click", {"bubbles": True})
    assert "why it is there:" in page.locator("#detail").inner_text()


def test_measured_stamps_lie_under_the_prediction(browser, folder):
    page, messages = ready(browser, folder / "gemm.html")
    assert "measured interval" in page.locator("#figures").inner_text()
    bars = page.locator("rect.measured")
    assert bars.count() >= 12
    assert "measured: waits" in page.locator("#legend").inner_text()
    bars.nth(1).dispatch_event("click")
    assert "measured on the GPU" in page.locator("#detail").inner_text()
    assert messages == []


@pytest.mark.parametrize("width", [480, 900, 1600])
def test_pages_fit_narrow_and_wide_windows(browser, folder, width):
    page, messages = ready(browser, folder / "attention.html", width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width + 2
    assert messages == []


def test_two_schedules_side_by_side(browser, folder):
    page, messages = opened(browser, folder / "diff.html")
    assert page.locator("svg").count() == 2
    assert page.locator("table.list").count() == 3
    assert "cycles a K-tile" in page.locator("table.facts").inner_text()
    assert page.locator("td.l").count() > 10
    fills, missing = unpainted(page)
    assert len(fills) >= 4
    assert missing == []
    same = page.locator("tr.same")
    assert same.first.is_visible()
    page.click("input[type=checkbox]")
    assert not same.first.is_visible()
    assert messages == []


@pytest.mark.parametrize("name", ["fourwave.html", "attention.html"])
def test_pages_in_the_clone_open(browser, name):
    page, messages = ready(browser, ROOT / "docs" / "pictures" / name)
    assert page.locator("g.row").count() >= 1
    assert messages == []


def test_several_loops_are_tabs_of_one_page(browser, tmp_path, monkeypatch):
    (tmp_path / "two.py").write_text(TWO_LOOPS)
    monkeypatch.chdir(tmp_path)
    assert warploom("timeline", "two.py:normed", "-o", "two.html").returncode == 0
    page, messages = opened(browser, tmp_path / "two.html")
    tabs = page.locator("button").all_inner_texts()
    assert tabs[:2] == ["loop 1", "loop 2"]
    for key in "12":
        page.keyboard.press(key)
        shown = page.frame_locator("iframe:visible")
        assert shown.locator("g.row").count() >= 3
        assert shown.locator("#legend").is_visible()
    assert messages == []


def test_a_sweep_is_plotted(browser, tmp_path):
    path = tmp_path / "plot.html"
    done = warploom(
        "explore", "--schedule", "pingpong", "--tile", "256x256x64", "--strategy", "greedy",
        "--dtype", "bf16", "--sync", "repaired", "--max-globals", "1", "--jobs", "1",
        "--cache", tmp_path / "kept.jsonl", "--html", path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    page, messages = opened(browser, path)
    assert page.locator("svg").count() >= 1
    assert messages == []


@pytest.mark.slow
def test_the_built_site_shows_its_pages_and_pictures(browser, tmp_path):
    pytest.importorskip("mkdocs")
    words = [sys.executable, "-m", "mkdocs", "build", "-q", "-d", str(tmp_path / "site")]
    subprocess.run([*words, "-f", str(ROOT / "mkdocs.yml")], check=True, cwd=tmp_path)
    site = tmp_path / "site"
    pages = sorted(p for p in site.rglob("index.html"))
    assert len(pages) == sum(1 for _ in (ROOT / "docs").rglob("*.md"))
    for name in pages:
        page, _ = opened(browser, name)
        assert len(page.locator("article").inner_text()) > 400, name
        links = page.eval_on_selector_all("article a[href]", "all => all.map(a => a.href)")
        for link in links:
            where = link.partition("#")[0]
            assert not where.startswith("file:") or Path(where[7:]).exists(), f"{name}: {link}"
        broken = page.eval_on_selector_all(
            "img", "all => all.filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
        )
        assert broken == [], name
