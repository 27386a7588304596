"""Make a deck of slides of each chapter, _build/slides/NN.html, out of the stored chapter and its exercises.

``make slides`` calls it. A deck asks what the chapter asks: its running question; in each section that has one the
question before a figure, then the figure with its message; the step by hand; the table at the end; two exercises. What
the chapter says about a figure, and what students get wrong, stands in the speaker's notes. Nothing is executed.
"""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import nbformat
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

import exercises
import formulas
from book import BUILD
from extensions.gallery import Figure, figure, title
from notebooks import ROOT, chapters
from vendor import SLIDES, VendorError, fetch

CLOSING = "## What we know now"
ASKS = re.compile(r"\?[*_)]*$|\bguess\b", re.IGNORECASE)
EXPECTS = re.compile(r"\b(guess|expect|will|would)\b", re.IGNORECASE)
MOVES = re.compile(r"\bslider\b|\bon the page\b|\bpress\b", re.IGNORECASE)  # what only a page can do
BY_HAND = re.compile(r"(?<!set )\bby hand\b|\bpencil\b", re.IGNORECASE)
MISTAKE = re.compile(r"### MISTAKE \(([^)]+)\)")
SENTENCES = re.compile(r"(?<=[.?!])\s+|(?<=[.?!][*)])\s+|(?<=[.?!]\*\*)\s+")
ROLES = (
    (re.compile(r"\s*\{cite\}`[^`]+`"), lambda role: ""),
    (re.compile(r"\{cite:t\}`([^`,]+)[^`]*`"), lambda role: formulas.cited(role[1])),
    (re.compile(r"\{eq\}`([^`]+)`"), lambda role: f"({formulas.equation(role[1]).number})"),
    (re.compile(r"\s*\(?\{numref\}`[^`]+`\)?"), lambda role: " the figure" if "(" not in role[0] else ""),
    (
        re.compile(r"\{doc\}`(?:\.\./chapters/)?(\d\d-[^`]+)`"),
        lambda role: title(ROOT / "chapters" / f"{role[1]}.ipynb"),
    ),
    (re.compile(r"\{\w+\}`(?:([^`<]+?) <[^`]+>|[^`]*?([^`/]+))`"), lambda role: role[1] or role[2]),
    (re.compile(r"(\$\$[^$]+\$\$) \(eq-[\w-]+\)"), lambda role: role[1]),
    (re.compile(r"\[([^\]]+)\]\([^)\s]+\)"), lambda role: role[1]),
    (re.compile(r"\((\(\d+\.\d+\))\)"), lambda role: role[1]),  # a number in parentheses has had its own
)
MARKDOWN = MarkdownIt("commonmark").enable("table")
MARKDOWN.use(dollarmath_plugin, allow_space=False, double_inline=True)
MARKDOWN.add_render_rule("math_inline", lambda _, tokens, at, *rest: rf"\({escape(tokens[at].content)}\)")
MARKDOWN.add_render_rule("math_inline_double", lambda _, tokens, at, *rest: rf"\[{escape(tokens[at].content)}\]")
MARKDOWN.add_render_rule("math_block", lambda _, tokens, at, *rest: rf"<p>\[{escape(tokens[at].content)}\]</p>")
KEYS = """<p>S opens the speaker's notes, F fills the screen, Esc shows all slides. To print, add
<code>?print-pdf</code> to a deck's address, or <code>?print-pdf&amp;showNotes=separate-page</code> for the notes,
too.</p>"""
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<link rel="stylesheet" href="reveal/reveal.css">
<link rel="stylesheet" href="slides.css">
</head>
<body class="sizing">
{body}
</body>
</html>
"""
DECK = """<div class="reveal"><div class="slides">
{slides}
</div></div>
<script>MathJax = {{ chtml: {{ matchFontHeight: false }}, options: {{ enableMenu: false }} }};</script>
<script src="mathjax/es5/tex-mml-chtml.js"></script>
<script src="reveal/reveal.js"></script>
<script src="reveal/notes.js"></script>
<script src="slides.js"></script>"""


@dataclass(frozen=True)
class Slide:
    """One slide.

    Attributes:
        kind: what it is for, as ``"guess"``; the style sheet knows it.
        head: its heading, in Markdown.
        body: what stands below, in HTML.
        above: a few words above the heading, in Markdown.
        notes: paragraphs for the speaker, in Markdown.
    """

    kind: str
    head: str
    body: str = ""
    above: str = ""
    notes: list[str] = field(default_factory=list)

    def html(self) -> str:
        """Return the slide as HTML."""
        above = f'<p class="above">{inline(self.above)}</p>' if self.above else ""
        notes = "".join(map(html, filter(None, self.notes)))
        parts = [f"<h2>{inline(self.head)}</h2>", self.body]
        inside = above + "".join(parts[::-1] if self.kind == "guess" else parts)
        aside = f'<aside class="notes">{notes}</aside>'
        return f'<section class="{self.kind}"><div class="slide">{inside}</div>{aside}</section>'


def plain(text: str) -> str:
    """Return Markdown without roles and links: a slide leads nowhere."""
    for pattern, made in ROLES:
        text = pattern.sub(made, text)
    return text


def html(text: str) -> str:
    """Return Markdown as HTML."""
    return MARKDOWN.render(plain(text))


def inline(text: str) -> str:
    """Return a line of Markdown as HTML, without a paragraph around it."""
    return MARKDOWN.renderInline(plain(text))


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a Markdown cell, headings among them."""
    return [part for part in re.split(r"\n\s*\n", text) if part.strip()]


