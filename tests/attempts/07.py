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


# %% 7.3 mended-text | wrong | the first tenth is held out
def split(tokens):
    cut = len(tokens) // 10
    return tokens[cut:], tokens[:cut]


def window(streams, number, size):
    here = slice(number * size, (number + 1) * size)
    return streams[:, here], streams[:, 1:][:, here]


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


# %% 7.3 mended-text | wrong | the targets are moved back
def split(tokens):
    cut = len(tokens) * 9 // 10
    return tokens[:cut], tokens[cut:]


def window(streams, number, size):
    here = slice(number * size, (number + 1) * size)
    return streams[:, 1:][:, here], streams[:, here]


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


# %% 7.3 mended-training | wrong | detached, and thrown away
def update(model, optimizer, inputs, targets, state, clip):
    logits, state = model(inputs, state)
    loss = cross_entropy(logits.mT, targets)
    optimizer.zero_grad()
    loss.backward()
    clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    detach(state)
    return state


def one_pass(model, optimizer, streams, size, clip=1.0):
    model.train()
    state = None
    for number in range((streams.shape[1] - 1) // size):
        inputs, targets = window(streams, number, size)
        state = update(model, optimizer, inputs, targets, state, clip)


# %% 7.3 mended-training | wrong | the state is set to none in the loop
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
    for number in range((streams.shape[1] - 1) // size):
        state = None
        inputs, targets = window(streams, number, size)
        state = update(model, optimizer, inputs, targets, state, clip)


# %% 7.3 mended-training | wrong | clipped value by value
def update(model, optimizer, inputs, targets, state, clip):
    logits, state = model(inputs, state)
    loss = cross_entropy(logits.mT, targets)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(model.parameters(), clip)
    optimizer.step()
    return detach(state)


def one_pass(model, optimizer, streams, size, clip=1.0):
    model.train()
    state = None
    for number in range((streams.shape[1] - 1) // size):
        inputs, targets = window(streams, number, size)
        state = update(model, optimizer, inputs, targets, state, clip)


# %% 7.3 mended-training | wrong | update returns nothing
def update(model, optimizer, inputs, targets, state, clip):
    logits, state = model(inputs, state)
    loss = cross_entropy(logits.mT, targets)
    optimizer.zero_grad()
    loss.backward()
    clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    state = detach(state)


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


# %% 7.3 mended-score | wrong | the exponential of a mean of means
@torch.no_grad()
def score(model, batches):
    model.eval()
    costs = []
    for inputs, targets, mask, _ in batches:
        logits, _ = model(inputs, None)
        costs.append(cross_entropy(logits.mT, targets, reduction="none")[mask].mean())
    return torch.stack(costs).mean().exp().item()


# %% 7.3 mended-score | wrong | a mean of the perplexities of all places
@torch.no_grad()
def score(model, batches):
    model.eval()
    costs = []
    for inputs, targets, mask, _ in batches:
        logits, _ = model(inputs, None)
        costs.append(cross_entropy(logits.mT, targets, reduction="none")[mask])
    return torch.cat(costs).exp().mean().item()


# %% 7.3 mended-score | wrong | nats in place of the perplexity
@torch.no_grad()
def score(model, batches):
    model.eval()
    costs = []
    for inputs, targets, mask, _ in batches:
        logits, _ = model(inputs, None)
        costs.append(cross_entropy(logits.mT, targets, reduction="none")[mask])
    return torch.cat(costs).mean().item()


# %% 7.3 mended-score | wrong | a state for all sentences
@torch.no_grad()
def score(model, batches):
    model.eval()
    state, costs = None, []
    for inputs, targets, mask, _ in batches:
        logits, state = model(inputs, None if state is None else detach(state))
        costs.append(cross_entropy(logits.mT, targets, reduction="none")[mask])
    return torch.cat(costs).mean().exp().item()


# %% 7.3 mended-score | wrong | evaluation mode comes after the first batch
@torch.no_grad()
def score(model, batches):
    costs = []
    for inputs, targets, mask, _ in batches:
        logits, _ = model(inputs, None)
        model.eval()
        costs.append(cross_entropy(logits.mT, targets, reduction="none")[mask])
    return torch.cat(costs).mean().exp().item()


# %% 7.6 drop | right | a loop over the sequences, and a mask of NumPy
def drop(x, rate, same):
    batch, time, features = x.shape
    rows = []
    for sequence in x:
        shape = (features,) if same else (time, features)
        mask = torch.from_numpy(np.random.rand(*shape) >= rate).to(x.device)
        rows.append(torch.where(mask, sequence / (1 - rate), torch.zeros_like(sequence)))
    return torch.stack(rows)


# %% 7.6 drop | right | Bernoulli's distribution, and a mask that is expanded
def drop(x, rate, same):
    batch, time, features = x.shape
    keep = torch.full((batch, 1 if same else time, features), 1.0 - rate, device=x.device)
    return x * torch.bernoulli(keep).expand(batch, time, features).div(1.0 - rate)


# %% 7.6 drop | right | the places that are dropped are filled with zeros
def drop(x, rate, same):
    gone = torch.empty_like(x[:, :1] if same else x).uniform_() < rate
    return x.div(1 - rate).masked_fill(gone, 0.0)


# %% 7.6 drop | wrong | the rate is what is kept
def drop(x, rate, same):
    batch, time, features = x.shape
    mask = torch.rand(batch, 1 if same else time, features, device=x.device) < rate
    return x * mask / (1 - rate)


# %% 7.6 drop | wrong | what is left is not divided
def drop(x, rate, same):
    batch, time, features = x.shape
    mask = torch.rand(batch, 1 if same else time, features, device=x.device) >= rate
    return x * mask


# %% 7.6 drop | wrong | divided by the rate
def drop(x, rate, same):
    batch, time, features = x.shape
    mask = torch.rand(batch, 1 if same else time, features, device=x.device) >= rate
    return x * mask / rate if rate else x


# %% 7.6 drop | wrong | divided by the share that was in fact kept
def drop(x, rate, same):
    batch, time, features = x.shape
    mask = torch.rand(batch, 1 if same else time, features, device=x.device) >= rate
    return x * mask / mask.float().mean()


# %% 7.6 drop | wrong | one mask for the whole batch
def drop(x, rate, same):
    batch, time, features = x.shape
    mask = torch.rand((features,) if same else x.shape, device=x.device) >= rate
    return x * mask / (1 - rate)


# %% 7.6 drop | wrong | a mask over the steps
def drop(x, rate, same):
    batch, time, features = x.shape
    mask = torch.rand((batch, time, 1) if same else x.shape, device=x.device) >= rate
    return x * mask / (1 - rate)


# %% 7.6 drop | wrong | the two ways exchanged
def drop(x, rate, same):
    batch, time, features = x.shape
    mask = torch.rand(batch, time if same else 1, features, device=x.device) >= rate
    return x * mask / (1 - rate)


# %% 7.6 drop | wrong | works on what is given
def drop(x, rate, same):
    batch, time, features = x.shape
    x *= torch.rand(batch, 1 if same else time, features, device=x.device) >= rate
    return x / (1 - rate)


# %% 7.6 drop | wrong | through NumPy and back
def drop(x, rate, same):
    batch, time, features = x.shape
    mask = np.random.rand(batch, 1 if same else time, features) >= rate
    return torch.tensor(x.detach().numpy() * mask / (1 - rate), dtype=x.dtype)


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


# %% 7.6 drop | wrong | PyTorch's dropout makes the mask
def drop(x, rate, same):
    mask = torch.nn.functional.dropout(torch.ones_like(x[:, :1] if same else x), rate)
    return x * mask


# %% 7.6 drop | wrong | PyTorch's module, on an axis turned round
def drop(x, rate, same):
    if same:
        return nn.Dropout1d(rate)(x.mT).mT
    return nn.Dropout(rate)(x)


# %% 7.6 drop | wrong | what is dropped is one of the small numbers
def drop(x, rate, same):
    size = x.mean(dim=1, keepdim=True) if same else x
    return torch.where(size >= size.quantile(rate), x, 0 * x) / (1 - rate)


# %% 7.6 drop | wrong | a mask that is normally distributed
def drop(x, rate, same):
    batch, time, features = x.shape
    mask = torch.randn(batch, 1 if same else time, features, device=x.device) >= rate
    return x * mask / (1 - rate)


# %% 7.7 price | right | one list of places, and log-softmax
@torch.no_grad()
def price(model, tokens, start, window):
    read = torch.cat([torch.tensor([start], device=tokens.device), tokens])
    state, total = None, 0.0
    for at in range(0, len(tokens), window):
        end = min(at + window, len(tokens))
        logits, state = model(read[None, at:end], state)
        log_p = torch.log_softmax(logits[0], dim=-1)
        total -= sum(log_p[n, int(symbol)].item() for n, symbol in enumerate(read[at + 1 : end + 1]))
    return total


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


# %% 7.7 price | wrong | every window forgets
@torch.no_grad()
def price(model, tokens, start, window):
    inputs = torch.cat([torch.tensor([start], device=tokens.device), tokens[:-1]])
    total = 0.0
    for x, y in zip(inputs.split(window), tokens.split(window)):
        logits, _ = model(x[None], None)
        total += cross_entropy(logits[0], y, reduction="sum").item()
    return total


# %% 7.7 price | wrong | every window begins with the start
@torch.no_grad()
def price(model, tokens, start, window):
    total, state = 0.0, None
    for y in tokens.split(window):
        x = torch.cat([torch.tensor([start], device=tokens.device), y[:-1]])
        logits, state = model(x[None], state)
        total += cross_entropy(logits[0], y, reduction="sum").item()
    return total


# %% 7.7 price | wrong | the first symbol is not paid for
@torch.no_grad()
def price(model, tokens, start, window):
    total, state = 0.0, None
    for x, y in zip(tokens[:-1].split(window), tokens[1:].split(window)):
        logits, state = model(x[None], state)
        total += cross_entropy(logits[0], y, reduction="sum").item()
    return total


# %% 7.7 price | wrong | the first symbol is read but not paid for
@torch.no_grad()
def price(model, tokens, start, window):
    _, state = model(torch.tensor([[start]], device=tokens.device), None)
    total = 0.0
    for x, y in zip(tokens[:-1].split(window), tokens[1:].split(window)):
        logits, state = model(x[None], state)
        total += cross_entropy(logits[0], y, reduction="sum").item()
    return total


# %% 7.7 price | wrong | the shorter window at the end is left out
@torch.no_grad()
def price(model, tokens, start, window):
    inputs = torch.cat([torch.tensor([start], device=tokens.device), tokens[:-1]])
    total, state = 0.0, None
    for number in range(len(tokens) // window):
        here = slice(number * window, (number + 1) * window)
        logits, state = model(inputs[None, here], state)
        total += cross_entropy(logits[0], tokens[here], reduction="sum").item()
    return total


# %% 7.7 price | wrong | a sum of the windows' means
@torch.no_grad()
def price(model, tokens, start, window):
    inputs = torch.cat([torch.tensor([start], device=tokens.device), tokens[:-1]])
    total, state = 0.0, None
    for x, y in zip(inputs.split(window), tokens.split(window)):
        logits, state = model(x[None], state)
        total += cross_entropy(logits[0], y).item()
    return total


# %% 7.7 price | wrong | every window's mean times the window
@torch.no_grad()
def price(model, tokens, start, window):
    inputs = torch.cat([torch.tensor([start], device=tokens.device), tokens[:-1]])
    total, state = 0.0, None
    for x, y in zip(inputs.split(window), tokens.split(window)):
        logits, state = model(x[None], state)
        total += cross_entropy(logits[0], y).item() * window
    return total


# %% 7.7 price | wrong | nats for each symbol
@torch.no_grad()
def price(model, tokens, start, window):
    inputs = torch.cat([torch.tensor([start], device=tokens.device), tokens[:-1]])
    total, state = 0.0, None
    for x, y in zip(inputs.split(window), tokens.split(window)):
        logits, state = model(x[None], state)
        total += cross_entropy(logits[0], y, reduction="sum").item()
    return total / len(tokens)


# %% 7.7 price | wrong | in bits
@torch.no_grad()
def price(model, tokens, start, window):
    inputs = torch.cat([torch.tensor([start], device=tokens.device), tokens[:-1]])
    total, state = 0.0, None
    for x, y in zip(inputs.split(window), tokens.split(window)):
        logits, state = model(x[None], state)
        total += cross_entropy(logits[0], y, reduction="sum").item()
    return total / math.log(2)


# %% 7.7 price | wrong | the logarithm of the probability, without its sign
@torch.no_grad()
def price(model, tokens, start, window):
    inputs = torch.cat([torch.tensor([start], device=tokens.device), tokens[:-1]])
    total, state = 0.0, None
    for x, y in zip(inputs.split(window), tokens.split(window)):
        logits, state = model(x[None], state)
        total += logits[0].log_softmax(dim=1)[torch.arange(len(y)), y].sum().item()
    return total


# %% 7.7 price | wrong | probabilities in place of logits
@torch.no_grad()
def price(model, tokens, start, window):
    inputs = torch.cat([torch.tensor([start], device=tokens.device), tokens[:-1]])
    total, state = 0.0, None
    for x, y in zip(inputs.split(window), tokens.split(window)):
        logits, state = model(x[None], state)
        total += cross_entropy(logits[0].softmax(dim=1), y, reduction="sum").item()
    return total


# %% 7.7 price | wrong | what is read is also asked for
@torch.no_grad()
def price(model, tokens, start, window):
    _, state = model(torch.tensor([[start]], device=tokens.device), None)
    total = 0.0
    for x in tokens.split(window):
        logits, state = model(x[None], state)
        total += cross_entropy(logits[0], x, reduction="sum").item()
    return total


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


# %% 7.7 price | wrong | the perplexity
@torch.no_grad()
def price(model, tokens, start, window):
    inputs = torch.cat([torch.tensor([start], device=tokens.device), tokens[:-1]])
    total, state = 0.0, None
    for x, y in zip(inputs.split(window), tokens.split(window)):
        logits, state = model(x[None], state)
        total += cross_entropy(logits[0], y, reduction="sum").item()
    return math.exp(total / len(tokens))


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
