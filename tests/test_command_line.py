"""``python -m unrolled``: a text is counted, learned and read once; what was stopped goes on; bad input is named."""

import math
import re
import shlex

import numpy as np
import pytest
import torch

from unrolled import __main__ as command_line
from unrolled.__main__ import main, parser
from unrolled.measure import evaluate, token_nats
from unrolled.models import LanguageModel, Tagger, load_model, save_model
from unrolled.ngram import Counts, ModifiedKneserNey
from unrolled.text import WordVocabulary, stories

TEXT = stories.corpus(12_000, seed=3).text[:12_000]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with a text and some bad ones; the network is small, and its passes are few."""
    monkeypatch.setattr(command_line, "SIZES", [(math.inf, 8, 0.1, 10)])  # 93 updates or fewer
    monkeypatch.chdir(tmp_path)
    for name, content in {"my": TEXT.encode(), "empty": b"", "short": b"short", "latin": b"tw\xe9" * 5000}.items():
        (tmp_path / f"{name}.txt").write_bytes(content)
    (tmp_path / "broken.model").write_bytes(b"no model")
    save_model(tmp_path / "tagger.model", Tagger(2, 2), WordVocabulary.of("ab"), WordVocabulary.of("xy"))
    return tmp_path


def test_a_text_is_counted_learned_and_read_once_and_a_run_that_is_stopped_goes_on(folder, monkeypatch, capsys):
    def stopped(*given, checkpoint=None, **options):
        if checkpoint is None:  # a few updates, to see how long they take
            return train(*given, **options)
        return train(*given, **options, checkpoint=checkpoint, checkpoint_every=20, watch=stop)

    def stop(done):
        if done == 25:
            raise KeyboardInterrupt

    train = command_line.train
    with monkeypatch.context() as once:
        once.setattr(command_line, "train", stopped)
        assert main(["train", "my.txt", "--minutes", "0.5"]) == 130
    assert capsys.readouterr().err.endswith("unrolled: stopped; the same command goes on\n")
    assert main(["train", "my.txt", "--minutes", "0.01"]) == 0
    shown = capsys.readouterr().out
    assert "runs/my holds a run of 93 updates, which goes on" in shown and "network: a GRU of 8 units, 93" in shown
    network, vocabulary = load_model(folder / "runs" / "my" / "model.model")
    tokens = vocabulary.encode(TEXT)
    training, choosing, test = tokens[:9600], tokens[9600:10800], tokens[10800:]
    ngrams = {n: ModifiedKneserNey(Counts(training, len(vocabulary), n)) for n in command_line.ORDERS}
    order = min(ngrams, key=lambda n: evaluate(ngrams[n], choosing).nats)
    models = ngrams[order], network
    counted, learned = (token_nats(model, test, start=int(choosing[-1]), streams=1) for model in models)
    half = -np.log((np.exp(-counted) + np.exp(-learned)) / 2)
    for name, nats in {f"{order}-gram": counted, "network": learned, "half of each": half}.items():
        (row,) = re.findall(rf"^{name} +([\d.]+) +([\d.]+)$", shown, re.MULTILINE)
        assert row == (f"{nats.mean():.4f}", f"{np.exp(nats.mean()):.3f}")
    assert main(["train", "my.txt"]) == 0
    assert capsys.readouterr().out.split("\n\n")[1] == shown.split("\n\n")[1]  # the table
    assert main(["sample", "runs/my", "--prompt", "The ", "--length", "20"]) == 0
    assert re.fullmatch(r"The .{20}\n", capsys.readouterr().out, re.DOTALL)
    assert main(["sample", "runs/my/model.model", "--seed", "1", "--temperature", "0.5"]) == 0
    (folder / "my.txt").write_text(TEXT[::-1])
    assert main(["train", "my.txt"]) == 2 and "is the checkpoint of another run (data is" in capsys.readouterr().err


def test_as_many_updates_are_planned_as_the_minutes_allow(folder, monkeypatch, capsys):
    """An update takes half a second, and everything else none: of 12 seconds, 24 updates remain."""
    monkeypatch.setattr(command_line.time, "perf_counter", lambda: 0.0)
    train = command_line.train

    def slow(*given, **options):
        history = train(*given, **options)
        history.seconds = 0.5 * len(history.losses)
        return history

    monkeypatch.setattr(command_line, "train", slow)
    assert main(["train", "my.txt", "--minutes", "0.2"]) == 0 and "8 units, 24 updates" in capsys.readouterr().out


def test_a_model_of_words_writes_words(folder, capsys):
    vocabulary = WordVocabulary(["the", "cat", "sat", "\n"])
    torch.manual_seed(0)
    save_model(folder / "words.model", LanguageModel(len(vocabulary), hidden_size=4), vocabulary)
    assert main(["sample", "words.model", "--prompt", "the cat", "--length", "5"]) == 0
    written = capsys.readouterr().out[:-1].split(" ")
    assert written[:2] == ["the", "cat"] and len(written) == 7 and {*written} <= {*vocabulary.symbols}


@pytest.mark.parametrize(
    "words, message",
    [
        ("train nowhere.txt", "nowhere.txt cannot be read (No such file or directory); give the path of a text"),
        ("train .", ". cannot be read (Is a directory)"),
        ("train empty.txt", "empty.txt has 0 characters, and 10,000 are the least; give a longer text"),
        ("train short.txt", "short.txt has 5 characters"),
        ("train latin.txt", "latin.txt is not UTF-8 (its byte 2 is 0xe9); convert it: iconv -f latin1 -t utf8 latin"),
        ("train my.txt --minutes 0", "minutes is 0.0; it must be above 0, such as 10"),
        ("train my.txt --minutes nan", "minutes is nan; it must be above 0"),
        ("sample nowhere", "nowhere holds 0 models; give a file that ends in .model"),
        ("sample .", ". holds 2 models"),
        ("sample my.txt", "my.txt holds no model that can be read"),
        ("sample broken.model", "broken.model holds no model that can be read"),
        ("sample tagger.model", "tagger.model holds a Tagger, which continues no text"),
        ("train", "the following arguments are required: FILE"),
        ("score my.txt", "invalid choice: 'score'"),
    ],
)
def test_what_cannot_be_is_named_in_a_line(folder, capsys, words, message):
    try:
        assert main(words.split()) == 2
        lines = 1
    except SystemExit as stop:  # argparse's, which shows the usage, too
        assert stop.code == 2
        lines = 3
    err = capsys.readouterr().err
    assert message in err and err.count("\n") <= lines and not (folder / "runs").exists()


def test_the_examples_of_the_help_parse():
    taught = re.findall(r"-m unrolled (.*?)(?:  |\n|$)", command_line.TRAIN + command_line.SAMPLE)
    assert [parser().parse_args(shlex.split(each)).command for each in taught] == ["train"] * 3 + ["sample"]
