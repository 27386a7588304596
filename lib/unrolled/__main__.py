"""The command line: ``python -m unrolled list | run NAME | show NAME | sample NAME | corpora [NAME ...]``."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shlex
import sys
from typing import NoReturn

import numpy as np

from unrolled import decoding, experiments, settings
from unrolled.experiments import records
from unrolled.models import files
from unrolled.text import WordVocabulary, corpora, split_words
from unrolled.training import distributed

_MAIN = """\
examples:
  python -m unrolled list                             which experiments there are
  python -m unrolled show rnn-windows                 what the book's record of one says
  python -m unrolled run rnn-windows                  measure it again, on this machine
  python -m unrolled sample rnn-windows --prompt "The "      let its model write
  python -m unrolled corpora tiny-shakespeare         fetch a real corpus and verify it

COMMAND --help tells more of each. The exit code is 0 when all went well, 1 when something failed, 2 when the command
asks for what cannot be, 130 after Ctrl-C and 143 after SIGTERM."""

_RUN = """\
examples:
  python -m unrolled run rnn-windows --seeds 1
  python -m unrolled run rnn-windows --profile full --device cuda
  torchrun --nproc-per-node 2 -m unrolled run rnn-windows      two processes, or GPUs, share each batch

Everything is kept in the folder on the way. After Ctrl-C, SIGTERM or a power cut the same command goes on where it was,
and the result is the same to the last bit. --resume refuses to do anything else than that; --fresh begins again."""

_SAMPLE = """\
examples:
  python -m unrolled run rnn-tiny-shakespeare --seeds 1        trains the model, once
  python -m unrolled sample rnn-tiny-shakespeare --prompt "ROMEO:" --temperature 0.8
  python -m unrolled sample rnn-tiny-shakespeare --top-k 1     greedy: always the most probable symbol
  python -m unrolled sample rnn-tiny-shakespeare --top-p 0.9 --seed 1 --length 1000"""


class Parser(argparse.ArgumentParser):
    """A parser that takes whole words only, and suggests one where a wrong word is near it."""

    def __init__(self, **told):
        super().__init__(allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **told)

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
    with distributed.together(settings.device()):
        record = experiments.run(
            arguments.name, arguments.seeds, arguments.folder, resume=arguments.resume, fresh=arguments.fresh
        )
        if distributed.rank() == 0:
            show(record)
            if arguments.record:
                print(f"kept in {records.save_record(record)}")


def _show(arguments: argparse.Namespace) -> None:
    show(experiments.recorded(experiments.find(arguments.name).name))


def show(record: records.Record) -> None:
    """Print a record: each number's mean and spread over the seeds, then where it came from."""
    for metric, value in record.metrics[0].items():
        if isinstance(value, (int, float)):
            values = record[metric]
            spread = f" ± {np.std(values, ddof=1):.4f}" if len(values) > 1 else ""
            print(f"{metric:>24}  {np.mean(values):.4f}{spread}")
    print(record.provenance())


def _sample(arguments: argparse.Namespace) -> None:
    _set_profile(arguments)
    models = experiments.models(arguments.name, arguments.folder)
    name = arguments.model or next(iter(models))
    if name not in models:
        near = difflib.get_close_matches(name, models, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(models)}"
        raise ValueError(f"{arguments.name!r} has no model {name!r}; {hint}")
    if not arguments.model and len(models) > 1:
        print(f"unrolled: {name} writes; --model can be one of {', '.join(models)}", file=sys.stderr)
    model, vocabulary = files.load_model(models[name])
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


def _set_profile(arguments: argparse.Namespace) -> None:
    """Put the profile that was asked for, if any, in force."""
    os.environ["UNROLLED_PROFILE"] = arguments.profile or settings.profile()


