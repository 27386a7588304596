"""Recall: an oracle is always right, a reader without memory half of the time."""

import numpy as np
import pytest
import torch
from torch import nn

from unrolled.measure import first_choice_by_lag, recall, recall_by_lag
from unrolled.models import LanguageModel, NeuralModel
from unrolled.text import Vocabulary, WordVocabulary, stories

CORPUS = stories.corpus(300_000, seed=5)
VOCABULARY = Vocabulary(CORPUS.text)
EDGES = [0, 100, 300, 2000]


class Reader(NeuralModel):
    """A model whose logits are a fixed function of the text's positions, or of nothing."""

    device = torch.device("cpu")

    def __init__(self, logits):
        super().__init__()
        self.logits = logits  # (length, vocab_size)

    def forward(self, tokens, state=None):
        rows, length = tokens.shape
        if state is None:  # every stream begins where token_nats cut the text
            stream = -(-len(self.logits) // 32)
            state = torch.arange(rows) * stream
        at = (state[:, None] + torch.arange(length)).clamp(max=len(self.logits) - 1)
        return self.logits[at], state + length


def test_an_oracle_is_always_right_and_its_opposite_never():
    truth = nn.functional.one_hot(VOCABULARY.encode(CORPUS.text), len(VOCABULARY)).float()
    for kind in ("name", "pronoun", "place"):
        for sign, expected in ((1, 1.0), (-1, 0.0)):
            shares, counts = recall_by_lag(Reader(sign * truth), VOCABULARY, CORPUS, kind, EDGES)
            assert counts.sum() > 100 and np.allclose(shares[counts > 0], expected)


def test_without_memory_half_of_the_answers_are_right():
    torch.manual_seed(0)
    same = torch.randn(len(VOCABULARY)).expand(len(CORPUS.text), -1)  # prefers some letters, always the same
    tied = torch.zeros(len(CORPUS.text), len(VOCABULARY))
    for kind in ("name", "pronoun"):
        shares, counts = recall_by_lag(Reader(same), VOCABULARY, CORPUS, kind, [0, 5000])
        assert abs(shares[0] - 0.5) < 4 * 0.5 / np.sqrt(counts[0])
        assert recall_by_lag(Reader(tied), VOCABULARY, CORPUS, kind, [0, 5000])[0] == 0.5


def test_an_empty_bin_is_nan_and_an_unknown_kind_is_named():
    indifferent = Reader(torch.zeros(len(CORPUS.text), len(VOCABULARY)))
    shares, counts = recall_by_lag(indifferent, VOCABULARY, CORPUS, "name", [0, 1])
    assert counts[0] == 0 and np.isnan(shares[0])
    with pytest.raises(ValueError, match="kind is 'planet', which this corpus never recalls; it recalls animal"):
        recall_by_lag(Reader(torch.zeros(1, 1)), VOCABULARY, CORPUS, "planet", EDGES)


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
    logits = recall._logits(model, tokens, WORDS["\n"], candidates, streams=1)
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


@pytest.mark.parametrize(
    "ask, vocabulary, what", [(recall_by_lag, VOCABULARY, "costs"), (first_choice_by_lag, WORDS, "logits")]
)
def test_a_model_that_predicts_no_numbers_is_refused(ask, vocabulary, what):
    nothing = torch.full((len(vocabulary),), torch.nan).expand(len(CORPUS.text), -1)
    with pytest.raises(ValueError, match=f"some of the model's {what} are not numbers; train it again"):
        ask(Reader(nothing), vocabulary, CORPUS, "name", EDGES)
