"""Tables are set."""

import pytest

from unrolled.figures import table


def test_a_table_has_its_columns_flush_right():
    text = table({"updates": ",.0f", "nats": ".2f"}, {"free": [567, 0.7249], "forget open": [1000, None]})
    assert text.split("\n") == [
        "              updates   nats",
        "free              567   0.72",
        "forget open     1,000",
    ]
    with pytest.raises(ValueError, match="row 'a' has 1 values, but there are 2 columns"):
        table({"x": "", "y": ""}, {"a": [1]})
