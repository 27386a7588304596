# ruff: noqa
"""Right answers to exercises/04, in other clothes than the solutions."""

# %% 4.1 corner | a string and a function
corner = "b*(a**n - c**n)/(a - c)"
steps = lambda rho, eps: math.log(eps, rho)

# %% 4.1 corner | a sum, as it stands
k = sp.Symbol("k", integer=True)
corner = b * sp.Sum(a**k * c ** (n - 1 - k), (k, 0, n - 1))
steps = sp.log(1 / eps) / sp.log(1 / rho)


# %% 4.2 numbers | by autograd, as lists
def last(h):
    global states
    states = []
    for number in x:
        h = torch.tanh(torch.tensor(W_xh) * number + torch.tensor(W_hh) @ h)
        states.append(h.tolist())
    return h


J = torch.autograd.functional.jacobian(last, torch.zeros(2, dtype=torch.float64))
share = torch.linalg.matrix_norm(J, 2)
slope = sum(1 - h * h for row in states for h in row) / 6
estimate = np.array([(0.9 * slope) ** 3])
threshold = next(n for n in range(1000) if (0.9 * slope) ** n < 1e-38)
reason = "C"
# %% 4.3 leaving-32-bits | by trying
subnormal_from = next(n for n in range(1000) if 0.43**n < 2.0**-126)
zero_from = next(n for n in range(1000) if 0.43**n <= 2.0**-150)
number, multiplied = np.float32(1), 0
while number != 0:
    number *= np.float32(0.43)
    multiplied += 1


# %% 4.4 clip | one long vector, cut up again
def clip(gradients, threshold):
    flat = torch.cat([g.reshape(-1) for g in gradients])
    flat = flat / max(1.0, float(flat.norm()) / threshold)
    parts = flat.split([g.numel() for g in gradients])
    return tuple(part.view_as(g) for part, g in zip(parts, gradients))


# %% 4.5 against-lag | one sequence after another, an array
def against_lag(cell, inputs, loss):
    rows = []
    for sequence in inputs:
        xs = [x[None].clone().requires_grad_() for x in sequence]
        state = torch.zeros(1, cell.hidden_size, dtype=inputs.dtype, device=inputs.device)
        for x in xs:
            state = cell(x, state)
        rows.append([float(g.norm()) for g in torch.autograd.grad(loss(state)[0], xs)][::-1])
    return np.array(rows)


# %% 4.6 kept | a mean of logarithms
def kept(norms):
    return np.exp(np.diff(np.log(norms))[20:60].mean())


# %% 4.6 kept | a slope, as text has it
def kept(norms):
    return float(np.prod([norms[k + 1] / norms[k] for k in range(20, 60)]) ** 0.025)


# %% 4.7 figure | legend in another order
fig, ax = plt.subplots()
made = {}
for name, W in matrices.items():
    (made[name],) = ax.plot(range(61), [np.linalg.norm(np.linalg.matrix_power(W, n), 2) for n in range(61)], label=name)
ax.set_yscale("log")
ax.set_xlabel("exponent n")
ax.set_ylabel("norm of the power")
names = list(matrices)[::-1]
ax.legend([made[n] for n in names], names)


# %% 4.8 adding | one's own loop
def solve(task, seed):
    torch.manual_seed(seed)
    network = tasks.SequenceModel(initialise(cells.RNNCell(2, 48, "relu"), "identity"), 1).to(device)
    adam, generator = torch.optim.Adam(network.parameters(), 4e-3), torch.Generator().manual_seed(seed)
    for _ in range(600):
        inputs, targets = (part.to(device) for part in task.batch(32, generator))
        adam.zero_grad()
        task.loss(network(inputs), targets).backward()
        utils.clip_grad_norm_(network.parameters(), 1.0)
        adam.step()
    return network


# %% 4.9 copying | backwards, from the last slot to the first
@torch.no_grad()
def copier(task):
    n = 8 * (task.length + 11)
    cell = cells.RNNCell(10, n, "relu")
    network = tasks.SequenceModel(cell, 9)
    for p in network.parameters():
        p.copy_(torch.zeros_like(p))
    cell.W_xh[n - 8 :, :8] = 2 * torch.eye(8)
    cell.W_hh.copy_(torch.diag(torch.ones(n - 8), 8))
    network.output.weight[:8, :8] = 15 * torch.eye(8)
    network.output.bias[8] = 15
    return network.to(device)
