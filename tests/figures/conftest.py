"""Figures in the book's style, closed after each test; demonstrations on a page of their own."""

import shutil

import matplotlib
import pytest
from matplotlib import pyplot as plt

from running import FOLDER
from unrolled.figures import charts, live


@pytest.fixture
def book_style(monkeypatch):
    """Have the book's style, and no folder for figures."""
    monkeypatch.delenv("UNROLLED_FIGURES", raising=False)
    with matplotlib.rc_context():
        charts.style()
        yield
    plt.close("all")


@pytest.fixture
def opened(browser, tmp_path):
    """Return a function that opens a demonstration on a page from disk; a fault in the page fails the test."""
    pages, faults = [], []

    def open_page(name: str, data: dict | None = None, script: str = "", **options):
        page = browser.new_page(**{"viewport": {"width": 1280, "height": 900}} | options)
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        shutil.copytree(FOLDER, tmp_path / "browser", ignore=shutil.ignore_patterns("models"), dirs_exist_ok=True)
        head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title><script>{script}</script>'
        figure = live.figure(name, **data or {})
        whole = f'{head}<main><h1>t</h1>{figure}<p style="height: 3000px"></p></main>'
        (tmp_path / "index.html").write_text(whole, encoding="utf8")
        page.goto((tmp_path / "index.html").as_uri())
        page.wait_for_selector("figure[data-ready]")
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert faults == []
