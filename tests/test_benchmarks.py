"""The benchmarks run and print a ratio for every row; what the ratios are is for `make bench` to say."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_table_has_a_ratio_for_every_row():
    command = [sys.executable, ROOT / "benchmarks" / "run.py", "--pairs", "3"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line for line in printed.splitlines() if "B=" in line]
    assert len(rows) >= 4
    assert all(float(re.search(r"  (\d+\.\d\d)   ", row)[1]) > 0 for row in rows)
