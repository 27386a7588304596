# ruff: noqa
"""Right answers to exercises/02, in other clothes than the solutions."""

# %% 2.1 count-parameters | functions for expressions
parameters = lambda d, h, V: h * (d + h + 1) + V * (h + 1)
surplus = "256"
printed = "h*(d + h + 2) + V*(h + 1)"

# %% 2.2 count-work | plain numbers and strings
recurrent = "2*T*h*(d + h)"
output = "2*T*h*V"
share = sp.Rational(10000, 10000 + 128 + 256)


# %% 2.3 rnn-step | stacked weights
def rnn_step(x, h, W_xh, W_hh, b_h):
    return torch.cat([x, h], dim=1).matmul(torch.cat([W_xh, W_hh], dim=1).t()).add(b_h).tanh()


# %% 2.3 rnn-step | einsum
def rnn_step(x, h, W_xh, W_hh, b_h):
    return torch.tanh(torch.einsum("bd,hd->bh", x, W_xh) + torch.einsum("bk,hk->bh", h, W_hh) + b_h)


# %% 2.4 read-on | a tensor filled in, a list of two
def read(step, inputs, state):
    states = torch.empty(len(inputs), inputs.shape[1], state.shape[1], device=inputs.device)
    for t in range(inputs.shape[1]):
        state = step(inputs[:, t], state)
        states[:, t] = state
    return [states, state]


# %% 2.5 text-cost | the table of logarithms
def mean_nats(model, tokens):
    logits, _ = model(tokens)
    logs = torch.log_softmax(logits[:, :-1], dim=-1)
    return -logs.gather(2, tokens[:, 1:, None]).mean().item()


# %% 2.5 text-cost | channels second
def mean_nats(model, tokens):
    return cross_entropy(model(tokens[:, :-1])[0].transpose(1, 2), tokens[:, 1:])


# %% 2.6 write-greedily | numbers collected by item
def write(model, beginning, length):
    logits, state = model(beginning)
    text = []
    while len(text) < length:
        text.append(logits[0, -1].argmax().item())
        logits, state = model(torch.tensor([[text[-1]]], device=beginning.device), state)
    return text


# %% 2.6 write-greedily | a tensor for a list
def write(model, beginning, length):
    text, token, state = [], beginning, None
    for _ in range(length):
        logits, state = model(token, state)
        token = logits[:, -1:].argmax(dim=-1)
        text.append(token)
    return torch.cat(text, dim=1)[0]


# %% 2.7 perplexity | a loop over the log
def perplexity(perplexities, sizes):
    total = 0.0
    for each, size in zip(perplexities, sizes):
        total += size * math.log(each)
    return math.exp(total / sum(sizes))


# %% 2.7 perplexity | a product of powers, as a tensor
def perplexity(perplexities, sizes):
    each = torch.as_tensor(perplexities) ** (torch.as_tensor(sizes) / sum(sizes))
    return each.prod()


# %% 2.8 beginnings | added up by windows
def per_beginning(w):
    dearer = token_nats(model, unseen, start=start, window=w) - token_nats(model, unseen, start=start, window=None)
    return dearer.sum() / (len(unseen) / w)


# %% 2.9 first-loss | a new parameter
def losses(factor, number):
    net = fresh(number)
    net.output.weight = nn.Parameter(factor * net.output.weight.detach())
    return np.array(train(net, known, recipe, progress=False).losses)


# %% 2.9 first-loss | through data
def losses(factor, number):
    net = fresh(number)
    net.output.weight.data.mul_(factor)
    history = train(net, known, recipe, progress=False)
    return tuple(history.losses)


# %% 2.9 first-loss-answers | loops, and a string
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

# %% 2.9 first-loss-answers | tensors, and a function
first, back = {}, {}
for factor in (1, 3, 10, 30):
    run = torch.tensor([losses(factor, number) for number in range(3)])
    first[factor] = run.mean(dim=0)[0]
    back[factor] = (run > math.log(len(vocabulary))).cumprod(dim=1).sum(dim=1).double().mean()
expected = lambda s, V: math.log(V * math.exp(s * s / 2))
reason = "a"
