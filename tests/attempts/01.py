# ruff: noqa
"""What students wrote in exercises/01, right and wrong, before anyone had looked at the solutions."""

# %% 1.1 text-probability | right | numbers as fractions, factors in another order
probability = s * (1 - q) * (1 - q) * q * q
rest = 4 / 2
exactly = e * (1 - e) ** (n - 1)

# %% 1.1 text-probability | right | functions for expressions
probability = lambda s, q: s * q**2 * (1 - q) ** 2
rest = 2.0
exactly = lambda e, n: (1 - e) ** (n - 1) * e

# %% 1.1 text-probability | wrong | three letters that stay
probability = s * q**3 * (1 - q)
rest = 2
exactly = (1 - e) ** (n - 1) * e

# %% 1.1 text-probability | wrong | the ending is left out
probability = s * q**2 * (1 - q) ** 2
rest = 2
exactly = (1 - e) ** n

# %% 1.1 text-probability | wrong | a half for every text
probability = s * q**2 * (1 - q) ** 2
rest = 8
exactly = (1 - e) ** (n - 1) * e

# %% 1.2 mixture | right | powers for exponentials
plain = 1 / (p**r * q ** (1 - r))
mixed = (lam / V + (1 - lam) * p) ** -r * (lam / V + (1 - lam) * q) ** (r - 1)
dearest = sp.log(V / lam)


# %% 1.2 mixture | right | functions for expressions
def plain(p, q, r):
    return math.exp(-r * math.log(p) - (1 - r) * math.log(q))


def mixed(p, q, r, lam, V):
    return plain((1 - lam) * p + lam / V, (1 - lam) * q + lam / V, r)


def dearest(lam, V):
    return math.log(V) - math.log(lam)


# %% 1.2 mixture | wrong | the costs are mixed instead of the probabilities
plain = 1 / (p**r * q ** (1 - r))
mixed = sp.exp(lam * sp.log(V) + (1 - lam) * sp.log(plain))
dearest = sp.log(V / lam)

# %% 1.2 mixture | wrong | the dearest in bits
plain = 1 / (p**r * q ** (1 - r))
mixed = 1 / ((lam / V + (1 - lam) * p) ** r * (lam / V + (1 - lam) * q) ** (1 - r))
dearest = sp.log(V / lam) / sp.log(2)

# %% 1.2 mixture | wrong | the dearest without its weight in the log
plain = 1 / (p**r * q ** (1 - r))
mixed = 1 / ((lam / V + (1 - lam) * p) ** r * (lam / V + (1 - lam) * q) ** (1 - r))
dearest = lam * sp.log(V)


# %% 1.3 add-k | right | NumPy numbers, a Counter of what follows
def add_k(text, context, k, symbols):
    m = len(context)
    came = Counter(text[i + m] for i in range(len(text) - m) if text[i : i + m] == context)
    counts = np.array([came[symbol] + k for symbol in symbols])
    return dict(zip(symbols, counts / counts.sum()))


# %% 1.3 add-k | wrong | only the symbols that came
def add_k(text, context, k, symbols):
    m = len(context)
    came = Counter(text[i + m] for i in range(len(text) - m) if text[i : i + m] == context)
    total = sum(came.values()) + k * len(symbols)
    return {symbol: (came[symbol] + k) / total for symbol in came}


# %% 1.3 add-k | wrong | one is added whatever k
def add_k(text, context, k, symbols):
    m = len(context)
    came = Counter(text[i + m] for i in range(len(text) - m) if text[i : i + m] == context)
    return {symbol: (came[symbol] + 1) / (sum(came.values()) + len(symbols)) for symbol in symbols}


# %% 1.3 add-k | wrong | the vocabulary of the text instead of the one given
def add_k(text, context, k, symbols):
    m = len(context)
    came = Counter(text[i + m] for i in range(len(text) - m) if text[i : i + m] == context)
    total = sum(came.values()) + k * len(set(text))
    return {symbol: (came[symbol] + k) / total for symbol in symbols}


