# ruff: noqa
"""What students wrote in exercises/03, right and wrong, before anyone had looked at the solutions."""

# %% 3.1 immediate | right | functions for expressions
immediate = lambda h2, x2: (1 - h2**2) * x2
total = lambda w, h1, h2, x1, x2: (1 - h2**2) * (x2 + w * (1 - h1**2) * x1)

# %% 3.1 immediate | wrong | the first step's input forgotten
immediate = (1 - h2**2) * x2
total = (1 - h2**2) * (x2 + w * (1 - h1**2))

# %% 3.1 immediate | wrong | with respect to the recurrent weight
immediate = (1 - h2**2) * h1
total = (1 - h2**2) * (h1 + w * (1 - h1**2) * h0)

# %% 3.1 immediate | wrong | tanh a second time
immediate = (1 - sp.tanh(h2) ** 2) * x2
total = (1 - sp.tanh(h2) ** 2) * (x2 + w * (1 - sp.tanh(h1) ** 2) * x1)

# %% 3.2 three-losses | right | from the end, written out
delta_3 = e3 - e3 * h3**2
delta_2 = (e2 + w * delta_3) * (1 - h2) * (1 + h2)
delta_1 = (1 - h1**2) * e1 + (1 - h1**2) * w * delta_2
gradient = sp.expand(h0 * delta_1 + h1 * delta_2 + h2 * delta_3)
paths = sum(1 for _ in ()) + T * (T + 1) / 2

# %% 3.2 three-losses | wrong | the losses of earlier steps forgotten
delta_3 = (1 - h3**2) * e3
delta_2 = (1 - h2**2) * w * delta_3
delta_1 = (1 - h1**2) * w * delta_2
gradient = delta_1 * h0 + delta_2 * h1 + delta_3 * h2
paths = T * (T + 1) / 2


# %% 3.3 step-back | right | rows from the left, a list
def step_back(error, later, state, W_hh, W_hy):
    return list((error @ W_hy + later @ W_hh) * (1 - state) * (1 + state))


# %% 3.3 step-back | wrong | no slope for what comes from later
def step_back(error, later, state, W_hh, W_hy):
    return W_hy.T @ error * (1 - state**2) + W_hh.T @ later


# %% 3.3 step-back | wrong | subtracted
def step_back(error, later, state, W_hh, W_hy):
    return (W_hy.T @ error - W_hh.T @ later) * (1 - state**2)


# %% 3.5 kept-terms | right | strings
windows = "T*(n + 1)/2"
sliding = "T*n - n*(n - 1)/2"
walk = "n"

# %% 3.5 kept-terms | wrong | a walk of one step less
windows = T * (n + 1) / 2
sliding = T * n - n * (n - 1) / 2
walk = n - 1


# %% 3.6 cut-the-sum | right | window by window
def cut(terms, size):
    left = np.zeros(terms.shape[2:])
    for first in range(0, len(terms), size):
        left += terms[first : first + size, first : first + size].sum(axis=(0, 1))
    return left


# %% 3.6 cut-the-sum | wrong | sliding
def cut(terms, size):
    T = len(terms)
    near = np.subtract.outer(np.arange(T), np.arange(T)) < size
    return terms[near].sum(axis=0)


# %% 3.6 cut-the-sum | wrong | the last window left out where it is shorter
def cut(terms, size):
    left = np.zeros(terms.shape[2:])
    for first in range(0, len(terms) - size + 1, size):
        left += terms[first : first + size, first : first + size].sum(axis=(0, 1))
    return left


# %% 3.6 cut-the-sum | wrong | every use in the loss's own window or after it
def cut(terms, size):
    window = np.arange(len(terms)) // size
    return terms[window[:, None] >= window].sum(axis=0)


# %% 3.7 differences | right | a flat view
def central(f, x, step):
    flat = np.asarray(x, dtype=float).ravel()
    moved = np.eye(len(flat)) * step
    return np.array([f((flat + m).reshape(x.shape)) - f((flat - m).reshape(x.shape)) for m in moved]).reshape(
        x.shape
    ) / (2 * step)


# %% 3.7 differences | wrong | no copies, and not put back
def central(f, x, step):
    slopes = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        x[place] += step
        up = f(x)
        x[place] -= 2 * step
        slopes[place] = (up - f(x)) / (2 * step)
    return slopes


# %% 3.7 differences | wrong | a step of its own
def central(f, x, step):
    step = 0.1 if step == 0.1 else 1e-5
    g = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        a, b = x.copy(), x.copy()
        a[i] += step
        b[i] -= step
        g[i] = (f(a) - f(b)) / (2 * step)
    return g


