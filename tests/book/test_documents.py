"""The documents say what is so: commands exist, paths exist, answers are right, sources are complete."""

import io
import json
import math
import re
import shlex
import tomllib
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest

import book
from places import ROOT
from unrolled import __version__

pytestmark = pytest.mark.book

DOCUMENTS = (
    *("README.md", "CONTRIBUTING.md", "pages/running.md", "pages/teaching.md"),  # these name commands
    *("CHANGELOG.md", "LICENSE-TEXT.md", "intro.md"),
)
MADE_LATER = {".venv", "_build/html", "_build/html/index.html", ".venv/bin/activate"}
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
    from unrolled.__main__ import parser

    commands = [span for span in spans(read(document)) if span.startswith("python -m unrolled")]
    assert commands
    for command in commands:
        parser().parse_args(shlex.split(command)[3:])  # exits where it is not one


def test_citation_package_and_changelog_agree():
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with the tools that build the book")
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
    return [found[0] for found in AMERICAN.finditer(prose)]


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
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with the tools that build the book")
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


# The bibliography

NEEDED = {
    "article": {"title", "journal", "volume", "pages", "year"},
    "inproceedings": {"title", "booktitle", "year"},
    "book": {"title", "publisher", "year"},
    "misc": {"title", "year"},
}
ANCHORED = {
    *("Elman1990", "Bengio1994", "Bengio2003", "HochreiterSchmidhuber1997", "Gers2000", "KneserNey1995"),
    *("ChenGoodman1999", "Mikolov2010", "Pascanu2013", "Cho2014", "Chung2014", "Zaremba2014", "Le2015"),
}


@pytest.fixture(scope="module")
def works():
    pybtex = pytest.importorskip("pybtex.database", reason="pybtex comes with the tools that build the book")
    return pybtex.parse_string(read("references.bib"), "bibtex").entries  # a key given twice raises


def test_bibliography_is_sorted_and_has_the_works_the_book_stands_on(works):
    assert list(works) == sorted(works)
    assert set(works) >= ANCHORED


def test_every_work_is_complete(works):
    for key, work in works.items():
        lacking = NEEDED[work.type] - set(work.fields)
        assert not lacking, f"{key} lacks {sorted(lacking)}"
        assert {"doi", "url", "eprint"} & set(work.fields), f"{key} cannot be found: it has no doi, url or eprint"
        assert work.persons["author"], f"{key} has no author"
        if "pages" in work.fields:
            first, last = map(int, work.fields["pages"].split("--"))
            assert first < last, f"{key}: pages {first} to {last}"


def test_proceedings_of_one_series_are_given_alike(works):
    for key, work in works.items():
        where = work.fields.get("booktitle", "")
        if "International Conference on Machine Learning" in where or "Artificial Intelligence and Statistics" in where:
            assert work.fields["series"] == "Proceedings of Machine Learning Research", key
            assert {"volume", "pages"} <= set(work.fields), f"{key} lacks its volume or its pages"
        if "Advances in Neural" in where or "Association for Computational Linguistics" in where:
            assert "pages" in work.fields, f"{key} lacks its pages"
        if "Learning Representations" in where:
            assert where == "International Conference on Learning Representations ({ICLR})" and "eprint" in work.fields


def cited() -> set[str]:
    """Return the keys of all works that a page of the book cites."""
    pages = [page for name in book.pages(book.contents(student=False)) for page in ROOT.glob(f"{name}.*")]
    roles = re.findall(r"\{cite(?::\w+)?\}`([^`]+)`", "\n".join(page.read_text(encoding="utf8") for page in pages))
    return {key.strip() for role in roles for key in role.split(",")}


def test_every_work_is_cited_and_every_work_cited_is_there(works):
    assert set(works) == cited()


def test_every_key_is_its_authors_and_its_year(works):
    plain = str.maketrans("", "", "{}\\'\"^~ ")
    for key, work in works.items():
        authors = ["".join(person.last_names).translate(plain) for person in work.persons["author"]]
        names = {authors[0], "".join(authors[:2])}
        assert key in {name + work.fields["year"] for name in names}, key


# The self-test


@pytest.fixture(scope="module")
def self_test():
    """Return question and answer of each part of the self-test, white space levelled."""
    parts = re.split(r"^### \d+ · .*$", read("pages/prerequisites.md"), flags=re.MULTILINE)[1:]
    return [re.split(r"```\{dropdown\} Answer\n", part) for part in parts]


def answer(self_test, number: int) -> str:
    return " ".join(self_test[number - 1][1].split())


def printed(self_test, number: int) -> str:
    """Return what the code of a question prints."""
    code = re.search(r"```python\n(.*?)```", self_test[number - 1][0], re.DOTALL)[1]
    output = io.StringIO()
    with redirect_stdout(output):
        exec(code, {})
    return output.getvalue().strip()


def test_every_question_has_one_answer(self_test):
    assert len(self_test) == 13 and "\nThirteen questions," in read("pages/prerequisites.md")
    assert all(len(part) == 2 for part in self_test)


