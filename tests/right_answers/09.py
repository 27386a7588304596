# ruff: noqa
"""Right answers to exercises/09, in other clothes than the solutions."""

# %% 9.1 temperature | as a sigmoid, and as strings
warm = "1 / (1 + ((1 - p) / p)**(1 / tau))"
limit, slope = lambda V: math.log(V), "var / tau**3"

# %% 9.1 temperature | exponentials of divided logarithms
logits = sp.log(p) / tau, sp.log(1 - p) / tau
warm = sp.exp(logits[0]) / sum(map(sp.exp, logits))
limit, slope = -V * (1 / V) * sp.log(1 / V), lambda var, tau: var * tau**-3


# %% 9.2 cut-distribution | sorted, and scattered back
def cut(logits, temperature=1.0, top_k=None, top_p=None):
    p, order = torch.softmax(logits / temperature, dim=0).sort(descending=True)
    keep = len(p) if top_k is None else top_k
    p = torch.cat([p[:keep], torch.zeros_like(p[keep:])])
    p = p / p.sum()
    if top_p is not None:
        p = torch.where(p.cumsum(0) - p < top_p, p, 0)
    return torch.zeros_like(p).scatter(0, order, p / p.sum())


# %% 9.4 length-scores | as strings
tie, bonus, growth = "log(l/s)/log(n/m)", "(l - s)/(n - m)", "2**(1 - alpha)"
winners = ("short", "short", "long")


# %% 9.6 repeated | with a set that grows
def repeated(texts, n):
    came = grams = 0
    for text in texts:
        seen = set()
        for at in range(len(text) - n + 1):
            gram = tuple(text[at : at + n])
            came, grams = came + (gram in seen), grams + 1
            seen.add(gram)
    return came / grams


# %% 9.7 strange | counters, text by text
def strange(texts):
    odd, count = 0, 0
    for text in texts:
        words = re.findall("[A-Za-z]+", text)[:-1]
        odd += len([word for word in words if not known.issuperset([word])])
        count += len(words)
    return odd / count


# %% 9.7 strange | a mean of NumPy, and its own pattern
def strange(texts):
    runs = ["".join(c if c.isalpha() else " " for c in text).split() for text in texts]
    return np.mean([word not in known for words in runs for word in words[:-1]])


# %% 9.7 strange-answers | a logarithm, and a comprehension
shares = {heat: np.float64(strange(write(heat))) for heat in (1.5, 0.5, 1.0)}
slip, reason = -math.expm1(math.log1p(-shares[1.0]) / 5), "a"


# %% 9.8 scheduled | as strings, from the true word and what is lost
after_the, gap = "u - (1 - keep)*(1 - p)*(u - v)", lambda u, v, keep: keep * u - keep * v
writes, wrong = "p*(u - (1 - keep)*(1 - p)*(u - v))", 0.25
