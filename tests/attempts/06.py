# ruff: noqa
"""What students wrote in exercises/06, right and wrong."""


# %% 6.7 scan | right | lists of places, log rounds
def scan(z, candidate, h0):
    a, b, k = 1 - z, z * candidate, 1
    T = z.shape[1]
    for _ in range(math.ceil(math.log2(T)) if T > 1 else 0):
        first = torch.ones_like(a[:, :k]), torch.zeros_like(b[:, :k])
        before = torch.cat([first[0], a[:, :-k]], dim=1), torch.cat([first[1], b[:, :-k]], dim=1)
        a, b = compose(before, (a, b))
        k *= 2
    return torch.addcmul(b, a, h0.unsqueeze(1))


# %% 6.7 scan | wrong | a loop in a scan's clothes
def scan(z, candidate, h0):
    pairs = [(1 - z[:, 0], z[:, 0] * candidate[:, 0])]
    for t in range(1, z.shape[1]):
        pairs.append(compose(pairs[-1], (1 - z[:, t], z[:, t] * candidate[:, t])))
    return torch.stack([a * h0 + b for a, b in pairs], dim=1)


# %% 6.7 scan | wrong | a loop that hides its chain
def scan(z, candidate, h0):
    with torch.no_grad():
        states = loop(z, candidate, h0)
    return states + 0 * z


# %% 6.7 scan | wrong | six rounds
def scan(z, candidate, h0):
    a, b = 1 - z, z * candidate
    for k in (1, 2, 4, 8, 16, 32):
        a_k, b_k = compose((a[:, :-k], b[:, :-k]), (a[:, k:], b[:, k:]))
        a, b = torch.cat([a[:, :k], a_k], dim=1), torch.cat([b[:, :k], b_k], dim=1)
    return a * h0[:, None] + b


# %% 6.7 scan | wrong | as numbers without a gradient
def scan(z, candidate, h0):
    a, b, k = (1 - z).detach(), (z * candidate).detach(), 1
    while k < z.shape[1]:
        a_k, b_k = compose((a[:, :-k], b[:, :-k]), (a[:, k:], b[:, k:]))
        a, b, k = torch.cat([a[:, :k], a_k], dim=1), torch.cat([b[:, :k], b_k], dim=1), 2 * k
    return a * h0[:, None] + b
