# ruff: noqa
"""Right answers to exercises/05, in other clothes than the solutions."""

# %% 5.1 tracing | an array, and a function
kept = np.array([1, 2, 2, 0, -1, -2, -2, -1])
shown = np.tanh([0, 0, 2, 0, 0, 0, -2, 0])
limit = lambda f, i, g: i * g / (1 - f)


# %% 5.2 lstm-step | four products
def lstm_step(x, h, c, W_xh, W_hh, b):
    n = h.shape[1]
    parts = [x @ W_xh[k * n : k * n + n].T + h @ W_hh[k * n : k * n + n].T + b[k * n : k * n + n] for k in range(4)]
    c = parts[1].sigmoid() * c + parts[0].sigmoid() * parts[2].tanh()
    return [parts[3].sigmoid() * c.tanh(), c]


# %% 5.3 parameters-work | strings, and a power
parameters = "4*h*(d + h + 1) + (n - 1)*4*h*(2*h + 1)"
work = "8*h*(d + h) + (n - 1)*16*h**2"
steps = 2**9

# %% 5.5 half-life | from the other end
bias = "-log(2**(1/n) - 1)"
slope = "2**(1/n)*(1 - 2**(-1/n))/2**(2/n)"
doubling = 0.6931472


# %% 5.7 last-states | views
def last(outputs, h):
    steps = outputs.shape[1]
    both = outputs.view(len(outputs), steps, 2, h)
    return torch.stack([both[:, steps - 1, 0], both[:, 0, 1]], dim=1).flatten(1)


# %% 5.8 read-lengths | all states kept, and then chosen
def read(step, inputs, lengths, h, c):
    all_h, all_c = [], []
    for t in range(inputs.shape[1]):
        h, c = step(inputs[:, t], h, c)
        all_h.append(h)
        all_c.append(c)
    rows = torch.arange(len(h), device=h.device)
    return torch.stack(all_h, 1)[rows, lengths - 1], torch.stack(all_c, 1)[rows, lengths - 1]


# %% 5.9 step-back | block by block
def step_back(W, v, c_before, gates, by_h, by_c):
    f, i, g, o = gates
    h = f.shape[1]
    t = np.tanh(f * c_before + i * g)
    dc = by_c + by_h * o * (1 - t) * (1 + t)
    deltas = (dc * c_before * f * (1 - f), dc * g * i * (1 - i), dc * i * (1 - g * g), by_h * t * o * (1 - o))
    by_v, by_W = np.zeros_like(v), np.zeros_like(W)
    for k, delta in enumerate(deltas):
        by_v += delta @ W[k * h : (k + 1) * h]
        by_W[k * h : (k + 1) * h] = np.einsum("bi,bj->ij", delta, v)
    return [by_v, dc * f, by_W, np.concatenate([delta.sum(0) for delta in deltas])]
