"""A course with nbgrader, by the commands of teaching.md: what each student gets, and that none can stop the others."""

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader.plugins import LateSubmissionPlugin

import exercises
import teaching
from exercise_cases import mistakes
from places import ROOT

pytestmark = pytest.mark.book
GRADED = os.environ.get("UNROLLED_GRADED", "02-vanilla-rnn").split()  # `make compat` grades all
TIMEOUT = 3  # seconds for a cell of the small assignment


def shell(folder, script: str) -> tuple[int, str]:
    """Run commands in a folder, as in an activated environment; return the status and what they say."""
    settings = {"JUPYTER_CONFIG_DIR": str(folder / "jupyter"), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    settings["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = ["sh", "-e", "-c", script]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, **settings})
    return done.returncode, done.stdout + done.stderr


def follow(folder, title: str, assignment: str = "02-vanilla-rnn", student: str = "ada") -> None:
    """Run the commands that the page for instructors gives below a heading, for this assignment and this student."""
    script = teaching.commands(title).replace("02-vanilla-rnn", assignment).replace("ada", student)
    status, output = shell(folder, script)
    assert status == 0, f"{title}:\n{script}\n{output}"


def hand_in(course, assignment: str, handed_in: dict[str, dict[str, str]]) -> None:
    """Collect, for each student, the released notebook with some cells, by their ids, changed, and with one more."""
    name, folder = f"{assignment}.ipynb", course.parent / "handed-in"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for student, sources in handed_in.items():
        notebook = nbformat.read(course / "release" / assignment / name, as_version=4)
        for cell in notebook.cells:
            cell.source = sources.get(cell.id, cell.source)
        notebook.cells.append(nbformat.v4.new_markdown_cell(f"In the words of {student}."))
        nbformat.write(notebook, folder / f"{student}.ipynb")
    follow(course, "Collect", assignment)


def scores(course, assignment: str) -> dict[str, float]:
    """Return what the gradebook has for each student."""
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        return {submission.student.id: submission.score for submission in book.assignment_submissions(assignment)}


def autograded(course, assignment: str, student: str) -> dict[str, nbformat.NotebookNode]:
    """Return the cells of a graded submission by their nbgrader ids."""
    path = course / "autograded" / student / assignment / f"{assignment}.ipynb"
    cells = nbformat.read(path, as_version=4).cells
    return {cell.metadata.nbgrader.grade_id: cell for cell in cells if "nbgrader" in cell.metadata}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course's folder with its configuration, beside the book's."""
    folder = tmp_path_factory.mktemp("term")
    (folder / "unrolled").symlink_to(ROOT)
    follow(folder, "The course")
    return folder / "course"


def with_mistakes(parts) -> dict[str, str]:
    """Return the solutions of all exercises, by their cells' ids, with the first mistake in every second exercise."""
    sources = {}
    for number, part in enumerate(parts):
        planted = bool(number % 2)
        for cell in part.cells:
            if cell.metadata.get("nbgrader", {}).get("solution"):
                wrong = next(mistakes(cell.source), None) if planted else None
                sources[cell.id] = wrong[1] if wrong else cell.source
                planted = planted and not wrong
    return sources


@pytest.fixture(scope="module", params=GRADED)
def graded(request, course):
    """The name of an assignment that three students have handed in, and the exercises in it; nbgrader has graded it."""
    name = request.param
    solutions = nbformat.read(ROOT / "solutions" / f"{name}.ipynb", as_version=4)
    parts = exercises.split(solutions)[1]
    follow(course, "An assignment", name)
    answers = {cell.id: cell.source for cell in solutions.cells if cell.metadata.get("nbgrader", {}).get("solution")}
    checks = [cell.id for cell in solutions.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    edited = dict.fromkeys(checks, "pass  # nothing to see here")
    hand_in(course, name, {"ada": answers, "ben": edited, "cleo": with_mistakes(parts)})
    follow(course, "Grade", name)
    return name, parts


def points(parts) -> list[int]:
    return [1 + exercises.LEVELS.index(part.difficulty) for part in parts]


def test_nbgrader_releases_what_is_in_the_book(course, graded):
    released, kept = (
        nbformat.read(path / f"{graded[0]}.ipynb", as_version=4)
        for path in (course / "release" / graded[0], ROOT / "exercises")
    )
    assert released == kept


def test_the_scores_are_full_none_and_in_between(course, graded):
    name, parts = graded
    each = points(parts)
    assert scores(course, name) == {"ada": sum(each), "ben": 0, "cleo": sum(each[::2])}
    with (course / "grades.csv").open(encoding="utf8") as file:
        exported = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file) if row["assignment"] == name}
    assert exported == scores(course, name)


def test_every_cell_of_the_solutions_runs_those_of_the_open_task_too(course, graded):
    cells = autograded(course, graded[0], "ada").values()
    assert any(cell.metadata.nbgrader.grade_id.startswith("open") for cell in cells)
    assert not [output for cell in cells for output in cell.get("outputs", []) if output.output_type == "error"]


def test_a_check_that_a_student_has_edited_is_the_original_again(course, graded):
    name, parts = graded
    given = autograded(course, name, "ben")
    originals = [cell for part in parts for cell in part.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    assert [given[cell.id].source for cell in originals] == [cell.source for cell in originals]


def test_the_feedback_quotes_the_checks_and_shows_what_a_student_has_added(course, graded):
    name, parts = graded
    page = (course / "feedback" / "cleo" / name / f"{name}.html").read_text(encoding="utf8")
    assert "In the words of cleo." in page
    cells = autograded(course, name, "cleo")
    failed = [
        [
            output
            for cell in part.cells
            for output in cells.get(cell.id, {}).get("outputs", [])
            if output.output_type == "error"
        ]
        for part in parts  # an open task is marked by hand
    ]
    assert [bool(errors) for errors in failed] == [bool(number % 2) for number in range(len(parts))]
    assert {error.ename for errors in failed for error in errors} == {"AssertionError"}
    assert all(error.evalue.split()[0] in page for errors in failed for error in errors)


# Submissions that would stop the others

ENDLESS = "def double(x):\n    while True:\n        pass"
GREEDY = "def double(x):\n    kept = []\n    while True:\n        kept.append(bytes(2**30))"
DEADLY = "def double(x):\n    import os\n    os._exit(1)"


@pytest.fixture(scope="module")
def beset(course):
    """The name of a small assignment that was handed in by some who are right and by some who never end."""
    name = "small"
    cells = [
        nbformat.v4.new_code_cell(
            "def double(x):\n    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION", id="double"
        ),
        nbformat.v4.new_code_cell("assert double(3) == 6, 'twice three is six'", id="double-checks"),
        nbformat.v4.new_code_cell("assert True, 'a point for coming'", id="present"),
    ]
    for cell, solution in zip(cells, (True, False, False), strict=True):
        roles = {"grade": not solution, "grade_id": cell.id, "locked": not solution, "schema_version": 3}
        cell.metadata["nbgrader"] = roles | {"solution": solution, "task": False} | ({} if solution else {"points": 1})
    (course / "source" / name).mkdir(parents=True)
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), course / "source" / name / f"{name}.ipynb")
    shell(course, f"nbgrader generate_assignment {name}")
    right = "def double(x):\n    return x + x"
    handed_in = {"a-right": right, "b-endless": ENDLESS, "c-greedy": GREEDY, "d-deadly": DEADLY, "e-right": right}
    hand_in(course, name, {student: {"double": source} for student, source in handed_in.items()})
    follow(course, "Late", name, student="e-right")
    strict = f"--Execute.timeout={TIMEOUT} --LateSubmissionPlugin.penalty_method=zero"
    return name, shell(course, f"nbgrader autograde {name} {strict}")


