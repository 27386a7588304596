"""Write an interpolated n-gram model as an ARPA file, which other tools (KenLM, SRILM) read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from unrolled.ngram import KneserNey

NEVER = -99.0  # ARPA's customary logarithm of zero
MARKS = ("<s>", "</s>", "<unk>")  # readers expect them; the model has none of its own


def word(symbol: str) -> str:
    r"""Return a symbol as a word of an ARPA file, where white space separates: ``" "`` is written ``\u20``.

    Different symbols become different words: a backslash is escaped too.
    """
    return "".join(rf"\u{ord(c):x};" if c.isspace() or c in "\\\0" else c for c in symbol)


def write(model: KneserNey, symbols: Sequence[str], path: Path | str) -> None:
    """Write the model. What a reader computes with back-off weights is what the model computes by interpolation.

    Each n-gram is written with log₁₀ of its whole probability, its context's rest as the context's back-off weight.
    Symbols that were never counted get the probability that the model gives them. The file appears only when it is
    whole.

    Args:
        model: the model.
        symbols: the symbols in the order of their numbers, written as `word` does.
        path: the file.

    Raises:
        ValueError: not one symbol for each number, a symbol is empty, or one is a sentence mark of ARPA's.
    """
    if len(symbols) != model.vocab_size:
        raise ValueError(f"there are {len(symbols)} symbols, and the model numbers {model.vocab_size}")
    wrong = [symbol for symbol in symbols if symbol in ("", *MARKS[:2])]
    if wrong:
        raise ValueError(f"{wrong[0]!r} cannot be a word of an ARPA file; rename it")
    path = Path(path)
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf8") as file:
        sizes = [len(keys) for keys in model.keys]
        names = np.array([word(symbol) for symbol in symbols], dtype=object)
        marks = [mark for mark in MARKS if mark not in symbols]
        sizes[0] = len(symbols) + len(marks)
        file.write("\\data\\\n" + "".join(f"ngram {k}={size}\n" for k, size in enumerate(sizes, start=1)))
        texts, p, suffix = np.array([""], dtype=object), np.full(1, 1 / model.vocab_size), np.zeros(1, dtype=np.int64)
        for k, keys in enumerate(model.keys, start=1):
            context, last = np.divmod(keys, model.vocab_size)
            below = model.find(k - 1, suffix[context], last) if k > 1 else np.zeros(len(keys), dtype=np.int64)
            p, suffix = model.share[k - 1] + model.rest[k - 1][context] * p[below], below
            texts = texts[context] + names[last] if k == 1 else texts[context] + " " + names[last]
            logs = np.log10(p)
            file.write(f"\n\\{k}-grams:\n")
            if k == 1:
                unseen = np.log10(model.rest[0][0] / model.vocab_size) if model.rest[0][0] else NEVER
                seen = set(last.tolist())
                for name in [name for number, name in enumerate(names) if number not in seen]:
                    file.write(f"{unseen:.8f}\t{name}\t0\n")
                for mark in marks:
                    file.write(f"{NEVER}\t{mark}\t0\n")
            if k == model.order:
                file.writelines(f"{log:.8f}\t{text}\n" for log, text in zip(logs, texts, strict=True))
            else:
                with np.errstate(divide="ignore"):
                    weights = np.log10(model.rest[k]).clip(min=NEVER)
                rows = zip(logs, texts, weights, strict=True)
                file.writelines(f"{log:.8f}\t{text}\t{weight:.8f}\n" for log, text, weight in rows)
        file.write("\n\\end\\\n")
    os.replace(part, path)
