"""The playground: its Python without NumPy, and the page in a browser at two widths."""

import functools
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.viz.browser import started

ROOT = Path(__file__).parents[2]
CODE = """
import json
exec(compile(open("examples/playground/playground.py").read(), "playground.py", "exec"))
found = [json.loads(compiled(source)) for source in EXAMPLES.values()]
json.loads(compiled(next(iter(EXAMPLES.values()))))
weaker, again = json.loads(weakened(0)), json.loads(weakened(0))
print(json.dumps([[x.get("verdict"), bool(x.get("error"))] for x in (*found, weaker, again)]))
assert weaker["witness"].startswith("witness") and "<svg" not in weaker["witness"]
"""


def test_its_python_needs_no_numpy():
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    clean, race = ["clean", False], ["race", False]
    assert json.loads(done.stdout) == [clean, clean, clean, [None, True], race, clean]


browser = pytest.fixture(scope="module")(started)


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    pyodide = os.environ.get("PYODIDE")
    if not pyodide and shutil.which("npm") is None:
        pytest.skip("neither PYODIDE (a folder) nor npm")
    folder = tmp_path_factory.mktemp("playground")
    words = [sys.executable, ROOT / "scripts" / "playground", folder]
    done = subprocess.run(
        [*words, *(["--pyodide", pyodide] if pyodide else [])],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        pytest.skip(f"Pyodide cannot be had: {done.stderr[-200:]}")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.mark.slow
@pytest.mark.parametrize("width", [1400, 390])
def test_a_broken_wait_shows_its_witness(browser, address, width):
    page = browser.new_page(viewport={"width": width, "height": 900})
    messages = []
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.goto(address)
    page.wait_for_selector("#verdict.clean", timeout=150_000)
    frame = page.frame_locator("#timeline")
    frame.locator("html[data-ready=yes]").wait_for(timeout=60_000)
    assert frame.locator("rect[data-what=op]").count() > 20
    page.locator("#waits button").first.click()
    page.wait_for_selector("#verdict.race", timeout=60_000)
    assert "witness" in page.inner_text("#text")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.fill("#source", "schedule = 3")
    page.click("#run")
    page.wait_for_selector("#verdict.error", timeout=60_000)
    assert messages == []
    page.close()
