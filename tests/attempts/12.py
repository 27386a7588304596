# ruff: noqa
"""What students wrote in exercises/12, right and wrong."""

# %% 12.1 counted | right | as strings
parameters, core, all_of_it = "h*(d + h + 1) + V*(h + 1)", "2*h*(d + h)", "2*h*(d + h) + 2*V*h"
milliseconds, reason = 2 * 256 * (128 + 256 + 10_000) * 32 * 50 / (0.02 * 312e12) * 1e3, "b"

# %% 12.1 counted | right | as functions
parameters = lambda d, h, V: h * d + h * h + h + V * h + V
core, all_of_it = lambda d, h: 2 * (h * d + h * h), lambda d, h, V: 2 * h * (d + h + V)
milliseconds, reason = 1000 * 1600 * 2 * 256 * (128 + 256 + 10_000) / 312e12 * 50, "B"

# %% 12.1 counted | wrong | V of the check
parameters, core, all_of_it = h * (d + h + 1) + 7 * (h + 1), 2 * h * (d + h), 2 * h * (d + h + V)
milliseconds, reason = 32 * 50 * 2 * 256 * (128 + 256 + 10000) / (0.02 * 312e12) * 1000, "b"


# %% 12.1 counted | wrong | milliseconds rounded down to none
parameters, core, all_of_it = h * (d + h + 1) + V * (h + 1), 2 * h * (d + h), 2 * h * (d + h + V)
milliseconds, reason = 1600 * 2 * 256 * 10_384 // (0.02 * 312e12) * 1000, "b"

# %% 12.1 counted | wrong | milliseconds as an expression
parameters, core, all_of_it = h * (d + h + 1) + V * (h + 1), 2 * h * (d + h), 2 * h * (d + h + V)
milliseconds, reason = 1600 * all_of_it * 50 * 1000 / 312e12, "b"

# %% 12.2 budget | right | as strings and functions
step, prompt = "P*w/(8*W) + 2*2*n*L*k/W", lambda P, m, F: 2 * P * m / F
longest, slower = lambda t, W, P, w, L, k: (8 * t * W - P * w) / (32 * L * k), "w*F/W/16"
symbols, reason = 8719.0, "B "

# %% 12.2 budget | right | solved by SymPy
step, prompt = (P * w / 8 + n * L * 2 * k * 2) / W, P * m * 2 / F
longest, slower = sp.solve(step - t, n)[0], sp.simplify(step.subs(n, 0) / (prompt / m))
symbols, reason = int(longest.subs({W: 50e9, P: 3e9, w: 4, L: 28, k: 1024, t: 0.05})), "b"

# %% 12.2 budget | wrong | a list of solutions
step, prompt = (P * w / 8 + n * L * 2 * k * 2) / W, P * m * 2 / F
longest, slower = sp.solve(step - t, n), w * F / (16 * W)
symbols, reason = 8719, "b"

# %% 12.2 budget | wrong | not a whole number
step, prompt = (P * w / 8 + 4 * n * L * k) / W, 2 * P * m / F
longest, slower = (t * W - P * w / 8) / (4 * L * k), w * F / (16 * W)
symbols, reason = longest.subs({W: 50e9, P: 3e9, w: 4, L: 28, k: 1024, t: 0.05}), "b"

# %% 12.2 budget | wrong | a cache of 32 bits
step, prompt = (P * w / 8 + 8 * n * L * k) / W, 2 * P * m / F
longest, slower = (t * W - P * w / 8) / (8 * L * k), w * F / (16 * W)
symbols, reason = 4359, "b"

# %% 12.2 budget | wrong | the cache in as many bits as the weights
step, prompt = (P + 2 * n * L * k) * w / 8 / W, 2 * P * m / F
longest, slower = (8 * t * W / w - P) / (2 * L * k), w * F / (16 * W)
symbols, reason = 34877, "b"


# %% 12.3 roofs | right | with numpy
def speed(rows, columns, batch, peak, bandwidth):
    import numpy as np

    moved = 4 * np.array([rows * columns, columns * batch, rows * batch]).sum()
    return np.minimum(peak, 2 * rows * columns * batch / moved * bandwidth)


# %% 12.3 roofs | wrong | the results are not written
def speed(rows, columns, batch, peak, bandwidth):
    return min(peak, bandwidth * 2 * rows * columns * batch / (4 * (rows * columns + columns * batch)))


# %% 12.3 roofs | wrong | the weights are read for each vector again
def speed(rows, columns, batch, peak, bandwidth):
    return min(peak, bandwidth * 2 * rows * columns * batch / (4 * batch * (rows * columns + columns + rows)))


# %% 12.3 enough | right | by NumPy, all at once
def enough(rows, columns, peak, bandwidth):
    import numpy as np

    batch = np.arange(1, 100_001)
    moved = 4 * (rows * columns + (rows + columns) * batch)
    there = 2 * rows * columns * batch / moved * bandwidth >= peak
    return batch[there.argmax()] if there.any() else None


# %% 12.3 enough | wrong | only a thousand are tried
def enough(rows, columns, peak, bandwidth):
    for batch in range(1, 1000):
        if speed(rows, columns, batch, peak, bandwidth) == peak:
            return batch


