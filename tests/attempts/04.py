# ruff: noqa
"""What students wrote in exercises/04, right and wrong."""


# %% 4.4 clip | right | one long vector, cut up again
def clip(gradients, threshold):
    flat = torch.cat([g.reshape(-1) for g in gradients])
    flat = flat / max(1.0, float(flat.norm()) / threshold)
    parts = flat.split([g.numel() for g in gradients])
    return tuple(part.view_as(g) for part, g in zip(parts, gradients))


# %% 4.4 clip | wrong | PyTorch's own
def clip(gradients, threshold):
    weights = [nn.Parameter(torch.zeros_like(g)) for g in gradients]
    for weight, g in zip(weights, gradients):
        weight.grad = g.clone()
    utils.clip_grad_norm_(weights, threshold)
    return [weight.grad for weight in weights]


# %% 4.4 clip | wrong | short gradients are handed through
def clip(gradients, threshold):
    norm = torch.cat([g.flatten() for g in gradients]).norm()
    return gradients if norm <= threshold else [g * threshold / norm for g in gradients]


# %% 4.4 clip | wrong | short gradients are returned as views
def clip(gradients, threshold):
    norm = torch.cat([g.flatten() for g in gradients]).norm()
    return [g.view_as(g) if norm <= threshold else g * threshold / norm for g in gradients]


# %% 4.5 against-lag | right | one sequence after another, an array
def against_lag(cell, inputs, loss):
    rows = []
    for sequence in inputs:
        xs = [x[None].clone().requires_grad_() for x in sequence]
        state = torch.zeros(1, cell.hidden_size, dtype=inputs.dtype, device=inputs.device)
        for x in xs:
            state = cell(x, state)
        rows.append([float(g.norm()) for g in torch.autograd.grad(loss(state)[0], xs)][::-1])
    return np.array(rows)


# %% 4.5 against-lag | wrong | by the states
def against_lag(cell, inputs, loss):
    states = [torch.zeros(len(inputs), cell.hidden_size, dtype=inputs.dtype, requires_grad=True)]
    for t in range(inputs.shape[1]):
        states.append(cell(inputs[:, t], states[-1]))
    return torch.stack([g.norm(dim=1) for g in torch.autograd.grad(loss(states[-1]).sum(), states)][:0:-1], dim=1)


# %% 4.5 against-lag | wrong | the inputs themselves are marked
def against_lag(cell, inputs, loss):
    inputs.requires_grad_()
    state = torch.zeros(len(inputs), cell.hidden_size, dtype=inputs.dtype)
    for t in range(inputs.shape[1]):
        state = cell(inputs[:, t], state)
    return torch.autograd.grad(loss(state).sum(), inputs)[0].norm(dim=2).flip(1)


# %% 4.1 corner | right | a string and a function
corner = "b*(a**n - c**n)/(a - c)"
steps = lambda rho, eps: math.log(eps, rho)

# %% 4.1 corner | right | a sum, as it stands
k = sp.Symbol("k", integer=True)
corner = b * sp.Sum(a**k * c ** (n - 1 - k), (k, 0, n - 1))
steps = sp.log(1 / eps) / sp.log(1 / rho)

# %% 4.1 corner | wrong | right for the square alone
corner = b * (a + c) ** (n - 1)
steps = sp.log(eps) / sp.log(rho)

# %% 4.1 corner | wrong | n times the middle
corner = n * b * (a * c) ** ((n - 1) / 2)
steps = sp.log(eps) / sp.log(rho)

# %% 4.1 corner | wrong | a quotient for a power
corner = b * (a**n - c**n) / (a - c)
steps = eps / rho

# %% 4.2 three-steps | right | written out
gradient = (1 - h3**2) * h2 + w * (1 - h3**2) * (1 - h2**2) * h1 + w**2 * (1 - h3**2) * (1 - h2**2) * (1 - h1**2) * h0

# %% 4.2 three-steps | right | a function
gradient = lambda w, h0, h1, h2, h3: (1 - h3**2) * (h2 + w * (1 - h2**2) * (h1 + w * (1 - h1**2) * h0))

# %% 4.2 three-steps | wrong | the sum without its powers of w
gradient = (1 - h3**2) * h2 + (1 - h3**2) * (1 - h2**2) * h1 + (1 - h3**2) * (1 - h2**2) * (1 - h1**2) * h0

# %% 4.2 three-steps | wrong | with respect to u
gradient = (1 - h3**2) * (x3 + w * (1 - h2**2) * (x2 + w * (1 - h1**2) * x1))

# %% 4.2 three-steps | wrong | a product of three
gradient = w**2 * (1 - h3**2) * (1 - h2**2) * (1 - h1**2) * h0

# %% 4.3 leaving-32-bits | right | by trying
subnormal_from = next(n for n in range(1000) if 0.43**n < 2.0**-126)
zero_from = next(n for n in range(1000) if 0.43**n <= 2.0**-150)
number, multiplied = np.float32(1), 0
while number != 0:
    number *= np.float32(0.43)
    multiplied += 1

# %% 4.3 leaving-32-bits | wrong | no loop
subnormal_from = int(np.ceil(126 * np.log(2) / -np.log(0.43)))
zero_from = int(np.ceil(150 * np.log(2) / -np.log(0.43)))
multiplied = zero_from

