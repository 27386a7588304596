"""The documents say what is so: commands and paths exist, versions agree, the English is British, links lead there."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml

from places import ROOT
from unrolled import __version__

pytestmark = pytest.mark.book

DOCUMENTS = (
    *("README.md", "CONTRIBUTING.md", "pages/running.md", "pages/teaching.md"),  # these name commands
    *("CHANGELOG.md", "LICENSE-TEXT.md", "intro.md"),
)
MADE_LATER = {
    ".venv",
    "_build/html",
    "_build/html/index.html",
    "_build/slides/index.html",
    ".venv/Scripts/python",
    ".venv/bin/activate",
}
MADE_LATER |= {"my.txt", "another.txt", "runs/my", "runs/long"}  # by a reader
OF_A_COURSE = re.compile(r"(\.\./handed-in|source|release|submitted|feedback)(/|$)|ada\.ipynb|nbgrader_config\.py")
PATHLIKE = re.compile(r"[\w.-]*/[\w./-]*|\.?[\w-]+\.(?:md|toml|txt|py|yml|cff|bib|ipynb)|\.venv")


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf8")


def spans(text: str) -> list[str]:
    """Return the code in a page: inline spans and the lines of fenced blocks that are no directives."""
    blocks = re.findall(r"^```([^\n]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    fenced = [block for language, block in blocks if not language.startswith("{")]
    inline = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))
    return inline + [line.split(" #")[0].strip() for block in fenced for line in block.splitlines()]


def missing_paths(text: str, folder: Path = ROOT) -> list[str]:
    """Return the local paths that a page in a folder names, in code or as a link's target, and that are not there."""
    words = [word.removeprefix("../unrolled/") for span in spans(text) for word in span.split()]
    code = [word for word in words if PATHLIKE.fullmatch(word) and not OF_A_COURSE.match(word)]
    links = [target for target in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in target]
    missing = [path for path in code if path not in MADE_LATER and not (ROOT / path).exists()]
    return missing + [path for path in links if not (folder / path).exists()]


def targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):", read("Makefile"), re.MULTILINE))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_path_that_a_document_names_is_there(document):
    assert missing_paths(read(document), (ROOT / document).parent) == []


def test_a_path_that_is_not_there_is_found():
    assert missing_paths("see `lib/unrolled/nothing.py`, [that](NOTHING.md) and `.venv`") == [
        "lib/unrolled/nothing.py",
        "NOTHING.md",
    ]


@pytest.mark.parametrize("document", DOCUMENTS[:4])
def test_every_make_command_in_a_document_is_a_target(document):
    named = {target[1] for span in spans(read(document)) if (target := re.match(r"make ([a-z]+)", span))}
    assert named, f"{document} names no command"
    assert named <= targets(), f"{document} names {sorted(named - targets())}, which the Makefile does not have"


def test_contributing_names_all_that_change_tracked_files_and_all_that_precede_a_release():
    named = set(re.findall(r"`make ([a-z]+)", read("CONTRIBUTING.md")))
    assert {"chapters", "exercises", "records", "address", "check", "compat", "claims"} <= named


@pytest.mark.parametrize("document", ["CONTRIBUTING.md", "pages/running.md"])
def test_every_command_of_the_library_in_a_document_parses(document):
    import lab.__main__
    import unrolled.__main__

    parsers = {"unrolled": unrolled.__main__.parser(), "lab": lab.__main__.parser()}
    commands = [shlex.split(span) for span in spans(read(document)) if span.startswith("python -m ")]
    ours = [words for words in commands if words[2] in parsers]
    assert ours
    for words in ours:
        parsers[words[2]].parse_args(words[3:])  # exits where it is not one


def test_citation_package_and_changelog_agree():
    citation = yaml.safe_load(read("CITATION.cff"))
    project = tomllib.loads(read("pyproject.toml"))["project"]
    assert citation["cff-version"] == "1.2.0"
    assert citation["title"].lower() == project["name"]
    assert citation["version"] == project["version"] == __version__
    assert [author["name"] for author in citation["authors"]] == [author["name"] for author in project["authors"]]
    assert citation["license"] == [project["license"], "CC-BY-4.0"]
    assert citation["repository-code"] == project["urls"]["Repository"]
    assert citation["url"] == project["urls"]["Documentation"]
    dated = re.search(rf"^## \[{re.escape(__version__)}\] - (.+)$", read("CHANGELOG.md"), re.MULTILINE)[1]
    assert str(citation.get("date-released", "unreleased")) == dated


def test_licences_are_the_ones_named():
    licence, text = read("LICENSE"), read("LICENSE-TEXT.md")
    author = tomllib.loads(read("pyproject.toml"))["project"]["authors"][0]["name"]
    assert licence.startswith("BSD 3-Clause License\n\nCopyright (c) 2026, " + author)
    assert all(f"\n{clause}. " in licence for clause in (1, 2, 3)) and "\n4. " not in licence
    assert "Creative Commons Attribution 4.0 International Public License" in text
    assert "https://creativecommons.org/licenses/by/4.0/legalcode" in text


# The language

AMERICAN = re.compile(  # no word that is British, too, such as "size" and "metre"
    r"\b((?!prize|seize)\w*[a-z]{2}(?<!s)iz(e[drs]?|ing|ations?|ers?)|\w*lyz(e[drs]?|ing)|colors?|colored|behaviors?|favor\w*|flavors?"
    r"|neighbor\w*|center(s|ed|ing)?|gray|label(ed|ing)|model(ed|ing)|travel(ed|ing)|cancel(ed|ing)|artifacts?|toward)\b",
    re.IGNORECASE,
)