# %% 12.3 enough | wrong | as if it were square
def enough(rows, columns, peak, bandwidth):
    for batch in range(1, 100_001):
        if speed(rows, rows, batch, peak, bandwidth) >= peak:
            return batch


# %% 12.3 enough | wrong | above the peak
def enough(rows, columns, peak, bandwidth):
    for batch in range(1, 100_001):
        if 2 * rows * columns * batch / (4 * (rows * columns + columns * batch + rows * batch)) * bandwidth > peak:
            return batch


# %% 12.4 factors | right | by hand, rounded
product, more, least, most = sp.Integer(10) * 3 * 17, 1.6667, 8 * 3 / 5, sp.Integer(18)
outside, inside, reason = set("ABCD"), {"C"}, " B "

# %% 12.4 factors | right | from the chapter's formulas
h, n = 768, 512
product, more = 510, sp.Rational(24 * h**2 + 4 * n * h, 16 * h**2)
least, most = 0.4 / 0.05 / more, 0.6 / 0.02 / more
outside, inside, reason = {"A", "B", "C", "D"}, {"C"}, "b"

# %% 12.4 factors | wrong | the whole text against one symbol
product, more = 510, 512 * 5 / 3
least, most, outside, inside, reason = 4.8, 18, {"A", "B", "C", "D"}, {"C"}, "b"

# %% 12.4 factors | wrong | expressions in place of the bounds
n = sp.Symbol("n")
product, more = 510, 5 / 3
work = cost.transformer_layer(768, n).flops / cost.recurrent("lstm", 768, 768).flops
least, most, outside, inside, reason = 8 / work, 30 / work, set("ABCD"), {"C"}, "b"

# %% 12.4 factors | wrong | a text of letters
product, more, least, most = 510, 5 / 3, 4.8, 18
outside, inside, reason = "ABCD", "C", "b"


# %% 12.5 segment | right | as strings and functions
kept, best = "s*T/q + m*q", lambda T, s, m: (s * T / m) ** 0.5
least, saving = lambda T, s, m: 2 * (s * m * T) ** 0.5, "7*h*T/(2*(2*h*7*h*T)**0.5)"

# %% 12.5 segment | right | found by SymPy
kept = T / q * s + q * m
best = sp.solve(sp.diff(kept, q), q)[0]
least = kept.subs(q, best)
saving = sp.simplify(7 * h * T / least.subs({s: 2 * h, m: 7 * h}))

# %% 12.5 segment | wrong | twenty per cent more
kept, best = 1.15 * (T / q * s + q * m), sp.sqrt(T * s / m)
least = 2.3 * sp.sqrt(T * s * m)
saving = 7 * h * T / least.subs({s: 2 * h, m: 7 * h})


# %% 12.5 segment | wrong | the best q is not put in
kept = T / q * s + q * m
best = sp.sqrt(T * s / m)
least, saving = kept, 7 * h * T / kept

# %% 12.5 segment | wrong | the sizes are not put in
kept, best = T / q * s + q * m, sp.sqrt(T * s / m)
least = 2 * sp.sqrt(T * s * m)
saving = 7 * h * T / least

# %% 12.6 overtaking | right | as strings and functions
lstm, attention = "8*B*n*h", lambda B, n, a: 4 * B * a * n**2
equal, fair, writing, unit = "2*h/a", lambda h, a: 3 * h / a, 1.0, 1 << 30

# %% 12.6 overtaking | right | solved by SymPy
lstm, attention = 2 * 4 * B * n * h, 4 * B * a * n * n
equal = sp.solve(sp.Eq(lstm, attention), n)[0]
fair = sp.solve(3 * lstm - attention - 3 * 4 * B * n * h, n)[0]
writing, unit = sp.solve(sp.Eq(2 * h, 2 * n * h), n)[0], sp.Integer(2) ** 30

# %% 12.6 overtaking | wrong | only the pairs with the past
lstm, attention = 8 * B * n * h, 4 * B * a * n * (n + 1) / 2
equal, fair, writing, unit = 4 * h / a - 1, 6 * h / a - 1, 1, 2**30

# %% 12.6 overtaking | wrong | at n = 0 they are the same, too
lstm, attention = 8 * B * n * h, 4 * B * a * n**2
equal, fair, writing, unit = sp.Integer(0), 3 * h / a, 1, 2**30

# %% 12.6 overtaking | wrong | to write, the keys alone
lstm, attention = 8 * B * n * h, 4 * B * a * n**2
equal, fair, writing, unit = 2 * h / a, 3 * h / a, 2, 2**30

# %% 12.6 overtaking | wrong | a megabyte
lstm, attention = 8 * B * n * h, 4 * B * a * n**2
equal, fair, writing, unit = 2 * h / a, 3 * h / a, 1, 2**20

# %% 12.7 both-ways | right | written out
states = "2*n*h*2*b"
scores = "a*b*n**2"
lstm = 12 * n * h * b
attention = (6 * n * h + a * n**2) * b
reading = 2 * h * b * (n + 1)
factors = (2.6667, 1.6, 0.3111)
carried = "2*b*h"

