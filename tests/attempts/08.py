# ruff: noqa
"""What students wrote in exercises/08, right and wrong."""


# %% 8.1 rung | right | from the top, with a loop
def rung(cost):
    for order in range(len(ladder), 0, -1):
        if ladder[order - 1] > cost:
            return order
    return 0


# %% 8.1 rung | right | with NumPy's search
def rung(cost):
    return np.searchsorted(-np.array(ladder), -cost)


# %% 8.1 gap | right | the costs of all places, and a mean
def gap(model):
    price = lambda text: evaluate(model, text).nats_per_symbol
    return torch.tensor(price(unseen)) - torch.tensor(price(read))


# %% 8.1 ladder-answers | right | a tuple of rungs
rungs = np.array([rung(costs[50 * 2**n]) for n in range(4)])
network_gap, counting_gap, reason = gap(model=network), gap(models[11]), "B"


# %% 8.1 rung | wrong | the nearest order
def rung(cost):
    return int(np.argmin(np.abs(np.array(ladder) - cost))) + 1


# %% 8.1 rung | wrong | the highest order has no place
def rung(cost):
    return next(order for order, price in enumerate(ladder) if price <= cost)


# %% 8.1 gap | wrong | in bits
def gap(model):
    return (evaluate(model, unseen).nats_per_symbol - evaluate(model, read).nats_per_symbol) / math.log(2)


# %% 8.1 gap | wrong | the same model whatever is asked for
def gap(model):
    return evaluate(network, unseen).nats_per_symbol - evaluate(network, read).nats_per_symbol


# %% 8.1 ladder-answers | wrong | every cost that was noted
rungs = [rung(cost) for cost in costs.values()]
network_gap, counting_gap, reason = gap(network), gap(counting), "b"


# %% 8.2 interval | right | in 32 bits, from arrays
def interval(first, second):
    gaps = torch.tensor(first - second).float()
    reach = t_quantile(0.95, len(gaps) - 1) * gaps.std() / len(gaps) ** 0.5
    return [gaps.mean(), gaps.mean() - reach, gaps.mean() + reach]


# %% 8.2 interval | wrong | one tail
def interval(first, second):
    gaps = np.subtract(first, second)
    reach = t_quantile(0.9, len(gaps) - 1) * gaps.std(ddof=1) / len(gaps) ** 0.5
    return gaps.mean(), gaps.mean() - reach, gaps.mean() + reach


# %% 8.3 bootstrap | right | with the counts of each text
def bootstrap(first, second, lengths, drawn):
    counts = np.stack([np.bincount(row, minlength=len(lengths)) for row in drawn])
    return counts @ (first - second) / (counts @ lengths)


# %% 8.3 bootstrap | wrong | in place
def bootstrap(first, second, lengths, drawn):
    first -= second
    return first[drawn].sum(axis=1) / lengths[drawn].sum(axis=1)


# %% 8.4 how-many-seeds | right | with factorials
needed, halved = t**2 * s**2 / d**2, 4.0
all_ahead = 2 * sp.factorial(n) ** 2 / sp.factorial(2 * n)
all_pairs, fewest, fewest_pairs = "2**(1 - n)", 4, 6

# %% 8.5 many-trials | right | as strings and functions
best, again = "m - w*(n - 1)/(n + 1)", lambda m: m
ahead, needed = lambda n, k: 1 - k / (n + k), "k/(1/p - 1)"

# %% 8.5 many-trials | right | by SymPy
u = sp.Symbol("u", positive=True)
best = m - w + 2 * w * sp.integrate((1 - u) ** n, (u, 0, 1))
again, ahead = m, n / (k + n)
needed = sp.solve(ahead - p, n)[0]

# %% 8.5 many-trials | wrong | the mean over the settings
best, again, ahead, needed = m, m, n / (n + k), p * k / (1 - p)

# %% 8.5 many-trials | wrong | half of the luck stays
best = m - w * (n - 1) / (n + 1)
again, ahead, needed = (best + m) / 2, n / (n + k), p * k / (1 - p)

# %% 8.5 many-trials | wrong | a rival that was tried once
best, again = m - w * (n - 1) / (n + 1), m
ahead, needed = n / (n + 1), p / (1 - p)

# %% 8.6 scales | wrong | words cost as much as characters
bits, word, back = L / sp.log(2), sp.exp(L), sp.log(P, 2)
gain, wrong = sp.exp(-L / 50), "d"
