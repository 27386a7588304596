"""The first page: its picture is drawn from a record, its times add up, and the README agrees with it."""

import json
import re

import nbformat
import pytest

import book
import exercises
import first_page
import gallery
from minutes import hours
from minutes import said as said_by
from places import ROOT
from unrolled import experiments

pytestmark = pytest.mark.book
CHAPTERS = sorted(ROOT.glob("chapters/*.ipynb"))


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf8")


# The picture


def test_the_picture_is_up_to_date():
    assert read("figures/reading.html") == first_page.picture(), "figures/reading.html is out of date: make chapters"


def test_the_picture_shows_at_each_symbol_what_the_record_has_for_the_distance_to_the_last_mention():
    text, last, _ = first_page.told()
    network, edges = experiments.recorded(first_page.RECORD)[first_page.NETWORK], first_page.network_config()["edges"]
    (data,) = re.findall(r"data-known='(.*?)'", read("figures/reading.html"))
    mentions = {"name": r"\bUma\b", "pronoun": r"\b(Uma|she|her)\b"}
    for (question, words), steps in zip(mentions.items(), json.loads(data), strict=True):
        for place in range(last + 1):
            ends = [found.end() for found in re.finditer(words, text) if found.end() <= place]
            shown = [share for start, share in steps if start <= place]
            assert bool(shown) == bool(ends), f"{question} after {place} symbols"
            if ends:
                lag = max(place - ends[-1], 1)
                bin = next(number for number, edge in enumerate(edges[1:]) if lag < edge)
                assert shown[-1] == round(100 * network[question].mean(axis=0)[bin]), (
                    f"{question} after {place} symbols"
                )


def test_what_its_caption_says_is_so():
    network, edges = experiments.recorded(first_page.RECORD)[first_page.NETWORK], first_page.network_config()["edges"]
    shares = network["name"].mean(axis=0)
    assert shares[0] > 0.95 and all(abs(shares[edges.index(40) :] - 0.5) < 0.05)
    assert f"A network of {int(network['parameters'].mean()):,} weights" in read("figures/reading.html")


# The times


def test_the_times_are_sums_of_what_chapters_and_exercises_say():
    sentence = r"About (\S+) hours? to read (\d+) chapters, and (\S+) hours? for all (\d+) exercises"
    said = re.search(sentence, read("exercises/total.md"))
    notebooks = [nbformat.read(path, as_version=4) for path in sorted(ROOT.glob("solutions/*.ipynb"))]
    minutes = [exercise.minutes for notebook in notebooks for exercise in exercises.split(notebook)[1]]
    sums = sum(said_by(json.loads(path.read_text("utf8"))) for path in CHAPTERS), sum(minutes)
    for stated, total in zip((said[1], said[3]), sums, strict=True):
        assert abs(60 * float(stated.replace("½", ".5")) - total) <= 15
    assert (int(said[2]), int(said[4])) == (len(CHAPTERS), len(minutes))
    assert "```{include} exercises/total.md\n```" in read("intro.md")


@pytest.mark.parametrize("minutes, said", [(100, "1½ hours"), (60, "1 hour"), (390, "6½ hours"), (1565, "26 hours")])
def test_hours_are_told_to_the_half(minutes, said):
    assert hours(minutes) == said


# The first page and the README


def paragraphs(name: str) -> str:
    return " ".join(read(name).split())


def test_the_readme_says_what_the_first_page_says():
    intro, readme = paragraphs("intro.md"), paragraphs("README.md")
    subtitle = re.search(r"^\*Recurrent networks.*\*$", read("intro.md"), re.MULTILINE)[0]
    question = re.search(r"A recurrent network reads .*?remember\?", intro)[0]
    trust = re.search(r"Every number comes from .*? beside it\.", intro)[0]
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
    linked = set(re.findall(r"\]\((\w+)\.md\)", read("intro.md")))
    assert linked >= {"prerequisites", "running", "teaching"} and linked <= set(pages)
