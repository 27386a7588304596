"""The first page: networks remember on it, its times add up, and the README agrees with it."""

import json
import re

import nbformat
import pytest

import book
import exercises
from exercises import announced, hours
from extensions import gallery
from places import ROOT
from unrolled.figures import live

pytestmark = pytest.mark.book
CHAPTERS = sorted(ROOT.glob("chapters/*.ipynb"))


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf8")


# The picture


def test_the_first_page_shows_networks_that_remember(html):
    page = (html / "intro.html").read_text("utf8")
    assert live.figure("race") in page


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_who_never_scrolls_the_playground_sees_a_network_remember_and_can_play(visit, size):
    page = visit("pages/playground")
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    page.wait_for_selector("figure[data-show=race][data-ready]")
    race = page.locator("figure[data-show=race]")
    for shown in (race.locator(".pg-race"), race.get_by_role("button", name="Play")):
        box = shown.bounding_box()
        assert box["y"] > 0 and box["y"] + box["height"] <= size[1], (box, size)
    assert page.evaluate("scrollY") == 0


# The times


def test_the_times_are_sums_of_what_chapters_and_exercises_say():
    sentence = r"About (\S+) hours? to read (\d+) chapters, and (\S+) hours? for all (\d+) exercises"
    stated = re.search(sentence, read("exercises/total.md"))
    notebooks = [nbformat.read(path, as_version=4) for path in sorted(ROOT.glob("solutions/*.ipynb"))]
    minutes = [exercise.minutes for notebook in notebooks for exercise in exercises.split(notebook)[1]]
    sums = sum(announced(json.loads(path.read_text("utf8"))) for path in CHAPTERS), sum(minutes)
    for time, total in zip((stated[1], stated[3]), sums, strict=True):
        assert abs(60 * float(time.replace("½", ".5")) - total) <= 15
    assert (int(stated[2]), int(stated[4])) == (len(CHAPTERS), len(minutes))
    assert "```{include} exercises/total.md\n```" in read("intro.md")


@pytest.mark.parametrize("minutes, text", [(100, "1½ hours"), (60, "1 hour"), (390, "6½ hours"), (1565, "26 hours")])
def test_hours_are_stated_to_the_half(minutes, text):
    assert hours(minutes) == text


# The first page and the README


def paragraphs(name: str) -> str:
    return " ".join(read(name).split())


def test_the_readme_says_what_the_first_page_says():
    intro, readme = paragraphs("intro.md"), paragraphs("README.md")
    subtitle = re.search(r"^\*Recurrent networks.*\*$", read("intro.md"), re.MULTILINE)[0]
    question = re.search(r"A recurrent network reads .*?remember\?", intro)[0]
    trust = re.search(r"Our numbers come from .*? beside it\.", intro)[0]
    assert [part for part in (subtitle, question, trust) if part not in readme] == []
    known = "linear algebra and have trained a network in PyTorch"
    assert known in intro and known in readme


def test_the_readme_lists_the_chapters_by_their_titles():
    listed = re.findall(r"^(\d+)\. \[(.+)\]\((.+)\)$", read("README.md"), re.MULTILINE)
    assert listed == [(str(n), gallery.title(path), f"chapters/{path.name}") for n, path in enumerate(CHAPTERS, 1)]
    count = ("Nine", "Ten", "Eleven", "Twelve", "Thirteen")[len(CHAPTERS) - 9]
    assert f"{count} chapters" in read("README.md")


def test_running_and_teaching_are_links_and_the_pages_are_in_the_book():
    pages = book.pages(book.contents(student=True))
    linked = set(re.findall(r"\]\((pages/\w+)\.md\)", read("intro.md")))
    assert linked >= {"pages/prerequisites", "pages/running", "pages/teaching"} and linked <= set(pages)
