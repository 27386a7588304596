"""The exercises: every solution passes, every stub fails, every planted mistake is caught, and nothing drifts."""

import ast
import copy
import random
import re
import traceback

import nbformat
import numpy as np
import pytest
import torch

import bootstrap_cell
import cell_runs
import exercises
import handed
from cell_runs import run
from exercise_cases import (
    CASES,
    SOLUTIONS,
    asked,
    attempts,
    followed,
    mistakes,
    mutants,
    of_wrong_types,
    role,
    visible,
)
from places import ROOT

pytestmark = pytest.mark.book
MUTANTS = {f"{case}: {name}": (case, cells) for case, (_, part) in CASES.items() for name, cells in mutants(part)}


# Each exercise


@pytest.mark.parametrize("case", CASES)
def test_the_solution_passes_and_writes_nothing_that_nbgrader_takes_for_an_error(case, capfd):
    before, exercise = CASES[case]
    error, where = run(before + exercise.cells, anew=True)
    assert error is None, f"{where}: {error!r}"
    assert not capfd.readouterr().err


@pytest.mark.parametrize("case", CASES)
def test_the_stub_fails_and_gives_a_hint(case):
    before, exercise = CASES[case]
    for given in [cell for cell in exercise.cells if role(cell, "solution")]:
        stub = exercises.release(nbformat.v4.new_notebook(cells=[copy.deepcopy(given)])).cells[0]
        error, _ = run(before + [stub if cell is given else cell for cell in exercise.cells])
        assert isinstance(error, NotImplementedError), f"{given.id}: {error!r}"
        assert len(str(error)) > 30, f"{given.id} gives no hint; write one as ### HINT in the solution"
    folded = re.findall(r"^<summary>Hint (\d)", "\n".join(cell.source for cell in exercise.cells), re.MULTILINE)
    assert folded == ["1", "2", "3"], f"hints fold in three levels; {case} has {folded}"


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_planted_mistake_is_caught_by_a_check_that_says_something_and_shows_unless_it_is_listed_as_hidden(mutant):
    case, cells = MUTANTS[mutant]
    before, shown = CASES[case][0], visible(cells)
    error, where = run(before + shown)
    hidden = mutant.partition(": ")[2].startswith("hidden:")
    assert (error is None) == hidden, f"{error!r}; a mistake that shows is not hidden, and one that does not has to be"
    if hidden:
        error, where = run(before + cells)
    assert isinstance(error, AssertionError), f"{where}: {error!r}"
    assert where in {cell.id for cell in cells if role(cell, "grade")}, f"the error is not a check's, but from {where}"
    assert len(str(error)) > 20, f"the check in {where} says only {str(error)!r}"


@pytest.mark.parametrize("case", CASES)
def test_an_exercise_plants_two_mistakes_or_more_in_its_solution(case):
    exercise = CASES[case][1]
    names = [name for name, _ in mutants(exercise)]
    assert len(names) >= 2 and len(names) == len(set(names)), names
    lines = sum(cell.source.count("MISTAKE") for cell in exercise.cells)
    assert lines == len(names), f"{lines} lines speak of a mistake, but only {len(names)} are of the right form"


@pytest.mark.parametrize("case", CASES)
def test_an_exercise_is_graded_by_one_cell_worth_its_difficulty(case):
    exercise = CASES[case][1]
    graded = [cell for cell in exercise.cells if role(cell, "grade")]
    assert len(graded) == 1 and any(role(cell, "solution") for cell in exercise.cells)
    assert graded[0].metadata.nbgrader.points == 1 + exercises.LEVELS.index(exercise.difficulty)
    assert "### BEGIN" not in graded[0].source.split("assert")[0], "no check is visible"
    for node in ast.walk(ast.parse(graded[0].source)):
        assert not isinstance(node, ast.Assert) or node.msg, f"a check without a message: {ast.unparse(node)}"


# Green means right

ATTEMPTS = {name: (number, verdict, cells) for number, name, verdict, cells in attempts()}
RIGHT = [name for name, (_, verdict, _) in ATTEMPTS.items() if verdict == "right"]
WRONG = [name for name, (_, verdict, _) in ATTEMPTS.items() if verdict == "wrong"]
TYPES = {f"{number}: {name}": (number, c) for number, (_, part) in CASES.items() for name, c in of_wrong_types(part)}


