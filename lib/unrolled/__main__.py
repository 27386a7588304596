"""The command line: ``python -m unrolled list | run | show | records | sample | answer | corpora | score``."""

# ruff: noqa: E402 (Ctrl-C has to be provided for before PyTorch is imported, which takes seconds)

from __future__ import annotations

import os
import signal

BY_DEFAULT = signal.getsignal(signal.SIGINT)
if __name__ == "__main__" and BY_DEFAULT is signal.default_int_handler:  # else Ctrl-C is ignored, and stays so
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # nothing has begun that would have to be ended in order

import argparse
import dataclasses
import difflib
import re
import runpy
import shlex
import sys
import time
import traceback
from pathlib import Path
from typing import NoReturn

import numpy as np
import torch

from unrolled import decoding, experiments, settings
from unrolled.measure import evaluate, submission
from unrolled.models import EncoderDecoder, load_model
from unrolled.ngram import Counts, ModifiedKneserNey
from unrolled.tasks.rewriting import START, STOP
from unrolled.text import Batch, Vocabulary, WordVocabulary, corpora, load_corpus, split_words
from unrolled.training import distributed

_MAIN = """\
examples:
  python -m unrolled list                             which experiments there are
  python -m unrolled show rnn-windows                 what the book's record of one says
  python -m unrolled run rnn-windows                  measure it again, on this machine
  python -m unrolled records                          measure what the book's records lack
  python -m unrolled sample rnn-windows --prompt "The "      let its model write
  python -m unrolled answer phonemes recurrence      let its model pronounce a word
  python -m unrolled corpora tiny-shakespeare         fetch a real corpus and verify it
  python -m unrolled score model.py                   what a model of your own pays, by the book's protocol

COMMAND --help tells more of each. The exit code is 0 when all went well, 1 when something failed, 2 when the command
asks for what cannot be, 130 after Ctrl-C and 143 after SIGTERM."""

_RUN = """\
examples:
  python -m unrolled run rnn-windows --seeds 1
  python -m unrolled run gated-stories --contender gru --contender lstm --record
  python -m unrolled run rnn-windows --profile full --device cuda
  torchrun --nproc-per-node 2 -m unrolled run rnn-windows      two processes, or GPUs, share each batch

Everything is kept in the folder on the way. After Ctrl-C, SIGTERM or a power cut the same command goes on where it was,
and the result is the same to the last bit. --resume refuses to do anything else than that; --fresh begins again."""

_RECORDS = """\
examples:
  python -m unrolled records                  all records
  python -m unrolled records rnn-windows      this one

Parts that were measured with another configuration count as lacking. Two parts are measured at a time, with one thread
each, and each is kept as soon as it is there. After Ctrl-C the same command goes on where it was."""

_SAMPLE = """\
examples:
  python -m unrolled run rnn-tiny-shakespeare --seeds 1        trains the model, once
  python -m unrolled sample rnn-tiny-shakespeare --prompt "ROMEO:" --temperature 0.8
  python -m unrolled sample rnn-tiny-shakespeare --top-k 1     greedy: always the most probable symbol
  python -m unrolled sample rnn-tiny-shakespeare --top-p 0.9 --seed 1 --length 1000"""

_ANSWER = """\
examples:
  python -m unrolled run phonemes --contender attention --seeds 1        trains the model, once
  python -m unrolled answer phonemes recurrence
  python -m unrolled answer tagging "show me the round trip flights" --model "atis/both 2400" --folder runs"""

_SCORE = """\
FILE.py has to define
  symbols    every character that the model knows, each once: a string
  training   the text that it was trained on
  test       the text that it is scored on, unless --test gives another
  predict    a function: predict(text) returns probabilities, (characters, symbols); row t rests on text[:t] alone

examples:
  python -m unrolled score model.py
  python -m unrolled score model.py --test kept-back.txt --ngram 12     beside a 12-gram of the same training text

Refused are a model that a later character tells an earlier price, probabilities that do not sum to 1, and a test of
which 50 characters in a row occur in the training text."""

