# ruff: noqa
"""Right answers to exercises/08, in other clothes than the solutions."""


# %% 8.1 rung | from the top, with a loop
def rung(cost):
    for order in range(len(ladder), 0, -1):
        if ladder[order - 1] > cost:
            return order
    return 0


# %% 8.1 rung | with NumPy's search
def rung(cost):
    return np.searchsorted(-np.array(ladder), -cost)


# %% 8.1 gap | the costs of all places, and a mean
def gap(model):
    price = lambda text: evaluate(model, text).nats_per_symbol
    return torch.tensor(price(unseen)) - torch.tensor(price(read))


# %% 8.1 ladder-answers | a tuple of rungs
rungs = np.array([rung(costs[50 * 2**n]) for n in range(4)])
network_gap, counting_gap, reason = gap(model=network), gap(models[11]), "B"


# %% 8.2 interval | in 64 bits by torch, with the scores as they come
def interval(first, second):
    both = [torch.tensor(scores).double() for scores in (first, second)]
    v, free = (torch.stack(rows) for rows in zip(*((x.var() / len(x), torch.tensor(len(x) - 1.0)) for x in both)))
    reach = t_quantile(0.95, float(v.sum().square() / (v.square() / free).sum())) * v.sum().sqrt()
    apart = both[0].mean() - both[1].mean()
    return [apart, apart - reach, apart + reach]


# %% 8.3 bootstrap | with the counts of each text
def bootstrap(first, second, lengths, drawn):
    counts = np.stack([np.bincount(row, minlength=len(lengths)) for row in drawn])
    return counts @ (first - second) / (counts @ lengths)


# %% 8.4 how-many-seeds | with factorials
needed, halved = 2 * t**2 * s**2 / d**2, 4.0
all_ahead = 2 * sp.factorial(n) ** 2 / sp.factorial(2 * n)
all_pairs, fewest, fewest_pairs = "2**(1 - n)", 4, 6

# %% 8.5 many-trials | as strings and functions
best, again = "m - w*(n - 1)/(n + 1)", lambda m: m
ahead, needed = lambda n, k: 1 - k / (n + k), "k/(1/p - 1)"

# %% 8.5 many-trials | by SymPy
u = sp.Symbol("u", positive=True)
best = m - w + 2 * w * sp.integrate((1 - u) ** n, (u, 0, 1))
again, ahead = m, n / (k + n)
needed = sp.solve(ahead - p, n)[0]
