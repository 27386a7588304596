"""The page for instructors lists every exercise and every open task, and names the limits of the configuration."""

import re

import pytest
from traitlets.config import PyFileConfigLoader

import exercises
import teaching
from exercise_cases import CASES, SOLUTIONS
from places import ROOT

pytestmark = pytest.mark.book


def test_every_exercise_has_its_week_and_a_row_that_says_what_it_tests():
    weeks = teaching.rows(teaching.section("Ten weeks"))
    given = [number for week in weeks for number in re.findall(r"\d+\.\d+", week[3])]
    listed = [row[0] for row in teaching.rows(teaching.section("What each exercise tests")) if row[0] in CASES]
    assert sorted(given) == sorted(CASES) and listed == list(CASES)


def test_the_open_tasks_listed_are_those_of_the_notebooks():
    cells = [exercises.open_task(notebook) for notebook in SOLUTIONS.values()]
    tasks = [exercises.OPEN.match(task[0].source).group("number", "title", "minutes") for task in cells]
    listing = [(row[0], row[2]) for row in teaching.rows(teaching.section("Open tasks"))[1:]]
    assert listing == [(f"{number} {title}", minutes) for number, title, minutes in tasks]


def test_the_limits_named_are_those_of_the_configuration():
    config = PyFileConfigLoader("nbgrader_config.py", path=str(ROOT / "solutions")).load_config()
    limits = teaching.section("Grade")
    (memory,) = re.findall(r"more than (\d+) GiB", limits)
    assert f"more than {config.Execute.timeout} seconds" in limits
    assert str(int(memory) * 2**30) in config.Execute.extra_arguments[0]