LONGEST = 12  # numbers in a row that is printed


class Parser(argparse.ArgumentParser):
    """A parser that takes whole words only, and suggests one where a wrong word is near it."""

    def __init__(self, **options):
        super().__init__(allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **options)

    def error(self, message: str) -> NoReturn:
        wrong = re.search(r"invalid choice: '(.*)' \(choose from (.*)\)", message)
        near = difflib.get_close_matches(wrong[1], re.findall(r"[\w-]+", wrong[2]), n=1) if wrong else []
        super().error(message + "".join(f"; did you mean {word!r}?" for word in near))


def _list(_: argparse.Namespace) -> None:
    width = max(map(len, experiments.EXPERIMENTS))
    for name, experiment in experiments.EXPERIMENTS.items():
        print(f"{name:{width}}  {experiment.title}")


def _run(arguments: argparse.Namespace) -> None:
    _set_profile(arguments)
    if arguments.device:
        os.environ["UNROLLED_DEVICE"] = arguments.device
    if arguments.seeds is not None and arguments.seeds < 1:
        raise ValueError(f"seeds is {arguments.seeds}; it must be 1 or more")
    seeds = arguments.seed if arguments.seeds is None else range(arguments.seeds)
    with distributed.together(settings.device()):
        record = experiments.run(
            arguments.name,
            seeds,
            arguments.folder,
            contenders=arguments.contender,
            resume=arguments.resume,
            fresh=arguments.fresh,
            record=arguments.record,
        )
        if distributed.rank() == 0:
            print_record(record)


def _show(arguments: argparse.Namespace) -> None:
    experiment = experiments.find(arguments.name)
    print(f"{experiment.title}\n")
    width = max(map(len, experiment.metrics))
    for name, metric in experiment.metrics.items():
        unit = f" [{metric.unit}]" if metric.unit else ""
        axes = f", by {' and '.join(metric.axes)}" if metric.axes else ""
        print(f"{name:{width}}  {metric.about}{axes}{unit}")
    print()
    if there := experiments.measured(experiment.name):
        print_record(there)
    experiments.recorded(experiment.name)  # says what is lacking


def print_record(record: experiments.Record) -> None:
    """Print a record: each contender's numbers and short rows of them, averaged over the seeds.

    A single number comes with its standard deviation over the seeds. The last lines say where all of them came from.
    """
    for label, contender in record.items():
        print(label)
        for number, setting in enumerate(contender.config.get("settings", [])):  # the trials of a search
            found = [f"{values[0, number]:>8.4g}" for values in contender.values() if values.ndim == 2]
            print(f"{number:>24} ", *found, "", ", ".join(f"{name} {value}" for name, value in setting.items()))
        for metric, values in contender.items():
            if not np.issubdtype(values.dtype, np.number) or values[0].size > LONGEST:
                continue
            spread = f" ± {np.std(values, ddof=1):.4f}" if values.shape[0] == values.size > 1 else ""
            print(f"{metric:>24} ", *(f"{mean:.4f}" for mean in values.mean(axis=0).flat), end=f"{spread}\n")
    print(record.details())


def _records(arguments: argparse.Namespace) -> None:
    names = arguments.names or list(experiments.EXPERIMENTS)
    lacking = [part for name in names for part in experiments.wanting(name)]
    for part in lacking:
        last = "never timed" if part.seconds is None else f"took {part.seconds / 60:.1f} min the last time"
        print(f"{part.name}  {part.label}  seed {part.seed}  {last}")
    minutes = sum(part.seconds or 0 for part in lacking) / 60
    print(f"{len(lacking)} parts are lacking; those that were timed took {minutes:.0f} min in all", flush=True)
    if arguments.list:
        return
    failed = 0
    for parts, measured in experiments.complete(lacking, arguments.folder):
        labels = ", ".join(part.label for part in parts)
        print(f"{parts[0].name}  {labels}  seed {parts[0].seed}  {'measured' if measured else 'FAILED'}", flush=True)
        failed += not measured
    if failed:
        raise RuntimeError(f"{failed} could not be measured; the lines above say which, and run NAME says why")


