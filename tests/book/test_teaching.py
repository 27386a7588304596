"""The page for instructors: its plans add up, its tables are complete, and what it says of exercises is so."""

import ast
import copy
import json
import re
import shlex

import nbformat
import numpy as np
import pytest
from traitlets.config import PyFileConfigLoader

import exercises
import teaching
from cell_runs import run
from exercise_cases import CASES, SOLUTIONS, mutants, role
from places import ROOT
from unrolled import answers
from unrolled.__main__ import parser

pytestmark = pytest.mark.book
WEEKS = {"Four weeks": 4, "Ten weeks": 10}
CHAPTERS = {int(path.name[:2]): path for path in sorted(ROOT.glob("chapters/*.ipynb"))}


def reading(chapter: int) -> int:
    """Return how many minutes a chapter says that its reading takes."""
    return exercises.announced(json.loads(CHAPTERS[chapter].read_text("utf8")))


# The plans


@pytest.fixture(params=WEEKS)
def plan(request):
    """The name of a plan, and its weeks: chapters, reading time, exercises, work."""
    weeks = teaching.rows(teaching.section(request.param))
    assert [week[0] for week in weeks] == [str(n) for n in range(1, WEEKS[request.param] + 1)]
    return request.param, [week[1:] for week in weeks]


def listed(cell: str) -> list[str]:
    """Return what a cell lists, and nothing for a dash."""
    return [] if cell == "–" else cell.split(", ")


def test_a_plan_reads_every_chapter_once_and_in_order(plan):
    read = [int(chapter) for week in plan[1] for chapter in listed(week[0])]
    assert read == list(CHAPTERS), f"{plan[0]}: the chapters read are {read}; there are {list(CHAPTERS)}"


def test_the_reading_times_of_a_plan_are_the_chapters_own(plan):
    for chapters, time, *_ in plan[1]:
        right = sum(reading(int(chapter)) for chapter in listed(chapters))
        assert teaching.minutes(time) == right, f"{plan[0]}: reading {chapters} takes {right} minutes, not {time}"


def test_the_work_of_a_week_is_the_sum_of_its_exercises_and_at_most_five_hours(plan):
    for *_, numbers, work in plan[1]:
        unknown = set(listed(numbers)) - set(CASES)
        assert not unknown, f"{plan[0]}: there is no exercise {sorted(unknown)}"
        right = sum(CASES[number][1].minutes for number in listed(numbers))
        assert teaching.minutes(work) == right <= 300, f"{plan[0]}: {numbers} take {right} minutes, not {work}"


def test_an_exercise_is_assigned_once_and_not_before_its_chapter(plan):
    given, read = [], set()
    for chapters, _, numbers, _ in plan[1]:
        read |= set(listed(chapters))
        early = [number for number in listed(numbers) if number.split(".")[0] not in read]
        assert not early, f"{plan[0]}: {early} come before their chapter"
        given += listed(numbers)
    assert len(given) == len(set(given)), f"{plan[0]}: an exercise is assigned twice"


def test_every_chapter_has_exercises_in_four_weeks_and_every_exercise_its_place_in_ten():
    four, ten = ({n for week in teaching.rows(teaching.section(name)) for n in listed(week[3])} for name in WEEKS)
    assert {number.split(".")[0] for number in four} == {number.split(".")[0] for number in CASES}
    assert ten == set(CASES), f"in no week of ten: {sorted(set(CASES) - ten)}"


# What each exercise tests


def test_every_exercise_has_one_row_that_says_in_few_words_what_it_tests():
    tables = re.findall(r"\{dropdown\} Chapter (\d+)\n(.*?)^```", teaching.PAGE, re.MULTILINE | re.DOTALL)
    listing = [(chapter, *row) for chapter, table in tables for row in teaching.rows(table)]
    numbers = [number for _, number, _ in listing]
    assert sorted(numbers) == sorted(CASES), f"not one row each: {set(CASES).symmetric_difference(numbers)}"
    assert numbers == list(CASES), "the rows are not in order"
    assert all(number.startswith(f"{chapter}.") for chapter, number, _ in listing)
    long = [number for number, what in (row[1:] for row in listing) if len(what.split()) > 12]
    assert not long, f"more than twelve words on {long}"


def test_the_open_tasks_listed_are_those_of_the_notebooks():
    cells = [exercises.open_task(notebook) for notebook in SOLUTIONS.values()]
    tasks = [exercises.OPEN.match(task[0].source).group("number", "title", "minutes") for task in cells if task]
    listing = [(row[0], row[2]) for row in teaching.rows(teaching.section("Open tasks"))]
    assert listing == [(f"{number} {title}", minutes) for number, title, minutes in tasks]


