"""The documents say what is so: commands and paths exist, versions agree, numbers of chapters are links."""

import json
import re
import tomllib

import pytest
import yaml

from places import ROOT
from unrolled import __version__

pytestmark = pytest.mark.book
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "pages/running.md", "pages/teaching.md", "CHANGELOG.md", "intro.md")
MADE_LATER = {".venv", ".venv/Scripts/python", ".venv/bin/activate", "my.txt", "another.txt", "runs/my", "runs/long"}
OF_A_COURSE = re.compile(
    r"(\.\./handed-in|source|release|submitted|feedback|_build)(/|$)|ada\.ipynb|nbgrader_config\.py"
)
PATHLIKE = re.compile(r"[\w.-]*/[\w./-]*|\.?[\w-]+\.(?:md|toml|txt|py|yml|cff|bib|ipynb)|\.venv")


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf8")


def spans(text: str) -> list[str]:
    """Return the code in a page: inline spans and the lines of fenced blocks that are no directives."""
    blocks = re.findall(r"^```([^\n]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    fenced = [block for language, block in blocks if not language.startswith("{")]
    inline = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))
    return inline + [line.split(" #")[0].strip() for block in fenced for line in block.splitlines()]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_path_and_every_make_command_in_a_document_is_there(document):
    text = read(document)
    words = [word.removeprefix("../unrolled/") for span in spans(text) for word in span.split()]
    paths = {word for word in words if PATHLIKE.fullmatch(word) and not OF_A_COURSE.match(word)} - MADE_LATER
    links = [target for target in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in target]
    history = document == "CHANGELOG.md"  # it also names what is no longer there
    assert [path for path in paths if not history and not (ROOT / path).exists()] == []
    assert [path for path in links if not (ROOT / document).parent.joinpath(path).exists()] == []
    named = {target[1] for span in spans(text) if (target := re.match(r"make ([a-z]+)", span))}
    assert named <= set(re.findall(r"^([a-z]+):", read("Makefile"), re.MULTILINE)) or history


def test_contributing_is_short():
    assert len(read("CONTRIBUTING.md")) <= 7_000


def test_citation_package_and_changelog_agree():
    citation = yaml.safe_load(read("CITATION.cff"))
    project = tomllib.loads(read("pyproject.toml"))["project"]
    assert citation["version"] == project["version"] == __version__
    assert [author["name"] for author in citation["authors"]] == [author["name"] for author in project["authors"]]
    assert citation["license"] == [project["license"], "CC-BY-4.0"]
    assert citation["repository-code"] == project["urls"]["Repository"]
    assert citation["url"] == project["urls"]["Documentation"]
    dated = re.search(rf"^## \[{re.escape(__version__)}\] - (.+)$", read("CHANGELOG.md"), re.MULTILINE)[1]
    assert str(citation.get("date-released", "unreleased")) == dated


def test_what_runs_the_projects_code_can_write_nothing_and_actions_are_pinned():
    for path in ROOT.glob(".github/workflows/*.yml"):
        workflow = yaml.safe_load(path.read_text("utf8"))
        for job in workflow["jobs"].values():
            if any("run" in step for step in job["steps"]):
                assert job.get("permissions", workflow["permissions"]) == {"contents": "read"}, path.name
        uses = re.findall(r"uses: (.*)", path.read_text("utf8"))
        assert uses and all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use) for use in uses)


def test_every_equation_that_a_docstring_names_is_in_a_chapter():
    chapters = "".join(path.read_text(encoding="utf8") for path in sorted(ROOT.glob("chapters/*.ipynb")))
    there = set(re.findall(r"\$\$ ?\((eq-[\w-]+)\)", chapters))
    for path in sorted(ROOT.glob("lib/unrolled/**/*.py")):
        named = set(re.findall(r":eq:`(eq-[\w-]+)`", path.read_text(encoding="utf8")))
        assert not named - there, f"{path.relative_to(ROOT)} names {', '.join(sorted(named - there))}: in no chapter"


LINKED = re.compile(r"\[[Cc]hapter\s+(\d+)\]\((?:(?:\.\./)?chapters/)?(\d\d)-[\w-]+\.ipynb\)")
BACK = ("prerequisites", "notation", "protocol", "knobs", "playground", "capstone", "running")


@pytest.mark.parametrize(
    "path", ["intro.md", *(f"pages/{name}.md" for name in BACK), *sorted(ROOT.glob("chapters/*.ipynb"))]
)
def test_where_a_chapter_is_named_by_its_number_it_is_linked(path):
    text = (ROOT / path).read_text(encoding="utf8")
    if str(path).endswith(".ipynb"):
        text = "\n".join(
            "".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"
        )
    assert [number for number, stem in LINKED.findall(text) if int(number) != int(stem)] == []
    assert re.findall(r"\b[Cc]hapter\s+(\d+)", LINKED.sub("", text)) == []
