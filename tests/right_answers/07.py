# ruff: noqa
"""Right answers to exercises/07, in other clothes than the solutions."""


# %% 7.3 mended-text | a list's slices, and targets rolled back
def split(tokens):
    held_out = len(tokens) - len(tokens) * 9 // 10
    return tokens[:-held_out], tokens[-held_out:]


def window(streams, number, size):
    return streams[:, number * size :][:, :size], streams.roll(-1, dims=1)[:, number * size : (number + 1) * size]


# %% 7.3 mended-text | one longer window, cut twice
def split(tokens):
    return torch.tensor_split(tokens, [len(tokens) * 9 // 10])


def window(streams, number, size):
    both = streams[:, number * size : (number + 1) * size + 1]
    return [both[:, :-1], both[:, 1:]]


# %% 7.3 mended-training | the gradients are cleared after the step, the state is detached by the loop
def update(model, optimizer, inputs, targets, state, clip):
    logits, state = model(inputs, state)
    cross_entropy(logits.flatten(0, 1), targets.flatten()).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    model.zero_grad()
    return state


def one_pass(model, optimizer, streams, size, clip=1.0):
    model.train(True)
    state, number = None, 0
    while (number + 1) * size < streams.shape[1]:
        state = update(model, optimizer, *window(streams, number, size), state, clip)
        state, number = detach(state), number + 1


# %% 7.3 mended-training | the state is detached before it is read
def update(model, optimizer, inputs, targets, state, clip):
    if state is not None:
        state = detach(state)
    logits, state = model(inputs, state)
    loss = cross_entropy(logits.transpose(1, 2), targets)
    optimizer.zero_grad(set_to_none=False)
    loss.backward()
    clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return state


def one_pass(model, optimizer, streams, size, clip=1.0):
    model.train()
    state = None
    for number in range((streams.shape[1] - 1) // size):
        inputs, targets = window(streams, number, size)
        state = update(model, optimizer, inputs, targets, state, clip)


# %% 7.3 mended-score | sums and numbers of places
@torch.no_grad()
def score(model, batches):
    model.train(False)
    nats, places = 0.0, 0
    for inputs, targets, mask, _ in batches:
        each = cross_entropy(model(inputs)[0].mT, targets, reduction="none")
        nats, places = nats + (each * mask).sum(), places + mask.sum()
    return torch.exp(nats / places)


# %% 7.3 mended-score | the padding is ignored by the loss
def score(model, batches):
    model.eval()
    nats = places = 0
    with torch.inference_mode():
        for inputs, targets, mask, lengths in batches:
            targets = targets.masked_fill(~mask, -100)
            nats += float(cross_entropy(model(inputs, None)[0].mT, targets, ignore_index=-100, reduction="sum"))
            places += int(mask.sum())
    return math.exp(nats / places)


# %% 7.4 harm | row by row, in NumPy
def harm(model, rows, at, wrong):
    found = []
    for row, slip in zip(rows, wrong):
        spoilt = row[None, :-1].clone()
        right = model.costs(spoilt, row[None, 1:])[0]
        spoilt[0, at] = slip
        found.append((model.costs(spoilt, row[None, 1:])[0] - right)[0, at:].detach().numpy())
    return np.mean(found, axis=0)


# %% 7.6 drop | a loop over the sequences, and a mask of NumPy
def drop(x, rate, same):
    batch, time, features = x.shape
    rows = []
    for sequence in x:
        shape = (features,) if same else (time, features)
        mask = torch.from_numpy(np.random.rand(*shape) >= rate).to(x.device)
        rows.append(torch.where(mask, sequence / (1 - rate), torch.zeros_like(sequence)))
    return torch.stack(rows)


# %% 7.6 drop | the places that are dropped are filled with zeros
def drop(x, rate, same):
    gone = torch.empty_like(x[:, :1] if same else x).uniform_() < rate
    return x.div(1 - rate).masked_fill(gone, 0.0)


# %% 7.7 price | the network's own costs, window by window
def price(model, tokens, start, window):
    last, state, paid = torch.tensor([start], device=tokens.device), None, []
    for part in tokens.split(window):
        inputs = torch.cat([last, part[:-1]])
        costs, state = model.costs(inputs[None], part[None], state)
        paid.append(costs.sum().cpu().numpy())
        last = part[-1:]
    return np.sum(paid)


# %% 7.7 price | a mean of each window, times its length
@torch.no_grad()
def price(model, tokens, start, window):
    inputs = tokens.roll(1)
    inputs[0] = start
    nats, state = torch.zeros(()), None
    for x, y in zip(inputs.split(window), tokens.split(window)):
        logits, state = model(x.unsqueeze(0), state)
        nats = nats + cross_entropy(logits.mT, y.unsqueeze(0)) * len(y)
    return nats
