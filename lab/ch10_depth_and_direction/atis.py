"""The questions of ATIS with a tag for each word, read from a treebank."""

import io
from collections.abc import Iterator

from unrolled.text import TaggedCorpus, TaggedSentence, load_corpus


def read_conllu(text: str) -> Iterator[TaggedSentence]:
    """Yield the sentences of a text in CoNLL-U with their universal part-of-speech tags.

    Words that are written together, such as "don't", count as the words that they consist of.

    Args:
        text: a treebank's file.

    Raises:
        ModuleNotFoundError: the package ``conllu`` is not installed.
        ValueError: a word has no tag, or a sentence no word.
    """
    try:
        import conllu
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "reading CoNLL-U needs the package conllu, which is not installed; install it with: pip install conllu"
        ) from error
    for number, sentence in enumerate(conllu.parse_incr(io.StringIO(text)), start=1):
        tokens = [token for token in sentence if isinstance(token["id"], int)]  # a range is words written together
        if not tokens or any(token["upos"] in (None, "_") for token in tokens):
            raise ValueError(f"sentence {number} has a word without a tag, or no word; give a treebank that is tagged")
        yield TaggedSentence(tuple(token["form"] for token in tokens), tuple(token["upos"] for token in tokens))


def load_atis() -> TaggedCorpus:
    """Return the corpus ``atis``, 4,274, 572 and 586 questions, in the parts that were published.

    Raises:
        CorpusError: what `load_corpus` raises.
        ModuleNotFoundError: what `read_conllu` raises.
    """
    corpus = load_corpus("atis")
    return TaggedCorpus(*(tuple(read_conllu(part)) for part in (corpus.train, corpus.validation, corpus.test)))
