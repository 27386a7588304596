"""The page for instructors lists every exercise and every open task, and names the limits of the configuration."""

import ast
import re

import numpy as np
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


def test_the_projects_last_cell_takes_an_honest_price_and_refuses_others(capsys):
    def recent(text, ahead=-1):
        """Count the last ten characters: honest, but for a look at the character so far ahead, if at one."""
        seen = [
            text[max(0, t - 10) : t] + (9 * text[t + ahead : t + ahead + 1] if ahead >= 0 else "")
            for t in range(len(text))
        ]
        rows = np.array([[1 + part.count(symbol) for symbol in "abc"] for part in seen])
        return rows / rows.sum(axis=1, keepdims=True)

    page = (ROOT / "pages" / "capstone.md").read_text(encoding="utf8")
    defined, cell = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    letters = np.random.default_rng(0)
    training, test = ("".join(letters.choice(list("abc"), size)) for size in (3000, 400))
    names = {"symbols": "abc", "training": training, "test": test, "predict": recent}
    assert names.keys() == {getattr(node, "name", None) or node.targets[0].id for node in ast.parse(defined).body}
    exec(cell, dict(names))
    paid = -np.mean([np.log(row["abc".index(symbol)]) for row, symbol in zip(recent(test), test, strict=True)])
    assert capsys.readouterr().out.startswith(f"{paid:.4f} nats per character\n1.")
    for change, message in [
        ({"predict": lambda text: recent(text, ahead=0)}, "rests on a later character"),
        ({"predict": lambda text: recent(text, ahead=3)}, "rests on a later character"),
        ({"predict": lambda text: 2 * recent(text)}, "no probabilities"),
        ({"training": training + test[100:150]}, "the test repeats the training text"),
    ]:
        with pytest.raises(AssertionError, match=message):
            exec(cell, names | change)
