# ruff: noqa
"""What students wrote in exercises/11, right and wrong."""

# %% 11.1 score-costs | right | as strings
additive, product, scale = "a*(q + k + 2)", "a*(q + k)", "0"

# %% 11.1 score-costs | wrong | a query and a key of one length
additive, product, scale = 2 * a * q + 2 * a, 2 * a * q, 0

# %% 11.2 softmax-slope | right | as functions
own, other = lambda a, t: (a - a**2) / t, lambda a, b, t: -(a * b) / t
largest, score = "0.25/t", lambda a, u, w, t: (a * u - a * w) / t

# %% 11.2 softmax-slope | wrong | the slope of a softmax as that of a logistic function everywhere
own, other, largest, score = a * (1 - a) / t, a * (1 - b) / t, 0.25 / t, a * (u - w) / t

# %% 11.2 softmax-slope | wrong | what the chapter prints
own, other, largest, score = a - a**2, -a * b, 0.25, a * (u - w)

# %% 11.3 other-variances | right | as strings
variance, scale, shifted = "d*s*r", "(d*s*r)**-0.5", "d*(s*r + m**2*(s + r))"

# %% 11.3 other-variances | wrong | a mean that is taken off once only
variance, scale, shifted = d * s * r, (d * s * r) ** -0.5, d * ((s + m**2) * (r + m**2) - m**2)


# %% 11.4 masked-attention | right | in NumPy, with a very low score
def attention(Q, K, V, allowed):
    scores = Q.numpy() @ K.numpy().T / np.sqrt(Q.shape[1])
    scores = np.where(allowed.numpy(), scores, -1e12)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = weights / weights.sum(axis=1, keepdims=True)
    return weights @ V.numpy(), weights


# %% 11.4 masked-attention | wrong | ten thousand below
def attention(Q, K, V, allowed):
    scores = (Q @ K.T / math.sqrt(Q.shape[1])).masked_fill(~allowed, -1e4)
    weights = (scores - scores.amax(dim=1, keepdim=True)).exp()
    weights = weights / weights.sum(dim=1, keepdim=True)
    return weights @ V, weights


# %% 11.4 masked-attention | wrong | the largest score of all is subtracted
def attention(Q, K, V, allowed):
    scores = (Q @ K.T / math.sqrt(Q.shape[1])).masked_fill(~allowed, -math.inf)
    weights = (scores - scores.max()).exp()
    weights = weights / weights.sum(dim=1, keepdim=True)
    return weights @ V, weights


# %% 11.4 masked-attention | right | masked after a safe exponential
def attention(Q, K, V, allowed):
    scores = Q @ K.T / Q.shape[1] ** 0.5
    top = torch.where(allowed, scores, torch.tensor(-torch.inf, dtype=scores.dtype)).max(dim=1).values
    weights = torch.where(allowed, (scores - top[:, None]).clamp(max=0).exp(), torch.zeros_like(scores))
    weights = weights / weights.sum(1, keepdim=True)
    return weights @ V, weights


# %% 11.4 masked-attention | right | row by row
def attention(Q, K, V, allowed):
    weights = torch.zeros(len(Q), len(K), dtype=Q.dtype)
    for i in range(len(Q)):
        places = allowed[i].nonzero()[:, 0]
        e = K[places] @ Q[i] / math.sqrt(len(Q[i]))
        e = (e - e.max()).exp()
        weights[i, places] = e / e.sum()
    return weights @ V, weights


# %% 11.4 masked-attention | wrong | the means alone
def attention(Q, K, V, allowed):
    scores = (Q @ K.T / math.sqrt(Q.shape[1])).masked_fill(~allowed, -math.inf)
    weights = (scores - scores.amax(dim=1, keepdim=True)).exp()
    return weights / weights.sum(dim=1, keepdim=True) @ V


# %% 11.4 masked-attention | wrong | a softmax that is called, in other clothes
def attention(Q, K, V, allowed):
    scores = (Q @ K.T / math.sqrt(Q.shape[1])).masked_fill(~allowed, -math.inf)
    weights = torch.log_softmax(scores, dim=1).exp()
    return weights @ V, weights


# %% 11.5 several-heads | right | with einsum
def heads(x, W_qkv, b_qkv, W_o, b_o, count):
    qkv = torch.einsum("bth,kh->btk", x, W_qkv) + b_qkv
    q, k, v = qkv.unflatten(2, (3, count, -1)).unbind(2)  # (batch, time, heads, d)
    scores = torch.einsum("btad,bsad->bats", q, k) / math.sqrt(q.shape[3])
    scores = scores + torch.full(scores.shape[2:], -math.inf).triu(1)
    c = torch.einsum("bats,bsad->btad", scores.softmax(dim=3), v)
    return c.flatten(2) @ W_o.T + b_o