# %% 4.3 leaving-32-bits | wrong | the last factor is not counted
subnormal_from = int(np.ceil(126 * np.log(2) / -np.log(0.43)))
zero_from = int(np.ceil(150 * np.log(2) / -np.log(0.43)))
number, multiplied = np.float32(1), 0
while number * np.float32(0.43) != 0:
    number *= np.float32(0.43)
    multiplied += 1

# %% 4.3 leaving-32-bits | wrong | real numbers
subnormal_from = 126 * np.log(2) / -np.log(0.43)
zero_from = 150 * np.log(2) / -np.log(0.43)
multiplied = 123


# %% 4.6 kept | right | a mean of logarithms
def kept(norms):
    return np.exp(np.diff(np.log(norms))[20:60].mean())


# %% 4.6 kept | right | a slope, as text has it
def kept(norms):
    return float(np.prod([norms[k + 1] / norms[k] for k in range(20, 60)]) ** 0.025)


# %% 4.6 kept | wrong | arithmetic mean of ratios
def kept(norms):
    norms = np.asarray(norms)
    return (norms[21:61] / norms[20:60]).mean()


# %% 4.6 kept | wrong | fitted line
def kept(norms):
    return math.exp(np.polyfit(np.arange(20, 61), np.log(np.asarray(norms)[20:61]), 1)[0])


# %% 4.6 kept-answers | wrong | from memory
linear, tanh = 0.9, 0.77
reason = "a"

# %% 4.7 figure | right | legend in another order
fig, ax = plt.subplots()
made = {}
for name, W in matrices.items():
    (made[name],) = ax.plot(range(61), [np.linalg.norm(np.linalg.matrix_power(W, n), 2) for n in range(61)], label=name)
ax.set_yscale("log")
ax.set_xlabel("exponent n")
ax.set_ylabel("norm of the power")
names = list(matrices)[::-1]
ax.legend([made[n] for n in names], names)

# %% 4.7 figure | wrong | the norm to the power
fig, ax = plt.subplots()
for name, W in matrices.items():
    ax.semilogy([np.linalg.norm(W, 2) ** n for n in range(61)], label=name)
ax.set(xlabel="exponent n", ylabel="norm of the power")
ax.legend()

# %% 4.7 figure | wrong | the logarithm on a linear axis
fig, ax = plt.subplots()
for name, W in matrices.items():
    ax.plot([np.log(np.linalg.norm(np.linalg.matrix_power(W, n), 2)) for n in range(61)], label=name)
ax.set(xlabel="exponent n", ylabel="norm of the power")
ax.legend()

# %% 4.7 figure | wrong | three pairs of axes
fig, axes = plt.subplots(1, 3)
for ax, (name, W) in zip(axes, matrices.items()):
    ax.semilogy([np.linalg.norm(np.linalg.matrix_power(W, n), 2) for n in range(61)], label=name)
    ax.set(xlabel="exponent n", ylabel="norm of the power")
    ax.legend()


# %% 4.8 adding | right | one's own loop
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


# %% 4.8 adding | wrong | what solve returns
def solve(task, seed):
    network = tasks.SequenceModel(cells.RNNCell(2, 8), 1).to(device)
    return tasks.solve(network, task, updates=2, seed=seed)


# %% 4.8 adding | wrong | the identity with tanh
def solve(task, seed):
    torch.manual_seed(seed)
    network = tasks.SequenceModel(initialise(cells.RNNCell(2, 32), "identity"), 1).to(device)
    tasks.solve(network, task, updates=150, batch=32, learning_rate=1e-3, clip=1.0, seed=seed)
    return network


# %% 4.8 adding | wrong | a network that is not trained
def solve(task, seed):
    return tasks.SequenceModel(initialise(cells.RNNCell(2, 32, "relu"), "identity"), 1).to(device)


# %% 4.9 copying | wrong | the slots of ten steps, whatever T is
@torch.no_grad()
def copier(task):
    cell = cells.RNNCell(10, 8 * 14, "relu")
    network = tasks.SequenceModel(cell, 9)
    for p in network.parameters():
        p.zero_()
    cell.W_xh[:8, :8] = torch.eye(8)
    cell.W_hh[8:, :-8] = torch.eye(8 * 13)
    network.output.weight[:8, -8:] = 40 * torch.eye(8)
    network.output.bias[8] = 20
    return network.to(device)


# %% 4.9 copying | wrong | as it comes
def copier(task):
    return tasks.SequenceModel(cells.RNNCell(10, 128, "relu"), 9).to(device)


# %% 4.9 copying | right | backwards, from the last slot to the first
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


# %% 4.10 numbers | right | by autograd, as lists
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


# %% 4.10 numbers | wrong | the input is forgotten after the first step
states = [np.tanh(W_xh)]
for _ in range(2):
    states.append(np.tanh(W_hh @ states[-1]))
slope, share, estimate, threshold, reason = 0.678, 0.371, 0.227, 178, "c"

# %% 4.10 numbers | wrong | the first step's Jacobian on the left
states, h, J = [], np.zeros(2), np.eye(2)
for number in x:
    h = np.tanh(W_xh * number + W_hh @ h)
    J = J @ np.diag(1 - h**2) @ W_hh
    states.append(h)
slope, share, threshold, reason = np.mean(1 - np.array(states) ** 2), np.linalg.norm(J, 2), 253, "c"
estimate = (0.9 * slope) ** 3
