"""The exercises: solutions pass, stubs fail, planted mistakes are caught, right answers pass, and nothing drifts."""

import ast
import copy
import re
import traceback

import nbformat
import pytest

import exercises
from exercise_cases import CASES, SOLUTIONS, Played, mistakes, right_answers, role
from places import ROOT

pytestmark = pytest.mark.book


# Each exercise


@pytest.fixture(scope="module", params=CASES)
def played(request):
    return Played(request.param)


def test_the_solution_passes(played):
    assert played.error is None


def test_each_stub_fails_and_gives_a_hint(played):
    for at in played.fillable:
        cell = copy.deepcopy(played.cells[at])
        stub = exercises.release(nbformat.v4.new_notebook(cells=[cell])).cells[0].source
        error = played.answered(at, stub)
        assert isinstance(error, NotImplementedError) and len(str(error)) > 30, f"{cell.id}: {error!r}"


def test_each_planted_mistake_is_caught_by_a_check_that_says_something(played):
    (check,) = [cell for cell in played.cells if role(cell, "grade")]
    planted = [(at, *mistake) for at in played.fillable for mistake in mistakes(played.cells[at].source)]
    marked = sum(cell.source.count("### MISTAKE") for cell in played.cells)
    assert len(planted) == marked > 1, f"{marked} lines speak of a mistake, and {len(planted)} are of the right form"
    for at, name, source in planted:
        error = played.answered(at, source)
        assert isinstance(error, AssertionError) and len(str(error)) > 20, f"{name}: {error!r}"
        files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        assert f"<{check.id}>" in files, f"{name}: not a check says this, but {files[-1]}: {error}"


@pytest.mark.parametrize(
    "played, cell_id, answer",
    [pytest.param(number, cell, code, id=f"{number} {cell}: {name}") for number, cell, name, code in right_answers()],
    indirect=["played"],
)
def test_a_right_answer_in_other_clothes_passes(played, cell_id, answer):
    (at,) = [at for at in played.fillable if played.cells[at].id == cell_id]
    given = played.cells[at].source.split("### BEGIN SOLUTION")[0]
    assert played.answered(at, answer if "def " in given else given + answer) is None


def test_the_script_with_ten_mistakes_has_them_all_and_each_check_names_its_own():
    number = next(number for number, (_, exercise) in CASES.items() if exercise.title == "Ten mistakes")
    played, spoilt, names = Played(number), [], []
    shown = "\n".join(cell.source for cell in played.cells if cell.cell_type == "markdown")
    for at in played.fillable:
        right = played.cells[at].source.split("\n")
        lines = list(right)
        for name, wrong in mistakes(played.cells[at].source):
            pairs = zip(lines, right, wrong.split("\n"), strict=True)
            lines = [after if after != before else line for line, before, after in pairs]
            assert str(played.answered(at, wrong)).startswith(f"{name}: ")
            names.append(name)
        spoilt += [line for line in lines if line.strip() != "pass"]
    given = "\n".join(re.findall(r"```python\n(.*?)```", shown, re.DOTALL))
    assert len(set(names)) == 10 and ast.unparse(ast.parse("\n".join(spoilt))) == ast.unparse(ast.parse(given))


# Each notebook


@pytest.mark.parametrize("stem", SOLUTIONS)
def test_exercises_are_numbered_of_all_kinds_hinted_and_worth_their_difficulty(stem):
    before, parts = exercises.split(SOLUTIONS[stem])
    assert before[1].source == exercises.bootstrap_cell(), "the bootstrap cell is an old one"
    assert [part.number for part in parts] == [f"{int(stem[:2])}.{n}" for n in range(1, len(parts) + 1)]
    assert {part.kind for part in parts} == {"Derive", "Build", "Measure"}
    for part in parts:
        hints = re.findall(r"^<summary>Hint (\d)", "\n".join(cell.source for cell in part.cells), re.MULTILINE)
        (check,) = [cell for cell in part.cells if role(cell, "grade")]
        assert check.metadata.nbgrader.points == {"easy": 1, "medium": 2, "hard": 3}[part.difficulty]
        assert hints == ["1", "2", "3"], f"{part.number}: hints fold in three levels"
        for node in ast.walk(ast.parse(check.source)):
            assert not isinstance(node, ast.Assert) or node.msg, f"a check without a message: {ast.unparse(node)}"
    *_, report = exercises.open_task(SOLUTIONS[stem])
    assert report.cell_type == "markdown" and report.metadata.nbgrader.points == 6


@pytest.mark.parametrize("stem", SOLUTIONS)
def test_a_cell_of_code_has_no_output_and_metadata_that_nbgrader_understands(stem):
    for cell in SOLUTIONS[stem].cells:
        if cell.cell_type == "code" and cell.source != exercises.bootstrap_cell():
            assert not cell.outputs and cell.execution_count is None, f"{cell.id} has outputs; clear them"
            roles = cell.metadata.nbgrader
            assert roles.grade_id == cell.id and roles.solution + roles.locked == 1, f"{cell.id}: {roles}"
            regions = cell.source.count("### BEGIN SOLUTION"), cell.source.count("### END SOLUTION")
            assert regions == (roles.solution, roles.solution), f"{cell.id}: {regions} regions of solution"


def test_a_mistake_replaces_the_next_line_of_code():
    source = "def f(a):\n    ### MISTAKE (sign) return -a\n    ### MISTAKE (none)\n    ### return None\n    return a\n"
    assert list(mistakes(source)) == [
        ("sign", source.replace("    return a\n", "    return -a\n")),
        ("none", source.replace("    return a\n", "    return None\n")),
    ]


# What is generated


def test_the_exercises_are_those_of_the_solutions_and_give_nothing_away(tmp_path):
    written = {path.name: path.read_bytes() for path in exercises.write(tmp_path)}
    kept = {path.name: path.read_bytes() for path in (ROOT / "exercises").iterdir() if path.is_file()}
    changed = [name for name in written | kept if written.get(name) != kept.get(name)]
    assert not changed, f"not what the solutions make: {changed}; run: make exercises"
    for stem in SOLUTIONS:
        released = nbformat.read(tmp_path / f"{stem}.ipynb", as_version=4)
        shown = "\n".join(cell.source for cell in released.cells)
        assert not re.search(r"### (BEGIN|END|MISTAKE|HINT)", shown), stem
        asked = [cell for cell in SOLUTIONS[stem].cells if cell.cell_type == "code" and role(cell, "solution")]
        assert shown.count("raise NotImplementedError(") == len(asked)


def test_the_summary_adds_up_what_the_tables_list():
    worth, sums = {"easy": 1, "medium": 2, "hard": 3}, []
    for path in sorted(ROOT.glob("exercises/[0-9]*.md")):
        rows = [line.strip("| ").split(" | ") for line in path.read_text("utf8").splitlines()[2:]]
        kinds = [sum(row[2] == kind for row in rows) for kind in ("derive", "build", "measure")]
        sums.append([len(rows), *kinds, sum(int(row[4]) for row in rows), sum(worth[row[3]] for row in rows)])
    rows = (ROOT / "exercises" / "summary.md").read_text("utf8").splitlines()[2:]
    printed = [[int(number) for number in row.strip("| ").split(" | ")[-6:]] for row in rows]
    assert printed == [*sums, [sum(column) for column in zip(*sums, strict=True)]]
