# ruff: noqa
"""What students wrote in exercises/02, right and wrong, before anyone had looked at the solutions."""

# %% 2.2 count-work | right | plain numbers and strings
recurrent = "2*T*h*(d + h)"
output = "2*T*h*V"
share = sp.Rational(10000, 10000 + 128 + 256)

# %% 2.2 count-work | wrong | the ratio and not the share
recurrent = 2 * T * h * (d + h)
output = 2 * T * h * V
share = (128 + 256) / 10000

# %% 2.2 count-work | wrong | a share with T counted once
recurrent = 2 * T * h * (d + h)
output = 2 * T * h * V
share = 10000 / (10000 + 50 * (128 + 256))


# %% 2.3 rnn-step | right | stacked weights
def rnn_step(x, h, W_xh, W_hh, b_h):
    return torch.cat([x, h], dim=1).matmul(torch.cat([W_xh, W_hh], dim=1).t()).add(b_h).tanh()


# %% 2.3 rnn-step | right | einsum
def rnn_step(x, h, W_xh, W_hh, b_h):
    return torch.tanh(torch.einsum("bd,hd->bh", x, W_xh) + torch.einsum("bk,hk->bh", h, W_hh) + b_h)


# %% 2.3 rnn-step | wrong | NumPy
def rnn_step(x, h, W_xh, W_hh, b_h):
    x, h, W_xh, W_hh, b_h = (a.detach().numpy() for a in (x, h, W_xh, W_hh, b_h))
    return torch.from_numpy(np.tanh(x @ W_xh.T + h @ W_hh.T + b_h))


# %% 2.3 rnn-step | wrong | the recurrent matrix untransposed
def rnn_step(x, h, W_xh, W_hh, b_h):
    return torch.tanh(x @ W_xh.T + h @ W_hh + b_h)


# %% 2.3 rnn-step | wrong | detached
def rnn_step(x, h, W_xh, W_hh, b_h):
    return torch.tanh(x @ W_xh.T + h.detach() @ W_hh.T + b_h)


# %% 2.4 read-on | right | a tensor filled in, a list of two
def read(step, inputs, state):
    states = torch.empty(len(inputs), inputs.shape[1], state.shape[1], device=inputs.device)
    for t in range(inputs.shape[1]):
        state = step(inputs[:, t], state)
        states[:, t] = state
    return [states, state]


# %% 2.4 read-on | wrong | the cell and not the step
def read(step, inputs, state):
    states = []
    for t in range(inputs.shape[1]):
        state = cell(inputs[:, t], state)
        states.append(state)
    return torch.stack(states, dim=1), state


# %% 2.4 read-on | wrong | the last of the rows and not of the steps
def read(step, inputs, state):
    states = []
    for t in range(inputs.shape[1]):
        state = step(inputs[:, t], state)
        states.append(state)
    states = torch.stack(states, dim=1)
    return states, states[-1]


# %% 2.4 read-on | wrong | detach at each step
def read(step, inputs, state):
    states = []
    for t in range(inputs.shape[1]):
        state = step(inputs[:, t], state.detach())
        states.append(state)
    return torch.stack(states, dim=1), state


# %% 2.5 text-cost | right | the table of logarithms
def mean_nats(model, tokens):
    logits, _ = model(tokens)
    logs = torch.log_softmax(logits[:, :-1], dim=-1)
    return -logs.gather(2, tokens[:, 1:, None]).mean().item()


# %% 2.5 text-cost | right | channels second
def mean_nats(model, tokens):
    return cross_entropy(model(tokens[:, :-1])[0].transpose(1, 2), tokens[:, 1:])


# %% 2.5 text-cost | wrong | flattened before the shift
def mean_nats(model, tokens):
    return cross_entropy(model(tokens)[0].flatten(0, 1)[:-1], tokens.flatten()[1:])


# %% 2.5 text-cost | wrong | bits
def mean_nats(model, tokens):
    return cross_entropy(model(tokens[:, :-1])[0].flatten(0, 1), tokens[:, 1:].flatten()) / math.log(2)


# %% 2.5 text-cost | wrong | only the last symbol
def mean_nats(model, tokens):
    return cross_entropy(model(tokens[:, :-1])[0][:, -1], tokens[:, -1])


# %% 2.6 write-greedily | right | numbers collected by item
def write(model, beginning, length):
    logits, state = model(beginning)
    text = []
    while len(text) < length:
        text.append(logits[0, -1].argmax().item())
        logits, state = model(torch.tensor([[text[-1]]], device=beginning.device), state)
    return text


