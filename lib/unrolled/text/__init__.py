"""Texts and how a network reads them: corpora, vocabularies, batches (chapter 1).

The story corpus is drawn from a grammar (`stories`, `grammar`); real corpora are loaded by name and verified by hash
(`corpora`, `sources`). `vocabulary` turns symbols into numbers, `numbers` checks them where they enter, and `batches`
arranges them in parallel streams or padded sentences.
"""

from unrolled.text.batches import Batch, Sentences, Streams, Window, backwards, last_states, masked_loss
from unrolled.text.corpora import Corpus, load_corpus
from unrolled.text.numbers import check_range, symbol_numbers
from unrolled.text.sources import CorpusError
from unrolled.text.vocabulary import NONE, UNKNOWN, Vocabulary, WordVocabulary, split_words

__all__ = [
    "NONE",
    "UNKNOWN",
    "Batch",
    "Corpus",
    "CorpusError",
    "Sentences",
    "Streams",
    "Vocabulary",
    "Window",
    "WordVocabulary",
    "backwards",
    "check_range",
    "last_states",
    "load_corpus",
    "masked_loss",
    "split_words",
    "symbol_numbers",
]
