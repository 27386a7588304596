"""Tables are set, as plain text and as HTML."""

import pytest
from bs4 import BeautifulSoup

from unrolled.figures import table

COLUMNS = {"updates": ",.0f", "loss": ".3g", "start": ""}
ROWS = {"free": [567, -0.717, "open"], "<shut>": [1000, 12.0, "bias -1"], "none": [None, None, None]}


def test_a_table_has_its_columns_flush_right():
    text = table({"updates": ",.0f", "nats": ".2f"}, {"free": [567, 0.7249], "forget open": [1000, None]})
    assert text.split("\n") == [
        "              updates   nats",
        "free              567   0.72",
        "forget open     1,000",
    ]
    assert repr(text) == str(text)


def test_points_stand_below_each_other_and_units_follow_their_heads():
    lines = table(COLUMNS, ROWS, units={"loss": "nats"}, caption="What it costs.").split("\n")
    assert lines[0] == "What it costs." and "loss, nats" in lines[1] and "bias -1" in lines[3]
    assert lines[2].index(".") == lines[3].index("12") + 2


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
    with pytest.raises(ValueError, match="row 'a' has 1 values, but there are 2 columns"):
        table({"x": "", "y": ""}, {"a": [1]})
    with pytest.raises(ValueError, match="units has 'z'"):
        table({"x": ""}, {"a": [1]}, units={"z": "nats"})
    assert table({"x": "d"}, {}) == "   x"
