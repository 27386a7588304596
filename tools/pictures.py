"""Put into the copy of a notebook what its page shows in place of a kernel's pictures: figures as SVG, and explorers.

An explorer of a page is a range input over frames, which `_static/explorers.js` links. The frames are files beside the
page: the one at which the slider starts is shown before any script runs and in print, the others are loaded when the
explorer comes near. Where a cell saves a figure and shows an explorer, the explorer takes the figure's place. So does a
demonstration, which has the figure as its picture.
"""

import ast
import json
import re
import shutil
from collections.abc import Iterator
from html import escape
from pathlib import Path

import nbformat

from notebooks import WIDGET
from unrolled.figures import explore

NO_FRAMES = "*The explorer is drawn when the book is built with `make book`, or when you run this cell.*"
DEMONSTRATION = '<figure class="demonstration"'  # as `unrolled.figures.live` begins one
READABLE = 10  # pixels, the height of the smallest letters on a phone
PIXELS = 4 / 3  # in a point
SIZE = re.compile(r'<svg [^>]*viewBox="0 0 ([\d.]+) ([\d.]+)"')
LETTERS = re.compile(r"scale\(([\d.]+) -[\d.]+\)")  # Matplotlib's outlines are 100 units to the size of a font
EXPLORER = """\
<div class="explorer">
<div class="explorer-controls" hidden>
<button type="button" aria-label="Play: {label}"></button>
<label>{label} <input type="range" min="0" max="{last}" value="{start}"></label>
<output>{value}</output>
</div>
<div class="explorer-frames picture" role="group" aria-label="{name}" tabindex="0">
{frames}
</div>
</div>"""
FRAME = '<img src="{source}" alt="{alt}" data-value="{value}" {shape} loading="lazy"{hidden}>'


def shape(svg: str) -> str:
    """Return the attributes with which a page shows one of the book's drawings, where it is an SVG of Matplotlib's.

    They are its size, which keeps the page from jumping while it loads, and in ``--readable`` the width below which
    letters would be smaller than `READABLE`.

    Raises:
        ValueError: it is no such drawing.
    """
    if not (size := SIZE.search(svg)):
        raise ValueError("a figure has no viewBox that begins at 0 0: was it drawn by Matplotlib?")
    width, height = (float(side) * PIXELS for side in size.groups())
    smallest = min((100 * float(letters) * PIXELS for letters in LETTERS.findall(svg)), default=READABLE)
    least = min(width, width * READABLE / smallest)
    return f'width="{width:.0f}" height="{height:.0f}" style="--readable: {least:.0f}px"'


def saved_names(source: str) -> list[str]:
    """Return the names that a cell's code passes to ``plots.save``, in order."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "plots.save":
            arguments = dict(zip(("figure", "name"), node.args, strict=False))
            arguments |= {keyword.arg: keyword.value for keyword in node.keywords}
            names.append(ast.literal_eval(arguments["name"]))
    return names


def labels(source: str) -> Iterator[str]:
    """Yield the labels of the explorers that a cell's code shows."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "explore.slider":
            (label,) = (keyword.value for keyword in node.keywords if keyword.arg == "label")
            yield ast.literal_eval(label)


def explorer(folder: Path, address: str, alt: str | None) -> str:
    """Return an explorer as a page has it.

    Args:
        folder: where `unrolled.figures.explore` has saved it.
        address: of the folder with its frames, as seen from the page.
        alt: what its pictures show, for those who do not see them; None for the slider's label.
    """
    saved = json.loads((folder / explore.LISTED).read_text(encoding="utf8"))
    frames = []
    for number, value in enumerate(saved["values"]):
        shown, svg = escape(f"{saved['label']}: {value}"), (folder / f"{number}.svg").read_text(encoding="utf8")
        source, hidden = f"{address}/{number}.svg", " hidden" if number != saved["start"] else ""
        frames.append(FRAME.format(source=source, alt=shown, value=escape(value), shape=shape(svg), hidden=hidden))
    start, label = saved["start"], escape(saved["label"])
    first = {"start": start, "value": escape(saved["values"][start]), "last": len(frames) - 1}
    return EXPLORER.format(label=label, name=escape(alt or saved["label"]), **first, frames="\n".join(frames))


def demonstrated(page: str, name: str, svg: str, address: str, alt: str) -> str:
    """Return a demonstration with the figure that its cell saves as its picture, for print and without scripts."""
    opening, rest = page.split("\n", 1)
    return f'{opening}\n<img src="{address}/{name}.svg" alt="{escape(alt)}" {shape(svg)}>\n{rest}'


def on_page(notebook: nbformat.NotebookNode, name: str, drawn: Path, explorers: Path, site: Path) -> None:
    """Replace in a chapter the pictures of saved figures, and the views of widgets.

    Args:
        notebook: the chapter with its outputs.
        name: of its page, as ``"chapters/08-fair-comparisons"``.
        drawn: the folder with its figures.
        explorers: the folder with its explorers, which need not be there.
        site: the folder with what the site serves beside its pages; the explorers' frames are put there.

    Raises:
        ValueError: a cell shows a view of a widget that is no explorer.
    """
    saved = {json.loads(each.read_text("utf8"))["label"]: each.parent for each in explorers.glob(f"*/{explore.LISTED}")}
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        figures, label = saved_names(cell.source), next(labels(cell.source), None)
        folder, outputs = saved.get(label), []
        alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt")
        live = figures and any(DEMONSTRATION in output.get("data", {}).get("text/html", "") for output in cell.outputs)
        for output in cell.outputs:
            data = output.get("data", {})
            if WIDGET in data and label is None:
                raise ValueError(f"{name} shows a widget that explore.slider did not make: pages have no kernel")
            if "image/png" in data and figures:
                if folder or live:
                    continue
                svg = (drawn / f"{figures[0]}.svg").read_text(encoding="utf8")
                output.data = nbformat.from_dict({"image/svg+xml": svg})
            elif WIDGET in data and folder:
                place = Path("explorers") / Path(name).name / folder.name
                shutil.copytree(folder, site / place, ignore=shutil.ignore_patterns(explore.LISTED))
                page = explorer(folder, f"{'../' * name.count('/')}{place.as_posix()}", alt)
                output.data = nbformat.from_dict({"text/html": page})
            elif WIDGET in data:
                if figures:
                    continue
                output.data = nbformat.from_dict({"text/markdown": NO_FRAMES})
            elif live and DEMONSTRATION in data.get("text/html", ""):
                svg = (drawn / f"{figures[0]}.svg").read_text(encoding="utf8")
                place = Path("explorers") / Path(name).name
                (site / place).mkdir(parents=True, exist_ok=True)
                (site / place / f"{figures[0]}.svg").write_text(svg, encoding="utf8")
                address = f"{'../' * name.count('/')}{place.as_posix()}"
                page = demonstrated("".join(data["text/html"]), figures[0], svg, address, alt or figures[0])
                output.data = nbformat.from_dict({"text/html": page})
            outputs.append(output)
        cell.outputs = outputs
