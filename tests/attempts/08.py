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

# %% 8.2 overtaking | right | as strings and functions
lstm, attention = "8*B*n*h", lambda B, n, a: 4 * B * a * n**2
equal, fair, writing, unit = "2*h/a", lambda h, a: 3 * h / a, 1.0, 1 << 30

# %% 8.2 overtaking | right | solved by SymPy
lstm, attention = 2 * 4 * B * n * h, 4 * B * a * n * n
equal = sp.solve(sp.Eq(lstm, attention), n)[0]
fair = sp.solve(3 * lstm - attention - 3 * 4 * B * n * h, n)[0]
writing, unit = sp.solve(sp.Eq(2 * h, 2 * n * h), n)[0], sp.Integer(2) ** 30

# %% 8.2 overtaking | wrong | only the pairs with the past
lstm, attention = 8 * B * n * h, 4 * B * a * n * (n + 1) / 2
equal, fair, writing, unit = 4 * h / a - 1, 6 * h / a - 1, 1, 2**30

# %% 8.2 overtaking | wrong | at n = 0 they are the same, too
lstm, attention = 8 * B * n * h, 4 * B * a * n**2
equal, fair, writing, unit = sp.Integer(0), 3 * h / a, 1, 2**30

# %% 8.2 overtaking | wrong | to write, the keys alone
lstm, attention = 8 * B * n * h, 4 * B * a * n**2
equal, fair, writing, unit = 2 * h / a, 3 * h / a, 2, 2**30

# %% 8.2 overtaking | wrong | a megabyte
lstm, attention = 8 * B * n * h, 4 * B * a * n**2
equal, fair, writing, unit = 2 * h / a, 3 * h / a, 1, 2**20

# %% 8.3 factors | right | as strings, with the constants of the text
product, lstm, transformer = sp.Integer(10) * 3 * 17, "16*n*d**2", "24*n*d**2 + 4*n**2*d"
least = np.float64(0.4 / 0.05 * 16 * 768 / (24 * 768 + 4 * 512))
most, outside, inside, reason = 3.75 * least, set("ABCD"), {"C"}, " B "

# %% 8.3 factors | wrong | one FLOP for each element
product, lstm, transformer = 510, 8 * n * d**2, 12 * n * d**2 + 2 * n**2 * d
least, most, outside, inside, reason = 4.8, 18, {"A", "B", "C", "D"}, {"C"}, "b"

# %% 8.3 factors | wrong | expressions in place of the bounds
product, lstm, transformer = 510, 16 * n * d**2, 24 * n * d**2 + 4 * n**2 * d
least, most = 8 * lstm / transformer, 30 * lstm / transformer
outside, inside, reason = {"A", "B", "C", "D"}, {"C"}, "b"

# %% 8.3 factors | wrong | a text of letters
product, lstm, transformer = 510, 16 * n * d**2, 24 * n * d**2 + 4 * n**2 * d
work = float((transformer / lstm).subs({n: 512, d: 768}))
least, most, outside, inside, reason = 8 / work, 30 / work, "ABCD", "C", "b"


# %% 8.4 interval | right | in 32 bits, from arrays
def interval(first, second):
    gaps = torch.tensor(first - second).float()
    reach = t_quantile(0.95, len(gaps) - 1) * gaps.std() / len(gaps) ** 0.5
    return [gaps.mean(), gaps.mean() - reach, gaps.mean() + reach]


# %% 8.4 interval | wrong | one tail
def interval(first, second):
    gaps = np.subtract(first, second)
    reach = t_quantile(0.9, len(gaps) - 1) * gaps.std(ddof=1) / len(gaps) ** 0.5
    return gaps.mean(), gaps.mean() - reach, gaps.mean() + reach


# %% 8.5 bootstrap | right | with the counts of each text
def bootstrap(first, second, lengths, drawn):
    counts = np.stack([np.bincount(row, minlength=len(lengths)) for row in drawn])
    return counts @ (first - second) / (counts @ lengths)


# %% 8.5 bootstrap | wrong | in place
def bootstrap(first, second, lengths, drawn):
    first -= second
    return first[drawn].sum(axis=1) / lengths[drawn].sum(axis=1)


# %% 8.6 how-many-seeds | right | with factorials
needed, halved = t**2 * s**2 / d**2, 4.0
all_ahead = 2 * sp.factorial(n) ** 2 / sp.factorial(2 * n)
all_pairs, fewest, fewest_pairs = "2**(1 - n)", 4, 6

# %% 8.7 scales | wrong | words cost as much as characters
bits, word, back = L / sp.log(2), sp.exp(L), sp.log(P, 2)
gain, wrong = sp.exp(-L / 50), "d"