# %% 1.4 weights | right | a loop over symbols, a list returned
def weigh(p, rounds):
    models, symbols = len(p), len(p[0])
    weights = [1 / models] * models
    for _ in range(rounds):
        new = [0.0] * models
        for t in range(symbols):
            total = sum(weights[m] * p[m][t] for m in range(models))
            for m in range(models):
                new[m] += weights[m] * p[m][t] / total / symbols
        weights = new
    return weights


# %% 1.4 weights | wrong | one round only
def weigh(p, rounds):
    shares = p / p.sum(axis=0)
    return shares.mean(axis=1)


# %% 1.4 weights | wrong | the total probability of each model
def weigh(p, rounds):
    weights = np.full(len(p), 1 / len(p))
    for _ in range(rounds):
        weights = weights * p.sum(axis=1)
        weights = weights / weights.sum()
    return weights


# %% 1.4 weights | wrong | one round too many
def weigh(p, rounds):
    weights = np.full(len(p), 1 / len(p))
    for _ in range(rounds + 1):
        parts = weights[:, None] * p
        weights = (parts / parts.sum(axis=0)).mean(axis=1)
    return weights


# %% 1.5 continuations | right | a Counter
def continuations(words):
    pairs = set(zip([None] + list(words), words))
    return Counter(word for _, word in pairs)


# %% 1.5 continuations | wrong | the beginning added to every word
def continuations(words):
    before = Counter(b for a, b in set(itertools.pairwise(words)))
    return {word: before[word] + 1 for word in words}


# %% 1.5 continuations | wrong | the beginning replaces what the first word has
def continuations(words):
    before = Counter(b for a, b in set(itertools.pairwise(words)))
    before[words[0]] = 1
    return before


# %% 1.5 continuations | wrong | only neighbours that differ
def continuations(words):
    before = Counter(b for a, b in set(itertools.pairwise(words)) if a != b)
    before[words[0]] += 1
    return before


# %% 1.6 three-discounts | right | an array
def three_discounts(counts):
    n = np.bincount(np.asarray(counts), minlength=5)[:5].astype(float)
    y = n[1] / (n[1] + 2 * n[2])
    return np.array([0, 1 - 2 * y * n[2] / n[1], 2 - 3 * y * n[3] / n[2], 3 - 4 * y * n[4] / n[3]])


# %% 1.6 three-discounts | wrong | D3 from counts of four and more
def three_discounts(counts):
    n = Counter(counts)
    y = n[1] / (n[1] + 2 * n[2])
    more = sum(count >= 4 for count in counts)
    return [0, 1 - 2 * y * n[2] / n[1], 2 - 3 * y * n[3] / n[2], 3 - 4 * y * more / n[3]]


# %% 1.6 three-discounts | wrong | the nought forgotten
def three_discounts(counts):
    n = Counter(counts)
    y = n[1] / (n[1] + 2 * n[2])
    return [1 - 2 * y * n[2] / n[1], 2 - 3 * y * n[3] / n[2], 3 - 4 * y * n[4] / n[3]]


# %% 1.6 modified | right | one dictionary for each order, recursion from the top
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


# %% 1.6 modified | wrong | the unigram is the last resort
def modified(tokens, order, vocab_size):
    levels = []
    for k in range(1, order + 1):
        counts = Counter(tuple(tokens[i : i + k]) for i in range(len(tokens) - k + 1))
        if k < order:
            counts = Counter(gram[1:] for gram in {tuple(tokens[i : i + k + 1]) for i in range(len(tokens) - k)})
            counts[tuple(tokens[:k])] += 1
        d = three_discounts(list(counts.values()))
        total, taken = Counter(), Counter()
        for gram, count in counts.items():
            total[gram[:-1]] += count
            taken[gram[:-1]] += d[min(count, 3)]
        levels.append((counts, d, total, taken))

    def p(word, context):
        chance = levels[0][0][(word,)] / levels[0][2][()]
        for k, (counts, d, total, taken) in enumerate(levels[1:], start=1):
            u = tuple(context[len(context) - k :])
            if total[u]:
                c = counts[(*u, word)]
                chance = (c - d[min(c, 3)] + taken[u] * chance) / total[u]
        return chance

    return p