@pytest.mark.parametrize("case", CASES)
def test_what_is_hidden_is_said_with_its_reason(case):
    exercise = CASES[case][1]
    listed = any("Not checked here: " in cell.source for cell in exercise.cells if cell.cell_type == "markdown")
    names = [name for name, _ in mutants(exercise)]
    tests = any("### BEGIN HIDDEN TESTS" in cell.source for cell in exercise.cells)
    assert listed == tests == any(name.startswith("hidden:") for name in names), "hidden, listed and said go together"


def fails_in_a_sentence(before, cells):
    """Assert that something fails, and with a sentence where it is a check; a student's own line may stumble."""
    error, where = run(before + visible(cells))
    assert error is not None, "every check passes"
    passed = {frame.filename for frame in traceback.extract_tb(error.__traceback__)}
    if any(f"<{cell.id}>" in passed for cell in cells if role(cell, "grade")):
        assert isinstance(error, AssertionError) and len(str(error)) > 20, f"{where}: {error!r}"


@pytest.mark.parametrize("attempt", RIGHT)
def test_a_right_answer_in_other_clothes_passes(attempt):
    number, _, cells = ATTEMPTS[attempt]
    assert run(CASES[number][0] + cells) == (None, "")


@pytest.mark.parametrize("attempt", WRONG)
def test_what_a_student_got_wrong_fails_visibly(attempt):
    number, _, cells = ATTEMPTS[attempt]
    fails_in_a_sentence(CASES[number][0], cells)


@pytest.mark.parametrize("case", TYPES)
def test_what_is_no_answer_gets_a_sentence(case):
    number, cells = TYPES[case]
    fails_in_a_sentence(CASES[number][0], cells)


@pytest.mark.parametrize("case", CASES)
def test_every_symbol_of_an_answer_varies_by_itself_in_its_check(case):
    before, exercise = CASES[case]
    still = {
        name: symbols
        for name, places in handed.points(before, exercise.cells).items()
        if (symbols := handed.bound(places))
    }
    assert not still, f"by answer, symbols that could be a number, or stand for one another: {still}"


@pytest.mark.parametrize("case", CASES)
def test_every_argument_of_a_function_varies_in_its_check(case):
    before, exercise = CASES[case]
    still = []
    for name, calls in handed.arguments(before, exercise.cells).items():
        values = {argument: {call.get(argument) for call in calls} for argument in calls[0]}
        still += [f"{name}({argument})" for argument, seen in values.items() if len(calls) > 1 and len(seen) == 1]
    assert not still, f"always the same, so that an answer need not look at them: {still}"


@pytest.mark.parametrize("case", CASES)
def test_no_number_that_a_check_prints_is_the_answer(case):
    before, exercise = CASES[case]
    for at, name, code in asked(exercise):
        if isinstance(code, ast.FunctionDef | ast.ClassDef):
            continue
        error, _ = run(before + visible(followed(exercise, at, f"{name} = 1.2345")))
        for number in set(re.findall(r"\d+(?:[.,]\d+)*(?:e[-+]?\d+)?", str(error))):
            number = number.replace(",", "")
            for typed in (number, f"-{number}"):
                error, _ = run(before + visible(followed(exercise, at, f"{name} = {typed}")))
                assert error is not None, f"a check says {typed}, which as {name} makes it green"


# The exercise with ten mistakes


def ten_mistakes():
    """Return the set-up, the exercise, and what it gives: a script in which all ten are."""
    before, exercise = next(case for case in CASES.values() if case[1].title == "Ten mistakes")
    shown = "\n".join(cell.source for cell in exercise.cells if cell.cell_type == "markdown")
    return before, exercise, "\n".join(re.findall(r"```python\n(.*?)```", shown, re.DOTALL))


def failing(cells) -> list[str]:
    """Return what the checks say that fail, each asked whatever the others said."""
    space, messages = {"__name__": "__main__"}, []
    for cell in cells:
        for node in ast.parse(cell.source).body if cell.cell_type == "code" else []:
            try:
                exec(compile(ast.Module([node], []), f"<{cell.id}>", "exec"), space)
            except AssertionError as error:
                messages.append(str(error))
    return messages


def test_each_of_the_ten_mistakes_fails_its_own_check_and_no_other():
    before, exercise, given = ten_mistakes()
    failures = {
        name: [message.partition(":")[0] for message in failing(before + cells)] for name, cells in mutants(exercise)
    }
    assert len(failures) == 10 and failures == {name: [name] for name in failures}
    solved = [cell for cell in exercise.cells if role(cell, "solution")]
    script = nbformat.v4.new_code_cell(given, id="given")
    cells = [script if cell is solved[-1] else cell for cell in exercise.cells if cell not in solved[:-1]]
    assert sorted(message.partition(":")[0] for message in failing(before + cells)) == sorted(failures)


