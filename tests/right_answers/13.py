# ruff: noqa
"""Right answers to exercises/13, in other clothes than the solutions."""

# %% 13.1 many-steps | as strings and functions
factor, added = "a**n", lambda a, b, n: b * (a**n - 1) / (a - 1)
pieces, completed, rounds = "2**k - 1", "2**k - 1 - k", lambda k: 2 * (k - 1)

# %% 13.1 many-steps | as a sum
i = sp.Symbol("i", integer=True)
factor, added = a**n, sp.Sum(b * a**i, (i, 0, n - 1))
pieces, completed, rounds = 2**k - 1, 2**k - k - 1, k + (k - 2)


# %% 13.2 backward-scan | by torch.cat and indices
def gradients(a, h0, states, errors):
    back = torch.arange(a.shape[1] - 1, -1, -1)
    shifted = torch.cat([a[:, 1:], torch.zeros_like(a[:, :1])], 1)
    delta = scan(shifted[:, back], errors[:, back])[:, back]
    before = torch.cat([h0.unsqueeze(1), states[:, :-1]], 1)
    return delta * before, delta, delta[:, 0] * a[:, 0]


# %% 13.3 error | in NumPy
def error(way, T):
    right = exact[:, :T].numpy()
    states = way(a[:, :T].to(torch.float32), b[:, :T].to(torch.float32)).numpy().astype(float)
    return np.linalg.norm(states - right) / np.linalg.norm(right)


# %% 13.3 slope | by hand, to base 10
def slope(lengths, errors):
    x, y = np.log10(lengths), np.log10(errors)
    return ((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum()


# %% 13.4 two-games | by the bias
def weights():
    W = torch.tensor([[0.0, 2, 0, 2], [0, 0, 2, 2]])
    return 40 * W, torch.tensor([-40.0, -40.0]), torch.zeros(2, 4), torch.zeros(2)


# %% 13.4 cups | NumPy's sign
def cups(states):
    return (1 - np.sign(states.numpy())) / 2


# %% 13.5 apart | lists, strings and functions
any_order, mirrors, apart = ["a", "b", "d"], ("a", "b"), list("abcde")
symbols, arrangements, bits = "1 + n*(n - 1)/2", "factorial(n)", math.ceil(math.log2(120))


# %% 13.6 write | with einsum
def write(S, k, v, beta=1.0):
    return S + beta * torch.einsum("bv,bk->bvk", v - torch.einsum("bvk,bk->bv", S, k), k)


# %% 13.6 write | by the matrix of the rule
def write(S, k, v, beta=1.0):
    kk = k[:, :, None] @ k[:, None]
    return S @ (torch.eye(k.shape[1]) - beta * kk) + beta * v[:, :, None] @ k[:, None]


# %% 13.6 eigenvalues | as strings
along, across, first, second = "1 - beta", 1, "1 - c**2", lambda c: c

# %% 13.8 any-length | as functions
keep, take = lambda lam, D: sp.exp(-lam * D), lambda lam, D: 1 - sp.exp(-lam * D)
half, euler = "log(2)/(lam*D)", "1 - lam*D"
smooth, stable, gate = lambda lam: 1 / lam, lambda lam: 2 / lam, lambda e: 1 / (1 + e)


# %% 13.9 at-once | with the largest taken off by hand
def all_at_once(a, log_f, candidate):
    F, T = log_f.cumsum(0), len(a)
    later = torch.arange(T)[:, None] < torch.arange(T)
    exponents = (F[:, None] + (a - F)[None]).masked_fill(later[..., None], -math.inf)
    weights = (exponents - exponents.amax(1, keepdim=True)).exp()
    return torch.einsum("tsw,sw->tw", weights / weights.sum(1, keepdim=True), candidate)
