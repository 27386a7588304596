"""How a network of words writes: every way of decoding, and what it makes of real and of its own text (chapter 9)."""

import re
from itertools import pairwise
from pathlib import Path

import torch

from lab.experiment import Config, Experiment, Metric, at, model, recipe, text
from lab.texts import Encoded
from lab.training import fit
from unrolled.decoding import beam_search, distribution, generate, predict, repetition
from unrolled.models import evaluating
from unrolled.text import WordVocabulary, load_corpus

PROMPT = "Lily was a daughter who liked to play with her toys. She"  # the beginning of a held-out story
CONTEXTS = "Once upon a time there was a little", "One day, she saw a"
SENTENCES = "She was very happy.", "They played in the park.", "The dog ran to the tree.", "He had a red ball."
SHOWN, BEGUN, LENGTH, BIN, TIMES, RANKS, REPEATS, WIDTHS = 60, 12, 60, 10, 9, 20, 3, [1, 2, 4, 8, 16, 32]
WAYS = {
    "greedy": {"top_k": 1},
    "cold": {"temperature": 0.5},
    "sampling": {},
    "hot": {"temperature": 1.5},
    "top-k": {"top_k": 10},
    "nucleus": {"top_p": 0.9},
    "beam": {"width": 8},
    "no repeats": {"n": REPEATS},
    "penalty": {"theta": 1.2},
}
FROM = ["real", *WAYS]


def words(read: str) -> list[str]:
    """Return the words and stops of stories; a line break ends a story, and quotation marks are left out."""
    return re.findall(r"\n|[A-Za-z]+(?:'[a-z]+)?|[.,!?]", re.sub(r"\n\n+", " ", read))


def without_repeats(writer, prompt: torch.Tensor, length: int, n: int = 0, theta: float = 1.0) -> list[torch.Tensor]:
    """Return what is written greedily: no n words twice; logits of words that were there made less by theta."""
    rows, (logits, state) = prompt.tolist(), predict(writer, prompt)
    for _ in range(length):
        for row, own in zip(rows, logits, strict=True):
            there = sorted(set(row))
            own[there] = torch.where(own[there] > 0, own[there] / theta, own[there] * theta)
            if n:
                known = {tuple(row[at : at + n]) for at in range(len(row) - n + 1)}
                own[[last for *before, last in known if before == row[1 - n :]]] = -torch.inf
        last = logits.argmax(dim=1, keepdim=True)
        rows = [[*row, *new] for row, new in zip(rows, last.tolist(), strict=True)]
        logits, state = predict(writer, last, state)
    return [torch.tensor(row[-length:]) for row in rows]


