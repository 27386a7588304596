"""A Sphinx extension: what the pages hold beyond what is written in them."""

import json
from functools import cache
from pathlib import Path

from sphinx.application import Sphinx


@cache
def cells(notebook: Path) -> list[dict]:
    """Return a notebook's cells, the source of each as one text."""
    read = json.loads(notebook.read_text(encoding="utf8"))["cells"]
    return [cell | {"source": "".join(cell["source"])} for cell in read]


def show(app: Sphinx, page: str, template: str, context: dict, document: object) -> None:
    """Give templates what they cannot know: how many exercises a notebook has, and whether npm brought anything."""
    table = Path(app.srcdir, "exercises", f"{Path(page).name[:2]}.md")
    context["exercises"] = table.read_text(encoding="utf8").count("\n|") - 1 if table.is_file() else 0
    context["vendored"] = Path(app.srcdir, "extra", "mathjax").is_dir()  # else no decks and no fonts


def setup(app: Sphinx) -> dict[str, bool]:
    """Register what the modules here make. An empty directive stands for text made from the folder of all sources."""
    from extensions import audit, docstrings, gallery, records, terms

    texts = {"gallery": gallery.cards, "questions": gallery.questions, "records": records.entries}
    texts |= {"audit-claims": audit.claims, "audit-exam": audit.exam}

    def fill(app: Sphinx, page: str, source: list[str]) -> None:
        for name, made in texts.items():
            if (directive := f"```{{{name}}}\n```\n") in source[0]:
                source[0] = source[0].replace(directive, made(Path(app.srcdir)))

    app.connect("source-read", fill)
    app.connect("html-page-context", show)
    app.add_post_transform(terms.FirstUses)
    app.connect("autodoc-skip-member", docstrings.skip)
    app.connect("autodoc-process-docstring", docstrings.process, priority=400)  # before Napoleon does
    app.connect("missing-reference", docstrings.resolve, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