def test_the_script_with_ten_mistakes_is_the_solution_with_all_of_them_and_runs():
    before, exercise, given = ten_mistakes()
    spoilt = []
    for source in (cell.source for cell in exercise.cells if role(cell, "solution")):
        lines = source.split("\n")
        for _, wrong in mistakes(source):
            changed = zip(wrong.split("\n"), source.split("\n"), strict=True)
            lines = [a if a != b else line for line, (a, b) in zip(lines, changed, strict=True)]
        spoilt += [line for line in lines if line.strip() != "pass"]
    assert ast.unparse(ast.parse("\n".join(spoilt))) == ast.unparse(ast.parse(given))
    run_through = """
text = torch.randint(5, (800,))
known, held_out = split(text)
model = LanguageModel(7, core="lstm", hidden_size=8, dropout=0.2)
one_pass(model, torch.optim.Adam(model.parameters()), known.view(4, -1), 16)
sentences = Sentences(held_out.split([5, 20, 3, 52]), 2, pad=5, start=6)
assert 1 < score(model, sentences.epoch(0)) < 20
"""
    cells = [nbformat.v4.new_code_cell(source, id="given") for source in (given, run_through)]
    assert run(before + cells) == (None, "")


# Each notebook


@pytest.fixture(params=SOLUTIONS)
def notebook(request):
    return SOLUTIONS[request.param]


def test_no_letter_is_the_right_reason_most_of_the_time():
    sources = [cell.source for _, exercise in CASES.values() for cell in exercise.cells if role(cell, "solution")]
    right = re.findall(r'^reason = "(\w)"', "\n".join(sources), re.MULTILINE)
    assert len(right) > 10 and max(map(right.count, right)) <= len(right) / 2, right


def test_there_are_exercises():
    assert SOLUTIONS and set(SOLUTIONS) <= {path.stem for path in ROOT.glob("chapters/*.ipynb")}


def test_a_notebook_has_six_exercises_of_all_kinds_numbered_in_order(notebook):
    chapter = next(int(stem[:2]) for stem, solution in SOLUTIONS.items() if solution is notebook)
    parts = exercises.split(notebook)[1]
    assert [part.number for part in parts] == [f"{chapter}.{n}" for n in range(1, len(parts) + 1)]
    assert len(parts) >= 6 and {part.kind for part in parts} == {"Derive", "Build", "Measure"}


def test_a_notebook_begins_with_the_bootstrap_cell_and_a_locked_set_up_of_as_many_cells_as_it_says(notebook):
    title, bootstrap, *rest = exercises.split(notebook)[0]
    assert title.source.startswith("# Exercises: ")
    assert bootstrap.source == bootstrap_cell.text(), "the bootstrap cell is an old one: python tools/bootstrap_cell.py"
    code = [cell for cell in rest if cell.cell_type == "code"]
    assert all(role(cell, "locked") for cell in code)
    number = re.search(r"run\s+the\s+(\w+)\s+cells\s+below", title.source)[1]
    assert number == {1: "two", 2: "three", 3: "four"}[len(code)]


@pytest.mark.parametrize("case", CASES)
def test_the_signature_of_a_library_function_that_a_student_must_call_is_given(case):
    before, exercise = CASES[case]
    trees = [ast.parse(cell.source) for cell in before if cell.cell_type == "code"]
    imports = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    library = {name.name for node in imports if node.module.startswith("unrolled") for name in node.names}
    text = "\n".join(cell.source for cell in exercise.cells if cell.cell_type == "markdown").split("<details>")[0]
    for cell in [cell for cell in exercise.cells if role(cell, "solution")]:
        for call in [node.func for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Call)]:
            name = ast.unparse(call)
            assert name.split(".")[0] not in library or f"`{name}(" in text, f"{case} does not say how to call {name}"