def continued(writer, prompt: torch.Tensor, length: int, way: dict) -> list[torch.Tensor]:
    """Return what is written after each prompt in one of the `WAYS`."""
    if "width" in way:
        return [each.tokens for each in beam_search(writer, prompt, length=length, alpha=0, **way)]
    if way.keys() & {"n", "theta"}:
        return without_repeats(writer, prompt, length, **way)
    return generate(writer, prompt, length=length, **way)


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train the network; let it write in every way; score what it wrote, and real text."""
    corpus = load_corpus("tinystories-sample")
    read, other = words(corpus.train), words(corpus.validation)
    vocabulary = WordVocabulary(read, config["text"]["words"])
    known = Encoded(vocabulary, vocabulary.encode(read), vocabulary.encode(other))
    network = fit(config, seed, folder, text=known).model

    @torch.no_grad()
    def writer(tokens, state=None):
        """The network, which reads rare words as one symbol and never writes it."""
        with evaluating(network):
            logits, state = network(tokens, state)
        return logits.index_fill(-1, torch.tensor([vocabulary.unknown]), -torch.inf), state

    def scored(rows: torch.Tensor, last: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the loss of the last words of each row, and the entropies of their predictions; unknown ones NaN."""
        log_p = writer(rows[:, :-1])[0].log_softmax(dim=-1)[:, -last:]
        entropies = -torch.special.xlogy(log_p.exp(), log_p.exp()).sum(dim=-1)
        losses = -log_p.gather(-1, rows[:, -last:, None])[..., 0]
        gone = rows[:, -last:] == vocabulary.unknown
        return losses.masked_fill(gone, torch.nan), entropies.masked_fill(gone, torch.nan)

    def prompt(of: str) -> torch.Tensor:
        return vocabulary.encode(["\n", *words(of)])[None]

    stories = [["\n", *story.split()] for story in " ".join(other).split(" \n ")]
    begin = next(story for story in stories if " ".join(story[1:]).startswith(" ".join(words(PROMPT))))
    stories = [story for story in stories if len(story) > BEGUN + LENGTH]
    at_prompt = len(words(PROMPT)) + 1
    shown = {way: continued(writer, prompt(PROMPT), SHOWN, how)[0] for way, how in WAYS.items()}
    shown = {"real": vocabulary.encode(begin[at_prompt : at_prompt + SHOWN])} | shown
    losses = [scored(torch.cat([prompt(PROMPT), new[None]], dim=1), SHOWN)[0][0] for new in shown.values()]
    rows = torch.stack([vocabulary.encode(story[: 1 + BEGUN + LENGTH]) for story in stories])
    begun, pairs = rows[:, : 1 + BEGUN], set(pairwise(read))
    written = {way: torch.stack(continued(writer, begun, LENGTH, how)) for way, how in WAYS.items()}
    written = {"real": rows[:, 1 + BEGUN :]} | written
    own = {way: scored(torch.cat([begun, new], dim=1), LENGTH) for way, new in written.items()}
    texts = {way: [vocabulary.decode(row) for row in new] for way, new in written.items()}
    new = {
        way: [pair not in pairs for text in of for pair in pairwise(text) if vocabulary.symbols[0] not in pair]
        for way, of in texts.items()
    }
    nexts = [distribution(predict(writer, prompt(context))[0][0]).topk(RANKS) for context in CONTEXTS]
    again = [prompt(PROMPT.rsplit(" ", 1)[0] + f" {each}" * TIMES) for each in SENTENCES]
    again = [
        scored(row, TIMES * len(words(each)))[0].view(TIMES, -1) for row, each in zip(again, SENTENCES, strict=True)
    ]
    how = {"length": 200, "stop": vocabulary["\n"], "alpha": 0}
    whole = [beam_search(writer, prompt(PROMPT.rsplit(" ", 1)[0]), width=width, **how)[0] for width in WIDTHS]
    return {
        "nats": scored(known.held_out[None], len(known.held_out) - 1)[0].nanmean().item(),
        "story": [" ".join(vocabulary.decode(of)) for of in shown.values()],
        "losses": torch.stack(losses).tolist(),
        "text_losses": [own[way][0].nanmean(dim=1).tolist() for way in FROM],
        "entropies": [own[way][1].view(len(rows), -1, BIN).nanmean(dim=(0, 2)).tolist() for way in FROM],
        "repetition": [repetition(texts[way], 2) for way in FROM],
        "new": [sum(new[way]) / len(new[way]) for way in FROM],
        "next": [" ".join(vocabulary.decode(each.indices)) for each in nexts],
        "next_p": [each.values.tolist() for each in nexts],
        "repeated": torch.stack([each.mean(dim=1) for each in again]).mean(dim=0).tolist(),
        "whole": [" ".join(vocabulary.decode(each.tokens)) for each in whole],
        "whole_log_p": [each.score for each in whole],
    }


WORD = "nats per word"
METRICS = {
    "nats": Metric(WORD, "the loss of the held-out text"),
    "story": Metric("", "the words after one beginning, in each way", ("way",)),
    "losses": Metric(WORD, "the loss of each of these words", ("way", "word")),
    "text_losses": Metric(WORD, "the mean loss of each of many texts", ("way", "text")),
    "entropies": Metric(WORD, "the mean entropy of the predictions along them", ("way", "reached")),
    "repetition": Metric("", "the share of their word pairs that came before in the same text", ("way",)),
    "new": Metric("", "the share of their word pairs that the training text lacks", ("way",)),
    "next": Metric("", "the most probable next words after two beginnings", ("context",)),
    "next_p": Metric("", "the probabilities of these words", ("context", "rank")),
    "repeated": Metric(WORD, "the loss of a sentence that is said again and again", ("time",)),
    "whole": Metric("", "the most probable whole continuation that a beam finds", ("width",)),
    "whole_log_p": Metric("nats", "ln p of it", ("width",)),
}
EXPERIMENTS = (
    Experiment(
        "ways-of-writing",
        "TinyStories sample: a GRU of words writes in every way of decoding; what it makes of real and of its own text",
        METRICS,
        {
            "gru": {
                "text": text("tinystories-sample", words=2000),
                "model": model(
                    "LanguageModel", core="torch-gru", embedding_size=192, hidden_size=192, tied=True, dropout=0.3
                ),
                "recipe": recipe(updates=1000, batch=16),
                "validations": 0,
            }
        },
        measure,
        at(way=FROM, context=list(CONTEXTS), width=WIDTHS, time=list(range(1, TIMES + 1))),
    ),
)
