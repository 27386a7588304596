# ruff: noqa
"""What students wrote in exercises/09, right and wrong."""


# %% 9.2 cut-distribution | right | sorted, and scattered back
def cut(logits, temperature=1.0, top_k=None, top_p=None):
    p, order = torch.softmax(logits / temperature, dim=0).sort(descending=True)
    keep = len(p) if top_k is None else top_k
    p = torch.cat([p[:keep], torch.zeros_like(p[keep:])])
    p = p / p.sum()
    if top_p is not None:
        p = torch.where(p.cumsum(0) - p < top_p, p, 0)
    return torch.zeros_like(p).scatter(0, order, p / p.sum())


# %% 9.2 cut-distribution | wrong | the nucleus before the top k
def cut(logits, temperature=1.0, top_k=None, top_p=None):
    p, order = torch.softmax(logits / temperature, dim=0).sort(descending=True)
    if top_p is not None:
        p = torch.where(p.cumsum(0) - p < top_p, p, 0)
    if top_k is not None:
        p[top_k:] = 0
    return torch.zeros_like(p).scatter(0, order, p / p.sum())


# %% 9.3 beam | wrong | the beam by score instead of log probability
def beam(log_p, length, width):
    kept, ended = [(0.0, ())], []
    for n in range(1, length + 1):
        longer = [((nats * (n - 1) + more) / n, (*t, s)) for nats, t in kept for s, more in enumerate(log_p(t))]
        best = sorted(longer)[-width:]
        kept = [pair for pair in best if pair[1][-1] != 0]
        ended += [max(best)]
    return max(ended)[1]


# %% 9.4 length-scores | right | as strings
tie, bonus, growth = "log(l/s)/log(n/m)", "(l - s)/(n - m)", "2**(1 - alpha)"
winners = ("short", "short", "long")


# %% 9.5 never-drawn | wrong | the typical text has half of each symbol
best, waiting = p**T, p**-T
entropy = -p * sp.log(p) - (1 - p) * sp.log(1 - p)
typical, share = sp.log(2), 1


# %% 9.6 repeated | right | with a set that grows
def repeated(texts, n):
    came = grams = 0
    for text in texts:
        seen = set()
        for at in range(len(text) - n + 1):
            gram = tuple(text[at : at + n])
            came, grams = came + (gram in seen), grams + 1
            seen.add(gram)
    return came / grams


# %% 9.6 repeated | wrong | the mean over the texts
def repeated(texts, n):
    shares = []
    for text in texts:
        grams = [tuple(text[at : at + n]) for at in range(len(text) - n + 1)]
        shares.append(1 - len(set(grams)) / max(1, len(grams)))
    return sum(shares) / len(shares)
