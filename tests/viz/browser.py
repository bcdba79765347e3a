"""A real browser for the pages, offline; tests skip where none is installed."""

import base64
import os
import shutil

import pytest


def chromium_path():
    for name in (os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome"):
        if name and (path := shutil.which(name)):
            return path
    return pytest.skip("no Chromium: install it or set CHROMIUM to its path")


def started():
    """A generator fixture's body: one browser for a module."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = chromium_path()
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


def opened(browser, path, *, width=1500, height=900):
    """The page opened from disk without network, and the list of what its console said."""
    context = browser.new_context(viewport={"width": width, "height": height}, offline=True)
    page = context.new_page()
    messages = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("requestfailed", lambda request: messages.append(request.url))
    page.goto(path.as_uri())
    return page, messages


_FILLS = """() => {
  const found = {};
  for (const r of document.querySelectorAll("svg rect")) {
    const box = r.getBoundingClientRect(), fill = getComputedStyle(r).fill;
    const across = box.left >= 0 && box.right <= innerWidth && box.width > 4;
    const down = box.top >= 0 && box.bottom <= innerHeight && box.height > 4;
    const solid = fill.startsWith("rgb(") && getComputedStyle(r).opacity === "1";
    if (across && down && solid) found[fill] = true;
  }
  return Object.keys(found);
}"""
_SEEN = """async ([data, fills]) => {
  const image = new Image();
  image.src = "data:image/png;base64," + data;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width, image.height];
  const pen = canvas.getContext("2d");
  pen.drawImage(image, 0, 0);
  const pixels = pen.getImageData(0, 0, image.width, image.height).data, seen = new Set();
  for (let i = 0; i < pixels.length; i += 4)
    seen.add(`rgb(${pixels[i]}, ${pixels[i + 1]}, ${pixels[i + 2]})`);
  return fills.filter(fill => !seen.has(fill));
}"""


def settled(page):
    """Until what was asked for is drawn."""
    page.evaluate("() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")


def unpainted(page):
    """Colours of what is drawn in the window, and those of them a screenshot does not show."""
    fills = page.evaluate(_FILLS)
    shot = base64.b64encode(page.screenshot()).decode()
    return fills, page.evaluate(_SEEN, [shot, fills])
