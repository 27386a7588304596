"""The first page: its picture is drawn from a record, its times add up, and the README agrees with it."""

import json
import re

import nbformat
import pytest

import book
import exercises
from exercises import announced, hours
from extensions import gallery, reading
from places import ROOT
from unrolled import records

pytestmark = pytest.mark.book
CHAPTERS = sorted(ROOT.glob("chapters/*.ipynb"))


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf8")


# The picture


@pytest.fixture(scope="module")
def network():
    """The network of the picture, as it was measured."""
    return records.load(reading.RECORD)[reading.NETWORK]


@pytest.fixture(scope="module")
def picture(html) -> str:
    """The picture on the built page."""
    return re.search(r'<figure class="reading".*?</figure>', (html / "intro.html").read_text("utf8"), re.DOTALL)[0]


def test_the_picture_shows_at_each_symbol_what_the_record_has_for_the_distance_to_the_last_mention(network, picture):
    text, last, _ = reading.story()
    (data,) = re.findall(r"data-known='(.*?)'", picture)
    mentions = {"name": r"\bUma\b", "pronoun": r"\b(Uma|she|her)\b"}
    for (question, words), steps in zip(mentions.items(), json.loads(data), strict=True):
        shares = (100 * network[question].mean(axis=0)).round()
        for place in range(last + 1):
            ends = [mention.end() for mention in re.finditer(words, text) if mention.end() <= place]
            shown = [share for start, share in steps if start <= place]
            lag = max(place - ends[-1], 1) if ends else 0
            right = [shares[bin] for bin, edge in enumerate(network.config["edges"][1:]) if lag < edge] if ends else []
            assert shown[-1:] == right[:1], f"{question} after {place} symbols"


def test_what_its_caption_says_is_so(network, picture):
    shares = network["name"].mean(axis=0)
    assert shares[0] > 0.95 and all(abs(shares[network.config["edges"].index(40) :] - 0.5) < 0.05)
    assert f"A network of {int(network['parameters'].mean()):,} weights" in " ".join(picture.split())


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
    linked = set(re.findall(r"\]\((pages/\w+)\.md\)", read("intro.md")))
    assert linked >= {"pages/prerequisites", "pages/running", "pages/teaching"} and linked <= set(pages)
