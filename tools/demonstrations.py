"""Write what demonstrations load: the weights of trained networks, the table of the race, and a picture of each.

``make playground`` takes the pictures, for print and for pages without scripts. With networks that the laboratory has
trained, ``tools/demonstrations.py gru-words.model …`` writes their weights first, and with all of `RACING` the race.
"""

import io
import json
import re
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from PIL import Image
from playwright.sync_api import sync_playwright

import book
from unrolled.figures import live
from unrolled.figures.weights import weights_script
from unrolled.models import LanguageModel, load_model
from unrolled.text import WordVocabulary

WIDTH, COLOURS = 672, 256  # pixels across, as wide as the page's text; colours in a picture's palette
RACING = ("rnn-words", "lstm-words", "gru-words")
FORMS = {"she": {"they": "she", "them": "her", "their": "her"}, "he": {"they": "he", "them": "him", "their": "his"}}
PIECE = re.compile(r"(?:\{\w+\}|'?[A-Za-z-]+|[^ ]) ?")  # a word or a slot of a story, with the space after it


@torch.no_grad()
def race(networks: dict[str, tuple[LanguageModel, WordVocabulary]]) -> dict:
    """Return what the race shows: the words of its story, each with the space after it, and its heroes.

    At each word each network has a chance for the hero's name, its probability in ten-thousandths.
    """
    story = live.descriptions()["race"]["story"]
    words, heroes = PIECE.findall(" ".join(story["sentences"])), {}
    for pronoun, hero in ((pronoun, hero) for pronoun, group in story["names"].items() for hero in group):
        forms, chances = {"hero": hero, **FORMS[pronoun], "They": pronoun.title()}, {}
        for name in RACING:
            network, vocabulary = networks[name]
            number = vocabulary.symbols.index  # a word that the vocabulary lacks is a mistake
            told = [number("\n"), *(number(word.strip().format(**forms)) for word in words)]
            logits, _ = network.eval()(torch.tensor([told[:-1]]))
            probable = 10_000 * logits[0].softmax(dim=-1)[:, number(hero)]
            chances[name.removesuffix("-words")] = probable.round().int().tolist()
        heroes[hero] = {"forms": forms, "chances": chances}
    return {"words": words, "heroes": dict(sorted(heroes.items()))}


def write_networks(paths: list[Path]) -> None:
    """Write the weights of trained networks, and the race if all that run it are among them."""
    networks = {path.stem: load_model(path) for path in paths}
    for name in networks.keys() & {each.get("model") for each in live.descriptions().values()}:
        network, *vocabularies = networks[name]
        vocabulary = vocabularies[0] if len(vocabularies) == 1 else vocabularies
        script = weights_script(name, network, vocabulary, bits=8 if name.endswith("words") else 16)
        (book.BROWSER / "models" / f"{name}.js").write_text(script, encoding="utf8")
    if set(RACING) <= set(networks):
        table = json.dumps(race(networks), ensure_ascii=False)
        (book.BROWSER / "race.json").write_text(table.replace('}, "', '},\n"') + "\n", encoding="utf8")


def main() -> None:
    """Write the networks that are named, and photograph each demonstration by day, once it rests."""
    write_networks([Path(name) for name in sys.argv[1:]])
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
