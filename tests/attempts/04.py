# ruff: noqa
"""What students wrote in exercises/04, right and wrong."""


# %% 4.4 clip | right | one long vector, cut up again
def clip(gradients, threshold):
    flat = torch.cat([g.reshape(-1) for g in gradients])
    flat = flat / max(1.0, float(flat.norm()) / threshold)
    parts = flat.split([g.numel() for g in gradients])
    return tuple(part.view_as(g) for part, g in zip(parts, gradients))


# %% 4.4 clip | wrong | a mean of the norms
def clip(gradients, threshold):
    norm = np.mean([float(g.norm()) for g in gradients]) or 1.0
    return [g * min(1.0, threshold / norm) for g in gradients]


# %% 4.4 clip | wrong | a norm of zero divides
def clip(gradients, threshold):
    norm = torch.cat([g.flatten() for g in gradients]).norm()
    return [g * (threshold / norm).clamp(max=1) * (norm / norm) for g in gradients]


# %% 4.4 clip | wrong | the given list, changed in place
def clip(gradients, threshold):
    norm = torch.cat([g.flatten() for g in gradients]).norm()
    for g in gradients:
        g *= min(1.0, threshold / (norm + 1e-6))
    return gradients


# %% 4.4 clip | wrong | short gradients are handed through
def clip(gradients, threshold):
    norm = torch.cat([g.flatten() for g in gradients]).norm()
    return gradients if norm <= threshold else [g * threshold / norm for g in gradients]


# %% 4.5 against-lag | right | one sequence after another, an array
def against_lag(cell, inputs, loss):
    rows = []
    for one in inputs:
        xs = [x[None].clone().requires_grad_() for x in one]
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


# %% 4.5 against-lag | wrong | twelve lags whatever the text
def against_lag(cell, inputs, loss):
    read = inputs.clone().requires_grad_()
    state = torch.zeros(len(inputs), cell.hidden_size, dtype=inputs.dtype)
    for x in read.unbind(1):
        state = cell(x, state)
    by_input = torch.autograd.grad(loss(state).sum(), read)[0]
    return torch.stack([by_input[:, -1 - lag].norm(dim=1) for lag in range(12)], dim=1)
