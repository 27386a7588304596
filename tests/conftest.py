"""What all tests share: strictness where a skip would hide something, the built pages, and a browser."""

import os
import shutil
from pathlib import Path
from unittest import mock

import pytest

ROOT = Path(__file__).resolve().parent.parent
os.environ.setdefault("MPLCONFIGDIR", str(ROOT / "_build" / "matplotlib"))  # as tools/notebooks does, and why


def _deny(report):
    """Turn a skip into a failure where ``UNROLLED_STRICT`` is set: there, everything that can be installed is."""
    if os.environ.get("UNROLLED_STRICT") and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome, report.longrepr = "failed", f"UNROLLED_STRICT is set, and yet this was skipped: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """See `_deny`."""
    return _deny((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """See `_deny`."""
    return _deny((yield))


@pytest.fixture(autouse=True)
def environment():
    """Leave the environment variables as they were: the command line sets some, for a process of its own."""
    with mock.patch.dict(os.environ):
        yield


@pytest.fixture(scope="session")
def html() -> Path:
    """The built pages."""
    folder = ROOT / "_build" / "html"
    if not (folder / "index.html").is_file():
        pytest.skip("the book is not built: make book")
    return folder


@pytest.fixture(scope="module")
def browser():
    """A Chromium without a window."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not chromium:
        pytest.skip("no Chromium here, so no page was looked at (apt install chromium)")
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright opens the pages (pip install playwright)")
    with sync_api.sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield browser
        browser.close()