def _load(arguments: argparse.Namespace) -> tuple:
    """Return the model that was asked for, or the experiment's first, with its vocabularies."""
    _set_profile(arguments)
    models = experiments.models(arguments.name, arguments.folder)
    name = arguments.model or next(iter(models))
    if name not in models:
        near = difflib.get_close_matches(name, models, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(models)}"
        raise ValueError(f"{arguments.name!r} has no model {name!r}; {hint}")
    if not arguments.model and len(models) > 1:
        print(f"unrolled: {name} writes; --model can be one of {', '.join(models)}", file=sys.stderr)
    return load_model(models[name])


def _sample(arguments: argparse.Namespace) -> None:
    model, vocabulary, *others = _load(arguments)
    if others:
        raise ValueError(f"a {type(model).__name__} continues no text; let it answer: unrolled answer {arguments.name}")
    words = isinstance(vocabulary, WordVocabulary)
    written = decoding.sample(
        model,
        vocabulary,
        prompt=split_words(arguments.prompt) if words else arguments.prompt,
        length=arguments.length,
        temperature=arguments.temperature,
        top_k=arguments.top_k,
        top_p=arguments.top_p,
        seed=arguments.seed,
    )
    print(" ".join(written) if words else written)


def _answer(arguments: argparse.Namespace) -> None:
    model, vocabulary, *others = _load(arguments)
    if not others:
        raise ValueError(f"a {type(model).__name__} answers nothing; let it write: unrolled sample {arguments.name}")
    (answers,) = others
    words = isinstance(vocabulary, WordVocabulary)
    given = arguments.text.split() if words else arguments.text
    read = vocabulary.encode(given)
    if isinstance(model, EncoderDecoder):
        symbols = {"start": START, "stop": STOP, "length": arguments.length, "width": arguments.width}
        (found,) = decoding.translate(model, read[None], torch.tensor([len(read)]), **symbols)
        said = answers.decode([number for number in found.tokens.tolist() if number not in (START, STOP)])
        print(("" if all(len(symbol) == 1 for symbol in said) else " ").join(said))
    else:
        (tags,) = model.tags(Batch(read[None], read[None], read[None] >= 0, torch.tensor([len(read)])))
        print(*(f"{word}/{tag}" for word, tag in zip(given, answers.decode(tags), strict=True)))


def _set_profile(arguments: argparse.Namespace) -> None:
    """Put the profile that was asked for, if any, in force."""
    os.environ["UNROLLED_PROFILE"] = arguments.profile or settings.profile()


def _corpora(arguments: argparse.Namespace) -> None:
    sources = {name: corpora.source(name) for name in arguments.names}  # an unknown name is refused before any download
    for name, source in sources.items():
        corpus = load_corpus(name)
        print(f"{name}: {source.about}; {source.megabytes} MB, {source.licence}")
        print(f"{'':12}{'characters':>12}{'words':>12}")
        for part in ("train", "validation", "test"):
            if text := getattr(corpus, part):
                print(f"  {part:10}{len(text):12,}{len(text.split()):12,}")
        print("  read and verified:")
        for file in corpus.files:
            print(f"  {file.path}: {file.check} {file.digest[:12]}…{file.note and f', {file.note}'}")
    if not arguments.names:
        columns = "{:18}  {:>7}  {:24}  {:26}  {}".format
        print(columns("name", "size", "licence", "training, validation, test", "here"))
        for name, source in corpora.SOURCES.items():
            print(columns(name, f"{source.megabytes} MB", source.licence, source.rule, corpora.state(name)))
        print(f"They are read from {corpora.folder()}; `python -m unrolled corpora NAME` fetches and verifies one.")