def sentences(text: str) -> list[str]:
    """Return the sentences of a paragraph."""
    return SENTENCES.split(" ".join(text.split()))


def is_text(cell: nbformat.NotebookNode) -> bool:
    """Tell whether a cell holds Markdown."""
    return cell.cell_type == "markdown"


def shown(cell: nbformat.NotebookNode) -> str:
    """Return the tables that a code cell displays, as HTML."""
    found = [output.data["text/html"] for output in cell.get("outputs", []) if "text/html" in output.get("data", {})]
    return "\n".join(table for table in found if table.startswith("<table"))


def showing(drawn: Figure, above: str, *notes: str) -> Slide:
    """Return the slide of a figure: its message, the picture, and the rest of its caption below."""
    rest = " ".join(part for part in sentences(drawn.caption)[1:] if not MOVES.search(part))
    image = f'<img src="figures/{drawn.name}.svg" alt="{escape(plain(drawn.alt))}">'
    body = f"<figure>{image}<figcaption>{inline(rest)}</figcaption></figure>"
    return Slide("figure", drawn.message, body, above, [f"What it shows: {drawn.alt}", *notes])


def after(cells: list[nbformat.NotebookNode], at: int) -> list[str]:
    """Return what the text says directly after a cell: its next paragraph, if there is one."""
    return [paragraphs(cell.source)[0] for cell in cells[at + 1 : at + 2] if is_text(cell)]


def leading(parts: list[str], at: int) -> list[str]:
    """Return the paragraphs before one, as far as its heading, that it needs: it is short, or goes on from them."""
    start = at
    while start and not parts[start - 1].startswith("#"):
        if len(" ".join(parts[start : at + 1]).split()) > 40 and not re.match(r"[a-z$|]", parts[start]):
            break
        start -= 1
    return parts[start:at]


def question(cell: nbformat.NotebookNode) -> tuple[str, str] | None:
    """Return the question with which a Markdown cell ends, and what stands before it; None if it ends otherwise."""
    parts = [part for part in paragraphs(cell.source) if not part.startswith("```")]
    asks = [part for part in sentences(parts[-1]) if not MOVES.search(part)]
    if parts[-1].startswith("#") or not ASKS.search(asks[-1]):
        return None
    questions = [at for at, part in enumerate(asks) if part.rstrip("*_)").endswith("?")]
    first = max(questions, default=len(asks) - 1)
    while first - 1 in questions:
        first -= 1
    before = [*leading(parts, len(parts) - 1), " ".join(asks[:first])]
    return " ".join(asks[first:]), "\n\n".join(before)


