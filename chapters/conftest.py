"""Under nbval: a cell that takes too long is the one failure of its notebook."""

import pytest

from notebooks import load


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Skip what follows a cell that took too long: it would only fail, too."""
    if item.parent.timed_out:
        pytest.skip("an earlier cell of this notebook took too long")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Add the machine's load to the report of a cell that took too long."""
    report = yield
    if report.failed and item.parent.timed_out:
        report.longrepr = f"{report.longrepr}\n{load()}"
    return report
