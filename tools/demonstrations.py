"""Write what demonstrations load: the weights of trained networks, the table of the race, and a picture of each.

``make playground`` reads the race from its record and takes the pictures, for print and for pages without scripts. With
networks that the laboratory has trained, ``tools/demonstrations.py gru-words.model …`` writes their weights first.
"""

import io
import json
import re
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import sync_playwright

import book
from unrolled import records
from unrolled.figures import live
from unrolled.figures.weights import weights_script
from unrolled.models import load_model

WIDTH, COLOURS = 672, 256  # pixels across, as wide as the page's text; colours in a picture's palette
RACING = ("rnn", "lstm", "gru")
FORMS = {"she": {"they": "she", "them": "her", "their": "her"}, "he": {"they": "he", "them": "him", "their": "his"}}
PIECE = re.compile(r"(?:\{\w+\}|'?[A-Za-z-]+|[^ ]) ?")  # a word or a slot of a story, with the space after it


def race() -> dict:
    """Return what the race shows: the words of its story, each with the space after it, and its heroes.

    At each word each network has a chance for the hero's name, its probability in ten-thousandths, as the best of the
    network's trainings from seed 0 has it.
    """
    story, record = live.descriptions()["race"]["story"], records.load("recall-of-names")
    best = {name: min(record[name].trials, key=lambda run: run["metrics"]["validation"]) for name in RACING}
    heroes = {}
    for pronoun, hero in ((pronoun, hero) for pronoun, group in story["names"].items() for hero in group):
        rows = {name: run["metrics"]["race"][run["axes"]["hero"].index(hero)] for name, run in best.items()}
        chances = {name: [round(10_000 * probability) for probability in row] for name, row in rows.items()}
        heroes[hero] = {"forms": {"hero": hero, **FORMS[pronoun], "They": pronoun.title()}, "chances": chances}
    return {"words": PIECE.findall(" ".join(story["sentences"])), "heroes": dict(sorted(heroes.items()))}


def write_networks(paths: list[Path]) -> None:
    """Write the weights of trained networks."""
    for path in paths:
        network, *vocabularies = load_model(path)
        vocabulary = vocabularies[0] if len(vocabularies) == 1 else vocabularies
        script = weights_script(path.stem, network, vocabulary, bits=8 if path.stem.endswith("words") else 16)
        (book.BROWSER / "models" / f"{path.stem}.js").write_text(script, encoding="utf8")


def main() -> None:
    """Write the networks that are named, and the race; photograph each demonstration by day, once it rests."""
    write_networks([Path(name) for name in sys.argv[1:]])
    table = json.dumps(race(), ensure_ascii=False).replace('}, "', '},\n"')
    (book.BROWSER / "race.json").write_text(f"{table}\n", encoding="utf8")
    if not (chromium := shutil.which("chromium") or shutil.which("google-chrome")):
        raise SystemExit("No Chromium here, so the pictures stay as they are (apt install chromium).")
    with TemporaryDirectory() as place, sync_playwright() as playwright:
        book.lay_out_demonstrations(Path(place))
        style = f"<style>body {{ margin: 0; width: {WIDTH}px; font-family: serif }}</style>"
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for name in live.with_pictures():
            path = Path(place, f"{name}.html")
            path.write_text(f'<!doctype html><meta charset="utf-8">{style}{live.figure(name)}', encoding="utf8")
            page = browser.new_page(viewport={"width": WIDTH, "height": 900}, device_scale_factor=1.5)
            page.goto(path.as_uri())
            page.wait_for_selector("figure[data-ready]")
            page.wait_for_timeout(15_000)  # the race runs by itself, and what a beam would write follows after a pause
            picture = Image.open(io.BytesIO(page.locator(".pg-live").screenshot())).convert("RGB")
            picture.quantize(COLOURS, dither=Image.Dither.NONE).save(book.PICTURES / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
