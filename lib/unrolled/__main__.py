"""The command line: ``python -m unrolled train my.txt``, and ``python -m unrolled sample runs/my``."""

import argparse
import math
import re
import sys
import time
from pathlib import Path

import torch

from unrolled import decoding, settings
from unrolled.measure import evaluate, mixed, token_nats
from unrolled.models import LanguageModel, load_model, save_model
from unrolled.ngram import Counts, ModifiedKneserNey
from unrolled.text import Vocabulary, WordVocabulary, split_words
from unrolled.training import Recipe, TrainingDiverged, read_checkpoint, train

LEAST, LEAST_UPDATES = 10_000, 100  # characters of a text, and updates of a network
ORDERS = (2, 3, 4, 5, 6, 8, 10, 12)  # of the n-grams that are tried
BATCH, SEQ_LEN = 16, 64
SIZES = [  # with fewer characters to train on than the first number: units, dropout, and so many passes at most
    (100_000, 256, 0.5, 40),
    (500_000, 512, 0.5, 20),
    (2_000_000, 512, 0.3, 15),
    (math.inf, 512, 0.1, 10),
]
TRAIN = """\
The first 80 % of the text are to train on, the next 10 % to choose by, and the last 10 % are read once, at the end. (So
shuffle the lines of a sorted list before.) Counting comes first: a modified Kneser-Ney n-gram, of the order that suits
the second part best. Then a GRU, whose size follows from the length of the text, learns for as long as the minutes and
the passes allow, and keeps the weights that suit the second part best. Stopped or killed, the same command goes on.

  python -m unrolled train my.txt
  python -m unrolled train my.txt --minutes 60 --folder runs/long
  UNROLLED_DEVICE=cuda python -m unrolled train my.txt        on a GPU"""
LINE_END = re.compile(r"\r+\n|[\r\x85\u2028\u2029]")  # as Windows, old Macs and Unicode have it
SAMPLE = """\
  python -m unrolled sample runs/my --prompt "The " --temperature 0.8"""


def read(path: Path, encoding: str | None = None) -> str:
    r"""Return a text that is long enough to learn from. Every line ends in "\n", whatever ended it in the file."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}); give the path of a text") from error
    if encoding is None and (remedy := other_than_text(data)):
        raise ValueError(f"{path} {remedy}")
    try:
        text = data.decode(encoding or "utf-8-sig")
    except LookupError as error:
        raise ValueError(f"encoding is {encoding!r}, which Python does not know; such as utf-8 or cp1252") from error
    except UnicodeDecodeError as error:
        byte = f"its byte {error.start} is 0x{data[error.start]:02x}"
        remedy = "of a Western European text on Windows it is --encoding cp1252"
        raise ValueError(f"{path} is not {encoding or 'UTF-8'} ({byte}); name its encoding: {remedy}") from error
    text = LINE_END.sub("\n", text.removeprefix("\ufeff"))
    if len(text) < LEAST:
        raise ValueError(f"{path} has {len(text):,} characters, and {LEAST:,} are the least; give a longer text")
    return text


def other_than_text(data: bytes) -> str:
    """Return what a file is by its first bytes, with a remedy, where it cannot be a text in UTF-8."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "is a text in UTF-16; give --encoding utf-16"
    if data[:4096].count(0) > len(data[:4096]) // 4:  # of every Latin letter one byte is 0
        return f"seems to be a text in UTF-16; give --encoding utf-16-{'be' if data[0] == 0 else 'le'}"
    if data.startswith((b"\x1f\x8b", b"PK\x03\x04", b"%PDF")):
        return "is an archive or a document; unpack it, or save it as plain text"
    return ""


