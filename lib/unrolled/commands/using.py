"""The commands that use what there is: sample, answer, corpora, score."""

import argparse
import dataclasses
import os
import runpy
import traceback
from pathlib import Path

import torch

from unrolled import decoding
from unrolled.commands import own
from unrolled.measure import evaluate, submission
from unrolled.models import EncoderDecoder, load_model
from unrolled.ngram import Counts, ModifiedKneserNey
from unrolled.tasks.rewriting import START, STOP
from unrolled.text import Batch, Vocabulary, WordVocabulary, corpora, load_corpus, split_words, tokenise

_SAMPLE = """\
examples:
  python -m unrolled train my.txt        trains a model, once, in the folder runs/my
  python -m unrolled sample runs/my --prompt "ROMEO:" --temperature 0.8
  python -m unrolled sample runs/my --top-k 1     greedy: always the most probable symbol
  python -m unrolled sample runs/my --top-p 0.9 --seed 1 --length 1000"""

_ANSWER = """\
examples:
  python -m lab run phonemes --contender attention --seeds 1        trains a model, once, and prints its folder
  python -m unrolled answer FOLDER recurrence
  python -m unrolled answer FOLDER "show me the round trip flights" """

_SCORE = """\
A folder tells n-gram, network and mixture. The test of `train` is read once: without --test its table is printed.

FILE.py has to define
  symbols    every character that the model knows, each once: a string
  training   the text that it was trained on
  test       the text that it is scored on, unless --test gives another
  predict    a function: predict(text) returns probabilities, (characters, symbols); row t rests on text[:t] alone

examples:
  python -m unrolled score runs/my --test another.txt
  python -m unrolled score model.py
  python -m unrolled score model.py --test kept-back.txt --ngram 12     beside a 12-gram of the same training text

Refused are a model that a later character tells an earlier price, probabilities that do not sum to 1, and a test of
which 50 characters in a row occur in the training text. Every call of predict runs in a process of its own. A test that
the file itself holds can be looked up: --test gives one that its author has not seen."""


def _load(place: str) -> tuple:
    """Return the model in a file, or in a folder that holds one, with its vocabularies."""
    path = Path(place)
    files = [path] if path.is_file() else sorted(path.glob("**/*.model"))
    if len(files) != 1:
        listed = (
            f"; name one of them: {', '.join(map(str, files))}" if files else ", where `python -m lab run` left one"
        )
        raise ValueError(
            f"{place} holds {len(files)} models; give a file that ends in .model, or the folder of one{listed}"
        )
    return load_model(*files)


def _sample(arguments: argparse.Namespace) -> None:
    model, vocabulary, *others = _load(arguments.model)
    if others:
        raise ValueError(
            f"a {type(model).__name__} continues no text; let it answer: unrolled answer {arguments.model}"
        )
    words = isinstance(vocabulary, WordVocabulary)
    written = decoding.sample(
        model,
        vocabulary,
        prompt=_words(arguments.prompt, vocabulary) if words else arguments.prompt,
        length=arguments.length,
        temperature=arguments.temperature,
        top_k=arguments.top_k,
        top_p=arguments.top_p,
        seed=arguments.seed,
    )
    print(" ".join(written) if words else written)


def _words(text: str, vocabulary: WordVocabulary) -> list[str]:
    """Return the words of a text; one that the vocabulary lacks is taken apart, as a text is where it is printed."""
    return [part for word in split_words(text) for part in ([word] if word in vocabulary else tokenise(word))]


def _answer(arguments: argparse.Namespace) -> None:
    model, vocabulary, *others = _load(arguments.model)
    if not others:
        raise ValueError(f"a {type(model).__name__} answers nothing; let it write: unrolled sample {arguments.model}")
    (answers,) = others
    words = isinstance(vocabulary, WordVocabulary)
    given = arguments.text.split() if words else arguments.text
    read = vocabulary.encode(given)
    if isinstance(model, EncoderDecoder):
        symbols = {"start": START, "stop": STOP, "length": arguments.length, "width": arguments.width}
        (best,) = decoding.translate(model, read[None], torch.tensor([len(read)]), **symbols)
        written = answers.decode([number for number in best.tokens.tolist() if number not in (START, STOP)])
        print(("" if all(len(symbol) == 1 for symbol in written) else " ").join(written))
    else:
        (tags,) = model.tags(Batch(read[None], read[None], read[None] >= 0, torch.tensor([len(read)])))
        print(*(f"{word}/{tag}" for word, tag in zip(given, answers.decode(tags), strict=True)))


def _corpora(arguments: argparse.Namespace) -> None:
    for name in arguments.names:
        corpus = load_corpus(name)
        print(f"{'':12}{'characters':>12}{'words':>12}")
        for part in ("train", "validation", "test"):
            if text := getattr(corpus, part):
                print(f"  {part:10}{len(text):12,}{len(text.split()):12,}")
        print("  read and verified:", *corpus.files)
    if not arguments.names:
        for name in corpora.SPLITS:
            print(f"{name:18}  {'here' if corpora.is_here(name) else 'not here'}")
        print(f"They are read from {corpora.folder()}; `python -m unrolled corpora NAME` fetches and verifies one.")


