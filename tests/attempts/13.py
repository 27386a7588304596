# ruff: noqa
"""What students wrote in exercises/13, right and wrong."""

# %% 13.1 many-steps | right | as strings and functions
factor, added = "a**n", lambda a, b, n: b * (a**n - 1) / (a - 1)
pieces, completed, rounds = "2**k - 1", "2**k - 1 - k", lambda k: 2 * (k - 1)

# %% 13.1 many-steps | right | as a sum
i = sp.Symbol("i", integer=True)
factor, added = a**n, sp.Sum(b * a**i, (i, 0, n - 1))
pieces, completed, rounds = 2**k - 1, 2**k - k - 1, k + (k - 2)

# %% 13.1 many-steps | wrong | the limit of many steps
factor, added = a**n, b / (1 - a)
pieces, completed, rounds = 2**k - 1, 2**k - k - 1, 2 * k - 2

# %% 13.1 many-steps | wrong | only the first and the last are there already
factor, added = a**n, b * (1 - a**n) / (1 - a)
pieces, completed, rounds = 2**k - 1, 2**k - 2, 2 * k - 2

# %% 13.1 many-steps | wrong | k combinations a round
factor, added = a**n, b * (1 - a**n) / (1 - a)
pieces, completed, rounds = k * 2 ** (k - 1), 2**k - k - 1, 2 * k - 2


# %% 13.2 backward-scan | right | by torch.cat and indices
def gradients(a, h0, states, errors):
    back = torch.arange(a.shape[1] - 1, -1, -1)
    shifted = torch.cat([a[:, 1:], torch.zeros_like(a[:, :1])], 1)
    delta = scan(shifted[:, back], errors[:, back])[:, back]
    before = torch.cat([h0.unsqueeze(1), states[:, :-1]], 1)
    return delta * before, delta, delta[:, 0] * a[:, 0]


# %% 13.2 backward-scan | wrong | a loop
def gradients(a, h0, states, errors):
    delta, deltas = torch.zeros_like(h0), []
    for t in reversed(range(a.shape[1])):
        delta = errors[:, t] + (a[:, t + 1] * delta if deltas else 0)
        deltas.insert(0, delta)
    deltas = torch.stack(deltas, dim=1)
    before = torch.cat([h0[:, None], states[:, :-1]], 1)
    return deltas * before, deltas, a[:, 0] * deltas[:, 0]


# %% 13.2 backward-scan | wrong | autograd through the scan
def gradients(a, h0, states, errors):
    before = torch.cat([h0[:, None], states[:, :-1]], 1)
    b = (states - a * before).requires_grad_()
    a, h0 = a.clone().requires_grad_(), h0.clone().requires_grad_()
    first = torch.cat([(a[:, 0] * h0 + b[:, 0])[:, None], b[:, 1:]], 1)
    grad_a, grad_b, grad_h = torch.autograd.grad(scan(a, first), (a, b, h0), errors)
    return grad_a, grad_b, grad_h


# %% 13.2 backward-scan | wrong | autograd through the scan, by backward
def gradients(a, h0, states, errors):
    before = torch.cat([h0[:, None], states[:, :-1]], 1)
    b = (states - a * before).requires_grad_()
    a, h0 = a.clone().requires_grad_(), h0.clone().requires_grad_()
    first = torch.cat([(a[:, 0] * h0 + b[:, 0])[:, None], b[:, 1:]], 1)
    (scan(a, first) * errors).sum().backward()
    return a.grad, b.grad, h0.grad


# %% 13.3 any-length | right | as functions
keep, take = lambda lam, D: sp.exp(-lam * D), lambda lam, D: 1 - sp.exp(-lam * D)
half, euler = "log(2)/(lam*D)", "1 - lam*D"
smooth, stable, gate = lambda lam: 1 / lam, lambda lam: 2 / lam, lambda e: 1 / (1 + e)

# %% 13.3 any-length | wrong | the input's factor is the rate times the step
keep, take, half, euler = sp.exp(-lam * D), lam * D, sp.log(2) / (lam * D), 1 - lam * D
smooth, stable, gate = 1 / lam, 2 / lam, 1 / (1 + e)

# %% 13.3 any-length | wrong | a negative number of steps
keep, take, half, euler = sp.exp(-lam * D), 1 - sp.exp(-lam * D), sp.log(sp.Rational(1, 2)) / (lam * D), 1 - lam * D
smooth, stable, gate = 1 / lam, 2 / lam, 1 / (1 + e)

# %% 13.3 any-length | wrong | the limits for all rates
keep, take, half, euler = sp.exp(-lam * D), 1 - sp.exp(-lam * D), sp.log(2) / (lam * D), 1 - lam * D
smooth, stable, gate = 1, 2, 1 / (1 + e)


# %% 13.4 two-games | right | by the bias
def weights():
    W = torch.tensor([[0.0, 2, 0, 2], [0, 0, 2, 2]])
    return 40 * W, torch.tensor([-40.0, -40.0]), torch.zeros(2, 4), torch.zeros(2)


# %% 13.4 two-games | wrong | too soft a gate
def weights():
    W = torch.tensor([[-1.0, 1, -1, 1], [-1, -1, 1, 1]])
    return 3 * W, torch.zeros(2), torch.zeros(2, 4), torch.zeros(2)


# %% 13.4 two-games | wrong | transposed
def weights():
    W = torch.tensor([[-1.0, 1, -1, 1], [-1, -1, 1, 1]]).T
    return 40 * W, torch.zeros(2), torch.zeros(4, 2), torch.zeros(2)