def _score(arguments: argparse.Namespace) -> None:
    begun = time.process_time()
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
    rows = {arguments.file: submission.score(handed_in)}
    spent = time.process_time() - begun
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


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    main = Parser(
        prog="python -m unrolled",
        description="The experiments behind the book's records, and the real corpora.",
        epilog=_MAIN,
    )
    commands = main.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("list", help="name the experiments").set_defaults(do=_list)

    run = commands.add_parser(
        "run",
        help="run one and print what it measured",
        description="Run an experiment and print what it measured: the mean over the seeds, ± the spread.",
        epilog=_RUN,
    )
    run.add_argument("name", metavar="NAME", help="as `list` prints it")
    _add_place(run)
    run.add_argument("--contender", action="append", metavar="LABEL", help="measure this one only; may be repeated")
    seeds = run.add_mutually_exclusive_group()
    seeds.add_argument("--seeds", type=int, metavar="N", help="measure the seeds 0 to N - 1 (default: a record's)")
    seeds.add_argument("--seed", type=int, action="append", metavar="S", help="measure this one; may be repeated")
    run.add_argument(
        "--device", choices=settings.devices(), help="default: cpu if quick, the fastest of this machine if full"
    )
    start = run.add_mutually_exclusive_group()
    start.add_argument("--resume", action="store_true", help="go on where it stopped, or fail: never begin")
    start.add_argument("--fresh", action="store_true", help="begin again; what is there moves to FOLDER/aside")
    run.add_argument("--record", action="store_true", help="put each part into the book's record")
    run.set_defaults(do=_run)

    show = commands.add_parser("show", help="print the book's record of one")
    show.add_argument("name", metavar="NAME", help="as `list` prints it")
    show.set_defaults(do=_show)

    lacking = commands.add_parser(
        "records",
        help="measure what the book's records lack",
        description="Say what the book's records lack and what it took the last time, then measure it.",
        epilog=_RECORDS,
    )
    lacking.add_argument("names", nargs="*", metavar="NAME", help="as `list` prints it (default: all)")
    lacking.add_argument("--list", action="store_true", help="only say what is lacking")
    lacking.add_argument("--folder", default="runs", help="where runs are kept (default: %(default)s)")
    lacking.set_defaults(do=_records)

    sample = commands.add_parser(
        "sample",
        help="let a model that one trained continue a text",
        description="Continue a prompt with a model that a run of an experiment has trained and left in its folder.",
        epilog=_SAMPLE,
    )
    sample.add_argument("name", metavar="NAME", help="an experiment that trains language models, and has run")
    sample.add_argument("--prompt", default="\n", help="what it continues (default: a line break)")
    sample.add_argument("--temperature", type=float, default=1.0, help="below 1 safer, above 1 bolder (default: 1)")
    sample.add_argument("--top-k", type=int, metavar="K", help="draw from the K most probable symbols only")
    sample.add_argument(
        "--top-p", type=float, metavar="P", help="draw from the fewest that have probability P together"
    )
    sample.add_argument("--length", type=int, default=400, help="how many symbols to write (default: %(default)s)")
    sample.add_argument("--seed", type=int, default=0, help="another seed, another text (default: %(default)s)")
    sample.add_argument("--model", help="which of the experiment's models (default: the first by name)")
    _add_place(sample)
    sample.set_defaults(do=_sample)

    answer = commands.add_parser(
        "answer",
        help="let a model that one trained tag a sentence, or rewrite a source",
        description="Answer a text with a tagger or an encoder-decoder that a run of an experiment has trained.",
        epilog=_ANSWER,
    )
    answer.add_argument("name", metavar="NAME", help="an experiment that trains such models, and has run")
    answer.add_argument("text", metavar="TEXT", help="words with spaces between, or a source in letters")
    answer.add_argument("--length", type=int, default=50, help="symbols of a target at most (default: %(default)s)")
    answer.add_argument("--width", type=int, default=4, help="hypotheses that a beam keeps (default: %(default)s)")
    answer.add_argument("--model", help="which of the experiment's models (default: the first by name)")
    _add_place(answer)
    answer.set_defaults(do=_answer)

    real = commands.add_parser(
        "corpora",
        help="list the real corpora, or fetch some",
        description="List the real corpora: size, licence, split, and whether they are here. With names, fetch those,\n"
        "verify them and print the sizes of their parts.",
    )
    real.add_argument("names", nargs="*", metavar="NAME", help="as `corpora` alone lists it")
    real.set_defaults(do=_corpora)

    own = commands.add_parser(
        "score",
        help="score a model of your own",
        description="Run FILE.py and print what its model pays for each character of its test.",
        epilog=_SCORE,
    )
    own.add_argument("file", metavar="FILE.py", help="a Python file that trains or loads the model")
    own.add_argument("--test", metavar="TEXT", help="a file with the text to score (default: FILE.py's own)")
    own.add_argument("--ngram", type=int, metavar="N", help="print beside it what an n-gram of this order pays")
    own.set_defaults(do=_score)
    return main


