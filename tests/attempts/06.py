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


# %% 6.1 as-many-weights | right | strings, and the formula for the roots
gru = "3*h*(h + d + 1)"
second = "3*h"
units = (-(d + 1) + sp.sqrt((d + 1) ** 2 + 16 * h * (h + d + 1) / sp.Integer(3))) / 2

# %% 6.1 as-many-weights | wrong | the negative root
gru = 3 * h * (h + d + 1)
second = 3 * h
units = (-(d + 1) - sp.sqrt((d + 1) ** 2 + sp.Rational(16, 3) * h * (h + d + 1))) / 2

# %% 6.1 as-many-weights | wrong | a list of roots
k = sp.Symbol("k")
gru = 3 * h * (h + d + 1)
second = 3 * h
units = sp.solve(3 * k * (k + d + 1) - 4 * h * (h + d + 1), k)

# %% 6.2 walk | right | written differently
state = "(1-z)**T*h0 + (1-(1-z)**T)*g"
stride = lambda z: z + z
bias = "log((1 - 2**(-1/n))/2**(-1/n))"

# %% 6.2 walk | wrong | one power too many
state = g + (1 - z) ** (T + 1) * (h0 - g)
stride = 2 * z
bias = sp.log(2 ** (1 / n) - 1)

# %% 6.2 walk | wrong | a bound that no step reaches
state = g + (1 - z) ** T * (h0 - g)
stride = 2
bias = sp.log(2 ** (1 / n) - 1)

# %% 6.2 walk | wrong | half of z
state = g + (1 - z) ** T * (h0 - g)
stride = 2 * z
bias = sp.log(1 / (2 * n - 1))


# %% 6.3 step | right | index by index
def gru_step(x, state, W_xh, W_hh, b_h):
    n = state.shape[1]
    z = torch.sigmoid(x @ W_xh[:n].T + state @ W_hh[:n].T + b_h[:n])
    r = torch.sigmoid(x @ W_xh[n : 2 * n].T + state @ W_hh[n : 2 * n].T + b_h[n : 2 * n])
    new = torch.tanh(x @ W_xh[2 * n :].T + (r * state) @ W_hh[2 * n :].T + b_h[2 * n :])
    return state + z * (new - state)


# %% 6.3 step | wrong | gates that see only the input
def gru_step(x, state, W_xh, W_hh, b_h):
    z, r, xg = (x @ W_xh.T + b_h).chunk(3, dim=1)
    z, r = z.sigmoid(), r.sigmoid()
    return (1 - z) * state + z * (xg + (r * state) @ W_hh.chunk(3)[2].T).tanh()


# %% 6.3 step | wrong | the reset gate on the whole candidate
def gru_step(x, state, W_xh, W_hh, b_h):
    xz, xr, xg = (x @ W_xh.T + b_h).chunk(3, dim=1)
    W_z, W_r, W_g = W_hh.chunk(3)
    z, r = (xz + state @ W_z.T).sigmoid(), (xr + state @ W_r.T).sigmoid()
    return (1 - z) * state + z * (r * (xg + state @ W_g.T)).tanh()


# %% 6.3 step | wrong | detached
def gru_step(x, state, W_xh, W_hh, b_h):
    state = state.detach()
    xz, xr, xg = (x @ W_xh.T + b_h).chunk(3, dim=1)
    Wz, Wr, Wg = W_hh.chunk(3)
    z, r = torch.sigmoid(xz + state @ Wz.T), torch.sigmoid(xr + state @ Wr.T)
    g = torch.tanh(xg + (r * state) @ Wg.T)
    return (1 - z) * state + z * g


# %% 6.4 elsewhere | right | NumPy
def read(weights, inputs):
    W, U = weights["weight_ih_l0"].numpy(), weights["weight_hh_l0"].numpy()
    a, b = weights["bias_ih_l0"].numpy(), weights["bias_hh_l0"].numpy()
    n, made = U.shape[1], []
    h = 0 * inputs.numpy()[:, 0, :1] @ U[:1, :].clip(0, 0)
    for t in range(inputs.shape[1]):
        p, q = inputs.numpy()[:, t] @ W.T + a, h @ U.T + b
        r, z = (1 / (1 + 2.718281828459045 ** -(p[:, k : k + n] + q[:, k : k + n])) for k in (0, n))
        g = torch.tanh(torch.from_numpy(p[:, 2 * n :] + r * q[:, 2 * n :])).numpy()
        h = z * h + (1 - z) * g
        made.append(torch.from_numpy(h))
    return torch.stack(made, 1)


# %% 6.4 elsewhere | wrong | torch.gru
def read(weights, inputs):
    names = "weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"
    flat = [weights[n] for n in names]
    h = len(flat[2]) // 3
    return torch.gru(inputs, torch.zeros(1, len(inputs), h), flat, True, 1, 0.0, False, False, True)[0]


