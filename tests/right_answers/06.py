# ruff: noqa
"""Right answers to exercises/06, in other clothes than the solutions."""

# %% 6.1 as-many-weights | strings, and the formula for the roots
gru = "3*h*(h + d + 1)"
second = "3*h"
units = (-(d + 1) + sp.sqrt((d + 1) ** 2 + 16 * h * (h + d + 1) / sp.Integer(3))) / 2

# %% 6.2 walk | written differently
state = "(1-z)**T*h0 + (1-(1-z)**T)*g"
stride = lambda z: z + z
bias = "log((1 - 2**(-1/n))/2**(-1/n))"


# %% 6.3 step | index by index
def gru_step(x, state, W_xh, W_hh, b_h):
    n = state.shape[1]
    z = torch.sigmoid(x @ W_xh[:n].T + state @ W_hh[:n].T + b_h[:n])
    r = torch.sigmoid(x @ W_xh[n : 2 * n].T + state @ W_hh[n : 2 * n].T + b_h[n : 2 * n])
    new = torch.tanh(x @ W_xh[2 * n :].T + (r * state) @ W_hh[2 * n :].T + b_h[2 * n :])
    return state + z * (new - state)


# %% 6.4 elsewhere | NumPy
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


# %% 6.5 four-paths | strings
paths = {"direct": "1 - z", "update": "(g - h)*w_z*z*(1 - z)"}
paths |= {"candidate": "z*w_h*r*(1 - g**2)", "reset": "z*w_r*a*r*(1 - g**2)*(1 - r)"}

# %% 6.6 counter | another base
letters = "log(1/(2 - (1 - z)**n), 2)/log(1 - z, 2)"
most = lambda z: math.log(0.5) / math.log(1 - z)
short = z * n * n


# %% 6.7 scan | lists of places, log rounds
def scan(z, candidate, h0):
    a, b, k = 1 - z, z * candidate, 1
    T = z.shape[1]
    for _ in range(math.ceil(math.log2(T)) if T > 1 else 0):
        first = torch.ones_like(a[:, :k]), torch.zeros_like(b[:, :k])
        before = torch.cat([first[0], a[:, :-k]], dim=1), torch.cat([first[1], b[:, :-k]], dim=1)
        a, b = compose(before, (a, b))
        k *= 2
    return torch.addcmul(b, a, h0.unsqueeze(1))


# %% 6.8 kept | whichever is nearer
def kept(trace):
    old, new = trace["states"][:, :-1], trace["states"][:, 1:]
    errors = {}
    for sign in (0, 1):
        share = trace["gate"] if sign else 1 - trace["gate"]
        errors[((share * old + (1 - share) * trace["candidate"]) - new).abs().sum().item()] = share
    return errors[min(errors)]


# %% 6.9 rnn-units | the root of the quadratic equation
def rnn_units(weights):
    return int(np.rint(np.sqrt(3 + weights) - 2))