def repeated(training: str, test: str) -> float:
    """Return how many of the test's passages of 60 characters stand in the training text, too, as a share of a few."""
    starts = range(0, len(test) - 60, max(60, len(test) // 50))
    return sum(test[start : start + 60] in training for start in starts) / len(starts)


def train_text(file: Path, minutes: float, folder: Path, encoding: str | None = None) -> None:
    """Count a text, train a network on it, and print what both of them pay for its last tenth, and a sample."""
    begun = time.perf_counter()
    if not 0 < minutes < math.inf:
        raise ValueError(f"minutes is {minutes}; it must be above 0, such as 10")
    text, checkpoint = read(file, encoding), folder / "model.pt"
    vocabulary, ends = Vocabulary(text), [len(text) * 8 // 10, len(text) * 9 // 10]
    training, choosing, test = vocabulary.encode(text).tensor_split(ends)
    before, choosing = int(choosing[-1]), choosing[:30_000]
    print(f"{len(training):,} characters to train on, {len(choosing):,} to choose by, {len(test):,} to test")
    if (share := repeated(text[: ends[0]], text[ends[1] :])) > 0.2:
        print(f"beware: {share:.0%} of the test stands in the training text word by word, so its numbers mean little")

    counts = Counts(training, len(vocabulary), max(ORDERS))
    paid = {n: evaluate(ModifiedKneserNey(counts, n), choosing).nats_per_symbol for n in ORDERS}
    order = min(paid, key=paid.get)
    print(f"to be beaten: {paid[order]:.4f} nats a character, by the {order}-gram, where one chooses")

    units, dropout, passes = next(size for below, *size in SIZES if len(training) < below)

    def untrained() -> LanguageModel:
        torch.manual_seed(0)
        size = {"hidden_size": units, "embedding_size": units, "dropout": dropout}
        return LanguageModel(len(vocabulary), core="gru", **size).to(settings.device())

    def recipe(updates: int, patience: int = 0) -> Recipe:
        return Recipe(updates, BATCH, SEQ_LEN, learning_rate=3e-3, patience=patience)

    if checkpoint.exists():
        updates = read_checkpoint(checkpoint)["run"]["updates"]
        print(f"{folder} holds a run of {updates:,} updates, which goes on; another --folder begins another")
    else:
        tried = train(network := untrained(), training, recipe(5), progress=False).seconds / 5
        started = time.perf_counter()
        evaluate(network, choosing)
        scoring = (time.perf_counter() - started) * (11 + len(test) / len(choosing))
        left = 60 * minutes - (time.perf_counter() - begun) - scoring
        most = passes * len(training) // (BATCH * SEQ_LEN)
        updates, least = min(int(left / tried), most), min(LEAST_UPDATES, most)
        if updates < least:
            needed = math.ceil(minutes + (least * tried - left) / 60 + 1)
            raise ValueError(f"minutes is {minutes:g}: too few for {least} updates of this text; --minutes {needed}")
    print(f"network: a GRU of {units} units, {updates:,} updates", flush=True)
    network = untrained()
    scored = {"validation": choosing, "validate_every": max(1, updates // 10)}
    train(network, training, recipe(updates, patience=3), **scored, checkpoint=checkpoint)
    save_model(folder / "model.model", network, vocabulary)

    streams = max(1, min(256, len(test) // 1000))
    ngram = ModifiedKneserNey(counts, order)
    counted, learned = (token_nats(model, test, start=before, streams=streams) for model in (ngram, network))
    rows = {f"{order}-gram": counted, "network": learned, "half of each": mixed(learned, counted, 0.5)}
    print(f"\nthe last {len(test):,} characters, which neither has seen:\n{'':14}{'nats':>8}{'perplexity':>12}")
    for name, nats in rows.items():
        print(f"{name:14}{nats.mean():8.4f}{math.exp(nats.mean()):12.3f}")
    start = "\n" if "\n" in vocabulary else text[0]
    written = decoding.sample(network, vocabulary, prompt=start, length=400, temperature=0.8)
    print(f"\n{written.strip()}\n\nkept in {folder}")


def sample_model(place: Path, prompt: str | None, length: int, temperature: float, seed: int) -> None:
    """Print what a model writes that is in a file, or in a folder with one file."""
    files = [place] if place.is_file() else sorted(place.glob("**/*.model"))
    if len(files) != 1:
        raise ValueError(f"{place} holds {len(files)} models; give a file that ends in .model, or the folder of one")
    model, vocabulary, *others = load_model(files[0])
    if others:
        raise ValueError(f"{files[0]} holds a {type(model).__name__}, which continues no text; give a language model")
    words = isinstance(vocabulary, WordVocabulary)
    if prompt is None:  # one that every vocabulary has
        prompt = "\n" if "\n" in vocabulary else vocabulary.symbols[-1]
    how = {"prompt": split_words(prompt) if words else prompt, "temperature": temperature, "seed": seed}
    written = decoding.sample(model, vocabulary, length=length, **how)
    print(" ".join(written) if words else written)


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    layout = {"allow_abbrev": False, "formatter_class": argparse.RawDescriptionHelpFormatter}
    main = argparse.ArgumentParser(prog="python -m unrolled", description="A language model of a text of your own.")
    commands = main.add_subparsers(dest="command", required=True, metavar="COMMAND")
    train = commands.add_parser("train", help="count a text, and train a network on it", epilog=TRAIN, **layout)
    train.add_argument("file", type=Path, metavar="FILE", help="a text")
    train.add_argument("--encoding", help="of the text, such as cp1252 or utf-16 (default: UTF-8)")
    train.add_argument("--minutes", type=float, default=10.0, help="how long all of it may take (default: 10)")
    train.add_argument("--folder", type=Path, help="where it is kept (default: the file's name, in runs/)")
    sample = commands.add_parser("sample", help="let a trained model write", epilog=SAMPLE, **layout)
    sample.add_argument("model", type=Path, metavar="FOLDER", help="the folder of a trained model, or its file")
    sample.add_argument("--prompt", help="what it continues (default: a line break, if the text had one)")
    sample.add_argument("--length", type=int, default=400, help="how many tokens to write (default: 400)")
    sample.add_argument("--temperature", type=float, default=1.0, help="below 1 safer, above 1 bolder (default: 1)")
    sample.add_argument("--seed", type=int, default=0, help="another seed, another text (default: 0)")
    return main


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks, and return the exit status; what went wrong is said in a line."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # not every console can write what a text holds
    given = parser().parse_args(arguments)
    try:
        if given.command == "train":
            train_text(given.file, given.minutes, given.folder or Path("runs", given.file.stem), given.encoding)
        else:
            sample_model(given.model, given.prompt, given.length, given.temperature, given.seed)
    except (ValueError, OSError, TrainingDiverged) as error:
        print(f"unrolled: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nunrolled: stopped; the same command goes on", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