# %% 2.6 write-greedily | right | a tensor for a list
def write(model, beginning, length):
    text, token, state = [], beginning, None
    for _ in range(length):
        logits, state = model(token, state)
        token = logits[:, -1:].argmax(dim=-1)
        text.append(token)
    return torch.cat(text, dim=1)[0]


# %% 2.6 write-greedily | wrong | everything is read again
def write(model, beginning, length):
    text = beginning
    for _ in range(length):
        text = torch.cat([text, model(text)[0][:, -1:].argmax(dim=-1)], dim=1)
    return text[0, beginning.shape[1] :].tolist()


# %% 2.6 write-greedily | wrong | the last of the beginning is read twice
def write(model, beginning, length):
    _, state = model(beginning)
    token, text = beginning[:, -1:], []
    for _ in range(length):
        logits, state = model(token, state)
        token = logits[:, -1:].argmax(dim=-1)
        text.append(token.item())
    return text


# %% 2.6 write-greedily | wrong | the beginning is returned too
def write(model, beginning, length):
    text, token, state = beginning[0].tolist(), beginning, None
    for _ in range(length):
        logits, state = model(token, state)
        token = logits[:, -1:].argmax(dim=-1)
        text.append(token.item())
    return text


# %% 2.8 beginnings | wrong | the first character only
def per_beginning(w):
    forgotten = token_nats(model, unseen, start=start, window=w)
    return (forgotten - token_nats(model, unseen, start=start, window=None))[::w].mean()


# %% 2.8 beginnings | wrong | the window instead of the difference
def per_beginning(w):
    return token_nats(model, unseen, start=start, window=w).mean() * w


# %% 2.8 beginnings | right | added up by windows
def per_beginning(w):
    dearer = token_nats(model, unseen, start=start, window=w) - token_nats(model, unseen, start=start, window=None)
    return dearer.sum() / (len(unseen) / w)


# %% 2.8 beginnings-answers | wrong | typed, one for all
costs = {8: 0.6, 16: 0.6, 32: 0.6}
reason = "c"


# %% 2.9 forgetting | wrong | the largest element
def steps_to_forget(cell, inputs, one, other):
    first = (one - other).abs().max()
    for t in range(inputs.shape[1]):
        one, other = cell(inputs[:, t], one), cell(inputs[:, t], other)
        if (one - other).abs().max() < first / 100:
            return t + 1


# %% 2.9 forgetting | wrong | the first input for ever
def steps_to_forget(cell, inputs, one, other):
    first, t = (one - other).norm(), 0
    while (one - other).norm() >= first / 100:
        one, other, t = cell(inputs[:, 0], one), cell(inputs[:, 0], other), t + 1
    return t


# %% 2.9 forgetting-answers | right | a whole number of steps is real too
steps = torch.tensor(steps_to_forget(cell, inputs, one, other))
linear = sp.log(100) / -sp.log(sp.Rational(9, 10))
reason = "a"

# %% 2.9 forgetting-answers | wrong | rounded up
steps = steps_to_forget(cell, inputs, one, other)
linear = math.ceil(math.log(0.01) / math.log(0.9))
reason = "a"


# %% 2.7 perplexity | right | a loop over the log
def perplexity(perplexities, sizes):
    total = 0.0
    for each, size in zip(perplexities, sizes):
        total += size * math.log(each)
    return math.exp(total / sum(sizes))


# %% 2.7 perplexity | right | a product of powers, as a tensor
def perplexity(perplexities, sizes):
    each = torch.as_tensor(perplexities) ** (torch.as_tensor(sizes) / sum(sizes))
    return each.prod()


# %% 2.7 perplexity | wrong | divided by the number of batches
def perplexity(perplexities, sizes):
    return math.exp(sum(size * math.log(each) for each, size in zip(perplexities, sizes)) / len(sizes))


# %% 2.7 perplexity | wrong | the harmonic mean
def perplexity(perplexities, sizes):
    return sum(sizes) / sum(size / each for each, size in zip(perplexities, sizes))


# %% 2.1 count-parameters | right | functions for expressions
parameters = lambda d, h, V: h * (d + h + 1) + V * (h + 1)
surplus = "256"
printed = "h*(d + h + 2) + V*(h + 1)"

# %% 2.1 count-parameters | wrong | an embedding too
parameters = V * d + h * (d + h + 1) + V * (h + 1)
surplus = 2668816 - parameters.subs({d: 128, h: 256, V: 10000})
printed = parameters + h

# %% 2.1 count-parameters | wrong | the printed number itself
parameters = h * (d + h + 1) + V * (h + 1)
surplus = 256
printed = 2668816


