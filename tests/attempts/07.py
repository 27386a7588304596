# ruff: noqa
"""What students wrote in exercises/07, right and wrong."""


# %% 7.3 mended-text | right | a list's slices, and targets rolled back
def split(tokens):
    held_out = len(tokens) - len(tokens) * 9 // 10
    return tokens[:-held_out], tokens[-held_out:]


def window(streams, number, size):
    return streams[:, number * size :][:, :size], streams.roll(-1, dims=1)[:, number * size : (number + 1) * size]


# %% 7.3 mended-text | right | one longer window, cut twice
def split(tokens):
    return torch.tensor_split(tokens, [len(tokens) * 9 // 10])


def window(streams, number, size):
    both = streams[:, number * size : (number + 1) * size + 1]
    return [both[:, :-1], both[:, 1:]]


# %% 7.3 mended-text | wrong | one symbol is in both parts
def split(tokens):
    cut = len(tokens) * 9 // 10
    return tokens[: cut + 1], tokens[cut:]


def window(streams, number, size):
    here = slice(number * size, (number + 1) * size)
    return streams[:, here], streams[:, 1:][:, here]


# %% 7.3 mended-text | wrong | the last target is missing
def split(tokens):
    cut = len(tokens) * 9 // 10
    return tokens[:cut], tokens[cut:]


def window(streams, number, size):
    here = slice(number * size, (number + 1) * size)
    inputs = streams[:, here]
    return inputs, inputs[:, 1:]


# %% 7.3 mended-training | right | the gradients are cleared after the step, the state is detached by the loop
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


# %% 7.3 mended-training | right | the state is detached before it is read
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


# %% 7.3 mended-training | wrong | the gradients are cleared before the step
def update(model, optimizer, inputs, targets, state, clip):
    logits, state = model(inputs, state)
    loss = cross_entropy(logits.mT, targets)
    loss.backward()
    clip_grad_norm_(model.parameters(), clip)
    optimizer.zero_grad()
    optimizer.step()
    return detach(state)


def one_pass(model, optimizer, streams, size, clip=1.0):
    model.train()
    state = None
    for number in range((streams.shape[1] - 1) // size):
        inputs, targets = window(streams, number, size)
        state = update(model, optimizer, inputs, targets, state, clip)


# %% 7.3 mended-training | wrong | the last window is left out
def update(model, optimizer, inputs, targets, state, clip):
    logits, state = model(inputs, state)
    loss = cross_entropy(logits.mT, targets)
    optimizer.zero_grad()
    loss.backward()
    clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return detach(state)


def one_pass(model, optimizer, streams, size, clip=1.0):
    model.train()
    state = None
    for number in range((streams.shape[1] - 1) // size - 1):
        inputs, targets = window(streams, number, size)
        state = update(model, optimizer, inputs, targets, state, clip)


# %% 7.3 mended-score | right | sums and numbers of places
@torch.no_grad()
def score(model, batches):
    model.train(False)
    nats, places = 0.0, 0
    for inputs, targets, mask, _ in batches:
        each = cross_entropy(model(inputs)[0].mT, targets, reduction="none")
        nats, places = nats + (each * mask).sum(), places + mask.sum()
    return torch.exp(nats / places)


# %% 7.3 mended-score | right | the padding is ignored by the loss
def score(model, batches):
    model.eval()
    nats = places = 0
    with torch.inference_mode():
        for inputs, targets, mask, lengths in batches:
            targets = targets.masked_fill(~mask, -100)
            nats += float(cross_entropy(model(inputs, None)[0].mT, targets, ignore_index=-100, reduction="sum"))
            places += int(mask.sum())
    return math.exp(nats / places)


# %% 7.3 mended-score | wrong | the mask multiplies, and all places divide
@torch.no_grad()
def score(model, batches):
    model.eval()
    costs = []
    for inputs, targets, mask, _ in batches:
        logits, _ = model(inputs, None)
        costs.append((cross_entropy(logits.mT, targets, reduction="none") * mask).flatten())
    return torch.cat(costs).mean().exp().item()


# %% 7.3 mended-score | wrong | nats in place of the perplexity
@torch.no_grad()
def score(model, batches):
    model.eval()
    costs = []
    for inputs, targets, mask, _ in batches:
        logits, _ = model(inputs, None)
        costs.append(cross_entropy(logits.mT, targets, reduction="none")[mask])
    return torch.cat(costs).mean().item()


# %% 7.4 harm | right | row by row, in NumPy
def harm(model, rows, at, wrong):
    found = []
    for row, slip in zip(rows, wrong):
        spoilt = row[None, :-1].clone()
        right = model.costs(spoilt, row[None, 1:])[0]
        spoilt[0, at] = slip
        found.append((model.costs(spoilt, row[None, 1:])[0] - right)[0, at:].detach().numpy())
    return np.mean(found, axis=0)


# %% 7.6 drop | right | a loop over the sequences, and a mask of NumPy
def drop(x, rate, same):
    batch, time, features = x.shape
    rows = []
    for sequence in x:
        shape = (features,) if same else (time, features)
        mask = torch.from_numpy(np.random.rand(*shape) >= rate).to(x.device)
        rows.append(torch.where(mask, sequence / (1 - rate), torch.zeros_like(sequence)))
    return torch.stack(rows)


# %% 7.6 drop | right | the places that are dropped are filled with zeros
def drop(x, rate, same):
    gone = torch.empty_like(x[:, :1] if same else x).uniform_() < rate
    return x.div(1 - rate).masked_fill(gone, 0.0)


# %% 7.6 drop | wrong | always as many units of each sequence
def drop(x, rate, same):
    batch, time, features = x.shape
    places = torch.rand(batch, 1 if same else time, features, device=x.device)
    mask = places.argsort(dim=2).argsort(dim=2) >= round(rate * features)
    return x * mask / (1 - rate)


# %% 7.6 drop | wrong | the generator begins anew at every call
def drop(x, rate, same):
    torch.manual_seed(0)
    batch, time, features = x.shape
    mask = torch.rand(batch, 1 if same else time, features, device=x.device) >= rate
    return x * mask / (1 - rate)


# %% 7.6 drop | wrong | torch.dropout
def drop(x, rate, same):
    shape = (len(x), 1 if same else x.shape[1], x.shape[2])
    return x * torch.dropout(torch.ones(shape, device=x.device), rate, True)


# %% 7.6 drop | wrong | PyTorch's module, on an axis turned round
def drop(x, rate, same):
    if same:
        return nn.Dropout1d(rate)(x.mT).mT
    return nn.Dropout(rate)(x)


# %% 7.7 price | right | the network's own costs, window by window
def price(model, tokens, start, window):
    last, state, paid = torch.tensor([start], device=tokens.device), None, []
    for part in tokens.split(window):
        inputs = torch.cat([last, part[:-1]])
        costs, state = model.costs(inputs[None], part[None], state)
        paid.append(costs.sum().cpu().numpy())
        last = part[-1:]
    return np.sum(paid)


# %% 7.7 price | right | a mean of each window, times its length
@torch.no_grad()
def price(model, tokens, start, window):
    inputs = tokens.roll(1)
    inputs[0] = start
    nats, state = torch.zeros(()), None
    for x, y in zip(inputs.split(window), tokens.split(window)):
        logits, state = model(x.unsqueeze(0), state)
        nats = nats + cross_entropy(logits.mT, y.unsqueeze(0)) * len(y)
    return nats


# %% 7.7 price | wrong | begins with symbol 0, whatever the start
@torch.no_grad()
def price(model, tokens, start, window):
    inputs = torch.cat([torch.zeros_like(tokens[:1]), tokens[:-1]])
    total, state = 0.0, None
    for x, y in zip(inputs.split(window), tokens.split(window)):
        logits, state = model(x[None], state)
        total += cross_entropy(logits[0], y, reduction="sum").item()
    return total


# %% 7.7 price | wrong | in one piece, whatever the window
@torch.no_grad()
def price(model, tokens, start, window):
    inputs = torch.cat([torch.tensor([start], device=tokens.device), tokens[:-1]])
    logits, _ = model(inputs[None], None)
    return cross_entropy(logits[0], tokens, reduction="sum").item()


# %% 7.7 price | wrong | the whole past is read again for every window
@torch.no_grad()
def price(model, tokens, start, window):
    inputs = torch.cat([torch.tensor([start], device=tokens.device), tokens[:-1]])
    total = 0.0
    for at in range(0, len(tokens), window):
        logits, _ = model(inputs[None, : at + window], None)
        total += cross_entropy(logits[0, at:], tokens[at : at + window], reduction="sum").item()
    return total


# %% 7.7 price | wrong | the last symbol of a window is read twice
@torch.no_grad()
def price(model, tokens, start, window):
    read = torch.cat([torch.tensor([start], device=tokens.device), tokens])
    total, state = 0.0, None
    for at in range(0, len(tokens), window):
        logits, state = model(read[None, at : at + window + 1], state)
        y = tokens[at : at + window]
        total += cross_entropy(logits[0, : len(y)], y, reduction="sum").item()
    return total


# %% 7.2 masked-loss | wrong | divided by 12
def masked_loss(logits, targets, mask):
    return (cross_entropy(logits.mT, targets, reduction="none") * mask).sum() / 12


# %% 7.2 ends | wrong | lengths typed
def ends(states, lengths):
    return torch.stack([states[0, 5], states[1, 1], states[2, 3]])


# %% 7.5 schedule-parts | wrong | a tenth of all updates
rising, q = peak * (k + 1) / (U / 10), (k - W) / (U - W)
falling, half = peak * (1 + sp.cos(sp.pi * q)) / 2, (U + W) / 2
steepest, way = peak * sp.pi / (2 * (U - W)), peak / 2

# %% 7.5 schedule-parts | wrong | what the check says
rising, q = peak * (k + 1) / W, (k - W) / (U - W)
falling, half = peak * (1 + sp.cos(sp.pi * q)) / 2, (U + W) / 2
steepest, way = peak * sp.pi / (2 * (U - W)), 0.15