# %% 12.7 both-ways | wrong | all divided by the scores
states = 4 * n * h * b
scores = a * n**2 * b
lstm = 12 * n * h * b
attention = 6 * n * h * b + a * n**2 * b
reading = 2 * n * h * b + 2 * h * b
factors = [8 / 3, 8, 14 / 9]
carried = 2 * h * b

# %% 12.7 both-ways | wrong | always four bytes
states, scores, lstm = 16 * n * h, 4 * a * n**2, 48 * n * h
attention, reading = 24 * n * h + 4 * a * n**2, 8 * n * h + 8 * h
factors = [8 / 3, 36 / 21, 224 / 672]
carried = 8 * h

# %% 12.7 both-ways | wrong | both directions are carried
states, scores, lstm = 4 * n * h * b, a * n**2 * b, 12 * n * h * b
attention, reading, carried = lstm / 2 + scores, 2 * (n + 1) * h * b, 4 * h * b
factors = [8 / 3, 1.6, 14 / 45]

# %% 12.7 both-ways | wrong | heads of the full width
states, scores, lstm = 4 * n * h * b, a * n**2 * b, 12 * n * h * b
attention, reading, carried = a * lstm / 2 + scores, 2 * (n + 1) * h * b, 2 * h * b
factors = [8 / 3, 1.6, 14 / 45]


# %% 12.8 cache | right | with einsum and a list
def attend(x, cache, W_q, W_k, W_v):
    q, new = x @ W_q.T, (x @ W_k.T, x @ W_v.T)
    keys, values = (torch.cat([old, added.unsqueeze(1)], 1) for old, added in zip(cache, new))
    weights = torch.einsum("bnh,bh->bn", keys, q).div(math.sqrt(x.shape[1])).softmax(1)
    return torch.einsum("bn,bnh->bh", weights, values), [keys, values]


# %% 12.8 cache | wrong | a symbol does not look at itself
def attend(x, cache, W_q, W_k, W_v):
    keys, values = cache
    weights = (keys @ (x @ W_q.T)[..., None] / x.shape[1] ** 0.5).softmax(1)
    out = (weights * values).sum(1)
    return out, (torch.cat([keys, (x @ W_k.T)[:, None]], 1), torch.cat([values, (x @ W_v.T)[:, None]], 1))


# %% 12.8 cache | wrong | a transposed matrix
def attend(x, cache, W_q, W_k, W_v):
    keys, values = (torch.cat([c, (x @ W.T)[:, None]], 1) for c, W in zip(cache, (W_k, W_v)))
    weights = (keys @ (x @ W_q)[..., None] / x.shape[1] ** 0.5).softmax(1)
    return (weights * values).sum(1), (keys, values)


# %% 12.8 cache | wrong | one tensor for the cache
def attend(x, cache, W_q, W_k, W_v):
    keys, values = (torch.cat([c, (x @ W.T)[:, None]], 1) for c, W in zip(cache, (W_k, W_v)))
    weights = (keys @ (x @ W_q.T)[..., None] / x.shape[1] ** 0.5).softmax(1)
    return (weights * values).sum(1), torch.stack([keys, values])


# %% 12.8 cache-costs | right | as functions
carried, step = lambda n, h: 8 * n * h, lambda n, h: 6 * h * h + 4 * n * h
again = lambda n, h: n * (6 * h * h + 4 * n * h)

# %% 12.8 cache-costs | wrong | each symbol looks only back
carried, step, again = 8 * n * h, 6 * h**2 + 4 * n * h, 6 * n * h**2 + 2 * n * (n + 1) * h

# %% 12.8 cache-costs | wrong | typed in
carried, step, again = 1280, 2176, 21760


# %% 12.9 most-kept | right | the watch made first
def most_kept(way, T):
    inputs, watch = inputs_of(T), memory.Kept(without=list(cell.parameters()))
    with watch:
        memory.pass_through(cell, inputs, way, T if way == "whole" else 16 if way == "truncated" else int(T**0.5))
    return watch.most


# %% 12.9 most-kept | wrong | numbers for bytes
def most_kept(way, T):
    with memory.Kept(without=cell.parameters()) as kept:
        memory.pass_through(cell, inputs_of(T), way, {"whole": T, "truncated": 16}.get(way, math.isqrt(T)))
    return kept.most / 4


# %% 12.9 most-kept | wrong | the watch and not its answer
def most_kept(way, T):
    with memory.Kept(without=cell.parameters()) as kept:
        memory.pass_through(cell, inputs_of(T), way, {"whole": T, "truncated": 16}.get(way, math.isqrt(T)))
    return kept


# %% 12.9 most-kept | wrong | a whole window in many segments
def most_kept(way, T):
    with memory.Kept(without=cell.parameters()) as kept:
        memory.pass_through(cell, inputs_of(T), "recomputed" if way == "whole" else way, math.isqrt(T))
    return kept.most


# %% 12.9 window-factors | wrong | from 64 to 144 steps
factors = {way: most_kept(way, 144) / most_kept(way, 64) for way in ("whole", "recomputed", "truncated")}
reason = "a"