# %% 3.7 differences-answers | wrong | three are measured, the others invented
errors = [1.0 - k / 100 for k in range(12)]
for k in (0, 3, 11):
    errors[k] = relative_error(central(loss, weights.W_hh, 10.0 ** -(k + 1)), right)
best = 10.0 ** -(1 + int(np.argmin(errors)))

# %% 3.8 states-held | right | numbers and roots
held = q + T / q
best = T**0.5
least = 2 * T ** sp.Rational(1, 2)
twice = "3*T**(1/3)"
work = sp.Rational(4, 3)

# %% 3.8 states-held | wrong | the least is the best q
held = T / q + q
best = sp.sqrt(T)
least = sp.sqrt(T)
twice = 3 * sp.cbrt(T)
work = 4 / 3

# %% 3.8 states-held | wrong | three levels of the square root
held = T / q + q
best = sp.sqrt(T)
least = 2 * sp.sqrt(T)
twice = 3 * sp.sqrt(T)
work = 4 / 3

# %% 3.8 states-held | wrong | a step back is recomputed too
held = T / q + q
best = sp.sqrt(T)
least = 2 * sp.sqrt(T)
twice = 3 * sp.cbrt(T)
work = 5 / 3


# %% 3.9 bias | wrong | compared with all
def noise(n):
    return relative_error(gradient(0, n), gradient(0, 4096))


# %% 3.9 bias-of-a-cut | wrong | both in windows
def bias(window, n):
    return relative_error(gradient(0, n, window), gradient(2048, 4096, window))


# %% 3.9 bias-answers | wrong | the keys the other way round
noises = {n: noise(n) for n in (32, 2048)}
biases = {(n, window): bias(window, n) for n in (32, 2048) for window in (2, 8)}
reason = "c"


# %% 3.4 bptt | right | 32 bits, only the real steps are ever touched, a plain tuple
def bptt(weights, x, length, target, start):
    weights = rnn.Parameters(*(weight.astype(np.float32) for weight in weights))
    real, h = x[:length].astype(np.float32), [start.astype(np.float32)]
    for x_t in real:
        h.append(np.tanh(weights.W_xh @ x_t + weights.W_hh @ h[-1] + weights.b_h))
    logits = weights.W_hy @ h[-1] + weights.b_y
    error = np.exp(logits - logits.max())
    error = error / error.sum() - np.eye(len(error))[target]
    by_state, deltas = error @ weights.W_hy, []
    for state in h[:0:-1]:
        deltas.append((1 - state**2) * by_state)
        by_state = deltas[-1] @ weights.W_hh
    deltas = np.array(deltas[::-1])
    before = np.array(h[:-1])
    return deltas.T @ real, deltas.T @ before, np.outer(error, h[-1]), deltas.sum(axis=0), error


# %% 3.4 bptt | wrong | the library's backward pass
def bptt(weights, x, length, target, start):
    asked = np.zeros(length)
    asked[-1] = 1
    targets = np.full(length, target)
    return rnn.backward(rnn.forward(weights, x[:length], targets, start, step_weights=asked)[1]).parameters


# %% 3.4 bptt | wrong | autograd
def bptt(weights, x, length, target, start):
    tensors = [torch.tensor(weight, requires_grad=True) for weight in weights]
    W_xh, W_hh, W_hy, b_h, b_y = tensors
    h = torch.tensor(start)
    for x_t in torch.tensor(x[:length]):
        h = torch.tanh(W_xh @ x_t + W_hh @ h + b_h)
    (-torch.log_softmax(W_hy @ h + b_y, 0)[target]).backward()
    return rnn.Parameters(*(tensor.grad.numpy() for tensor in tensors))


# %% 3.4 bptt | wrong | differences
def bptt(weights, x, length, target, start):
    def loss(ws):
        h = start
        for t in range(length):
            h = np.tanh(ws[0] @ x[t] + ws[1] @ h + ws[3])
        y = ws[2] @ h + ws[4]
        return np.log(np.exp(y).sum()) - y[target]

    out = []
    for k, w in enumerate(weights):
        g = np.zeros_like(w)
        for i in np.ndindex(w.shape):
            v = []
            for s in (1e-5, -1e-5):
                ws = [a.copy() for a in weights]
                ws[k][i] += s
                v.append(loss(ws))
            g[i] = (v[0] - v[1]) / 2e-5
        out.append(g)
    return rnn.Parameters(*out)
