"""Write the page of all records, `records.md`: what each measures, how, and where the book shows it.

``make chapters``, ``make records`` and ``make gpu`` call it when they have done their work; nothing else changes the
page.
"""

import json
import re
from pathlib import Path
from typing import NamedTuple

import gallery
from notebooks import gpu
from unrolled import experiments
from unrolled.experiments import Experiment, Metric, Record, records

ROOT = Path(__file__).resolve().parent.parent
HEAD = """\
<!-- Written by `make chapters` and `make records`; edits made here are lost. -->

# Records

Some results take hours, or depend on the speed of a machine, so no page can compute them while the book is built. They
were measured once, by the commands below, and the chapters show them from these records. `python -m unrolled show NAME`
prints a record's numbers; `make records NAME=NAME` measures what is missing from a record, and `make records` what is
missing from any.
"""


class Use(NamedTuple):
    """Where the book uses a record: the chapters whose code names it, and the figures of the cells that do."""

    chapters: list[Path]
    figures: list[gallery.Figure]


def use(name: str, chapters: list[Path]) -> Use:
    """Return where chapters use a record."""
    readers, drawn = [], []
    for path in chapters:
        cells = json.loads(path.read_text(encoding="utf8"))["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        naming = [source for source in code if re.search(rf"[\"']{name}[\"']", source)]
        saved = [figure for source in naming for figure in gallery.saved_names(source)]
        readers += [path] if naming else []
        drawn += [figure for figure in gallery.figures(path) if figure.name in saved]
    return Use(readers, drawn)


def page(root: Path) -> str:
    """Return the page: every experiment's record, where the chapters below `root` use it, and what ran on a GPU."""
    chapters = sorted(root.glob("chapters/*.ipynb"))
    entries = "".join(entry(experiments.find(name), use(name, chapters)) for name in experiments.EXPERIMENTS)
    return HEAD + entries + gpu.section(root, gpu.WRITTEN)


def entry(experiment: Experiment, use: Use) -> str:
    """Return the part of the page that is about one experiment."""
    recorded = (records.FOLDER / f"{experiment.name}.json").exists()
    record = records.load_record(experiment.name) if recorded else Record(experiment.name, "quick", {}, {})
    facts = "\n".join(f"- {name}: {fact}" for name, fact in description(experiment, record, use).items() if fact)
    metrics = "\n".join(f"`{name}`{dimensions(of)}\n: {plain(of.about)}\n" for name, of in experiment.metrics.items())
    return f"""
(record-{experiment.name})=
## {experiment.name}

{plain(experiment.title)}.
{thumbnail(use.figures)}
{facts}

:::{{dropdown}} What is measured
{metrics}:::
"""


def description(experiment: Experiment, record: Record, use: Use) -> dict[str, str]:
    """Return what there is to say about a record, each fact under its name; some may be empty."""
    chapters = (f"[{gallery.title(path)}](chapters/{path.name})" for path in use.chapters)
    missing = [f"`{label}` (seed {seed})" for _, _, label, seed, _ in experiments.wanting(experiment.name)]
    measured = versions = library = ""
    if record.parts:
        measured, (_, versions, library) = record.provenance().text, record.details().splitlines()
    return {
        "Contenders": ", ".join(f"`{label}`" for label in experiment.contenders[record.profile]),
        "Measured": measured,
        "Library": versions and f"{versions}; {library}",
        "Missing": ", ".join(missing) if record.parts else "everything: it has not been measured yet",
        "Command": f"`{records.command(experiment.name, record.profile)}`",
        "Read in": ", ".join(chapters),
        "Figures": ", ".join(f"[{figure.name}](#{figure.label})" for figure in use.figures),
    }


def dimensions(metric: Metric) -> str:
    """Return a metric's axes and its unit, as they follow its name; nothing where it has neither."""
    axes = f", by {' and '.join(f'`{axis}`' for axis in metric.axes)}" if metric.axes else ""
    return axes + (f", in {plain(metric.unit)}" if metric.unit else "")


def thumbnail(figures: list[gallery.Figure]) -> str:
    """Return the first of some figures, small; nothing where there is none."""
    images = [
        f"\n```{{image}} figures/{figure.name}.svg\n:alt: {figure.alt}\n:width: 16em\n```\n" for figure in figures
    ]
    return "".join(images[:1])


def plain(text: str) -> str:
    """Return a text in which Markdown finds no markup."""
    return re.sub(r"([\\`*_$<>\[\]])", r"\\\1", text)


def write(root: Path) -> Path:
    """Write the page for the chapters below `root`, and return its path."""
    path = root / "records.md"
    path.write_text(page(root), encoding="utf8")
    return path


if __name__ == "__main__":
    write(ROOT)
