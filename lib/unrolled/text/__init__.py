"""Texts and how a network reads them: corpora, vocabularies, batches (chapter 1).

The story corpus is drawn from a grammar (`stories`, `grammar`), and `sentences` says what that grammar can write. Real
corpora are loaded by name and verified by hash (`corpora`). `vocabulary` turns symbols into tokens, which are numbers,
and `numbers` checks them where they enter. `batches` arranges them in parallel streams or padded sentences, and `pairs`
puts the answers beside them.
"""

from unrolled.text.batches import Batch, Sentences, Streams, backwards, last_states, masked_loss
from unrolled.text.corpora import Corpus, CorpusError, load_corpus
from unrolled.text.numbers import check_range, symbol_numbers
from unrolled.text.pairs import Examples, PairBatch, pad_pairs, pad_tagged
from unrolled.text.sentences import split_sentences
from unrolled.text.vocabulary import NONE, UNKNOWN, Vocabulary, WordVocabulary, split_words

__all__ = ["NONE", "UNKNOWN", "Batch", "Corpus", "CorpusError", "Examples", "PairBatch", "Sentences"]
__all__ += ["Streams", "Vocabulary", "WordVocabulary", "backwards", "check_range"]
__all__ += ["last_states", "load_corpus", "masked_loss", "pad_pairs", "pad_tagged", "split_sentences", "split_words"]
__all__ += ["symbol_numbers"]
