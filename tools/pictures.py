"""Put into the copy of a notebook what its page shows in place of a kernel's pictures: figures as SVG, and explorers.

An explorer of a page is a range input over frames, files beside the page, which `_static/explorers.js` links; that at
which the slider starts is shown without scripts, too. Where a cell saves a figure and shows an explorer or a
demonstration, that takes the figure's place; a demonstration has the figure as its picture.

In the built pages `mend` mends what theme and Sphinx have no setting for: what no page uses is loaded, names are
lacking for those who do not see. `tests/book/test_pages.py` looks at the pages with axe, by the rules of WCAG.
"""

import ast
import json
import re
import shutil
from functools import partial
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
EXPLORER = Path(__file__).with_name("explorer.html").read_text(encoding="utf8")
FRAME = '<img src="{source}" alt="{label}: {value}" data-value="{value}" {shape} loading="lazy"{hidden}>'
MENDS = (
    # The arrow that opens an entry of the contents is called like the entry.
    (r"(>([^<]*)</a><details[^>]*><summary)>", r'\1 aria-label="Pages of: \2">'),
    # 404.html names its scripts by the site's address, and so has none where it is opened from disk.
    (r"(?<=<script>)(?=DOCUMENTATION_OPTIONS\.)", 'if (typeof DOCUMENTATION_OPTIONS === "object") '),
    # A table's corner heads nothing.
    (r'<th (?:class="head"|scope="col"[^>]*)>(?:<p></p>)?</th>', "<td></td>"),
)
DRAWING = re.compile(r'(<img [^>]*src=")([^"]*_images/[^"]*\.svg)("[^>]*?) */>')


def shape(svg: str) -> str:
    """Return the attributes of one of Matplotlib's drawings on a page, which does not jump while it loads.

    They are its size, and in ``--readable`` the width below which letters would be smaller than `READABLE`.
    """
    width, height = (float(side) * PIXELS for side in SIZE.search(svg).groups())
    smallest = min((100 * float(letters) * PIXELS for letters in LETTERS.findall(svg)), default=READABLE)
    least = min(width, width * READABLE / smallest)
    return f'width="{width:.0f}" height="{height:.0f}" style="--readable: {least:.0f}px"'


def named_in(source: str, function: str) -> list[str]:
    """Return the names in a cell's code, second arguments, of figures in ``charts.save`` or of ``explore.slider``."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    calls = [call for call in calls if ast.unparse(call.func) == function]
    keywords = [{keyword.arg: keyword.value for keyword in call.keywords} for call in calls]
    given = [named.get("name") or named.get("label") for named in keywords]
    return [ast.literal_eval(name or call.args[1]) for name, call in zip(given, calls, strict=True)]


def explorer(folder: Path, address: str, alt: str | None) -> str:
    """Return an explorer as it was saved in a folder, whose address the page has; `alt` is what its frames show."""
    saved = json.loads((folder / explore.LISTED).read_text(encoding="utf8"))
    start, label, values, frames = saved["start"], escape(saved["label"]), [*map(escape, saved["values"])], []
    for number, value in enumerate(values):
        look = {"shape": shape((folder / f"{number}.svg").read_text("utf8")), "hidden": " hidden" * (number != start)}
        frames.append(FRAME.format(source=f"{address}/{number}.svg", label=label, value=value, **look))
    first = {"start": start, "value": values[start], "last": len(values) - 1, "frames": "\n".join(frames)}
    return EXPLORER.format(label=label, name=escape(alt or saved["label"]), **first)


def on_page(notebook: nbformat.NotebookNode, name: str, drawn: Path, explorers: Path, site: Path) -> None:
    """Replace in a chapter the pictures of drawn figures and the views of explorers; `site` is served beside pages."""
    notebook.metadata.pop("widgets", None)
    place = site / "explorers" / Path(name).name
    address = f"../explorers/{place.name}"
    for cell in (cell for cell in notebook.cells if cell.cell_type == "code"):
        figure, label = (next(iter(named_in(cell.source, f)), None) for f in ("charts.save", "explore.slider"))
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
                still = f'<img src="{address}/{figure}.svg" alt="{escape(alt or figure)}" {shape(svg)} loading="lazy">'
                output.data = {"text/html": data["text/html"].replace("\n", f"\n{still}\n", 1)}
            outputs.append(output)
        cell.outputs = outputs


def shaped(folder: Path, picture: re.Match) -> str:
    """Return a picture with its size if it is a drawing, and in a box in which it scrolls where the page is narrow."""
    svg = (folder / picture[2]).read_text(encoding="utf8")
    if not SIZE.search(svg):
        return picture[0]
    sized = f"{picture[1]}{picture[2]}{picture[3]} {shape(svg)} />"
    return sized if "sd-card-img-top" in sized else f'<a class="picture" href="{picture[2]}" tabindex="0">{sized}</a>'


def mend(site: Path) -> None:
    """Mend the built pages in a folder, once."""
    for path in site.rglob("*.html"):
        page = path.read_text(encoding="utf8")
        for pattern, instead in MENDS:
            page = re.sub(pattern, instead, page)
        path.write_text(DRAWING.sub(partial(shaped, path.parent), page), encoding="utf8")
