# ruff: noqa
"""Right answers to exercises/03, in other clothes than the solutions."""

# %% 3.1 immediate | functions for expressions
immediate = lambda h2, x2: (1 - h2**2) * x2
total = lambda w, h1, h2, x1, x2: (1 - h2**2) * (x2 + w * (1 - h1**2) * x1)

# %% 3.2 three-losses | from the end, written out
delta_3 = e3 - e3 * h3**2
delta_2 = (e2 + w * delta_3) * (1 - h2) * (1 + h2)
delta_1 = (1 - h1**2) * e1 + (1 - h1**2) * w * delta_2
gradient = sp.expand(h0 * delta_1 + h1 * delta_2 + h2 * delta_3)
paths = sum(1 for _ in ()) + T * (T + 1) / 2


# %% 3.3 step-back | rows from the left, a list
def step_back(error, later, state, W_hh, W_hy):
    return list((error @ W_hy + later @ W_hh) * (1 - state) * (1 + state))


# %% 3.4 bptt | 32 bits, only the real steps are ever touched, a plain tuple
def bptt(weights, x, length, target, start):
    weights = rnn.Parameters(*(weight.astype(np.float32) for weight in weights))
    real, h = x[:length].astype(np.float32), [start.astype(np.float32)]
    for x_t in real:
        h.append(np.tanh(weights.W_xh @ x_t + weights.W_hh @ h[-1] + weights.b_h))
    logits = weights.W_hy @ h[-1] + weights.b_y
    error = np.exp(logits - logits.max())
    error = error / error.sum() - np.eye(len(error))[target]
    by_state, deltas = error @ weights.W_hy, []
    for state in h[:0:-1]:
        deltas.append((1 - state**2) * by_state)
        by_state = deltas[-1] @ weights.W_hh
    deltas = np.array(deltas[::-1])
    before = np.array(h[:-1])
    return deltas.T @ real, deltas.T @ before, np.outer(error, h[-1]), deltas.sum(axis=0), error


# %% 3.5 kept-terms | strings
windows = "T*(n + 1)/2"
sliding = "T*n - n*(n - 1)/2"
walk = "n"


# %% 3.6 cut-the-sum | window by window
def cut(terms, size):
    left = np.zeros(terms.shape[2:])
    for first in range(0, len(terms), size):
        left += terms[first : first + size, first : first + size].sum(axis=(0, 1))
    return left


# %% 3.7 differences | a flat view
def central(f, x, step):
    flat = np.asarray(x, dtype=float).ravel()
    moved = np.eye(len(flat)) * step
    return np.array([f((flat + m).reshape(x.shape)) - f((flat - m).reshape(x.shape)) for m in moved]).reshape(
        x.shape
    ) / (2 * step)


# %% 3.7 differences-imaginary | one list
def imaginary(f, x, step=1e-40):
    turns = 1j * step * np.eye(x.size)
    return np.array([f(x + turn.reshape(x.shape)).imag for turn in turns]).reshape(x.shape) / step


# %% 3.8 states-held | numbers and roots
held = q + T / q
best = T**0.5
least = 2 * T ** sp.Rational(1, 2)
twice = "3*T**(1/3)"
work = sp.Rational(4, 3)
