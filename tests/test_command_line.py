"""``python -m unrolled``: what a model from a file writes and answers, what is scored, suggested and refused."""

import re
import shlex
from pathlib import Path

import pytest
import torch

from unrolled import decoding
from unrolled.__main__ import main, parser
from unrolled.models import EncoderDecoder, LanguageModel, Tagger, save_model
from unrolled.text import Vocabulary, WordVocabulary


@pytest.fixture
def keep(tmp_path):
    """Return a function that saves a model in the folder of a run, and returns that folder."""

    def put(model, *vocabularies, name: str = "model") -> str:
        folder = tmp_path / "runs" / "seed-0"
        folder.mkdir(parents=True, exist_ok=True)
        save_model(folder / f"{name}.model", model, *vocabularies)
        return str(folder)

    return put


@pytest.fixture
def letters(keep):
    """The folder of a language model of three letters and the line break."""
    torch.manual_seed(0)
    return keep(LanguageModel(4, hidden_size=8, core="gru"), Vocabulary("abc\n"))


# Sampling


def test_a_model_continues_a_prompt(letters, capsys):
    def sample(*options, place: str = letters) -> str:
        assert main(["sample", place, "--prompt", "abc", "--length", "30", *options]) == 0
        written = capsys.readouterr().out
        assert len(written) == len("abc") + 30 + 1 and written.startswith("abc")
        return written

    assert sample() == sample("--temperature", "1", "--seed", "0") == sample(place=f"{letters}/model.model")
    assert sample() == sample(place=str(Path(letters).parent))  # a folder above, which holds one model in all
    assert sample("--seed", "1") != sample() and sample("--temperature", "0.3") != sample()
    greedy = sample("--top-k", "1", "--seed", "1")
    assert greedy == sample("--top-k", "1", "--seed", "2") == sample("--top-p", "1e-9")
    assert main(["sample", letters]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("\n") and len(out) == 402 and not err


def test_a_model_of_words_writes_words(keep, capsys):
    vocabulary = WordVocabulary(["the", "cat", "sat", "\n"])
    folder = keep(LanguageModel(len(vocabulary), hidden_size=4), vocabulary)
    assert main(["sample", folder, "--prompt", "the cat", "--length", "5"]) == 0
    written = capsys.readouterr().out[:-1].split(" ")
    assert written[:2] == ["the", "cat"] and len(written) == 7 and {*written} <= {*vocabulary.symbols}


def test_what_a_sample_cannot_do_is_named(letters, keep, tmp_path, capsys):
    def refused(place, *options) -> str:
        assert main(["sample", str(place), *options]) == 2
        return capsys.readouterr().err

    assert "'¶' at position 0 is not among" in refused(letters, "--prompt", "¶")
    for temperature in ("0", "inf", "nan"):
        message = refused(letters, "--temperature", temperature)
        assert f"temperature is {float(temperature)}; it must be above 0" in message
    for seed in ("-1", str(2**64)):
        assert f"seed is {seed}; it must be from 0 to " in refused(letters, "--seed", seed)
    for nothing in (tmp_path / "nowhere", "rnn-windows"):
        hint = "give a file that ends in .model, or the folder of one, where `python -m lab run` left one"
        assert refused(nothing) == f"unrolled: {nothing} holds 0 models; {hint}\n"
    keep(LanguageModel(2, hidden_size=4), Vocabulary("ab"), name="other")
    both = refused(letters)
    assert "holds 2 models" in both and f"name one of them: {letters}/model.model, {letters}/other.model" in both
    file = Path(letters, "model.model")
    file.write_bytes(file.read_bytes()[:100])
    assert "model.model holds no model that can be read" in refused(file)


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory."), MemoryError()])
def test_out_of_memory_ends_in_a_line(letters, monkeypatch, capsys, error):
    def lacking(*_, **__):
        raise error

    monkeypatch.setattr(decoding, "sample", lacking)
    assert main(["sample", letters]) == 1
    assert capsys.readouterr().err == "unrolled: out of memory; close other programs\n"


def test_ctrl_c_ends_in_a_line(letters, monkeypatch, capsys):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(decoding, "sample", stopped)
    assert main(["sample", letters]) == 130
    assert capsys.readouterr().err == "\nunrolled: stopped\n"


# Answering


def test_a_tagger_gives_each_word_a_tag(keep, capsys):
    words, tags = WordVocabulary.of(["<unk>", "show", "flights"]), WordVocabulary.of(["<unk>", "VERB", "NOUN"])
    tagger = Tagger(3, 3, hidden_size=4)
    with torch.no_grad():
        tagger.embedding.weight.zero_()
        tagger.output.bias.copy_(torch.tensor([0.0, 0.0, 9.0]))
    assert main(["answer", keep(tagger, words, tags), "show strange flights"]) == 0
    assert capsys.readouterr().out == "show/NOUN strange/NOUN flights/NOUN\n"


@pytest.mark.parametrize(
    "symbols, printed",
    [(["<start>", "<stop>", "a", "b"], "bbbbb\n"), (["<start>", "<stop>", "AE", "OW"], "OW OW OW OW OW\n")],
)
def test_an_encoder_decoder_writes_the_target(keep, capsys, symbols, printed):
    model = EncoderDecoder(2, 4, hidden_size=4, attention="dot")
    with torch.no_grad():
        model.output.weight.zero_()
        model.output.bias.copy_(torch.tensor([0.0, 0.0, 0.0, 9.0]))
    folder = keep(model, Vocabulary("ab"), WordVocabulary.of(symbols))
    assert main(["answer", folder, "abba", "--length", "5", "--width", "2"]) == 0
    assert capsys.readouterr().out == printed
    assert main(["answer", folder, "abc"]) == 2
    assert "'c' at position 2 is not among the 2 symbols" in capsys.readouterr().err


def test_each_command_names_the_other(keep, letters, capsys):
    assert main(["answer", letters, "a"]) == 2
    expected = f"a LanguageModel answers nothing; let it write: unrolled sample {letters}"
    assert expected in capsys.readouterr().err
    keep(Tagger(2, 2, hidden_size=4), WordVocabulary.of(["<unk>", "a"]), WordVocabulary.of(["<unk>", "X"]))
    assert main(["sample", letters]) == 2
    assert f"a Tagger continues no text; let it answer: unrolled answer {letters}" in capsys.readouterr().err


# Help


@pytest.mark.parametrize(
    "wrong, message",
    [
        (["sampel", "runs"], "invalid choice: 'sampel' .*; did you mean 'sample'?"),
        (["xyz"], r"invalid choice: 'xyz' \(choose from [^;]*\)\n"),
        (["sample", "runs", "--temp", "1"], "unrecognized arguments: --temp"),  # not taken for --temperature
        ([], "required: COMMAND"),
    ],
)
def test_wrong_use_is_named_with_what_was_meant(capsys, wrong, message):
    with pytest.raises(SystemExit) as stop:
        main(wrong)
    assert stop.value.code == 2 and re.search(message.replace("?", r"\?"), capsys.readouterr().err)


@pytest.mark.parametrize("command", [[], ["train"], ["sample"], ["answer"], ["score"]])
def test_help_has_examples_that_parse(capsys, command):
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    _, taught = capsys.readouterr().out.split("examples:")
    examples = re.findall(r"-m unrolled (.*?)(?:  |\n|$)", taught)
    assert len(examples) >= 2
    for example in examples:
        parser().parse_args(shlex.split(example))


# Models of one's own

OWN = """
import numpy as np
symbols = "ab"
training = "abba" * 40
test = "aabb" * 10
def predict(text):
    return np.full((len(text), 2), 0.5)
"""


def test_a_model_of_ones_own_is_scored_beside_an_n_gram(tmp_path, capsys):
    file, kept = tmp_path / "own.py", tmp_path / "kept.txt"
    file.write_text(OWN, encoding="utf8")
    kept.write_text("ab" * 8, encoding="utf8")
    assert main(["score", str(file), "--ngram", "3"]) == 0
    own, beside, time = capsys.readouterr().out.splitlines()
    assert "own.py: 0.6931 nats per character, 1.0000 bits, perplexity 2.000, over 40 characters" in own
    assert beside.startswith("3-gram: ") and "over 40 characters" in beside and "s of CPU" in time
    assert main(["score", str(file), "--test", str(kept)]) == 0
    assert "over 16 characters" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (("np.full((len(text), 2), 0.5)", "np.full((len(text), 2), 0.6)"), 2, "sum to 1.2"),
        (("test = ", "held_out = "), 2, "own.py does not define test;"),
        (('"aabb" * 10', '"abba" * 20'), 2, "50 characters in a row"),
        (("symbols =", "symbols +="), 1, "own.py could not be run; the lines above say where"),
        (("np.full((len(text), 2), 0.5)", "lost[text]"), 1, "own.py: predict('a"),
    ],
)
def test_a_model_of_ones_own_is_refused_in_a_line(tmp_path, capsys, change, code, message):
    file = tmp_path / "own.py"
    file.write_text(OWN.replace(*change), encoding="utf8")
    assert main(["score", str(file)]) == code
    err = capsys.readouterr().err
    assert err.splitlines()[-1].startswith("unrolled: ") and message in err


def test_a_file_that_is_not_there_is_named(capsys):
    assert main(["score", "nowhere.py"]) == 1
    assert "nowhere.py" in capsys.readouterr().err
