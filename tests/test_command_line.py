"""``python -m unrolled``: a text is counted, learned and read once; what was stopped goes on; bad input is named."""

import io
import math
import re
import shlex
import sys

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

BAD = {
    "empty": b"",
    "short": b"short",
    "latin": b"tw\xe9" * 5000,
    "utf-16": TEXT.encode("utf-16"),
    "no-mark": TEXT.encode("utf-16-le"),
    "gzip": b"\x1f\x8b" + bytes(range(1, 200)) * 100,
    "docx": b"PK\x03\x04" + bytes(range(1, 200)) * 100,
}
BROUGHT = {  # what people bring: the bytes of a passage, and its text
    "a chat on Windows": (
        b"12:04\xe2\x80\xafAda: \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7!\r\n",
        "12:04\u202fAda: 👩\u200d👧!\n",
    ),
    "line ends of old Macs": (b"one\rtwo\r\r", "one\ntwo\n\n"),
    "line ends gone through Windows twice": (b"one\r\r\ntwo\r\r\n", "one\ntwo\n"),
    "one lone CR": (b"one\ntwo\rthree\n", "one\ntwo\nthree\n"),
    "line ends of Unicode": ("one\x85two\u2028three\u2029".encode(), "one\ntwo\nthree\n"),
    "a table": (b'name;number\r\n"Ada; the first";1,5\r\n', 'name;number\n"Ada; the first";1,5\n'),
    "code with tabs": (b"if x:\n\treturn  y\n", "if x:\n\treturn  y\n"),
    "pages of a book": (b"  a poem,\n    indented\n\x0c", "  a poem,\n    indented\n\x0c"),
    "no line end at all": ("مُحَمَّد हिन्दी 语言 ".encode(), "مُحَمَّد हिन्दी 语言 "),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with a text and some bad ones; the network is small, and its passes are few."""
    monkeypatch.setattr(command_line, "SIZES", [(math.inf, 8, 0.1, 10)])  # 93 updates or fewer
    monkeypatch.chdir(tmp_path)
    for name, content in BAD.items():
        (tmp_path / f"{name}.txt").write_bytes(content)
    (tmp_path / "my.txt").write_text(TEXT)
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
    """An update takes an eighth of a second, all else none: 11.5 seconds are enough for 92, and 6 for no verdict."""
    monkeypatch.setattr(command_line.time, "perf_counter", lambda: 0.0)
    train = command_line.train

    def slow(*given, **options):
        history = train(*given, **options)
        history.seconds = 0.125 * len(history.losses)
        return history

    monkeypatch.setattr(command_line, "train", slow)
    monkeypatch.setattr(command_line, "LEAST_UPDATES", 60)
    assert main(["train", "my.txt", "--minutes", str(11.5 / 60)]) == 0
    assert "8 units, 92 updates" in capsys.readouterr().out
    assert main(["train", "my.txt", "--minutes", "0.1", "--folder", "short"]) == 2
    assert "minutes is 0.1: too few for 60 updates of this text; --minutes 2" in capsys.readouterr().err


@pytest.mark.parametrize("kind", BROUGHT)
def test_what_people_bring_is_read_with_one_kind_of_line_end(folder, kind):
    data, text = BROUGHT[kind]
    times = 12_000 // len(text)
    (folder / "brought.txt").write_bytes(b"\xef\xbb\xbf" + data * times)
    assert command_line.read(folder / "brought.txt") == text * times


@pytest.mark.parametrize("kind", ["a chat on Windows", "no line end at all"])
def test_what_people_bring_is_learned_and_written(folder, monkeypatch, capsys, kind):
    """Also on a console that cannot write all of it, and without a prompt where the text has no line end."""
    data, text = BROUGHT[kind]
    (folder / "brought.txt").write_bytes(data * (12_000 // len(text)))
    assert main(["train", "brought.txt", "--minutes", "0.5"]) == 0
    assert "beware: 100% of the test stands in the training text" in capsys.readouterr().out
    _, vocabulary = load_model("runs/brought/model.model")
    assert vocabulary.symbols == tuple(sorted(set(text)))
    monkeypatch.setattr(sys, "stdout", console := io.TextIOWrapper(io.BytesIO(), "cp1252"))
    assert main(["sample", "runs/brought", "--length", "50"]) == 0
    console.seek(0)
    assert len(console.read()) >= 50


def test_a_text_of_another_encoding_is_read_when_it_is_named(folder, capsys):
    (folder / "old.txt").write_bytes(("“she’s” 5 €\r\n" * 1000).encode("cp1252"))
    assert main(["train", "old.txt"]) == 2 and "old.txt is not UTF-8 (its byte 0 is 0x93)" in capsys.readouterr().err
    assert command_line.read(folder / "old.txt", "cp1252") == "“she’s” 5 €\n" * 1000
    for name, encoding in {"utf-16": "utf-16", "no-mark": "utf-16-le"}.items():
        assert command_line.read(folder / f"{name}.txt", encoding) == TEXT
    assert main(["train", "my.txt", "--encoding", "utf-9"]) == 2
    assert "encoding is 'utf-9', which Python does not know" in capsys.readouterr().err


def test_only_a_text_that_is_its_own_test_is_warned_of():
    halves = TEXT[:6000], TEXT[6000:]
    assert command_line.repeated(*halves) < 0.1 and command_line.repeated(halves[0], halves[0][200:900]) == 1


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
        ("train latin.txt", "latin.txt is not UTF-8 (its byte 2 is 0xe9); name its encoding: of a Western"),
        ("train utf-16.txt", "utf-16.txt is a text in UTF-16; give --encoding utf-16"),
        ("train no-mark.txt", "no-mark.txt seems to be a text in UTF-16; give --encoding utf-16-le"),
        ("train gzip.txt", "gzip.txt is an archive or a document; unpack it, or save it as plain text"),
        ("train docx.txt", "docx.txt is an archive or a document"),
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
        lines = 4
    err = capsys.readouterr().err
    assert message in err and err.count("\n") <= lines and not (folder / "runs").exists()


def test_the_examples_of_the_help_parse():
    taught = re.findall(r"-m unrolled (.*?)(?:  |\n|$)", command_line.TRAIN + command_line.SAMPLE)
    assert [parser().parse_args(shlex.split(each)).command for each in taught] == ["train"] * 3 + ["sample"]
