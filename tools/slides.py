"""Make a deck of slides of each chapter, slides/NN.html on the site, out of what is stored; nothing is executed.

A deck has the chapter's question; each figure under its message, after the question that the text asks before it; each
section's numbered equations; the answer at the end; and two exercises. What the chapter says about a figure, and hints,
stand in the speaker's notes.
"""

import re
import shutil
import string
from html import escape
from pathlib import Path

import nbformat
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

import exercises
import formulas
from extensions import cells
from extensions.gallery import figure, title
from notebooks import ROOT, chapters

BUILD = ROOT / "_build"
ROLES = (  # and links, as words: a slide leads nowhere
    (r"\s*\{cite\}`[^`]+`", ""),
    (r"\{cite:t\}`([^`,]+)[^`]*`", lambda role: formulas.cited(role[1])),
    (r"\{eq\}`([^`]+)`", lambda role: f"({formulas.equation(role[1]).number})"),
    (r"\s*\(\{numref\}`[^`]+`\)", ""),
    (r"\{numref\}`[^`]+`", "the figure"),
    (r"\{doc\}`(?:\.\./chapters/)?(\d\d-[^`]+)`", lambda role: title(ROOT / "chapters" / f"{role[1]}.ipynb")),
    (r"\{\w+\}`(?:([^`<]+?) <[^`]+>|[^`]*?([^`/]+))`", lambda role: role[1] or role[2]),
    (r"(\$\$[^$]+\$\$) \(eq-[\w-]+\)", r"\1"),
    (r"\[([^\]]+)\]\([^)\s]+\)", r"\1"),
    (r"\((\(\d+\.\d+\))\)", r"\1"),  # a number in parentheses has had its own
    (r"^(?:```|:::).*$", ""),
)
MARKDOWN = MarkdownIt("commonmark").enable("table").use(dollarmath_plugin, allow_space=False, double_inline=True)
for kind, form in (("inline", r"\({}\)"), ("inline_double", r"\[{}\]"), ("block", r"<p>\[{}\]</p>")):
    MARKDOWN.add_render_rule(f"math_{kind}", lambda _, ts, at, *rest, form=form: form.format(escape(ts[at].content)))
PAGE = string.Template(Path(__file__).with_suffix(".html").read_text(encoding="utf8"))


def html(text: str) -> str:
    """Return Markdown as HTML, without roles, links and folds."""
    for pattern, made in ROLES:
        text = re.sub(pattern, made, text, flags=re.MULTILINE)
    return MARKDOWN.render(text)


def slide(kind: str, head: str, body: str = "", above: str = "", notes: str = "") -> str:
    """Return a slide as HTML; head, above and notes are Markdown."""
    head, above = (html(part).removeprefix("<p>").removesuffix("</p>\n") for part in (head, above))
    inside = f'<div class="slide"><p class="above">{above}</p><h2>{head}</h2>{body}</div>'
    return f'<section class="{kind}">{inside}<aside class="notes">{html(notes)}</aside></section>'


def paragraphs(cell: dict | None) -> list[str]:
    """Return the paragraphs of a Markdown cell, headings among them; of another none."""
    return re.split(r"\n\s*\n", cell["source"].strip()) if cell and cell["cell_type"] == "markdown" else []


def deck(chapter: Path) -> list[str]:
    """Return the slides of a chapter."""
    every, above = cells(chapter), f"Unrolled, chapter {int(chapter.stem[:2])}"
    able = "\n".join(p for cell in every[:9] for p in paragraphs(cell) if p.startswith("- "))
    slides, tables = [slide("opening", title(chapter), html(paragraphs(every[0])[1]), above, able)], []
    section, said, written = "", "", []
    for before, cell, after in zip([None, *every], every, [*every[1:], None], strict=False):
        shown = ("".join(output.get("data", {}).get("text/html", "")) for output in cell.get("outputs", []))
        tables += [output for output in shown if "<table" in output]
        if cell["cell_type"] == "markdown":
            _, *parts = re.split(r"^## (?!Exercises)(.+)\n", cell["source"], flags=re.MULTILINE)
            section, said, tables = (*parts[-2:], []) if parts else (section, said, tables)
            found = formulas.NUMBERED.findall(cell["source"])
            written += [html(f"$$ {tex} \\tag{{{formulas.equation(label).number}}} $$") for tex, label in found]
        while written and any(p.startswith("## ") for p in paragraphs(after)):  # the section's end
            slides.append(slide("equations", section, "".join(written[:3]), above))
            del written[:3]
        if not (drawn := figure(cell)):
            continue
        if "?" in (asked := (paragraphs(before) or [""])[-1]) and not asked.startswith(("#", "```")):
            hidden = f"Let them guess. Then: {drawn.message}"
            short = asked if len(asked.split()) < 46 else " ".join(re.split(r"(?<=[.?!])\s+", asked)[-2:])
            slides.append(slide("guess", "Before you look", html(short), above, f"{asked}\n\n{hidden}"))
        image = f'<img src="figures/{drawn.name}.svg" alt="{escape(drawn.alt)}">'
        body = f"<figure>{image}<figcaption>{html(drawn.caption.removeprefix(drawn.message))}</figcaption></figure>"
        slides.append(slide("figure", drawn.message, body, above, "\n\n".join([drawn.alt, *paragraphs(after)[:1]])))
    said = re.findall(r"^\|[\s\S]+?\n\n", said, re.MULTILINE) or said.strip().split("\n\n")[:2]
    ending = tables[-1] if tables else html("\n\n".join(said))
    slides.append(slide("table", section, ending, above, every[-1]["source"]))
    parts = exercises.split(nbformat.read(ROOT / "solutions" / chapter.name, as_version=4))[1]
    for part in sorted(parts, key=lambda part: (part.minutes, len(part.cells[0].source)))[:2]:
        text, *hints = re.sub(r"</?(?:summary|/details)>", "", part.cells[0].source).split("<details>")
        about = f"Exercise {part.number}, {part.kind.lower()}, {part.minutes} minutes"
        slides.append(slide("task", part.title, html(exercises.HEADING.sub("", text)), about, "\n\n".join(hints)))
    return slides


def write(into: Path, scripts: tuple[Path, ...]) -> list[Path]:
    """Write the decks into a folder, made anew, with all that they load, and return them."""
    shutil.rmtree(into, ignore_errors=True)
    for folder in (*scripts, ROOT / "figures"):
        shutil.copytree(folder, into / (folder.name if folder.name == "figures" else ""), dirs_exist_ok=True)
    shutil.copy2(Path(__file__).with_suffix(".css"), into)
    decks = {into / f"{path.stem[:2]}.html": path for path in chapters("[0-9]")}
    for target, path in decks.items():
        target.write_text(PAGE.substitute(title=title(path), slides="\n".join(deck(path))), encoding="utf8")
    return list(decks)
