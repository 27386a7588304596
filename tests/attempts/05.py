# ruff: noqa
"""What students wrote in exercises/05, right and wrong."""

# %% 5.1 parameters-work | right | strings, and a power
parameters = "4*h*(d + h + 1) + (n - 1)*4*h*(2*h + 1)"
work = "8*h*(d + h) + (n - 1)*16*h**2"
steps = 2**9

# %% 5.1 parameters-work | wrong | the biases are work too
parameters = 4 * h * (d + h + 1) + (n - 1) * 4 * h * (2 * h + 1)
work = 8 * h * (d + h) + 16 * (n - 1) * h**2 + 4 * n * h
steps = 512

# %% 5.1 parameters-work | wrong | steps that are no power of two
parameters = 4 * h * (d + h + 1) + (n - 1) * 4 * h * (2 * h + 1)
work = 8 * h * (d + h) + 16 * (n - 1) * h**2
steps = 512.5

# %% 5.2 tracing | right | an array, and a function
kept = np.array([1, 2, 2, 0, -1, -2, -2, -1])
shown = np.tanh([0, 0, 2, 0, 0, 0, -2, 0])
limit = lambda f, i, g: i * g / (1 - f)

# %% 5.2 tracing | wrong | an erased unit shows nothing else
kept = [1, 2, 2, 0, 0, -1, -1, 0]
shown = [0, 0, math.tanh(2), 0, 0, 0, math.tanh(-1), 0]
limit = i * g / (1 - f)

# %% 5.2 tracing | wrong | seven steps
kept = [1, 2, 2, 0, -1, -2, -2]
shown = [0, 0, math.tanh(2), 0, 0, 0, math.tanh(-2)]
limit = i * g / (1 - f)

# %% 5.2 tracing | wrong | the limit of a mean
kept = [1, 2, 2, 0, -1, -2, -2, -1]
shown = [0, 0, math.tanh(2), 0, 0, 0, math.tanh(-2), 0]
limit = i * g / (f + i)

# %% 5.3 half-life | right | from the other end
bias = "-log(2**(1/n) - 1)"
slope = "2**(1/n)*(1 - 2**(-1/n))/2**(2/n)"
doubling = 0.6931472

# %% 5.3 half-life | wrong | a sign in the exponent
bias = -sp.log(2 ** (-1 / n) - 1)
slope = 2 ** (-1 / n) * (1 - 2 ** (-1 / n))
doubling = sp.log(2)

# %% 5.3 half-life | wrong | the logarithm of the half-life
bias = sp.log(n)
slope = n / (1 + n) ** 2
doubling = sp.log(2)

# %% 5.3 half-life | wrong | a bit for a nat
bias = -sp.log(2 ** (1 / n) - 1)
slope = 2 ** (-1 / n) * (1 - 2 ** (-1 / n))
doubling = 1


# %% 5.4 lstm-step | right | four products
def lstm_step(x, h, c, W_xh, W_hh, b):
    n = h.shape[1]
    parts = [x @ W_xh[k * n : k * n + n].T + h @ W_hh[k * n : k * n + n].T + b[k * n : k * n + n] for k in range(4)]
    c = parts[1].sigmoid() * c + parts[0].sigmoid() * parts[2].tanh()
    return [parts[3].sigmoid() * c.tanh(), c]