def test_a_notebook_keeps_the_rules_of_its_cells(notebook):
    for cell in notebook.cells:
        if cell.cell_type != "code":
            assert not re.search(r"^\(.+\)=$|\$\$ *\(", cell.source, re.MULTILINE), f"{cell.id} defines a label"
            continue
        assert not cell.outputs and cell.execution_count is None, f"{cell.id} has outputs; clear them"
        ast.parse(cell.source)
        if cell.source != bootstrap_cell.text():
            roles = cell.metadata.nbgrader
            assert roles.schema_version == 3 and roles.solution + roles.locked == 1, f"{cell.id}: {roles}"
            assert roles.grade_id == cell.id, f"{cell.id} is called {roles.grade_id} in nbgrader's metadata"
            regions = cell.source.count("### BEGIN SOLUTION"), cell.source.count("### END SOLUTION")
            assert regions == ((1, 1) if roles.solution else (0, 0)), f"{cell.id}: {regions} regions of solution"


# Open tasks

OPEN = {stem: exercises.open_task(solution) for stem, solution in SOLUTIONS.items()}


@pytest.mark.parametrize("stem", OPEN)
def test_a_notebook_ends_with_an_open_task_with_a_report_and_a_rubric(stem):
    cells = OPEN[stem]
    assert cells and not any(cell.source.startswith("## ") for cell in cells[1:]), "the open task comes last"
    assert int(exercises.OPEN.match(cells[0].source)["number"]) == int(stem[:2])
    points = sum(int(row) for row in re.findall(r"^\| (\d+) \| .+ \|$", cells[0].source, re.MULTILINE))
    (report,) = [cell for cell in cells if cell.cell_type == "markdown" and role(cell, "solution")]
    assert report is cells[-1] and report.metadata.nbgrader.points == points == 6
    assert len(report.source.split()) > 100, "the report is a stub"


# What is generated


def test_the_exercises_are_those_of_the_solutions(tmp_path):
    written = {path.name: path.read_bytes() for path in exercises.write(tmp_path)}
    kept = {path.name: path.read_bytes() for path in (ROOT / "exercises").iterdir() if path.is_file()}
    assert written.keys() == kept.keys(), f"exercises/ has {sorted(kept)}; right are {sorted(written)}: make exercises"
    changed = [name for name in written if written[name] != kept[name]]
    assert not changed, f"not what the solutions make: {changed}; run: make exercises"


@pytest.mark.parametrize("stem", SOLUTIONS)
def test_an_exercise_notebook_gives_nothing_away(stem):
    released = nbformat.read(ROOT / "exercises" / f"{stem}.ipynb", as_version=4)
    assert [cell.id for cell in released.cells] == [cell.id for cell in SOLUTIONS[stem].cells]
    shown = "\n".join(cell.source for cell in released.cells)
    assert not re.search(r"### (BEGIN|END|MISTAKE|HINT)", shown)
    for cell, given in zip(released.cells, SOLUTIONS[stem].cells, strict=True):
        for secret in re.findall(r"### BEGIN .*?### END ", given.source, re.DOTALL):
            lines = {line.strip() for line in secret.splitlines()}
            given_away = {line for line in lines & {line.strip() for line in cell.source.splitlines()} if len(line) > 3}
            assert not given_away, f"{cell.id} shows {sorted(given_away)}"
        if role(given, "solution") and given.cell_type == "code":
            assert cell.source.count("raise NotImplementedError(") == 1
        if role(given, "grade") and not role(given, "solution"):
            assert not cell.metadata.editable and "assert" in cell.source


def test_the_summary_adds_up_what_the_tables_list():
    worth, sums = {"easy": 1, "medium": 2, "hard": 3}, []
    for path in sorted((ROOT / "exercises").glob("[0-9]*.md")):
        rows = [line.strip("| ").split(" | ") for line in path.read_text("utf8").splitlines()[2:]]
        kinds = [sum(row[2] == kind for row in rows) for kind in ("derive", "build", "measure")]
        sums.append([len(rows), *kinds, sum(int(row[4]) for row in rows), sum(worth[row[3]] for row in rows)])
    rows = (ROOT / "exercises" / "summary.md").read_text("utf8").splitlines()[2:]
    printed = [[int(number) for number in row.strip("| ").split(" | ")[-6:]] for row in rows]
    assert printed == [*sums, [sum(column) for column in zip(*sums, strict=True)]]


# Proof that the rules can fail