# %% 2.9 forgetting | right | one walk after the other
def steps_to_forget(cell, inputs, one, other):
    walks = []
    for state in (one, other):
        states = [state]
        for t in range(inputs.shape[1]):
            states.append(cell(inputs[:, t], states[-1]))
        walks.append(states)
    apart = [float((a - b).norm()) for a, b in zip(*walks)]
    return next(n for n, x in enumerate(apart) if x < apart[0] / 100)


# %% 2.10 first-loss | right | a new parameter
def losses(factor, number):
    net = fresh(number)
    net.output.weight = nn.Parameter(factor * net.output.weight.detach())
    return np.array(train(net, known, recipe, progress=False).losses)


# %% 2.10 first-loss | right | through data
def losses(factor, number):
    net = fresh(number)
    net.output.weight.data.mul_(factor)
    history = train(net, known, recipe, progress=False)
    return tuple(history.losses)


# %% 2.10 first-loss | wrong | changed where gradients are recorded
def losses(factor, number):
    net = fresh(number)
    net.output.weight *= factor
    return train(net, known, recipe, progress=False).losses


# %% 2.10 first-loss | wrong | no longer trained
def losses(factor, number):
    net = fresh(number)
    net.output.weight.requires_grad = False
    net.output.weight *= factor
    return train(net, known, recipe, progress=False).losses


# %% 2.10 first-loss | wrong | all weights of the layer
def losses(factor, number):
    net = fresh(number)
    with torch.no_grad():
        for weight in net.output.parameters():
            weight *= factor
    return train(net, known, recipe, progress=False).losses


# %% 2.10 first-loss | wrong | multiplied after the training
def losses(factor, number):
    net = fresh(number)
    history = train(net, known, recipe, progress=False)
    net.output.weight.data *= factor
    return history.losses


# %% 2.10 first-loss | wrong | the rate and not the weights
def losses(factor, number):
    faster = Recipe(60, batch=32, seq_len=16, learning_rate=3e-3 * factor, schedule="constant")
    return train(fresh(number), known, faster, progress=False).losses


# %% 2.10 first-loss-answers | right | loops, and a string
first, back = {}, {}
for factor in (1, 3, 10, 30):
    firsts, waits = [], []
    for number in (0, 1, 2):
        run = losses(factor, number)
        firsts.append(run[0])
        n = 0
        while run[n] > math.log(59):
            n += 1
        waits.append(n)
    first[factor], back[factor] = sum(firsts) / 3, sum(waits) / 3
expected = "log(V) + s**2/2"
reason = "A"

# %% 2.10 first-loss-answers | right | tensors, and a function
first, back = {}, {}
for factor in (1, 3, 10, 30):
    run = torch.tensor([losses(factor, number) for number in range(3)])
    first[factor] = run.mean(dim=0)[0]
    back[factor] = (run > math.log(len(vocabulary))).cumprod(dim=1).sum(dim=1).double().mean()
expected = lambda s, V: math.log(V * math.exp(s * s / 2))
reason = "a"

# %% 2.10 first-loss-answers | wrong | as long as the first was above the last
runs = {factor: np.array([losses(factor, number) for number in range(3)]) for factor in (1, 3, 10, 30)}
first = {factor: run[:, 0].mean() for factor, run in runs.items()}
back = {factor: (run > run[:, -1:]).sum(axis=1).mean() for factor, run in runs.items()}
expected = sp.log(V) + s**2 / 2
reason = "a"

# %% 2.10 first-loss-answers | wrong | the largest of many logits
runs = {factor: np.array([losses(factor, number) for number in range(3)]) for factor in (1, 3, 10, 30)}
first = {factor: run[:, 0].mean() for factor, run in runs.items()}
back = {factor: (run <= math.log(59)).argmax(axis=1).mean() for factor, run in runs.items()}
expected = s * sp.sqrt(2 * sp.log(V))
reason = "a"

# %% 2.10 first-loss-answers | wrong | the expectation for its logarithm
runs = {factor: np.array([losses(factor, number) for number in range(3)]) for factor in (1, 3, 10, 30)}
first = {factor: run[:, 0].mean() for factor, run in runs.items()}
back = {factor: (run <= math.log(59)).argmax(axis=1).mean() for factor, run in runs.items()}
expected = sp.log(V) + sp.exp(s**2 / 2)
reason = "a"

# %% 2.10 first-loss-answers | wrong | the mean of all sixty
runs = {factor: np.array([losses(factor, number) for number in range(3)]) for factor in (1, 3, 10, 30)}
first = {factor: run.mean() for factor, run in runs.items()}
back = {factor: (run <= math.log(59)).argmax(axis=1).mean() for factor, run in runs.items()}
expected = sp.log(V) + s**2 / 2
reason = "a"