# %% 11.5 several-heads | wrong | queries, keys and values of each head one after the other
def heads(x, W_qkv, b_qkv, W_o, b_o, count):
    qkv = (x @ W_qkv.T + b_qkv).unflatten(2, (count, 3, -1))
    q, k, v = (part.transpose(1, 2) for part in qkv.unbind(3))
    scores = q @ k.mT / math.sqrt(q.shape[3])
    scores = scores + torch.full(scores.shape[2:], -math.inf).triu(1)
    return (scores.softmax(dim=3) @ v).transpose(1, 2).flatten(2) @ W_o.T + b_o


# %% 11.7 idle-effect | wrong | relative to what comes after
def effect(alpha, V, rng):
    after = rng.permuted(alpha, axis=1)
    return (np.linalg.norm((after - alpha) @ V, axis=1) / np.linalg.norm(after @ V, axis=1)).mean()


# %% 11.5 several-heads | wrong | masked after the softmax
def heads(x, W_qkv, b_qkv, W_o, b_o, count):
    parts = (x @ W_qkv.T + b_qkv).chunk(3, dim=2)
    q, k, v = (part.unflatten(2, (count, -1)).transpose(1, 2) for part in parts)
    seen = torch.ones(x.shape[1], x.shape[1], dtype=x.dtype).tril()
    alpha = (q @ k.mT / math.sqrt(q.shape[3])).softmax(dim=3) * seen
    return (alpha @ v).transpose(1, 2).flatten(2) @ W_o.T + b_o


# %% 11.6 turning-positions | right | column by column, in NumPy
def positions(time, size):
    P, t = np.zeros((time, size)), np.arange(time)
    for i in range(0, size, 2):
        P[:, i], P[:, i + 1] = np.sin(t / 10_000 ** (i / size)), np.cos(t / 10_000 ** (i / size))
    return P


# %% 11.6 turning-shift | right | by block_diag
def shift(n, size):
    angles = [n / 10_000 ** (2 * i / size) for i in range(size // 2)]
    turns = [[[math.cos(b), math.sin(b)], [-math.sin(b), math.cos(b)]] for b in angles]
    return torch.block_diag(*(torch.tensor(turn, dtype=torch.float64) for turn in turns))


# %% 11.6 turning-shift | wrong | turned in single precision
def shift(n, size):
    angles = [n / 10_000 ** (2 * i / size) for i in range(size // 2)]
    turns = [[[math.cos(b), math.sin(b)], [-math.sin(b), math.cos(b)]] for b in angles]
    return torch.block_diag(*(torch.tensor(turn) for turn in turns))


# %% 11.7 idle-effect | right | query by query
def effect(alpha, V, rng):
    changes = []
    for weights in alpha:
        before, after = weights @ V, rng.permutation(weights) @ V
        changes.append(np.linalg.norm(after - before) / np.linalg.norm(before))
    return float(np.mean(changes))


# %% 11.7 idle-effect | wrong | V is ignored
def effect(alpha, V, rng):
    after = rng.permuted(alpha, axis=1)
    return (np.linalg.norm(after - alpha, axis=1) / np.linalg.norm(alpha, axis=1)).mean()


# %% 11.8 two-letters | right | by looking, without attention
def read_on(letters, symbols):
    text, rows = letters.tolist(), np.full((len(letters), symbols), 1 / symbols)
    for t in range(1, len(text)):
        after = [text[j] for j in range(2, t + 1) if text[j - 2 : j] == text[t - 1 : t + 1]]
        if after:
            rows[t] = np.bincount(after, minlength=symbols) / len(after)
    return rows


# %% 11.8 two-letters | wrong | either of the two letters is enough
def read_on(letters, symbols):
    x = one_hot(letters, symbols).double()
    none = torch.zeros(2, symbols, dtype=torch.float64)
    last, earlier = (torch.cat([none[:n], x])[: len(x)] for n in (1, 2))
    scores = 99 * ((x @ last.T + last @ earlier.T) > 0).double()
    return attend(scores, x, causal_mask(len(x)))[0]


# %% 11.8 two-letters | wrong | the latest place only
def read_on(letters, symbols):
    text, rows = letters.tolist(), np.zeros((len(letters), symbols))
    for t in range(1, len(text)):
        places = [j for j in range(2, t + 1) if text[j - 2 : j] == text[t - 1 : t + 1]]
        if places:
            rows[t, text[places[-1]]] = 1
    return rows