@pytest.mark.parametrize(
    ("places", "still"),
    [
        ([{"a": 2, "b": 1}, {"a": 2, "b": 3}, {"a": 2, "b": 4}], ["a"]),
        ([{"a": 2, "b": 1}], ["a", "b"]),
        ([{"a": 20, "b": 2}, {"a": 50, "b": 5}, {"a": 70, "b": 7}], ["a", "b"]),
        ([{"a": 2, "b": 3}, {"a": 4, "b": 1.5}, {"a": 6, "b": 1}], ["a", "b"]),
        ([{"a": 2, "b": 1, "c": 9}, {"a": 3, "b": 5, "c": 9}, {"a": 1, "b": 3, "c": 8}], ["a", "b", "c"]),
        ([{"a": 2, "b": 0}, {"a": 3, "b": 5}, {"a": 1, "b": 3}], []),
    ],
)
def test_a_symbol_that_stays_or_follows_from_the_others_is_found(places, still):
    assert handed.bound(places) == still


def test_what_a_function_is_called_with_is_noted_if_it_can_be_compared():
    handed.NOTED.clear()
    function = handed.noted(lambda x, rate, model=None: rate)
    assert function(np.ones(2), rate=3) == 3 and function(torch.ones(2), 3, model=print) == 3
    first, second = handed.NOTED["<lambda>"]
    assert first["rate"] == second["rate"] == 3 and first["x"] != second["x"] and "model" not in second


def test_a_mistake_replaces_the_next_line_of_code():
    source = "def f(a):\n    ### MISTAKE (sign) return -a\n    ### MISTAKE (none)\n    ### return None\n    return a\n"
    assert list(mistakes(source)) == [
        ("sign", source.replace("    return a\n", "    return -a\n")),
        ("none", source.replace("    return a\n", "    return None\n")),
    ]


def test_a_heading_that_declares_nothing_is_refused():
    bad = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("## Exercise 2.1: Title\n\n*Derive, easy.*\n")])
    with pytest.raises(ValueError, match=r"'## Exercise 2\.1: Title' begins no exercise; right are"):
        exercises.split(bad)


@pytest.mark.parametrize(
    ("source", "error", "where"),
    [
        ("x = 1", None, ""),
        ("def f():\n    assert False, 'wrong'\nf()", AssertionError, "a"),
        ("import unrolled.tasks\nunrolled.nothing", AttributeError, "a"),
        ("import json\njson.loads('{')", ValueError, ""),
    ],
)
def test_an_error_is_laid_at_its_cell(source, error, where):
    cell = nbformat.v4.new_code_cell(source, id="a")
    raised, place = run([cell])
    assert place == where and (raised is None if error is None else isinstance(raised, error))


def slow(*sources) -> list:
    """Return code cells of which the first takes so long that what it leaves is kept."""
    first = f"import time\ntime.sleep({1.2 * cell_runs.LONG})\n"
    cells = (first + sources[0], *sources[1:])
    return [nbformat.v4.new_code_cell(source, id=f"cell-{at}") for at, source in enumerate(cells)]


def test_what_cells_leave_is_kept_and_whoever_runs_them_next_finds_it_untouched(tmp_path):
    begin = """
import random
import numpy, torch
with open({!r}, "a") as log:
    log.write("begun ")
del log
seen, weight = [], torch.zeros(2, requires_grad=True)
def look():
    return list(seen)
"""
    begin = begin.format(str(tmp_path / "log"))
    spoil = "seen.append(1)\nweight.data += 1\ntorch.rand(1), numpy.random.rand(), random.random()"
    drawn = "drawn = torch.rand(1).item(), numpy.random.rand(), random.random()\n"
    torch.manual_seed(3), np.random.seed(3), random.seed(3)
    expected = torch.rand(1).item(), np.random.rand(), random.random()
    torch.manual_seed(3), np.random.seed(3), random.seed(3)
    look = (
        f"assert look() == [] and not weight.any() and weight.requires_grad\n{drawn}assert drawn == {expected}, drawn"
    )
    for rest in (spoil, look, spoil, look):
        assert run(slow(begin, rest)) == (None, "")
    assert (tmp_path / "log").read_text() == "begun "
    assert run(slow(begin, look), anew=True)[1] == "cell-1", "run anew, the generators have gone on"
    assert (tmp_path / "log").read_text() == "begun begun "
    assert run(slow(begin, "assert weight.all(), 'it differs'"))[1] == "cell-1", "another cell is not one that was kept"


def test_what_cannot_be_copied_is_not_kept_and_runs_again(tmp_path):
    log = str(tmp_path / "log")
    begin = f"with open({log!r}, 'a') as file:\n    file.write('begun ')\ndel file\n"
    begin += "import torch\nloss = torch.ones(2, requires_grad=True).sum()"
    for _ in range(2):
        assert run(slow(begin, "loss.backward()")) == (None, "")
    assert (tmp_path / "log").read_text() == "begun begun "
