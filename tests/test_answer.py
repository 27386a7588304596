"""The command that lets taggers and encoder–decoders answer, and what refuses to."""

import pytest
import torch

from unrolled import experiments
from unrolled.__main__ import main
from unrolled.models import EncoderDecoder, LanguageModel, Tagger, save_model
from unrolled.text import Vocabulary, WordVocabulary


@pytest.fixture
def keep(monkeypatch, tmp_path):
    """Return a function that makes a model the only one that any experiment has trained."""

    def put(model, *vocabularies):
        save_model(tmp_path / "kept.model", model, *vocabularies)
        monkeypatch.setattr(experiments, "models", lambda name, folder: {"kept": tmp_path / "kept.model"})

    return put


def test_a_tagger_gives_each_word_a_tag(keep, capsys):
    words, tags = WordVocabulary.of(["<unk>", "show", "flights"]), WordVocabulary.of(["<unk>", "VERB", "NOUN"])
    tagger = Tagger(3, 3, hidden_size=4)
    with torch.no_grad():
        tagger.embedding.weight.zero_()
        tagger.output.bias.copy_(torch.tensor([0.0, 0.0, 9.0]))
    keep(tagger, words, tags)
    assert main(["answer", "tagging", "show strange flights"]) == 0
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
    keep(model, Vocabulary("ab"), WordVocabulary.of(symbols))
    assert main(["answer", "phonemes", "abba", "--length", "5", "--width", "2"]) == 0
    assert capsys.readouterr().out == printed
    assert main(["answer", "phonemes", "abc"]) == 2
    assert "'c' at position 2 is not among the 2 symbols" in capsys.readouterr().err


def test_each_command_names_the_other(keep, capsys):
    keep(Tagger(2, 2, hidden_size=4), WordVocabulary.of(["<unk>", "a"]), WordVocabulary.of(["<unk>", "X"]))
    assert main(["sample", "tagging"]) == 2
    assert "a Tagger continues no text; let it answer: unrolled answer tagging" in capsys.readouterr().err
    keep(LanguageModel(2, hidden_size=4), Vocabulary("ab"))
    assert main(["answer", "stories-chars", "a"]) == 2
    assert "a LanguageModel answers nothing; let it write: unrolled sample stories-chars" in capsys.readouterr().err