def test_answer_1_shapes(self_test):
    x = np.ones((5, 2))
    W = np.array([[1, 2], [0, -1], [3, 1]])
    said = answer(self_test, 1)
    assert said.startswith("`x @ W.T`")
    assert f"`W` has shape `{W.shape}`" in said and f"is `{(x @ W.T).shape}`" in said
    assert str(tuple((W @ [2, 1]).tolist())) in said


def test_answer_2_powers(self_test):
    turn = np.array([[1, 1], [1, -1]]) / math.sqrt(2)
    A = turn @ np.diag([0.5, 2.0]) @ turn.T
    small, large = np.diag(turn.T @ np.linalg.matrix_power(A, 10) @ turn)
    assert small == pytest.approx(1 / 1024) and large == pytest.approx(1024)
    assert "= 1/1024$" in answer(self_test, 2) and "= 1024$" in answer(self_test, 2)
    assert large / small == pytest.approx(1e6, rel=0.05) and "about a million times" in answer(self_test, 2)


def test_answer_3_norm_and_eigenvalue(self_test):
    A = np.array([[0, 2], [0, 0]])
    said = answer(self_test, 3)
    assert not np.linalg.eigvals(A).any() and said.startswith("Both eigenvalues are 0.")
    assert np.linalg.svd(A)[1].tolist() == [2, 0] and "are 2 and 0." in said
    assert (A @ [0, 1]).tolist() == [2, 0] and r"$(0, 1)^\top$ becomes $(2, 0)^\top$" in said
    assert not (A @ A).any() and r"$\mathbf{A}^2 = \mathbf{0}$" in said


def test_answer_4_chain_rule(self_test):
    w, x, step = 0.5, 2.0, 1e-6
    slope = (math.tanh((w + step) * x) - math.tanh((w - step) * x)) / (2 * step)
    assert slope == pytest.approx(x * (1 - math.tanh(w * x) ** 2))
    said = answer(self_test, 4)
    assert rf"\approx {slope:.3f}$" in said
    x = 3
    through_u, through_v = x**2 * 2, 2 * x * 2 * x
    assert f"= {through_u}$, through $v$" in said and f"= {through_v}$." in said
    assert f"Together they are {through_u + through_v}" in said and f"= {6 * x**2}$" in said


def test_answers_5_6_and_13_are_what_the_code_prints(self_test):
    first, second = printed(self_test, 5).splitlines()
    assert answer(self_test, 5).startswith(f"{first} and {second}.") and f"$f'(2) = {float(first):g}$" in answer(
        self_test, 5
    )
    first, second = printed(self_test, 6).splitlines()
    assert answer(self_test, 6).startswith(f"`{first}`, the derivative of question 4, and `{second}`.")
    assert answer(self_test, 13).startswith(f"`{printed(self_test, 13)}`.")


def test_answer_7_cost(self_test):
    p = np.array([1 / 2, 1 / 4, 1 / 8])
    nats = -np.log(p).mean()
    said = answer(self_test, 7)
    assert f"$1/{1 / p.prod():.0f}$" in said
    assert nats == pytest.approx(2 * math.log(2)) and rf"\approx {nats:.3f}$ nats" in said
    assert f"exactly {nats / math.log(2):g} bits" in said
    assert f"= {math.exp(nats):g}$" in said


def test_answer_8_halves(self_test):
    whole = math.exp((math.log(2) + math.log(8)) / 2)
    assert answer(self_test, 8).startswith(f"{whole:.0f}, and not {(2 + 8) / 2:.0f}.")


def test_answer_9_entropy(self_test):
    p = np.array([1 / 2, 1 / 4, 1 / 4])
    assert f"= {-(p * np.log2(p)).sum():g}$ bits" in answer(self_test, 9)
    assert rf"\approx {-(p * np.log2(np.full(3, 1 / 3))).sum():.3f}$ bits" in answer(self_test, 9)


def test_answer_10_softmax(self_test):
    def softmax(scores):
        powers = np.exp(scores)
        return powers / powers.sum()

    scores = np.array([0, math.log(2), math.log(5)])
    result = softmax(scores)
    assert np.allclose(result, softmax(scores + 100))
    assert str(tuple(result.round(3).tolist())) in answer(self_test, 10)


def test_answer_11_seeds(self_test):
    seeds = np.array([1.58, 1.60, 1.62])
    said = answer(self_test, 11)
    assert f"The mean is {seeds.mean():.2f}," in said
    assert f"is {seeds.std(ddof=1):.2f}:" in said and rf"${seeds.mean():.2f} \pm {seeds.std(ddof=1):.2f}$" in said


def test_answer_12_gradients(self_test):
    assert answer(self_test, 12).startswith(f"{printed(self_test, 12)}. The derivative")


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
BACK = ("prerequisites", "notation", "protocol", "playground", "capstone", "running")
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
