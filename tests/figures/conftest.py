"""Figures in the book's style, closed after each test."""

import matplotlib
import pytest
from matplotlib import pyplot as plt

from unrolled.figures import charts


@pytest.fixture
def book_style(monkeypatch):
    """Have the book's style, and no folder for figures."""
    monkeypatch.delenv("UNROLLED_FIGURES", raising=False)
    with matplotlib.rc_context():
        charts.style()
        yield
    plt.close("all")