def test_no_submission_stops_the_others(course, beset):
    name, (status, output) = beset
    assert status and "error processing assignment 'small' for student 'd-deadly'" in output
    assert scores(course, name) == {"a-right": 2, "b-endless": 1, "c-greedy": 1, "d-deadly": 0, "e-right": 2}


def test_what_stopped_a_submission_is_said(course, beset):
    for student, error in {"b-endless": "CellTimeoutError", "c-greedy": "MemoryError"}.items():
        outputs = autograded(course, beset[0], student)["double-checks"].outputs
        assert error in {output.get("ename") for output in outputs}, f"{student}: {outputs}"


# Late, and again


def test_who_is_late_may_lose_all_but_loses_nothing_unless_it_is_asked_for(course, beset):
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        submissions = book.assignment_submissions(beset[0])
        late = {submission.student.id: submission.late_submission_penalty for submission in submissions}
    assert {student: penalty for student, penalty in late.items() if penalty} == {"e-right": 2}
    assert LateSubmissionPlugin().penalty_method == "none"


def test_who_hands_in_again_is_graded_again_and_keeps_extra_points(course, beset):
    name = beset[0]
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        book.find_grade("double-checks", name, name, "b-endless").extra_credit = 1
        book.db.commit()
    before = scores(course, name)
    hand_in(course, name, {"b-endless": {"double": "def double(x):\n    return x + x"}})
    follow(course, "Again", name, student="b-endless")
    assert scores(course, name) == before | {"b-endless": 3} and before["b-endless"] == 2
    assert (course / "feedback" / "b-endless" / name / f"{name}.html").is_file()


def test_all_commands_of_the_page_are_followed_here():
    followed = ("The course", "An assignment", "Collect", "Grade", "Late", "Again")
    assert teaching.commands("Grade with nbgrader") == "".join(teaching.commands(title) for title in followed)