# %% 5.4 lstm-step | wrong | the two states exchanged
def lstm_step(x, h, c, W_xh, W_hh, b):
    i, f, g, o = (x @ W_xh.T + h @ W_hh.T + b).chunk(4, dim=1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return c, o.sigmoid() * c.tanh()


# %% 5.4 lstm-step | wrong | detached
def lstm_step(x, h, c, W_xh, W_hh, b):
    i, f, g, o = (x @ W_xh.T + h @ W_hh.T + b).detach().chunk(4, dim=1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


# %% 5.4 lstm-step | wrong | only the hidden state
def lstm_step(x, h, c, W_xh, W_hh, b):
    i, f, g, o = (x @ W_xh.T + h @ W_hh.T + b).chunk(4, dim=1)
    return o.sigmoid() * (f.sigmoid() * c + i.sigmoid() * g.tanh()).tanh()


# %% 5.5 read-lengths | right | one sequence at a time
def read(step, inputs, lengths, h, c):
    ends = []
    for k, length in enumerate(lengths.tolist()):
        states = h[k : k + 1], c[k : k + 1]
        for t in range(length):
            states = step(inputs[k : k + 1, t], *states)
        ends.append(states)
    return [torch.cat(each) for each in zip(*ends)]


# %% 5.5 read-lengths | right | all states kept, and then chosen
def read(step, inputs, lengths, h, c):
    all_h, all_c = [], []
    for t in range(inputs.shape[1]):
        h, c = step(inputs[:, t], h, c)
        all_h.append(h)
        all_c.append(c)
    rows = torch.arange(len(h), device=h.device)
    return torch.stack(all_h, 1)[rows, lengths - 1], torch.stack(all_c, 1)[rows, lengths - 1]


# %% 5.5 read-lengths | wrong | inputs set to zero
def read(step, inputs, lengths, h, c):
    for t in range(inputs.shape[1]):
        h, c = step(torch.where((t < lengths)[:, None], inputs[:, t], 0.0), h, c)
    return h, c


# %% 5.5 read-lengths | wrong | detached at every step
def read(step, inputs, lengths, h, c):
    for t in range(inputs.shape[1]):
        a, b = step(inputs[:, t], h.detach(), c.detach())
        m = (t < lengths)[:, None]
        h, c = torch.where(m, a, h), torch.where(m, b, c)
    return h, c


# %% 5.6 latch | wrong | as it comes
def latch():
    return cells.LSTMCell(2, 4, forget_bias=100.0)


# %% 5.6 latch | wrong | a GRU
def latch():
    return cells.GRUCell(2, 2)


# %% 5.7 missing-path | right | strings, differently arranged
one = "f3 + o2*(1 - tanh(c2)**2)*(c2*f3*(1-f3)*wf + g3*i3*(1-i3)*wi + i3*(1-g3*g3)*wc)"
missing = "tanh(c2)*o2*(1-o2)*wo*o1*(1-tanh(c1)**2)*(c2*f3*(1-f3)*wf + g3*i3*(1-i3)*wi + i3*(1-g3*g3)*wc)"

# %% 5.7 missing-path | wrong | missing has the output gate's weight alone
A = c2 * f3 * (1 - f3) * wf + g3 * i3 * (1 - i3) * wi + i3 * (1 - g3**2) * wc
one = f3 + A * o2 * (1 - sp.tanh(c2) ** 2)
missing = A * wo * o1 * (1 - sp.tanh(c1) ** 2)

# %% 5.7 missing-path | wrong | values of step 2 for those of step 3
A = c2 * f2 * (1 - f2) * wf + g2 * i2 * (1 - i2) * wi + i2 * (1 - g2**2) * wc
one = f3 + A * o2 * (1 - sp.tanh(c2) ** 2)
missing = A * sp.tanh(c2) * o2 * (1 - o2) * wo * o1 * (1 - sp.tanh(c1) ** 2)


# %% 5.8 beginning | wrong | the lowest score
def learn(bias):
    torch.manual_seed(seed)
    cell = cells.LSTMCell(1, 16, forget_bias=bias)
    outcome = tasks.solve(tasks.SequenceModel(cell, 1).to(device), task, **how)
    return min(outcome.losses), cell.block("f").b_h.mean().item()


# %% 5.8 beginning | wrong | the bias added once more
def learn(bias):
    torch.manual_seed(seed)
    cell = cells.LSTMCell(1, 16)
    with torch.no_grad():
        cell.block("f").b_h.add_(bias)
    outcome = tasks.solve(tasks.SequenceModel(cell, 1).to(device), task, **how)
    return outcome.scores[-1], cell.block("f").b_h.mean().item()


# %% 5.8 beginning-answers | wrong | typed in
learned, reason = {0: (0.69, 0.05), 4: (0.01, 4.1)}, "b"


# %% 5.9 step-back | right | block by block
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


# %% 5.9 step-back | wrong | sizes are numbers
def step_back(W, v, c_before, gates, by_h, by_c):
    f, i, g, o = gates
    t = np.tanh(f * c_before + i * g)
    dc = by_c + by_h * o * (1 - t**2)
    delta = np.empty((len(v), 12))
    delta[:, :3], delta[:, 3:6] = dc * c_before * f * (1 - f), dc * g * i * (1 - i)
    delta[:, 6:9], delta[:, 9:] = dc * i * (1 - g**2), by_h * t * o * (1 - o)
    return delta @ W, dc * f, delta.T @ v, delta.sum(0)


# %% 5.9 step-back | wrong | what was given is changed
def step_back(W, v, c_before, gates, by_h, by_c):
    f, i, g, o = gates
    t = np.tanh(f * c_before + i * g)
    by_c += by_h * o * (1 - t**2)
    by_h *= 0
    delta = np.hstack([by_c * c_before * f * (1 - f), by_c * g * i * (1 - i), by_c * i * (1 - g**2), by_h])
    return delta @ W, by_c * f, delta.T @ v, delta.sum(0)


# %% 5.9 step-back | wrong | autograd, whose other name is known
def step_back(W, v, c_before, gates, by_h, by_c):
    W, v, c_before = (torch.tensor(x, requires_grad=True) for x in (W, v, c_before))
    f, i, g, o = map(torch.tensor, gates)
    before = torch.cat([f.logit(), i.logit(), g.atanh(), o.logit()], dim=1)
    b = torch.zeros(len(W), dtype=W.dtype, requires_grad=True)
    f, i, g, o = (before + (v @ W.T - (v @ W.T).detach()) + b).chunk(4, dim=1)
    c = f.sigmoid() * c_before + i.sigmoid() * g.tanh()
    torch.autograd.backward((torch.tensor(by_h) * o.sigmoid() * c.tanh()).sum() + (torch.tensor(by_c) * c).sum())
    return v.grad, c_before.grad, W.grad, b.grad


# %% 5.10 shapes | right | torch's own words
shapes = {"outputs": [B, n, h * 2], "h_n": ["2*layers", B, h], "above": ("4*h", "2*h")}

# %% 5.10 shapes | wrong | the printed one, without the batch
shapes = {"outputs": (n, 2 * h), "h_n": (2 * layers, B, h), "above": (4 * h, 2 * h)}

# %% 5.10 shapes | wrong | the directions stand side by side in h_n too
shapes = {"outputs": (B, n, 2 * h), "h_n": (layers, B, 2 * h), "above": (4 * h, 2 * h)}


# %% 5.10 last-states | right | views
def last(outputs, h):
    steps = outputs.shape[1]
    both = outputs.view(len(outputs), steps, 2, h)
    return torch.stack([both[:, steps - 1, 0], both[:, 0, 1]], dim=1).flatten(1)


# %% 5.10 last-states | wrong | the last sequence
def last(outputs, h):
    return torch.cat([outputs[-1, :, :h], outputs[0, :, h:]], dim=1)


# %% 5.10 last-states | wrong | the mean over all steps
def last(outputs, h):
    return outputs.mean(dim=1)
