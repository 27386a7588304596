# ruff: noqa
"""Right answers to exercises/12, in other clothes than the solutions."""

# %% 12.1 counted | as strings
parameters, core, all_of_it = "h*(d + h + 1) + V*(h + 1)", "2*h*(d + h)", "2*h*(d + h) + 2*V*h"
milliseconds, reason = 2 * 256 * (128 + 256 + 10_000) * 32 * 50 / (0.02 * 312e12) * 1e3, "b"

# %% 12.1 counted | as functions
parameters = lambda d, h, V: h * d + h * h + h + V * h + V
core, all_of_it = lambda d, h: 2 * (h * d + h * h), lambda d, h, V: 2 * h * (d + h + V)
milliseconds, reason = 1000 * 1600 * 2 * 256 * (128 + 256 + 10_000) / 312e12 * 50, "B"

# %% 12.2 budget | as strings and functions
step, prompt = "P*w/(8*W) + 2*2*n*L*k/W", lambda P, m, F: 2 * P * m / F
longest, slower = lambda t, W, P, w, L, k: (8 * t * W - P * w) / (32 * L * k), "w*F/W/16"
symbols, reason = 8719.0, "B "

# %% 12.2 budget | solved by SymPy
step, prompt = (P * w / 8 + n * L * 2 * k * 2) / W, P * m * 2 / F
longest, slower = sp.solve(step - t, n)[0], sp.simplify(step.subs(n, 0) / (prompt / m))
symbols, reason = int(longest.subs({W: 50e9, P: 3e9, w: 4, L: 28, k: 1024, t: 0.05})), "b"


# %% 12.3 roofs | with numpy
def speed(rows, columns, batch, peak, bandwidth):
    import numpy as np

    moved = 4 * np.array([rows * columns, columns * batch, rows * batch]).sum()
    return np.minimum(peak, 2 * rows * columns * batch / moved * bandwidth)


# %% 12.3 enough | by NumPy, all at once
def enough(rows, columns, peak, bandwidth):
    import numpy as np

    batch = np.arange(1, 100_001)
    moved = 4 * (rows * columns + (rows + columns) * batch)
    there = 2 * rows * columns * batch / moved * bandwidth >= peak
    return batch[there.argmax()] if there.any() else None


# %% 12.4 factors | by hand, rounded
product, more, least, most = sp.Integer(10) * 3 * 17, 1.6667, 8 * 3 / 5, sp.Integer(18)
outside, inside, reason = set("ABCD"), {"C"}, " B "

# %% 12.4 factors | from the chapter's formulas
h, n = 768, 512
product, more = 510, sp.Rational(24 * h**2 + 4 * n * h, 16 * h**2)
least, most = 0.4 / 0.05 / more, 0.6 / 0.02 / more
outside, inside, reason = {"A", "B", "C", "D"}, {"C"}, "b"

# %% 12.5 segment | as strings and functions
kept, best = "s*T/q + m*q", lambda T, s, m: (s * T / m) ** 0.5
least, saving = lambda T, s, m: 2 * (s * m * T) ** 0.5, "7*h*T/(2*(2*h*7*h*T)**0.5)"

# %% 12.5 segment | found by SymPy
kept = T / q * s + q * m
best = sp.solve(sp.diff(kept, q), q)[0]
least = kept.subs(q, best)
saving = sp.simplify(7 * h * T / least.subs({s: 2 * h, m: 7 * h}))

# %% 12.6 overtaking | as strings and functions
lstm, attention = "8*B*n*h", lambda B, n, a: 4 * B * a * n**2
equal, fair, writing, unit = "2*h/a", lambda h, a: 3 * h / a, 1.0, 1 << 30

# %% 12.6 overtaking | solved by SymPy
lstm, attention = 2 * 4 * B * n * h, 4 * B * a * n * n
equal = sp.solve(sp.Eq(lstm, attention), n)[0]
fair = sp.solve(3 * lstm - attention - 3 * 4 * B * n * h, n)[0]
writing, unit = sp.solve(sp.Eq(2 * h, 2 * n * h), n)[0], sp.Integer(2) ** 30

# %% 12.7 both-ways | written out
states = "2*n*h*2*b"
scores = "a*b*n**2"
lstm = 12 * n * h * b
attention = (6 * n * h + a * n**2) * b
reading = 2 * h * b * (n + 1)
factors = (2.6667, 1.6, 0.3111)
carried = "2*b*h"


# %% 12.8 cache | with einsum and a list
def attend(x, cache, W_q, W_k, W_v):
    q, new = x @ W_q.T, (x @ W_k.T, x @ W_v.T)
    keys, values = (torch.cat([old, added.unsqueeze(1)], 1) for old, added in zip(cache, new))
    weights = torch.einsum("bnh,bh->bn", keys, q).div(math.sqrt(x.shape[1])).softmax(1)
    return torch.einsum("bn,bnh->bh", weights, values), [keys, values]


# %% 12.8 cache-costs | as functions
carried, step = lambda n, h: 8 * n * h, lambda n, h: 6 * h * h + 4 * n * h
again = lambda n, h: n * (6 * h * h + 4 * n * h)


# %% 12.9 most-kept | the watch made first
def most_kept(way, T):
    inputs, watch = inputs_of(T), memory.Kept(without=list(cell.parameters()))
    with watch:
        memory.pass_through(cell, inputs, way, T if way == "whole" else 16 if way == "truncated" else int(T**0.5))
    return watch.most