def test_the_projects_command_is_one_and_its_points_add_up():
    page = (ROOT / "pages" / "capstone.md").read_text(encoding="utf8")
    (command,) = re.findall(r"^python -m unrolled (.*)$", page, re.MULTILINE)
    assert parser().parse_args(shlex.split(command)).command == "train"
    points = re.findall(r"^\| (\d+) \| ", page.split("## How to mark")[1], re.MULTILINE)
    assert sum(map(int, points)) == 20


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
    assert capsys.readouterr().out.startswith(f"{paid:.4f} nats per character; the 12-gram pays 1.")
    for change, message in [
        ({"predict": lambda text: recent(text, ahead=0)}, "rests on a later character"),
        ({"predict": lambda text: recent(text, ahead=3)}, "rests on a later character"),
        ({"predict": lambda text: 2 * recent(text)}, "no probabilities"),
        ({"training": training + test[100:150]}, "the test repeats the training text"),
    ]:
        with pytest.raises(AssertionError, match=message):
            exec(cell, names | change)


# What is said of marking


@pytest.mark.parametrize(
    ("number", "function", "call"),
    [
        ("2.3", "rnn_step(x, h, W_xh, W_hh, b_h)", "torch.rnn_tanh_cell(x, h, W_xh, W_hh, b_h, 0 * b_h)"),
        ("5.4", "lstm_step(x, h, c, W_xh, W_hh, b)", "torch.lstm_cell(x, (h, c), W_xh, W_hh, b, 0 * b)"),
    ],
)
def test_code_that_writes_no_cell_is_refused_as_the_page_says(number, function, call):
    before, exercise = CASES[number]
    cells = copy.deepcopy(exercise.cells)
    (answer,) = [cell for cell in cells if role(cell, "solution")]
    assert f"`{call.split('(')[0]}`" in teaching.section("How to mark") and f"def {function}:" in answer.source
    answer.source = f"def {function}:\n    return {call}"
    error, _ = run(before + cells)
    assert isinstance(error, AssertionError) and "yourself" in str(error)


def test_the_limits_named_are_those_of_the_configuration():
    config = PyFileConfigLoader("nbgrader_config.py", path=str(ROOT / "solutions")).load_config()
    limits = teaching.section("Grade")
    (memory,) = re.findall(r"more than (\d+) GiB", limits)
    assert f"more than {config.Execute.timeout} seconds" in limits
    assert str(int(memory) * 2**30) in config.Execute.extra_arguments[0]


# Variants


def test_the_exercises_that_a_seed_changes_are_those_named():
    def names(cells) -> set[str]:
        trees = [ast.parse(cell.source) for cell in cells if cell.cell_type == "code"]
        loaded = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)]
        return {node.id for node in loaded if isinstance(node.ctx, ast.Load)}

    changed = []
    for number, (before, exercise) in CASES.items():
        tools = [node for cell in before if cell.cell_type == "code" for node in ast.parse(cell.source).body]
        tools = [node for node in tools if isinstance(node, ast.FunctionDef)]
        seeded = {tool.name for tool in tools if any(getattr(n, "id", "") == "seed" for n in ast.walk(tool))}
        if names(exercise.cells) & {"seed", *seeded}:
            changed.append(number)
    named = re.findall(r"\b\d+\.\d+\b", teaching.section("Variants").split("**Other sizes")[0])
    assert named == changed, f"a seed changes {changed}"


def test_the_lines_for_another_seed_set_it_and_the_solution_passes(monkeypatch):
    monkeypatch.setenv("UNROLLED_SEED", "0")  # so that it is put back
    (lines,) = re.findall(r"^```python\n(.*?)^```", teaching.section("Variants"), re.MULTILINE | re.DOTALL)
    before, exercise = copy.deepcopy(CASES["2.9"])
    (cell,) = [cell for cell in before if "settings.begin()" in cell.source]
    cell.source = cell.source.replace("seed = settings.begin()", f"{lines}seed = settings.begin()")
    seen = nbformat.v4.new_code_cell("assert seed == 7", id="seen")
    assert run([*before, *exercise.cells, seen]) == (None, "")


SEALS = {n: answers.sealed(n, "multiplied") for n in (123, 99)}
CHANGES = {"0.43": "0.35", "Fraction(43, 100)": "Fraction(7, 20)", SEALS[123]: SEALS[99]}


def variant(changes: dict[str, str]):
    """Return what stands before exercise 4.3, and the exercise with other numbers."""
    before, exercise = copy.deepcopy(CASES["4.3"])
    for cell in exercise.cells:
        for old, new in changes.items():
            cell.source = cell.source.replace(old, new)
    return before, exercise


def test_of_a_variant_the_same_is_proved_as_of_the_original():
    before, exercise = variant(CHANGES)
    assert run(before + exercise.cells) == (None, "")
    stubs = exercises.release(nbformat.v4.new_notebook(cells=copy.deepcopy(exercise.cells))).cells
    assert isinstance(run(before + stubs)[0], NotImplementedError)
    for name, cells in mutants(exercise):
        assert isinstance(run(before + cells)[0], AssertionError), f"{name} is not caught"


@pytest.mark.parametrize("forgotten", CHANGES)
def test_a_place_that_was_forgotten_in_a_variant_is_found(forgotten):
    before, exercise = variant({old: new for old, new in CHANGES.items() if old != forgotten})
    assert isinstance(run(before + exercise.cells)[0], AssertionError)


def test_the_number_that_is_no_variant_never_becomes_zero():
    smallest = np.float32(2) ** -149
    assert smallest > 0 and smallest / 2 == 0 and smallest * np.float32(0.55) == smallest
    assert smallest * np.float32(0.35) == 0