# %% 1.7 whole-text | right | a running sum
def perplexities(batches, words):
    total, count = 0.0, 0
    for costs, real in batches:
        total += float((costs * real).sum())
        count += int(real.sum())
    return [math.exp(total / count), math.exp(total / words)]


# %% 1.7 whole-text | right | NumPy arrays of one element
def perplexities(batches, words):
    costs = np.concatenate([c[m] for c, m in batches])
    return np.array([np.exp(costs.mean()), np.exp(costs.sum() / words)])


# %% 1.7 whole-text | wrong | the mean of rows
def perplexities(batches, words):
    rows = [row[keep].mean() for costs, real in batches for row, keep in zip(costs, real) if keep.any()]
    every = np.concatenate([costs[real] for costs, real in batches])
    return math.exp(np.mean(rows)), math.exp(every.sum() / words)


# %% 1.7 whole-text | wrong | words of equal length
def perplexities(batches, words):
    every = np.concatenate([costs[real] for costs, real in batches])
    return math.exp(every.mean()), math.exp(every.mean()) ** (every.size // words)


# %% 1.7 whole-text | wrong | the two the other way round
def perplexities(batches, words):
    every = np.concatenate([costs[real] for costs, real in batches])
    return math.exp(every.sum() / words), math.exp(every.mean())


# %% 1.8 orders-answers | wrong | the lowest order
best = {3_000: 1, 30_000: 2, 300_000: 3}
reason = "b"


# %% 1.8 orders | wrong | the order of the prefix capped
def price(order, characters):
    return evaluate(
        ngram.AddK(Counts(known[:characters], len(vocabulary), min(order, 5)), k=0.1), unseen, start=start
    ).perplexity


# %% 1.9 narrowing | right | two ends, part by part
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


# %% 1.9 narrowing | right | the interval of the text without its last letter
def interval(text, chances):
    if text == "":
        return [Fraction(0), Fraction(1)]
    low, width = interval(text[:-1], chances)
    p = chances(text[:-1])
    below = sum((p[letter] for letter in p if letter < text[-1]), Fraction(0))
    return [low + width * below, width * p[text[-1]]]


# %% 1.9 narrowing | wrong | floats
def interval(text, chances):
    low, width = 0.0, 1.0
    for i, symbol in enumerate(text):
        p = chances(text[:i])
        low += width * float(sum(p[letter] for letter in p if letter < symbol))
        width *= float(p[symbol])
    return low, width


# %% 1.9 narrowing | wrong | the end for the width
def interval(text, chances):
    low, high = Fraction(0), Fraction(1)
    for i, symbol in enumerate(text):
        p, size = chances(text[:i]), high - low
        low += size * sum(p[letter] for letter in p if letter < symbol)
        high = low + size * p[symbol]
    return low, high


# %% 1.9 narrowing | wrong | only the last letter is known
def interval(text, chances):
    low, width = Fraction(0), Fraction(1)
    for i, symbol in enumerate(text):
        p = chances(text[i - 1 : i] if i else "")
        low += width * sum(p[letter] for letter in p if letter < symbol)
        width *= p[symbol]
    return low, width


# %% 1.9 narrowing | wrong | the most probable letter first
def interval(text, chances):
    low, width = Fraction(0), Fraction(1)
    for i, symbol in enumerate(text):
        p = chances(text[:i])
        order = sorted(p, key=p.get, reverse=True)
        low += width * sum(p[letter] for letter in order[: order.index(symbol)])
        width *= p[symbol]
    return low, width


# %% 1.9 narrowing | wrong | a string of digits
def interval(text, chances):
    low, width = Fraction(0), Fraction(1)
    for i, symbol in enumerate(text):
        p = chances(text[:i])
        low += width * sum(p[letter] for letter in p if letter < symbol)
        width *= p[symbol]
    return digits(low, width)


# %% 1.9 sizes | right | bits per symbol, whole bytes
def sizes(order, length):
    score = evaluate(ngram.KneserNey(counts, order), unseen[:length], start=start, streams=1)
    told, new = bytes(training.text, "utf8"), bytes(held_out.text[:length], "utf8")
    result = {"n-gram": math.ceil(score.bits_per_symbol * score.symbols / 8)}
    result["bz2"] = len(bz2.compress(new))
    result["lzma"] = len(lzma.compress(new))
    result["bz2 after training"] = len(bz2.compress(told + new)) - len(bz2.compress(told))
    result["lzma after training"] = len(lzma.compress(told + new)) - len(lzma.compress(told))
    return result


# %% 1.9 sizes | right | the logarithm to base 256
def sizes(order, length):
    nats = token_nats(ngram.KneserNey(counts, order), unseen[:length], start=start, streams=1)
    result = {"n-gram": sum(nats) / math.log(256)}
    for module in (bz2, lzma):
        packed_size = lambda text: len(module.compress(text.encode()))
        result[module.__name__] = packed_size(held_out.text[:length])
        both = packed_size(training.text + held_out.text[:length])
        result[module.__name__ + " after training"] = both - packed_size(training.text)
    return result


# %% 1.9 sizes | wrong | the whole held-out text
def sizes(order, length):
    model = ngram.KneserNey(counts, order)
    result = {"n-gram": token_nats(model, unseen[:length], start=start, streams=1).sum() / math.log(2) / 8}
    old, new = training.text.encode(), held_out.text.encode()
    for name, pack in (("bz2", bz2.compress), ("lzma", lzma.compress)):
        result[name] = len(pack(new))
        result[name + " after training"] = len(pack(old + new)) - len(pack(old))
    return result


# %% 1.9 sizes | wrong | the training text behind
def sizes(order, length):
    model = ngram.KneserNey(counts, order)
    result = {"n-gram": token_nats(model, unseen[:length], start=start, streams=1).sum() / math.log(2) / 8}
    old, new = training.text.encode(), held_out.text[:length].encode()
    for name, pack in (("bz2", bz2.compress), ("lzma", lzma.compress)):
        result[name] = len(pack(new))
        result[name + " after training"] = len(pack(new + old)) - len(pack(old))
    return result


# %% 1.9 sizes | wrong | add one for Kneser and Ney
def sizes(order, length):
    model = ngram.AddK(counts, order)
    result = {"n-gram": token_nats(model, unseen[:length], start=start, streams=1).sum() / math.log(2) / 8}
    old, new = training.text.encode(), held_out.text[:length].encode()
    for name, pack in (("bz2", bz2.compress), ("lzma", lzma.compress)):
        result[name] = len(pack(new))
        result[name + " after training"] = len(pack(old + new)) - len(pack(old))
    return result


# %% 1.9 sizes | wrong | strings for bytes
def sizes(order, length):
    model = ngram.KneserNey(counts, order)
    result = {"n-gram": token_nats(model, unseen[:length], start=start, streams=1).sum() / math.log(2) / 8}
    for name, pack in (("bz2", bz2.compress), ("lzma", lzma.compress)):
        result[name] = len(pack(held_out.text[:length]))
        result[name + " after training"] = len(pack(training.text + held_out.text[:length])) - len(pack(training.text))
    return result


# %% 1.9 sizes-answers | wrong | shares of the text
found = {way: size / len(unseen) for way, size in sizes(12, len(unseen)).items()}
reason = "c"

# %% 1.9 sizes-answers | wrong | order 8
found = sizes(8, len(held_out.text))
reason = "c"