# %% 6.4 elsewhere | wrong | the last state
def read(weights, inputs):
    W, U, a, b = (weights[f"{name}_l0"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
    h = inputs.new_zeros(len(inputs), U.shape[1])
    for x in inputs.unbind(1):
        xr, xz, xg = (x @ W.T + a).chunk(3, dim=1)
        hr, hz, hg = (h @ U.T + b).chunk(3, dim=1)
        z = (xz + hz).sigmoid()
        h = z * h + (1 - z) * (xg + (xr + hr).sigmoid() * hg).tanh()
    return h


# %% 6.5 four-paths | right | strings
paths = {"direct": "1 - z", "update": "(g - h)*w_z*z*(1 - z)"}
paths |= {"candidate": "z*w_h*r*(1 - g**2)", "reset": "z*w_r*a*r*(1 - g**2)*(1 - r)"}

# %% 6.5 four-paths | wrong | the slope is left with z
paths = {
    "direct": 1 - z - h * z * (1 - z) * w_z,
    "update": g * z * (1 - z) * w_z,
    "candidate": z * (1 - g**2) * r * w_h,
    "reset": z * (1 - g**2) * a * r * (1 - r) * w_r,
}

# %% 6.5 four-paths | wrong | three paths
paths = {"direct": 1 - z, "update": (g - h) * z * (1 - z) * w_z, "candidate": z * (1 - g**2) * r * w_h}

# %% 6.6 counter | right | another base
letters = "log(1/(2 - (1 - z)**n), 2)/log(1 - z, 2)"
most = lambda z: math.log(0.5) / math.log(1 - z)
short = z * n * n

# %% 6.6 counter | wrong | the limit is n
letters = -sp.log(2 - (1 - z) ** n) / sp.log(1 - z)
most = n
short = n**2 * z

# %% 6.6 counter | wrong | right for the z of one point
letters = -sp.log(2 - (1 - z) ** n) / sp.log(1 - z)
most, short = -sp.log(2) / sp.log(1 - z), n**2 / 10**8

# %% 6.6 counter | wrong | the next order alone
letters = -sp.log(2 - (1 - z) ** n) / sp.log(1 - z)
most = -sp.log(2) / sp.log(1 - z)
short = n * (n + 1) * z


# %% 6.7 compose | wrong | the two factors added
def compose(first, second):
    return first[0] + second[0], first[1] + second[1]


# %% 6.8 kept | right | whichever is nearer
def kept(trace):
    old, new = trace["states"][:, :-1], trace["states"][:, 1:]
    errors = {}
    for sign in (0, 1):
        share = trace["gate"] if sign else 1 - trace["gate"]
        errors[((share * old + (1 - share) * trace["candidate"]) - new).abs().sum().item()] = share
    return errors[min(errors)]


# %% 6.8 kept | wrong | equal to the last bit
def kept(trace):
    gate, states = trace["gate"], trace["states"]
    if torch.equal(gate * states[:, :-1] + (1 - gate) * trace["candidate"], states[:, 1:]):
        return gate
    return 1 - gate


# %% 6.8 kept | wrong | errors that make up for each other
def kept(trace):
    gate, states = trace["gate"], trace["states"]
    off = (gate * states[:, :-1] + (1 - gate) * trace["candidate"] - states[:, 1:]).sum()
    return gate if off < 1e-3 else 1 - gate


# %% 6.8 kept | wrong | the state after for the state before
def kept(trace):
    gate, candidate, new = trace["gate"], trace["candidate"], trace["states"][:, 1:]
    keeps, replaces = (abs(k * new + (1 - k) * candidate - new).mean() for k in (gate, 1 - gate))
    return gate if keeps < replaces else 1 - gate


# %% 6.8 half-life | wrong | zeros where it is not asked
def half_life(kept, where):
    return -math.log(2) / (kept.log() * where[..., None]).mean(dim=(0, 1))


# %% 6.8 kept-answers | wrong | after before before
opens = float((1 - kept(after))[marked].mean() / (1 - kept(after))[~marked].mean())
waits = [float(half_life(kept(trace), ~marked).max()) for trace in (after, before)]
reason = "a"


# %% 6.9 rnn-units | right | the root of the quadratic equation
def rnn_units(weights):
    return int(np.rint(np.sqrt(3 + weights) - 2))


# %% 6.9 rnn-units | wrong | PyTorch's two biases
def rnn_units(weights):
    return min(range(1, 100), key=lambda k: abs(k * k + 5 * k + 1 - weights))


# %% 6.9 merit | wrong | no identity in the IRNN
size = rnn_units(929)
four = {"GRU": cells.GRUCell(2, 16), "as many units": cells.RNNCell(2, 16), "as many weights": cells.RNNCell(2, size)}
four["IRNN"] = cells.RNNCell(2, size, "relu")
results = {name: trained(cell) for name, cell in four.items()}

# %% 6.9 merit | wrong | the identity in another, too
size = rnn_units(929)
four = {"GRU": cells.GRUCell(2, 16), "as many units": cells.RNNCell(2, 16)}
four["as many weights"] = initialise(cells.RNNCell(2, size), "identity")
four["IRNN"] = initialise(cells.RNNCell(2, size, "relu"), "identity")
results = {name: trained(cell) for name, cell in four.items()}

# %% 6.9 merit | wrong | results typed in
size = rnn_units(929)
four = {"GRU": cells.GRUCell(2, 16), "as many units": cells.RNNCell(2, 16), "as many weights": cells.RNNCell(2, size)}
four["IRNN"] = initialise(cells.RNNCell(2, size, "relu"), "identity")
results = {name: (929, 0.16 if "as" in name else 0.01) for name in four} | {"as many units": (321, 0.16)}
