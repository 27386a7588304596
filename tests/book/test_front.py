"""The first page: its times add up, and the README agrees with it."""

import json
import re

import nbformat
import pytest

import exercises
from extensions import gallery
from places import ROOT

pytestmark = pytest.mark.book
CHAPTERS = sorted(ROOT.glob("chapters/[0-9]*.ipynb"))


def test_the_times_are_sums_of_what_chapters_and_exercises_say():
    total = (ROOT / "exercises" / "total.md").read_text(encoding="utf8")
    stated = re.search(r"About (\S+) hours? to read (\d+) chapters, and (\S+) hours? for all (\d+) exercises", total)
    notebooks = [nbformat.read(path, as_version=4) for path in sorted(ROOT.glob("solutions/*.ipynb"))]
    minutes = [exercise.minutes for notebook in notebooks for exercise in exercises.split(notebook)[1]]
    sums = sum(exercises.announced(json.loads(path.read_text("utf8"))) for path in CHAPTERS), sum(minutes)
    for time, summed in zip((stated[1], stated[3]), sums, strict=True):
        assert abs(60 * float(time.replace("½", ".5")) - summed) <= 15
    assert (int(stated[2]), int(stated[4])) == (len(CHAPTERS), len(minutes))


def test_the_readme_lists_the_chapters_by_their_titles():
    readme = (ROOT / "README.md").read_text(encoding="utf8")
    listed = re.findall(r"^(\d+)\. \[(.+)\]\((.+)\)$", readme, re.MULTILINE)
    assert listed == [(str(n), gallery.title(path), f"chapters/{path.name}") for n, path in enumerate(CHAPTERS, 1)]


def test_the_first_page_has_a_question_for_each_chapter_and_leads_to_the_first(visit):
    page = visit("intro")
    assert page.locator(".questions .sd-card").count() == len(CHAPTERS)
    assert page.locator("a.right-next, .doors a.first").evaluate_all("all => new Set(all.map(a => a.href)).size") == 1
    page.get_by_role("button", name="Pause").wait_for()  # the race runs by itself
    assert "tex-mml" not in page.content()
