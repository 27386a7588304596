# ruff: noqa
"""What students wrote in exercises/09, right and wrong."""

# %% 9.1 temperature | right | as a sigmoid, and as strings
warm = "1 / (1 + ((1 - p) / p)**(1 / tau))"
limit, slope = lambda V: math.log(V), "var / tau**3"

# %% 9.1 temperature | right | exponentials of divided logarithms
logits = sp.log(p) / tau, sp.log(1 - p) / tau
warm = sp.exp(logits[0]) / sum(map(sp.exp, logits))
limit, slope = -V * (1 / V) * sp.log(1 / V), lambda var, tau: var * tau**-3

# %% 9.1 temperature | wrong | a softmax of the probabilities
warm = sp.exp(p / tau) / (sp.exp(p / tau) + sp.exp((1 - p) / tau))
limit, slope = sp.log(V), var / tau**3

# %% 9.1 temperature | wrong | the limit is a probability
warm, limit, slope = 1 / (1 + ((1 - p) / p) ** (1 / tau)), 1 / V, var / tau**3

# %% 9.1 temperature | wrong | no bound
warm, limit, slope = 1 / (1 + ((1 - p) / p) ** (1 / tau)), sp.oo, var / tau**3


# %% 9.2 cut-distribution | right | sorted, and scattered back
def cut(logits, temperature=1.0, top_k=None, top_p=None):
    p, order = torch.softmax(logits / temperature, dim=0).sort(descending=True)
    keep = len(p) if top_k is None else top_k
    p = torch.cat([p[:keep], torch.zeros_like(p[keep:])])
    p = p / p.sum()
    if top_p is not None:
        p = torch.where(p.cumsum(0) - p < top_p, p, 0)
    return torch.zeros_like(p).scatter(0, order, p / p.sum())


# %% 9.2 cut-distribution | wrong | nucleus by a threshold
def cut(logits, temperature=1.0, top_k=None, top_p=None):
    p = torch.softmax(logits / temperature, dim=0)
    if top_k is not None:
        order = p.argsort(descending=True)
        p[order[top_k:]] = 0
        p = p / p.sum()
    if top_p is not None:
        ordered = p.sort(descending=True).values
        before = ordered.cumsum(0) - ordered
        least = ordered[before < top_p].min()
        p = torch.where(p >= least, p, 0)
        p = p / p.sum()
    return p


# %% 9.3 beam | wrong | all that ended are candidates
def beam(log_p, length, width):
    kept, ended = [(0.0, ())], []
    for n in range(length):
        longer = sorted([(nats + more, (*t, s)) for nats, t in kept for s, more in enumerate(log_p(t))], reverse=True)
        ended += [pair for pair in longer if pair[1][-1] == 0]
        if n == length - 1:
            ended += longer[:width]
        kept = [pair for pair in longer[:width] if pair[1][-1] != 0]
    return max((nats / len(t), t) for nats, t in ended)[1]


# %% 9.4 length-scores | right | as strings
tie, bonus, growth = "log(l/s)/log(n/m)", "(l - s)/(n - m)", "2**(1 - alpha)"
winners = ("short", "short", "long")

# %% 9.5 never-drawn | wrong | T is 100 in the share
best, waiting = p**T, p**-T
entropy = -p * sp.log(p) - (1 - p) * sp.log(1 - p)
typical, share = entropy, sp.exp(100 * (entropy - sp.log(2)))


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


# %% 9.7 strange | right | counters, text by text
def strange(texts):
    odd, count = 0, 0
    for text in texts:
        words = re.findall("[A-Za-z]+", text)[:-1]
        odd += len([word for word in words if not known.issuperset([word])])
        count += len(words)
    return odd / count


# %% 9.7 strange | right | a mean of NumPy, and its own pattern
def strange(texts):
    runs = ["".join(c if c.isalpha() else " " for c in text).split() for text in texts]
    return np.mean([word not in known for words in runs for word in words[:-1]])


# %% 9.7 strange-answers | right | a logarithm, and a comprehension
shares = {heat: np.float64(strange(write(heat))) for heat in (1.5, 0.5, 1.0)}
slip, reason = -math.expm1(math.log1p(-shares[1.0]) / 5), "a"


# %% 9.7 strange | wrong | only the last word of all is left out
def strange(texts):
    words = re.findall("[A-Za-z]+", " ".join(texts))[:-1]
    return sum(word not in known for word in words) / len(words)


# %% 9.7 strange | wrong | cut at spaces, with the full stops
def strange(texts):
    words = [word for text in texts for word in text.split()[:-1]]
    return sum(word not in known for word in words) / len(words)


# %% 9.7 strange | wrong | in small letters
def strange(texts):
    words = [word for text in texts for word in re.findall("[a-z]+", text.lower())[:-1]]
    return sum(word not in known for word in words) / len(words)


# %% 9.7 strange-answers | wrong | a list of shares
shares = [strange(write(heat)) for heat in (0.5, 1.0, 1.5)]
slip, reason = 1 - (1 - shares[1]) ** (1 / 5), "a"

# %% 9.7 strange-answers | wrong | the fifth root of the share
shares = {heat: strange(write(heat)) for heat in (0.5, 1.0, 1.5)}
slip, reason = shares[1.0] ** (1 / 5), "a"