def _add_place(command: argparse.ArgumentParser) -> None:
    """Add what says where a run is kept."""
    command.add_argument(
        "--profile",
        choices=settings.PROFILES,
        help="quick: minutes to an hour on a CPU; full: published sizes (default: UNROLLED_PROFILE, or quick)",
    )
    command.add_argument("--folder", default="runs", help="where runs are kept (default: %(default)s)")


def _lacks_memory(error: Exception) -> bool:
    """Return whether there was not enough memory; PyTorch says so in several ways."""
    message = str(error).lower()
    return isinstance(error, MemoryError) or "out of memory" in message or "allocate memory" in message


def _lower(arguments: argparse.Namespace) -> str:
    """Return what would take less memory."""
    advice, stays = ["close other programs"], ""
    if arguments.command == "run":
        stays = "; the last checkpoint stays as it was"
        if settings.profile() == "full":
            advice.append("take --profile quick")
        configs = experiments.find(arguments.name).contenders[settings.profile()].values()
        recipes = [config["recipe"] for config in configs if "recipe" in config]
        if recipes:
            largest = max(recipes, key=lambda recipe: recipe["batch"] * recipe["seq_len"])
            sizes = " or ".join(f"{size} (now {largest[size]})" for size in ("batch", "seq_len"))
            advice.append(f"lower {sizes} in the experiment's configuration")
    return f"out of memory; {', or '.join(advice)}{stays}"


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks, and return the exit code; what went wrong is said in a line."""
    try:
        try:
            return _do(arguments)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # whoever reads the output, as `head` does, has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # as if SIGPIPE had ended it


def _do(arguments: list[str] | None) -> int:
    """Return the exit code of `main`, whose output may still have to be flushed."""
    words = sys.argv[1:] if arguments is None else arguments
    parsed = parser().parse_args(words)
    try:
        parsed.do(parsed)
    except BrokenPipeError:
        raise
    except (ValueError, OSError, RuntimeError, MemoryError) as error:
        print(f"unrolled: {_lower(parsed) if _lacks_memory(error) else error}", file=sys.stderr)
        return 2 if isinstance(error, ValueError) else 1
    except (KeyboardInterrupt, SystemExit) as stop:
        print("\nunrolled: stopped", end="", file=sys.stderr)
        if parsed.command in ("run", "records"):
            again = [word for word in words if word not in ("--fresh", "--resume")]
            again += ["--resume"] if parsed.command == "run" else []
            start = "torchrun …" if distributed.launched() else "python"
            print(f"; go on with: {start} -m unrolled {shlex.join(again)}", end="", file=sys.stderr)
        print(file=sys.stderr)
        return stop.code if isinstance(stop, SystemExit) else 130
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGINT, BY_DEFAULT)
    sys.exit(main())