def guesses(cells: list[nbformat.NotebookNode], but: str) -> Iterator[tuple[int, list[Slide]]]:
    """Yield a question and its figure for each section that has them, with the figure's place among the cells.

    Args:
        cells: the chapter's.
        but: the name of a figure that stands on another slide.
    """
    section, asked, found = "", None, {}
    for at, cell in enumerate(cells):
        if is_text(cell):
            section = ([section] + re.findall(r"^##+ (.+)$", cell.source, re.MULTILINE))[-1]
            asked = question(cell)
        elif drawn := figure(cell):
            if asked and drawn.name != but:
                guess = Slide("guess", asked[0], html(asked[1]), section, [f"Let them guess. Then: {drawn.message}"])
                found.setdefault(section, []).append((at, [guess, showing(drawn, section, *after(cells, at))]))
            asked = None
        elif cell.outputs:
            asked = None
    for pairs in found.values():
        yield max(pairs, key=lambda pair: bool(EXPECTS.search(pair[1][0].head)))


def by_hand(cells: list[nbformat.NotebookNode]) -> tuple[int, list[Slide], str]:
    """Return the step that is taken by hand: the section whose heading says so, or else the first paragraph that does.

    Returns its place among the cells, the slides from its task to what comes out, and the name of a figure that does.
    """
    texts = [(at, paragraphs(cell.source)) for at, cell in enumerate(cells) if is_text(cell)]
    places = [(at, n, parts) for at, parts in texts for n, part in enumerate(parts) if BY_HAND.search(part)]
    heads = [place for place in places if place[2][place[1]].startswith("#")]
    at, n, parts = (heads or places)[0]
    if heads:
        task = parts[n + 1 :]
    else:
        tables = [number for number in range(n) if parts[number].startswith("|")]
        given = parts[tables[-1] - 1 : tables[-1] + 1] if tables else leading(parts, n)
        task = [*given, parts[n], *(part for part in parts[n + 1 : n + 2] if part.startswith("$$"))]
    needed = re.findall(r"\{numref\}`(fig-[\w-]+)`", "".join(task))
    slides = [showing(drawn, "By hand") for drawn in map(figure, cells[:at]) if drawn and drawn.label in needed]
    steps = [html("\n\n".join(task))]
    for here, cell in enumerate(cells[at + 1 :], start=at + 1):
        drawn, folded = figure(cell), "hide-input" in cell.metadata.get("tags", [])
        comes = drawn or shown(cell)
        if is_text(cell):
            steps.append(html(cell.source))
        elif heads and not folded and not (comes and "<pre>" in "".join(steps)):
            code = re.sub(r"\n{3,}", "\n\n", cell.source)
            steps.append(f"<pre><code>{escape(code)}</code></pre>")
        if comes:
            slides.append(Slide("hand", "By hand", "".join(steps), notes=["Let them take a pencil; then go on."]))
            said = after(cells, here)
            if drawn:
                return at, [*slides, showing(drawn, "By hand", *said)], drawn.name
            return at, [*slides, Slide("table", "What comes out", comes, "By hand", ["Who has the same?", *said])], ""
    raise ValueError("what is taken by hand comes to no table and no figure")


def closing(cells: list[nbformat.NotebookNode], wrong: list[str]) -> Slide:
    """Return the chapter's last section: its table, and in the notes what to believe, and what students get wrong."""
    at = next(at for at, cell in enumerate(cells) if is_text(cell) and CLOSING in cell.source)
    asked = cells[at].source.split(CLOSING)[1]
    table = next(number for number in range(at + 1, len(cells)) if not is_text(cells[number]) and shown(cells[number]))
    believe = [cell.source for cell in cells[table + 1 : table + 2] if is_text(cell)]
    return Slide("table", CLOSING.strip("# "), html(asked) + shown(cells[table]), notes=[*believe, *wrong])


