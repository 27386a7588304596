"""First choices: an oracle is always right, only names compete for a name, and reading in pieces changes nothing."""

import numpy as np
import pytest
import torch
from torch import nn

from lab import first_choice
from lab.first_choice import first_choice_by_lag
from reader import Reader
from unrolled.models import LanguageModel
from unrolled.text import WordVocabulary, stories

CORPUS = stories.corpus(300_000, seed=5)
EDGES = [0, 100, 300, 2000]
WORDS = WordVocabulary(stories.words(stories.corpus(400_000).text))
SPLIT = WORDS.encode(stories.words(CORPUS.text))
NAMES = stories.grammar().values["name"]


def test_among_all_names_an_oracle_is_always_right_and_its_opposite_never():
    truth = nn.functional.one_hot(SPLIT, len(WORDS)).float()
    for kind in ("name", "animal"):
        for sign, expected in ((1, 1.0), (-1, 0.0)):
            shares, counts = first_choice_by_lag(Reader(sign * truth), WORDS, CORPUS, kind, EDGES)
            assert counts.sum() > 100 and np.allclose(shares[counts > 0], expected)


def test_only_names_compete_for_a_name():
    other = nn.functional.one_hot(torch.full((len(SPLIT),), WORDS["the"]), len(WORDS)).float()
    truth = nn.functional.one_hot(SPLIT, len(WORDS)).float()
    shares, _ = first_choice_by_lag(Reader(truth + 2 * other), WORDS, CORPUS, "name", [0, 5000])
    assert shares[0] == 1.0


def test_who_names_the_last_name_is_right_where_no_other_came_between():
    written, last, logits = stories.words(CORPUS.text), None, torch.zeros(len(SPLIT), len(WORDS))
    for place, word in enumerate(written):
        if last:
            logits[place, WORDS[last]] = 1.0
        last = word if word in NAMES else last
    at = {place: index for index, place in enumerate(stories.word_positions(CORPUS.text))}
    asked = [recall for recall in CORPUS.recalls if recall.kind == "name"]
    names = [[word for word in written[: at[recall.position]] if word in NAMES][-1] for recall in asked[:300]]
    right = np.mean([name == recall.value for name, recall in zip(names, asked, strict=False)])
    first = stories.StoryCorpus(CORPUS.stories)
    shares, counts = first_choice_by_lag(Reader(logits), WORDS, first, "name", [0, 5000])
    assert counts[0] == len(asked) and abs(shares[0] - right) < 0.1 and 0.3 < right < 1


def test_reading_in_pieces_with_the_state_carried_changes_no_answer():
    torch.manual_seed(0)
    model = LanguageModel(len(WORDS), core="gru", hidden_size=8)
    short = stories.corpus(3000, seed=9)
    tokens = WORDS.encode(stories.words(short.text))
    candidates = torch.tensor([WORDS[name] for name in NAMES])
    whole, _ = model(torch.cat([tokens.new_tensor([WORDS["\n"]]), tokens[:-1]])[None])
    logits = first_choice._logits(model, tokens, WORDS["\n"], candidates, streams=1)
    assert torch.allclose(logits, whole[0][:, candidates], atol=1e-5) and len(tokens) > 256


@pytest.mark.parametrize(
    "vocabulary, kind, says",
    [
        (WORDS, "pronoun", "kind is 'pronoun'; this corpus recalls no such list of values"),
        (WordVocabulary(["the", "\n"]), "name", "'Ada' is not a word that the model knows; take another kind"),
    ],
)
def test_what_cannot_be_asked_is_named(vocabulary, kind, says):
    with pytest.raises(ValueError, match=says):
        first_choice_by_lag(LanguageModel(len(vocabulary)), vocabulary, CORPUS, kind, EDGES)


def test_a_model_that_predicts_no_numbers_is_refused():
    nothing = torch.full((len(WORDS),), torch.nan).expand(len(CORPUS.text), -1)
    with pytest.raises(ValueError, match="some of the model's logits are not numbers; train it again"):
        first_choice_by_lag(Reader(nothing), WORDS, CORPUS, "name", EDGES)
