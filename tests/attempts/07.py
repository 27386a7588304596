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