def mistakes(exercise: exercises.Exercise) -> str:
    """Return a sentence that names the mistakes planted in an exercise: what students get wrong."""
    names = MISTAKE.findall("\n".join(cell.source for cell in exercise.cells))
    return f"What students get wrong in exercise {exercise.number}: {'; '.join(dict.fromkeys(names))}."


def task(exercise: exercises.Exercise) -> Slide:
    """Return an exercise for the room, with its hints and its mistakes in the notes."""
    text, *hints = exercise.cells[0].source.split("<details>")
    text = exercises.HEADING.sub("", text).replace(formulas.FROM, "").replace(formulas.TO, "")
    hints = [re.sub(r"\s+", " ", re.sub(r"</?(details|summary)>", " ", hint)).strip() for hint in hints]
    about = f"Exercise {exercise.number}, {exercise.kind.lower()}, {exercise.minutes} minutes"
    return Slide("task", exercise.title, html(text), about, [*hints, mistakes(exercise)])


def deck(chapter: Path) -> list[Slide]:
    """Return the slides of a chapter."""
    cells = nbformat.read(chapter, as_version=4).cells
    parts = exercises.split(nbformat.read(ROOT / "solutions" / chapter.name, as_version=4))[1]
    opening = paragraphs(cells[0].source)
    able = [part for part in opening if part.startswith("- ")]
    first = Slide("opening", title(chapter), html(opening[1]), f"Unrolled, chapter {int(chapter.stem[:2])}", able)
    place, hand, name = by_hand(cells[1:])
    body = sorted([*guesses(cells[1:], but=name), (place, hand)], key=lambda part: part[0])
    last = closing(cells, [mistakes(part) for part in parts])
    quick = sorted(parts, key=lambda part: (part.minutes, len(part.cells[0].source)))[:2]
    return [first, *(slide for _, slides in body for slide in slides), last, *map(task, quick)]


def write(into: Path, scripts: tuple[Path, ...]) -> list[Path]:
    """Write the decks of all chapters into a folder, with an index and all that they load; return the decks.

    Args:
        into: the folder, which becomes what it would be if it were new.
        scripts: folders of what npm brought.
    """
    shutil.rmtree(into, ignore_errors=True)
    for folder in scripts:
        shutil.copytree(folder, into, dirs_exist_ok=True)
    shutil.copytree(ROOT / "figures", into / "figures", ignore=shutil.ignore_patterns("demonstrations", "*.md"))
    for suffix in (".css", ".js"):
        shutil.copy2(Path(__file__).with_suffix(suffix), into)
    decks = {into / f"{path.stem[:2]}.html": path for path in chapters()}
    for target, path in decks.items():
        slides = "\n".join(slide.html() for slide in deck(path))
        target.write_text(PAGE.format(title=title(path), body=DECK.format(slides=slides)), encoding="utf8")
    listed = "".join(f'<li><a href="{target.name}">{title(path)}</a></li>' for target, path in decks.items())
    index = f'<main class="index"><h1>Unrolled: slides</h1><ol>{listed}</ol>{KEYS}</main>'
    (into / "index.html").write_text(PAGE.format(title="Unrolled: slides", body=index), encoding="utf8")
    return list(decks)


def main() -> None:
    """Make the decks."""
    try:
        scripts = fetch(BUILD / "vendor"), fetch(BUILD / "vendor-slides", SLIDES)
    except VendorError as error:
        raise SystemExit(f"make slides needs npm, which brings reveal.js and MathJax once: {error}.") from None
    write(BUILD / "slides", scripts)
    print(f"The slides: {BUILD / 'slides' / 'index.html'}")


if __name__ == "__main__":
    main()
