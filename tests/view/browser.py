"""A real browser for the pages, offline; tests skip where none is installed."""

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