# %% 13.4 cups | right | NumPy's sign
def cups(states):
    return (1 - np.sign(states.numpy())) / 2


# %% 13.4 cups | wrong | the share of two
def cups(states):
    return (1 + states) / 2


# %% 13.5 apart | right | lists, strings and functions
any_order, mirrors, apart = ["a", "b", "d"], ("a", "b"), list("abcde")
symbols, arrangements, bits = "1 + n*(n - 1)/2", "factorial(n)", math.ceil(math.log2(120))

# %% 13.5 apart | wrong | four cups cannot be taken apart
any_order, mirrors, apart = {"a", "b", "d"}, {"a", "b"}, {"a", "b", "c", "d"}
symbols, arrangements, bits = n * (n - 1) / 2 + 1, sp.factorial(n), 7

# %% 13.5 apart | wrong | bits that are not whole
any_order, mirrors, apart = {"a", "b", "d"}, {"a", "b"}, {"a", "b", "c", "d", "e"}
symbols, arrangements, bits = n * (n - 1) / 2 + 1, sp.factorial(n), 6.95

# %% 13.5 apart | wrong | a string of letters
any_order, mirrors, apart = "abd", "ab", "abcde"
symbols, arrangements, bits = n * (n - 1) / 2 + 1, sp.factorial(n), 7


# %% 13.6 at-once | right | with the largest taken off by hand
def all_at_once(a, log_f, candidate):
    F, T = log_f.cumsum(0), len(a)
    later = torch.arange(T)[:, None] < torch.arange(T)
    exponents = (F[:, None] + (a - F)[None]).masked_fill(later[..., None], -math.inf)
    weights = (exponents - exponents.amax(1, keepdim=True)).exp()
    return torch.einsum("tsw,sw->tw", weights / weights.sum(1, keepdim=True), candidate)


# %% 13.6 at-once | wrong | the loop of the equations
def all_at_once(a, log_f, candidate):
    m, c, n, shown = a[0], candidate[0], torch.ones_like(a[0]), [candidate[0]]
    for t in range(1, len(a)):
        new = torch.maximum(log_f[t] + m, a[t])
        c = (log_f[t] + m - new).exp() * c + (a[t] - new).exp() * candidate[t]
        n = (log_f[t] + m - new).exp() * n + (a[t] - new).exp()
        m = new
        shown.append(c / n)
    return torch.stack(shown)


# %% 13.6 at-once | wrong | exponentials before the quotient
def all_at_once(a, log_f, candidate):
    F, mask = log_f.cumsum(0), torch.ones(len(a), len(a)).tril()
    weights = (a + F[:, None] - F).exp() * mask[..., None]
    return (weights * candidate).sum(1) / weights.sum(1)


# %% 13.7 write | right | with einsum
def write(S, k, v, beta=1.0):
    return S + beta * torch.einsum("bv,bk->bvk", v - torch.einsum("bvk,bk->bv", S, k), k)


# %% 13.7 write | right | by the matrix of the rule
def write(S, k, v, beta=1.0):
    kk = k[:, :, None] @ k[:, None]
    return S @ (torch.eye(k.shape[1]) - beta * kk) + beta * v[:, :, None] @ k[:, None]


# %% 13.7 write | wrong | a strength of one
def write(S, k, v, beta=1.0):
    return S + (v - (S @ k[..., None])[..., 0])[:, :, None] * k[:, None]


# %% 13.7 write | wrong | axes missing
def write(S, k, v, beta=1.0):
    return S + beta * (v - S @ k) * k


# %% 13.7 eigenvalues | right | as strings
along, across, first, second = "1 - beta", 1, "1 - c**2", lambda c: c

# %% 13.7 eigenvalues | wrong | as if the second value were erased too
along, across, first, second = 1 - beta, 1, 1 - c**2, c * (1 - c**2)


# %% 13.8 error | right | in NumPy
def error(way, T):
    right = exact[:, :T].numpy()
    states = way(a[:, :T].to(torch.float32), b[:, :T].to(torch.float32)).numpy().astype(float)
    return np.linalg.norm(states - right) / np.linalg.norm(right)


# %% 13.8 error | wrong | the difference is taken in 32 bits
def error(way, T):
    right = exact[:, :T].float()
    return ((way(a[:, :T].float(), b[:, :T].float()) - right).norm() / right.norm()).item()


# %% 13.8 error | wrong | the last state only
def error(way, T):
    state, right = way(a[:, :T].float(), b[:, :T].float()).double()[:, -1], exact[:, T - 1]
    return ((state - right).norm() / right.norm()).item()


# %% 13.8 error | wrong | the mean of relative errors
def error(way, T):
    right = exact[:, :T]
    return ((way(a[:, :T].float(), b[:, :T].float()).double() - right).abs() / right.abs()).mean().item()


# %% 13.8 slope | right | by hand, to base 10
def slope(lengths, errors):
    x, y = np.log10(lengths), np.log10(errors)
    return ((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum()


# %% 13.8 slope | wrong | first and last point
def slope(lengths, errors):
    return math.log(errors[-1] / errors[0]) / math.log(lengths[-1] / lengths[0])


# %% 13.8 digits-answers | wrong | only the last two lengths
by_logs, by_tree = (slope(lengths[-2:], [error(way, T) for T in lengths[-2:]]) for way in (logs, scan))
reason = "b"
