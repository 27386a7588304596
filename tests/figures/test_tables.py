"""Numbers are written in one way, and tables set with them, as plain text and as HTML."""

import math

import numpy as np
import pytest
from bs4 import BeautifulSoup

from unrolled.figures import table
from unrolled.figures.tables import number, ticks

COLUMNS = {"updates": ",.0f", "loss": ".3g", "start": ""}
ROWS = {"free": [567, -0.717, "open"], "<shut>": [1000, 12.0, "bias -1"], "none": [None, None, None]}


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (-0.0021, "+.3f", "−0.002"),
        (0.0021, "+.3f", "+0.002"),
        (-0.0004, ".1%", "0.0%"),
        (1e-6, ".3g", "10⁻⁶"),
        (-2.5e-7, ".3g", "−2.5·10⁻⁷"),
        (3e12, ".3g", "3·10¹²"),
        (12345.6, ",.1f", "12,345.6"),
        (12345.0, ".5g", "12,345"),
        (123456.0, ".3g", "123,000"),
        (np.int64(82400), ",d", "82,400"),
        (math.nan, ".3g", "–"),
        (-math.inf, ".3g", "−∞"),
        ("bias -1", "", "bias -1"),
    ],
)
def test_a_number_has_a_real_minus_commas_and_exponents(value, form, text):
    assert number(value, form) == text


@pytest.mark.parametrize(
    ("values", "even", "texts"),
    [
        ([1, 1024, 2048], False, ["1", "1,024", "2,048"]),
        ([1e-6, 2e-3, 1, 100], False, ["10⁻⁶", "2·10⁻³", "1", "10²"]),
        ([1e6, 1e7], False, ["10⁶", "10⁷"]),
        ([0.001, 1], False, ["0.001", "1"]),
        ([-0.25, 0, 0.5], True, ["−0.25", "0.00", "0.50"]),
        (np.arange(0, 0.5, 0.1), True, ["0.0", "0.1", "0.2", "0.3", "0.4"]),
        ([], True, []),
    ],
)
def test_the_ticks_of_an_axis_are_all_of_one_kind(values, even, texts):
    assert ticks(values, even=even) == texts


def test_plain_tables_are_flush_right_with_points_below_each_other():
    assert table(COLUMNS, ROWS, units={"loss": "nats"}, caption="What it costs.").split("\n") == [
        "What it costs.",
        "         updates   loss, nats     start",
        "free         567       −0.717      open",
        "<shut>     1,000       12       bias -1",
        "none",
    ]
    assert table({"x": "d"}, {}) == "   x" and repr(table({"x": "d"}, {"a": [1]})) == "    x\na   1"


def test_html_has_heads_units_a_caption_and_aligned_numbers():
    page = BeautifulSoup(
        table(COLUMNS, ROWS, units={"loss": "nats"}, caption="Costs < 1.")._repr_html_(), "html.parser"
    )
    assert page.table["class"] == ["results"] and page.caption.text == "Costs < 1."
    heads = page.thead("th")
    assert [head.text for head in heads] == ["updates", "loss nats", "start"] and heads[1].span["class"] == ["unit"]
    assert [row.th.text for row in page.tbody("tr")] == ["free", "<shut>", "none"]
    assert {head["scope"] for head in heads} == {"col"} and {row.th["scope"] for row in page.tbody("tr")} == {"row"}
    first, second, third = ([cell.text for cell in row("td")] for row in page.tbody("tr"))
    assert first == ["567", "−0.717", "open"] and third == ["", "", ""]
    assert second[1] == "12" + "\u2008" + "\u2007" * 3  # a point and three digits wide
    assert [cell.get("class") for cell in page.tbody.tr("td")] == [None, None, ["words"]]
    plain = table({"x": "d"}, {"a": [1]})._repr_html_()
    assert "caption" not in plain and "unit" not in plain


def test_what_fits_no_column_is_named():
    with pytest.raises(ValueError, match="row 'a' has 1 values: give one for each of 2 columns"):
        table({"x": "", "y": ""}, {"a": [1]})
    with pytest.raises(ValueError, match="units has 'z': give units of the columns"):
        table({"x": ""}, {"a": [1]}, units={"z": "nats"})
