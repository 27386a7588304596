"""The house has a budget, in lines as `wc -l` counts them: whoever needs a line takes one away."""

import pytest

from places import ROOT

PYTHON = {"lib/unrolled": 9_717, "lab": 3_483, "tools": 1_514, "tests": 11_651, "benchmarks": 150}
SCRIPTS = 2_000  # JavaScript in lib/unrolled, without the weights of its networks


def lines(folder: str, suffix: str) -> int:
    """Return how many lines the files of a folder have together."""
    paths = [path for path in (ROOT / folder).rglob(f"*{suffix}") if "models" not in path.parts or suffix == ".py"]
    return sum(path.read_bytes().count(b"\n") for path in paths)


@pytest.mark.parametrize("folder, most", [*PYTHON.items(), ("lib/unrolled", SCRIPTS)])
def test_a_folder_keeps_to_its_budget(folder, most):
    there = lines(folder, ".js" if most == SCRIPTS else ".py")
    assert there <= most, f"{folder} has {there:,} lines, {there - most:,} too many"
