"""What counting models are compared with: Kneser–Ney by dictionaries, and the ARPA file that KenLM reads."""

import math
from collections import Counter

import numpy as np


class DictionaryKneserNey:
    """Interpolated Kneser–Ney as tutorials write it: dictionaries keyed by tuples, and one symbol at a time."""

    def __init__(self, tokens: list[int], vocab_size: int, order: int):
        self.vocab_size, self.order, self.c = vocab_size, order, {}
        for k in range(order, 0, -1):
            grams = Counter(tuple(tokens[at : at + k]) for at in range(len(tokens) - k + 1))
            if k < order:  # below the highest order: how many different symbols stand before it
                longer = {tuple(tokens[at : at + k + 1]) for at in range(len(tokens) - k)}
                grams = Counter(gram[1:] for gram in longer)
                grams[tuple(tokens[:k])] += 1
            self.c[k] = grams

    def probability(self, context: tuple[int, ...], symbol: int) -> float:
        """Return p(symbol | context)."""
        p = 1 / self.vocab_size
        for k in range(1, min(self.order, len(context) + 1) + 1):
            recent = context[len(context) - k + 1 :]
            after = [c for gram, c in self.c[k].items() if gram[:-1] == recent]
            if after:
                ones, twos = (sum(c == n for c in self.c[k].values()) for n in (1, 2))
                discount = ones / (ones + 2 * twos) if ones and twos else 0.5
                share = max(self.c[k].get((*recent, symbol), 0) - discount, 0)
                p = (share + discount * len(after) * p) / sum(after)
        return p


def word(symbol: str) -> str:
    """Return a symbol as a word of an ARPA file, where white space separates."""
    return "".join(f"U{ord(c):x};" if c.isspace() else c for c in symbol)


def arpa(model, symbols: tuple[str, ...]) -> str:
    """Return a Kneser–Ney model as an ARPA file: log₁₀ of each probability, the rests as back-off weights."""
    names = [word(symbol) for symbol in symbols]
    marks = [mark for mark in ("<s>", "</s>", "<unk>") if mark not in names]  # KenLM expects them
    unseen = {number: math.log10(model.rest[0][0] / model.vocab_size) for number in range(len(names))}
    grams, p, suffix, parts = [""], np.full(1, 1 / model.vocab_size), np.zeros(1, dtype=np.int64), []
    for k, keys in enumerate(model.keys, start=1):
        context, last = np.divmod(keys, model.vocab_size)
        below = model.find(k - 1, suffix[context], last) if k > 1 else np.zeros(len(keys), dtype=np.int64)
        p, suffix = model.share[k - 1] + model.rest[k - 1][context] * p[below], below
        grams = [f"{grams[c]} {names[w]}".strip() for c, w in zip(context, last, strict=True)]
        rests = np.log10(model.rest[k]).tolist() if k < model.order else [0] * len(grams)
        rows = [f"{math.log10(each):.8f}\t{gram}\t{rest:.8f}" for each, gram, rest in zip(p, grams, rests, strict=True)]
        if k == 1:
            rows += [f"{log:.8f}\t{names[number]}\t0" for number, log in unseen.items() if number not in last]
            rows += [f"-99\t{mark}\t0" for mark in marks]
        if k == model.order:
            rows = [row.rpartition("\t")[0] for row in rows]
        parts.append(rows)
    sizes = "\n".join(f"ngram {k}={len(rows)}" for k, rows in enumerate(parts, start=1))
    sections = "\n\n".join(f"\\{k}-grams:\n" + "\n".join(rows) for k, rows in enumerate(parts, start=1))
    return f"\\data\\\n{sizes}\n\n{sections}\n\n\\end\\\n"