def _score(arguments: argparse.Namespace) -> None:
    if Path(arguments.file).is_dir():
        if arguments.ngram:
            raise ValueError("--ngram is for a FILE.py; the folder of a text has an n-gram of its own: leave it out")
        own.score_own(Path(arguments.file), arguments.test)
        return
    begun = sum(os.times()[:4])  # with those of other processes
    try:
        defined = runpy.run_path(arguments.file)
    except Exception as error:
        if isinstance(error, OSError) and error.filename == arguments.file:
            raise
        traceback.print_exc()
        raise RuntimeError(f"{arguments.file} could not be run; the lines above say where it stopped") from error
    if arguments.test:
        defined["test"] = Path(arguments.test).read_text(encoding="utf8")
    fields = [field.name for field in dataclasses.fields(submission.Submission)]
    if missing := [name for name in fields if name not in defined]:
        raise ValueError(f"{arguments.file} does not define {', '.join(missing)}; `score --help` says what each is")
    handed_in = submission.Submission(**{name: defined[name] for name in fields})
    try:
        rows = {arguments.file: submission.score(handed_in)}
    except RuntimeError as error:
        raise RuntimeError(f"{arguments.file}: {error}") from error
    spent = sum(os.times()[:4]) - begun
    if arguments.ngram:
        vocabulary = Vocabulary(handed_in.symbols)
        counts = Counts(vocabulary.encode(handed_in.training), len(vocabulary), arguments.ngram)
        last = vocabulary[handed_in.training[-1]]
        test = vocabulary.encode(handed_in.test)
        rows[f"{arguments.ngram}-gram"] = evaluate(ModifiedKneserNey(counts), test, start=last, streams=1)
    for name, paid in rows.items():
        print(
            f"{name}: {paid.nats_per_symbol:.4f} nats per character, {paid.bits_per_symbol:.4f} bits, "
            f"perplexity {paid.perplexity:.3f}, over {paid.symbols:,} characters"
        )
    print(f"{spent:.0f} s of CPU to run the file and to score it")


def add(commands: argparse._SubParsersAction) -> None:
    """Add these commands to those of a parser."""
    sample = commands.add_parser(
        "sample",
        help="let a model that one trained continue a text",
        description="Continue a prompt with a language model from a file, or from the folder of a run.",
        epilog=_SAMPLE,
    )
    sample.add_argument("model", metavar="FOLDER", help="the folder of a trained model, or its file")
    sample.add_argument("--prompt", default="\n", help="what it continues (default: a line break)")
    sample.add_argument("--temperature", type=float, default=1.0, help="below 1 safer, above 1 bolder (default: 1)")
    sample.add_argument("--top-k", type=int, metavar="K", help="draw from the K most probable symbols only")
    sample.add_argument(
        "--top-p", type=float, metavar="P", help="draw from the fewest that have probability P together"
    )
    sample.add_argument("--length", type=int, default=400, help="how many symbols to write (default: %(default)s)")
    sample.add_argument("--seed", type=int, default=0, help="another seed, another text (default: %(default)s)")
    sample.set_defaults(do=_sample)

    answer = commands.add_parser(
        "answer",
        help="let a model that one trained tag a sentence, or rewrite a source",
        description="Answer a text with a tagger or an encoder-decoder from a file, or from the folder of a run.",
        epilog=_ANSWER,
    )
    answer.add_argument("model", metavar="FOLDER", help="the folder of a trained model, or its file")
    answer.add_argument("text", metavar="TEXT", help="words with spaces between, or a source in letters")
    answer.add_argument("--length", type=int, default=50, help="symbols of a target at most (default: %(default)s)")
    answer.add_argument("--width", type=int, default=4, help="hypotheses that a beam keeps (default: %(default)s)")
    answer.set_defaults(do=_answer)

    real = commands.add_parser(
        "corpora",
        help="list the real corpora, or fetch some",
        description="List the real corpora: size, licence, split, and whether they are here. With names, fetch those,\n"
        "verify them and print the sizes of their parts.",
    )
    real.add_argument("names", nargs="*", metavar="NAME", help="as `corpora` alone lists it")
    real.set_defaults(do=_corpora)

    scored = commands.add_parser(
        "score",
        help="score a model of your own",
        description="Print what a model pays for its test: the one that `train` left in FOLDER, or the one in FILE.py.",
        epilog=_SCORE,
    )
    scored.add_argument(
        "file", metavar="FOLDER", help="what `train` left, or a Python file that trains or loads a model"
    )
    scored.add_argument("--test", metavar="TEXT", help="a file with another text to score")
    scored.add_argument(
        "--ngram", type=int, metavar="N", help="beside FILE.py, print what an n-gram of this order pays"
    )
    scored.set_defaults(do=_score)
