"""Put into the copy of a notebook what its page shows in place of a kernel's pictures: figures as SVG, and explorers.

An explorer of a page is a range input over frames, which `_static/explorers.js` links. The frames are files beside the
page: the one at which the slider starts is shown before any script runs and in print. Where a cell saves a figure and
shows an explorer or a demonstration, that takes the figure's place; a demonstration has the figure as its picture.
"""

import ast
import json
import re
import shutil
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
<label>{label} <input type="range" min="0" max="{last}" value="{start}"></label>
<output>{value}</output>
</div>
<div class="explorer-frames picture" role="group" aria-label="{name}" tabindex="0">
{frames}
</div>
</div>"""
FRAME = '<img src="{source}" alt="{label}: {value}" data-value="{value}" {shape} loading="lazy"{hidden}>'


def shape(svg: str) -> str:
    """Return the attributes with which a page shows one of the book's drawings, where it is an SVG of Matplotlib's.

    They are its size, which keeps the page from jumping while it loads, and in ``--readable`` the width below which
    letters would be smaller than `READABLE`.
    """
    width, height = (float(side) * PIXELS for side in SIZE.search(svg).groups())
    smallest = min((100 * float(letters) * PIXELS for letters in LETTERS.findall(svg)), default=READABLE)
    least = min(width, width * READABLE / smallest)
    return f'width="{width:.0f}" height="{height:.0f}" style="--readable: {least:.0f}px"'


def _arguments(source: str, function: str, name: str) -> list[str]:
    """Return the second argument, called `name`, of each call of a function in a cell's code, in order."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    calls = [call for call in calls if ast.unparse(call.func) == function]
    by_name = [{keyword.arg: keyword.value for keyword in call.keywords}.get(name) for call in calls]
    return [ast.literal_eval(given or call.args[1]) for given, call in zip(by_name, calls, strict=True)]


def saved_names(source: str) -> list[str]:
    """Return the names that a cell's code passes to ``charts.save``, in order."""
    return _arguments(source, "charts.save", "name")


def labels(source: str) -> list[str]:
    """Return the labels of the explorers that a cell's code shows."""
    return _arguments(source, "explore.slider", "label")


def explorer(folder: Path, address: str, alt: str | None) -> str:
    """Return an explorer as a page has it.

    Args:
        folder: where `unrolled.figures.explore` has saved it.
        address: of the folder with its frames, as seen from the page.
        alt: what its pictures show, for those who do not see them; None for the slider's label.
    """
    saved = json.loads((folder / explore.LISTED).read_text(encoding="utf8"))
    start, label, values, frames = saved["start"], escape(saved["label"]), [*map(escape, saved["values"])], []
    for number, value in enumerate(values):
        look = {"shape": shape((folder / f"{number}.svg").read_text("utf8")), "hidden": " hidden" * (number != start)}
        frames.append(FRAME.format(source=f"{address}/{number}.svg", label=label, value=value, **look))
    first = {"start": start, "value": values[start], "last": len(values) - 1, "frames": "\n".join(frames)}
    return EXPLORER.format(label=label, name=escape(alt or saved["label"]), **first)


def on_page(notebook: nbformat.NotebookNode, name: str, drawn: Path, explorers: Path, site: Path) -> None:
    """Replace in a chapter the pictures of saved figures, and the views of widgets.

    Args:
        notebook: the chapter with its outputs.
        name: of its page, as ``"chapters/08-fair-comparisons"``.
        drawn: the folder with its figures.
        explorers: the folder with its explorers, which need not be there.
        site: the folder with what the site serves beside its pages; the explorers' frames are put there.
    """
    notebook.metadata.pop("widgets", None)
    place = site / "explorers" / Path(name).name
    address = f"../explorers/{place.name}"
    for cell in (cell for cell in notebook.cells if cell.cell_type == "code"):
        figure, label = (next(iter(found(cell.source)), None) for found in (saved_names, labels))
        svg = (drawn / f"{figure}.svg").read_text(encoding="utf8") if figure else None
        folder = explorers / explore.folder(label or "none")
        explored = bool(label) and folder.is_dir()
        alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt")
        live = any(DEMONSTRATION in output.get("data", {}).get("text/html", "") for output in cell.outputs)
        outputs = []
        for output in cell.outputs:
            data = output.get("data", {})
            if WIDGET in data and explored:
                shutil.copytree(folder, place / folder.name, ignore=shutil.ignore_patterns(explore.LISTED))
                output.data = {"text/html": explorer(folder, f"{address}/{folder.name}", alt)}
            elif WIDGET in data and label is None:
                raise ValueError(f"{name} shows a widget that explore.slider did not make: pages have no kernel")
            elif (WIDGET in data and figure) or ("image/png" in data and figure and (explored or live)):
                continue
            elif WIDGET in data:
                output.data = {"text/markdown": NO_FRAMES}
            elif "image/png" in data and figure:
                output.data = {"image/svg+xml": svg}
            elif figure and DEMONSTRATION in data.get("text/html", ""):
                place.mkdir(parents=True, exist_ok=True)
                (place / f"{figure}.svg").write_text(svg, encoding="utf8")
                still = f'<img src="{address}/{figure}.svg" alt="{escape(alt or figure)}" {shape(svg)}>'
                output.data = {"text/html": data["text/html"].replace("\n", f"\n{still}\n", 1)}
            outputs.append(output)
        cell.outputs = outputs
