"""The benchmarks run, see that what they compare gives the same answer, and print a ratio for every row."""

import math
import re
import sys

import pytest

import speed


def test_every_row_has_a_ratio_and_its_quartiles(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["speed.py", "--quick"])
    speed.main()
    rows = re.findall(r"^\| (.+) \| ([\d.e-]+) \| ([\d.e-]+) to ([\d.e-]+) \|$", capsys.readouterr().out, re.MULTILINE)
    assert len(rows) == 9 + 3 + 1
    assert all(0 < float(low) <= float(middle) <= float(high) for _, middle, low, high in rows)


def test_what_gives_another_answer_is_not_timed():
    with pytest.raises(ValueError, match="one: ours says 1.0, the peer 1.1"):
        speed.ratios(speed.Row("one", lambda: 1.0, lambda: 1.1), 2, 0)
    assert speed.ratios(speed.Row("one", lambda: 1.0, lambda: 1.1, math.inf), 2, 0)