def _corpora(arguments: argparse.Namespace) -> None:
    sources = {name: corpora.source(name) for name in arguments.names}  # an unknown name is refused before any download
    for name, source in sources.items():
        corpus = corpora.load_corpus(name)
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
    run.add_argument("--seeds", type=int, default=3, help="how many seeds (default: %(default)s)")
    run.add_argument(
        "--device", choices=settings.devices(), help="default: cpu if quick, the fastest of this machine if full"
    )
    start = run.add_mutually_exclusive_group()
    start.add_argument("--resume", action="store_true", help="go on where it stopped, or fail: never begin")
    start.add_argument("--fresh", action="store_true", help="begin again; what is there moves to FOLDER/aside")
    run.add_argument("--record", action="store_true", help="keep the result as the book's record of this experiment")
    run.set_defaults(do=_run)

    show = commands.add_parser("show", help="print the book's record of one")
    show.add_argument("name", metavar="NAME", help="as `list` prints it")
    show.set_defaults(do=_show)

    sample = commands.add_parser(
        "sample",
        help="let a model that one trained continue a text",
        description="Continue a prompt with a model that a run of an experiment has trained and left in its folder.",
        epilog=_SAMPLE,
    )
    sample.add_argument("name", metavar="NAME", help="an experiment that trains language models, and has run")
    sample.add_argument("--prompt", default="\n", help="what it continues (default: a line break)")
    sample.add_argument("--temperature", type=float, default=1.0, help="below 1 bolder, above 1 wilder (default: 1)")
    sample.add_argument("--top-k", type=int, metavar="K", help="draw from the K most probable symbols only")
    sample.add_argument(
        "--top-p", type=float, metavar="P", help="draw from the fewest that have probability P together"
    )
    sample.add_argument("--length", type=int, default=400, help="how many symbols to write (default: %(default)s)")
    sample.add_argument("--seed", type=int, default=0, help="another seed, another text (default: %(default)s)")
    sample.add_argument("--model", help="which of the experiment's models (default: the first by name)")
    _add_place(sample)
    sample.set_defaults(do=_sample)

    real = commands.add_parser(
        "corpora",
        help="list the real corpora, or fetch some",
        description="List the real corpora: size, licence, split, and whether they are here. With names, fetch those,\n"
        "verify them and print the sizes of their parts.",
    )
    real.add_argument("names", nargs="*", metavar="NAME", help="as `corpora` alone lists it")
    real.set_defaults(do=_corpora)
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
    """Whether there was not enough memory; PyTorch says so in several ways."""
    told = str(error).lower()
    return isinstance(error, MemoryError) or "out of memory" in told or "allocate memory" in told


def _lower(arguments: argparse.Namespace) -> str:
    """Return what would take less memory."""
    config = experiments.find(arguments.name).configs[settings.profile()] if arguments.command == "run" else {}
    sizes = ("symbols_per_update", "seq_len", "hidden_size")
    lower = [f"{size} (now {config[size]})" for size in sizes if size in config]
    advice = ["close other programs", *(["take --profile quick"] if settings.profile() == "full" else [])]
    if lower:
        advice.append(f"lower {', '.join(lower)} in the experiment's configuration")
    stays = "; the last checkpoint stays as it was" if arguments.command == "run" else ""
    return f"out of memory; {', or '.join(advice)}{stays}"


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks, and return the exit code; what went wrong is told in a line."""
    words = sys.argv[1:] if arguments is None else arguments
    told = parser().parse_args(words)
    try:
        told.do(told)
    except (ValueError, OSError, RuntimeError, MemoryError) as error:
        print(f"unrolled: {_lower(told) if _lacks_memory(error) else error}", file=sys.stderr)
        return 2 if isinstance(error, ValueError) else 1
    except (KeyboardInterrupt, SystemExit) as stop:
        print("\nunrolled: stopped", end="", file=sys.stderr)
        if told.command == "run":
            again = [word for word in words if word not in ("--fresh", "--resume")]
            start = "torchrun …" if distributed.launched() else "python"
            print(f"; go on with: {start} -m unrolled {shlex.join(again)} --resume", end="", file=sys.stderr)
        print(file=sys.stderr)
        return stop.code if isinstance(stop, SystemExit) else 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