def american(text: str) -> list[str]:
    """Return the words of a text, its code and its formulas left out, that are spelt as in American English."""
    prose = re.sub(r"```\w*\n.*?```|`[^`]*`|\]\([^)]*\)|\$[^$]*\$|https?://\S+", "", text, flags=re.DOTALL)
    return [word[0] for word in AMERICAN.finditer(prose)]


@pytest.mark.parametrize("path", sorted([*ROOT.glob("*.md"), *ROOT.glob("pages/**/*.md")]), ids=lambda path: path.name)
def test_a_document_is_spelt_as_in_british_english(path):
    assert american(path.read_text(encoding="utf8")) == []


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("*/[0-9]*.ipynb")), ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_a_notebook_is_spelt_as_in_british_english(path):
    for number, cell in enumerate(json.loads(path.read_text(encoding="utf8"))["cells"], start=1):
        shown = "".join(cell["source"]) if cell["cell_type"] == "markdown" else ""
        texts = [shown, *re.findall(r'": "([^"]*)"', json.dumps(cell["metadata"].get("mystnb", {})))]
        assert [word for text in texts for word in american(text)] == [], f"cell {number}"


def test_american_words_are_found_and_british_ones_are_not():
    text = "The size of a prize, a colour, `color`, $center$; an analyzed neighbor optimizes its behavior."
    assert american(text) == ["analyzed", "neighbor", "optimizes", "behavior"]


# The workflows


def jobs():
    """Yield each job of each workflow, as "ci.yml, test", with what it may do: its own permissions, or the file's."""
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        workflow = yaml.safe_load(path.read_text("utf8"))
        for name, job in workflow["jobs"].items():
            yield f"{path.name}, {name}", job, job.get("permissions", workflow.get("permissions"))


def test_every_action_is_named_by_its_digest_and_its_version():
    lines = [line for path in ROOT.glob(".github/workflows/*.yml") for line in path.read_text("utf8").splitlines()]
    uses = [line.partition("uses:")[2].strip() for line in lines if "uses:" in line]
    assert len(uses) == sum("uses" in step for _, job, _ in jobs() for step in job["steps"])
    assert [use for use in uses if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use)] == []


def test_what_runs_the_projects_code_can_write_nothing_and_what_publishes_runs_none_of_it():
    writing = set()
    for name, job, may in jobs():
        if any("run" in step or "checkout" in step["uses"] for step in job["steps"]):
            assert may == {"contents": "read"}, f"{name} runs the project's code, and may {may}"
        else:
            writing |= {(name, what) for what in may.items()}
    assert writing == {("pages.yml, deploy", ("pages", "write")), ("pages.yml, deploy", ("id-token", "write"))}


# The library's references


def test_every_equation_that_a_docstring_names_is_in_a_chapter():
    chapters = "".join(path.read_text(encoding="utf8") for path in sorted(ROOT.glob("chapters/*.ipynb")))
    there = set(re.findall(r"\$\$ ?\((eq-[\w-]+)\)", chapters))
    for path in sorted(ROOT.glob("lib/unrolled/**/*.py")):
        named = set(re.findall(r":eq:`(eq-[\w-]+)`", path.read_text(encoding="utf8")))
        assert not named - there, f"{path.relative_to(ROOT)} names {', '.join(sorted(named - there))}: in no chapter"


# The numbers of chapters

NUMBERED = re.compile(r"\b[Cc]hapter\s+(\d+)")
LINKED = re.compile(r"\[[Cc]hapter\s+(\d+)\]\((?:(?:\.\./)?chapters/)?(\d\d)-[\w-]+\.ipynb\)")
BACK = ("prerequisites", "notation", "protocol", "knobs", "playground", "capstone", "running")
PAGES = ["intro.md", *(f"pages/{name}.md" for name in BACK)]


def typed_numbers(text: str) -> list[str]:
    """Return the numbers of chapters that lead nowhere, or to another chapter."""
    wrong = [number for number, stem in LINKED.findall(text) if int(number) != int(stem)]
    return wrong + NUMBERED.findall(LINKED.sub("", text))


@pytest.mark.parametrize("path", [*PAGES, *(f"chapters/{path.name}" for path in sorted(ROOT.glob("chapters/*.ipynb")))])
def test_where_a_chapter_is_named_by_its_number_it_is_linked(path):
    text = (ROOT / path).read_text(encoding="utf8")
    if path.endswith(".ipynb"):
        cells = json.loads(text)["cells"]
        captions = [cell["metadata"].get("mystnb", {}).get("figure", {}).get("caption", "") for cell in cells]
        text = "\n".join([*("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"), *captions])
    assert not typed_numbers(text), f"{path}: write [chapter {typed_numbers(text)[0]}](its notebook)"


def test_a_number_without_a_link_or_with_a_wrong_one_is_found():
    right = "as [chapter 4](04-vanishing-gradients.ipynb) and [chapter 1](chapters/01-language-models.ipynb) say"
    assert typed_numbers(right) == []
    assert typed_numbers(f"{right}, or chapter\n2, or [chapter 7](08-fair-comparisons.ipynb)") == ["7", "2"]
