# ruff: noqa
"""What students wrote in exercises/10, right and wrong."""

# %% 10.4 residual-paths | right | as strings
plain, residual, paths, dead = "a**n", "(a + 1)**n", "binomial(n, k)", -1.0

# %% 10.4 residual-paths | right | by factorials, and as functions
plain, residual = lambda a, n: a**n, lambda a, n: (1 + a) ** n
paths = sp.factorial(n) / (sp.factorial(k) * sp.factorial(n - k))
dead = sp.solve(1 + a, a)[0]

# %% 10.4 residual-paths | wrong | the input counts as a layer
plain, residual, paths, dead = a ** (n - 1), (1 + a) ** (n - 1), sp.binomial(n, k), -1

# %% 10.7 probe-answers | wrong | typed in
accuracies = {"name": 1.0, "class": 1.0}
selectivities = {"name": 0.0, "class": 0.7}
knows = "class"


# %% 10.8 looks-ahead | wrong | only the last symbol is changed
def looks_ahead(model, tokens, symbols):
    base, best, s = model(tokens[None])[0], 0, len(tokens) - 1
    for symbol in range(symbols):
        copy = tokens.clone()
        copy[s] = symbol
        changed = ((model(copy[None])[0] - base).abs().amax(1) > 1e-6)[:s].nonzero()
        if len(changed):
            best = max(best, s - int(changed[0]))
    return best


# %% 10.5 forward-algorithm | right | word by word and tag by tag
def log_prob_of_words(start, follow, end, emit):
    total = [s + e for s, e in zip(start, emit[0])]
    for word in emit[1:]:
        terms = [[t + follow[before, tag] for before, t in enumerate(total)] for tag in range(len(word))]
        total = [max(row) + math.log(sum(math.exp(x - max(row)) for x in row)) + e for row, e in zip(terms, word)]
    last = [t + e for t, e in zip(total, end)]
    return max(last) + math.log(sum(math.exp(x - max(last)) for x in last))


# %% 10.5 forward-algorithm | right | with probabilities that are scaled at each word
def log_prob_of_words(start, follow, end, emit):
    p, log = np.exp(start + emit[0]), 0.0
    for word in emit[1:]:
        log += math.log(p.sum())
        p = (p / p.sum()) @ np.exp(follow) * np.exp(word)
    return log + math.log(p @ np.exp(end))


# %% 10.8 looks-ahead | right | all copies in one batch
def looks_ahead(model, tokens, symbols):
    time = len(tokens)
    copies = tokens.repeat(time, symbols, 1)
    copies[torch.arange(time), :, torch.arange(time)] = torch.arange(symbols)
    found = model(copies.flatten(0, 1)).unflatten(0, (time, symbols))
    changed = ((found - model(tokens[None])).abs().amax(3) > 1e-6).any(1)
    s, t = torch.arange(time)[:, None], torch.arange(time)
    return int(torch.where(changed & (t < s), s - t, 0).max())


# %% 10.8 looks-ahead | wrong | ends at the first step that has an effect
def looks_ahead(model, tokens, symbols):
    base = model(tokens[None])[0]
    for s in reversed(range(len(tokens))):
        for symbol in range(symbols):
            copy = tokens.clone()
            copy[s] = symbol
            changed = ((model(copy[None])[0] - base).abs().amax(1) > 1e-6)[:s].nonzero()
            if len(changed):
                return s - int(changed[0])
    return 0


# %% 10.5 forward-algorithm | wrong | probabilities that run out
def log_prob_of_words(start, follow, end, emit):
    p = np.exp(start + emit[0])
    for word in emit[1:]:
        p = p @ np.exp(follow) * np.exp(word)
    with np.errstate(divide="ignore"):
        return np.log(p @ np.exp(end))


# %% 10.5 forward-algorithm | wrong | every sequence by itself
def log_prob_of_words(start, follow, end, emit):
    total = -math.inf
    for path in itertools.product(range(len(start)), repeat=len(emit)):
        steps = sum(follow[pair] for pair in itertools.pairwise(path))
        emitted = sum(word[tag] for word, tag in zip(emit, path))
        total = np.logaddexp(total, start[path[0]] + steps + emitted + end[path[-1]])
    return total
