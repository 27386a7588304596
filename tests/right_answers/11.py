# ruff: noqa
"""Right answers to exercises/11, in other clothes than the solutions."""

# %% 11.1 score-costs | as strings
additive, product, scale = "a*(q + k + 2)", "a*(q + k)", "0"

# %% 11.2 softmax-slope | as functions
own, other = lambda a, t: (a - a**2) / t, lambda a, b, t: -(a * b) / t
largest, score = "0.25/t", lambda a, u, w, t: (a * u - a * w) / t

# %% 11.3 other-variances | as strings
variance, scale, shifted = "d*s*r", "(d*s*r)**-0.5", "d*(s*r + m**2*(s + r))"


# %% 11.4 masked-attention | in NumPy, with a very low score
def attention(Q, K, V, allowed):
    scores = Q.numpy() @ K.numpy().T / np.sqrt(Q.shape[1])
    scores = np.where(allowed.numpy(), scores, -1e12)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = weights / weights.sum(axis=1, keepdims=True)
    return weights @ V.numpy(), weights


# %% 11.4 masked-attention | masked after a safe exponential
def attention(Q, K, V, allowed):
    scores = Q @ K.T / Q.shape[1] ** 0.5
    top = torch.where(allowed, scores, torch.tensor(-torch.inf, dtype=scores.dtype)).max(dim=1).values
    weights = torch.where(allowed, (scores - top[:, None]).clamp(max=0).exp(), torch.zeros_like(scores))
    weights = weights / weights.sum(1, keepdim=True)
    return weights @ V, weights


# %% 11.4 masked-attention | row by row
def attention(Q, K, V, allowed):
    weights = torch.zeros(len(Q), len(K), dtype=Q.dtype)
    for i in range(len(Q)):
        places = allowed[i].nonzero()[:, 0]
        e = K[places] @ Q[i] / math.sqrt(len(Q[i]))
        e = (e - e.max()).exp()
        weights[i, places] = e / e.sum()
    return weights @ V, weights


# %% 11.5 several-heads | with einsum
def heads(x, W_qkv, b_qkv, W_o, b_o, count):
    qkv = torch.einsum("bth,kh->btk", x, W_qkv) + b_qkv
    q, k, v = qkv.unflatten(2, (3, count, -1)).unbind(2)  # (batch, time, heads, d)
    scores = torch.einsum("btad,bsad->bats", q, k) / math.sqrt(q.shape[3])
    scores = scores + torch.full(scores.shape[2:], -math.inf).triu(1)
    c = torch.einsum("bats,bsad->btad", scores.softmax(dim=3), v)
    return c.flatten(2) @ W_o.T + b_o


# %% 11.6 turning-positions | column by column, in NumPy
def positions(time, size):
    P, t = np.zeros((time, size)), np.arange(time)
    for i in range(0, size, 2):
        P[:, i], P[:, i + 1] = np.sin(t / 10_000 ** (i / size)), np.cos(t / 10_000 ** (i / size))
    return P


# %% 11.6 turning-shift | by block_diag
def shift(n, size):
    angles = [n / 10_000 ** (2 * i / size) for i in range(size // 2)]
    turns = [[[math.cos(b), math.sin(b)], [-math.sin(b), math.cos(b)]] for b in angles]
    return torch.block_diag(*(torch.tensor(turn, dtype=torch.float64) for turn in turns))


# %% 11.7 idle-effect | query by query
def effect(alpha, V, rng):
    changes = []
    for weights in alpha:
        before, after = weights @ V, rng.permutation(weights) @ V
        changes.append(np.linalg.norm(after - before) / np.linalg.norm(before))
    return float(np.mean(changes))


# %% 11.8 two-letters | by looking, without attention
def read_on(letters, symbols):
    text, rows = letters.tolist(), np.full((len(letters), symbols), 1 / symbols)
    for t in range(1, len(text)):
        after = [text[j] for j in range(2, t + 1) if text[j - 2 : j] == text[t - 1 : t + 1]]
        if after:
            rows[t] = np.bincount(after, minlength=symbols) / len(after)
    return rows
