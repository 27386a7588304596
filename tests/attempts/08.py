# ruff: noqa
"""What students wrote in exercises/08, right and wrong."""


# %% 8.4 interval | right | by hand, with a list
def interval(first, second):
    gaps = [a - b for a, b in zip(first, second)]
    n, mean = len(gaps), sum(gaps) / len(gaps)
    s = (sum((gap - mean) ** 2 for gap in gaps) / (n - 1)) ** 0.5
    return [mean, mean - t_quantile(0.95, n - 1) * s / n**0.5, mean + t_quantile(0.95, n - 1) * s / n**0.5]


# %% 8.4 interval | wrong | one tail
def interval(first, second):
    gaps = np.subtract(first, second)
    reach = t_quantile(0.9, len(gaps) - 1) * gaps.std(ddof=1) / len(gaps) ** 0.5
    return gaps.mean(), gaps.mean() - reach, gaps.mean() + reach


# %% 8.5 bootstrap | right | with the counts of each text
def bootstrap(first, second, lengths, drawn):
    counts = np.stack([np.bincount(row, minlength=len(lengths)) for row in drawn])
    return counts @ (first - second) / (counts @ lengths)


# %% 8.5 bootstrap | wrong | one draw only
def bootstrap(first, second, lengths, drawn):
    row = drawn[0]
    return np.full(len(drawn), (first - second)[row].sum() / lengths[row].sum())


# %% 8.6 how-many-seeds | right | with factorials
needed, halved = t**2 * s**2 / d**2, 4.0
all_ahead = 2 * sp.factorial(n) ** 2 / sp.factorial(2 * n)
all_pairs, fewest, fewest_pairs = "2**(1 - n)", 4, 6


# %% 8.7 scales | wrong | words cost as much as characters
bits, word, back = L / sp.log(2), sp.exp(L), sp.log(P, 2)
gain, wrong = sp.exp(-L / 50), "d"
