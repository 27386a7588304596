# ruff: noqa
"""Right answers to exercises/01, in other clothes than the solutions."""

# %% 1.1 text-probability | numbers as fractions, factors in another order
probability = s * (1 - q) * (1 - q) * q * q
rest = 4 / 2
exactly = e * (1 - e) ** (n - 1)

# %% 1.1 text-probability | functions for expressions
probability = lambda s, q: s * q**2 * (1 - q) ** 2
rest = 2.0
exactly = lambda e, n: (1 - e) ** (n - 1) * e

# %% 1.2 mixture | powers for exponentials
plain = 1 / (p**r * q ** (1 - r))
mixed = (lam / V + (1 - lam) * p) ** -r * (lam / V + (1 - lam) * q) ** (r - 1)
worst = sp.log(V / lam)


# %% 1.2 mixture | functions for expressions
def plain(p, q, r):
    return math.exp(-r * math.log(p) - (1 - r) * math.log(q))


def mixed(p, q, r, lam, V):
    return plain((1 - lam) * p + lam / V, (1 - lam) * q + lam / V, r)


def worst(lam, V):
    return math.log(V) - math.log(lam)


# %% 1.3 add-k | NumPy numbers, a Counter of what follows
def add_k(text, context, k, symbols):
    m = len(context)
    came = Counter(text[i + m] for i in range(len(text) - m) if text[i : i + m] == context)
    counts = np.array([came[symbol] + k for symbol in symbols])
    return dict(zip(symbols, counts / counts.sum()))


# %% 1.5 continuations | a Counter
def continuations(words):
    pairs = set(zip([None] + list(words), words))
    return Counter(word for _, word in pairs)


# %% 1.6 three-discounts | an array
def three_discounts(counts):
    n = np.bincount(np.asarray(counts), minlength=5)[:5].astype(float)
    y = n[1] / (n[1] + 2 * n[2])
    return np.array([0, 1 - 2 * y * n[2] / n[1], 2 - 3 * y * n[3] / n[2], 3 - 4 * y * n[4] / n[3]])


# %% 1.6 modified | one dictionary for each order, recursion from the top
def modified(tokens, order, vocab_size):
    tokens = [int(token) for token in tokens]
    levels = []
    for k in range(1, order + 1):
        if k == order:
            counts = Counter(tuple(tokens[i : i + k]) for i in range(len(tokens) - k + 1))
        else:
            longer = {tuple(tokens[i : i + k + 1]) for i in range(len(tokens) - k)}
            counts = Counter(gram[1:] for gram in longer)
            counts[tuple(tokens[:k])] += 1
        d = three_discounts(list(counts.values()))
        total, taken = Counter(), Counter()
        for gram, count in counts.items():
            total[gram[:-1]] += count
            taken[gram[:-1]] += d[min(count, 3)]
        levels.append((counts, d, total, taken))

    def p(word, context):
        chance = 1 / vocab_size
        for k, (counts, d, total, taken) in enumerate(levels):
            u = tuple(context[len(context) - k :])
            if total[u]:
                c = counts[(*u, word)]
                chance = (c - d[min(c, 3)] + taken[u] * chance) / total[u]
        return chance

    return p


# %% 1.7 whole-text | a running sum
def perplexities(batches, words):
    total, count = 0.0, 0
    for costs, real in batches:
        total += float((costs * real).sum())
        count += int(real.sum())
    return [math.exp(total / count), math.exp(total / words)]


# %% 1.7 whole-text | NumPy arrays of one element
def perplexities(batches, words):
    costs = np.concatenate([c[m] for c, m in batches])
    return np.array([np.exp(costs.mean()), np.exp(costs.sum() / words)])


# %% 1.8 averaged | a loop over pieces
def averaged(losses, size):
    pieces = [losses[at : at + size] for at in range(0, len(losses) - size + 1, size)]
    return sum(math.exp(sum(piece) / size) for piece in pieces) / len(pieces)


# %% 1.8 forgetful | the library's perplexity
def forgetful(window):
    return evaluate(model, unseen, start=start, window=window).perplexity


# %% 1.8 limited | counts of a higher order
def limited(limit):
    few = WordVocabulary(words, limit)
    read = ngram.KneserNey(Counts(few.encode(words), len(few), 4), order=3)
    return float(np.exp(token_nats(read, few.encode(new_words)).mean()))


# %% 1.9 narrowing | two ends, part by part
def interval(text, chances):
    low, high = Fraction(0, 1), Fraction(1, 1)
    for i in range(len(text)):
        left, size = low, high - low
        for symbol, p in chances(text[:i]).items():
            right = left + size * p
            if symbol == text[i]:
                low, high = left, right
                break
            left = right
    return low, high - low


# %% 1.9 narrowing | the interval of the text without its last letter
def interval(text, chances):
    if text == "":
        return [Fraction(0), Fraction(1)]
    low, width = interval(text[:-1], chances)
    p = chances(text[:-1])
    below = sum((p[letter] for letter in p if letter < text[-1]), Fraction(0))
    return [low + width * below, width * p[text[-1]]]


# %% 1.9 sizes | bits per symbol, whole bytes
def sizes(order, length):
    score = evaluate(ngram.KneserNey(counts, order), unseen[:length], start=start, streams=1)
    told, new = bytes(training.text, "utf8"), bytes(held_out.text[:length], "utf8")
    result = {"n-gram": math.ceil(score.bits_per_symbol * score.symbols / 8)}
    result["bz2"] = len(bz2.compress(new))
    result["lzma"] = len(lzma.compress(new))
    result["bz2 after training"] = len(bz2.compress(told + new)) - len(bz2.compress(told))
    result["lzma after training"] = len(lzma.compress(told + new)) - len(lzma.compress(told))
    return result


# %% 1.9 sizes | the logarithm to base 256
def sizes(order, length):
    nats = token_nats(ngram.KneserNey(counts, order), unseen[:length], start=start, streams=1)
    result = {"n-gram": sum(nats) / math.log(256)}
    for module in (bz2, lzma):
        packed_size = lambda text: len(module.compress(text.encode()))
        result[module.__name__] = packed_size(held_out.text[:length])
        both = packed_size(training.text + held_out.text[:length])
        result[module.__name__ + " after training"] = both - packed_size(training.text)
    return result
