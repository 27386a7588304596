"""Write what the page *Playground* loads: each network's weights as a script, and a picture of each demonstration.

``make playground`` calls it. The networks are trained first where the record or the folder of runs lacks them. The
pictures, for print and for pages without scripts, are photographs of the page's own demonstrations.
"""

import argparse
import io
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

import book
from unrolled import records
from unrolled.figures import live
from unrolled.models import load_model

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))  # where the laboratory is

from lab import find, playground  # noqa: E402
from lab.engine.run import run  # noqa: E402

RECALL = ROOT / "figures" / "playground-recall.md"
MODELS = book.BROWSER / "models"
WIDTH, COLOURS = 672, 256  # pixels across, as wide as the page's text; colours in a picture's palette


def write_weights(runs: Path) -> None:
    """Write a script for each network of the experiment, as it was measured.

    Raises:
        SystemExit: a network that was trained here is not the one that the record measured.
    """
    record, folders = run(find("playground"), folder=runs, record=True)
    MODELS.mkdir(parents=True, exist_ok=True)
    for label, folder in zip(record, folders, strict=True):
        path = folder / "model.model"
        written = playground.script(record[label].config, *load_model(path))
        if playground.digest(written) != record[label]["digest"][0]:
            raise SystemExit(f"{path} is not the network that was measured; delete {runs} and train it again")
        (MODELS / f"{label}.js").write_text(written, encoding="utf8")
        print(f"{label}: {len(written) / 1000:,.0f} kB", flush=True)
    write_table(records.load("playground"))


TABLE = """\
<!-- Written by `make playground` from the record playground; edits made here are lost. -->
How often the right name was preferred where a name returns, by how many characters ago it last stood. A network of
words chooses among all forty names, so that guessing is right in one case of forty; one of characters between two first
letters, so that it is right in one of two. Nats are those that a word or a character of new stories costs.

| | nats | {lags} |
|---|--:|{rules}|
{rows}

The network that reads dates rewrites {exact} of {asked} new ones without a mistake. Of as many rows of one to ten
letters the network with attention reverses {attention}, and the one with a single vector {one_vector}. The networks
of words have 8 bits to a weight, and a word of new stories costs none of them over {cost:.4f} nats more than with 32.
The others have 16.
"""


def write_table(record: records.Record) -> None:
    """Write what each network costs and recalls as a table, which the page includes."""
    edges = playground.EDGES
    lags = [f"under {edges[1]}", *(f"{low} to {high - 1}" for low, high in zip(edges[1:-1], edges[2:], strict=True))]
    rows = []
    for label, measured in ((label, measured) for label, measured in record.items() if "name" in measured):
        core, units = label.split("-")
        shares = [f"{100 * share:.0f} %" for share in measured["name"].mean(axis=0)]
        rows.append(f"| {core.upper()}, {units} | {measured['nats'].mean():.2f} | {' | '.join(shares)} |")
    costs = [of["nats"].mean() - of["nats_32_bits"].mean() for of in record.values() if "nats_32_bits" in of]
    asked = record["gru-dates"].config["asked"]
    labels = {"exact": "gru-dates", "attention": "gru-attention", "one_vector": "gru-one-vector"}
    told = {name: f"{round(record[label]['exact'].mean() * asked):,}" for name, label in labels.items()}
    rules, rows = "--:|" * (len(lags) - 1) + "--:", "\n".join(rows)
    told |= {"asked": f"{asked:,}", "cost": max(costs)}
    table = TABLE.format(lags=" | ".join(lags), rules=rules, rows=rows, **told)
    RECALL.write_text(table, encoding="utf8")


def photograph(chromium: str) -> None:
    """Photograph each demonstration of the page by day, as it is when it has just come to life."""
    from playwright.sync_api import sync_playwright

    with TemporaryDirectory() as place, sync_playwright() as playwright:
        book.lay_out_demonstrations(Path(place))
        style = f"<style>body {{ margin: 0; width: {WIDTH}px; font-family: serif }}</style>"
        for name in live.with_pictures():
            page = f'<!doctype html><meta charset="utf-8">{style}{live.figure(name)}'
            Path(place, f"{name}.html").write_text(page, encoding="utf8")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for name in live.with_pictures():
            page = browser.new_page(viewport={"width": WIDTH, "height": 900}, device_scale_factor=1.5)
            page.goto(Path(place, f"{name}.html").as_uri())
            page.wait_for_selector("figure[data-ready]")
            page.wait_for_timeout(1000)  # what it writes on follows after a pause
            picture = Image.open(io.BytesIO(page.locator(".pg-live").screenshot())).convert("RGB")
            picture.quantize(COLOURS, dither=Image.Dither.NONE).save(book.PICTURES / f"{name}.png", optimize=True)
        browser.close()


def main() -> None:
    """Write the weights, and the pictures where there is a browser."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", action="store_true", help="only the pictures")
    arguments = parser.parse_args()
    if not arguments.pictures:
        write_weights(ROOT / "runs")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium:
        photograph(chromium)
    else:
        print("No Chromium here, so the pictures stay as they are (apt install chromium).")


if __name__ == "__main__":
    main()
