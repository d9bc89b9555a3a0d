"""Functions of one's own, for `chainrule grad samples/functions.py:NAME`: plain Python and NumPy, loops and ifs."""

import numpy as np


def control_flow(a):
    """Double until the norm reaches 1000, then choose by the sign of the sum; the gradient is the output over a."""
    b = a * 2
    while np.linalg.norm(b) < 1000:
        b = b * 2
    return b if b.sum() > 0 else 100 * b


def newton_root(c, steps=6):
    """The square root of c by Newton's method: the derivative flows through every step."""
    x = c / 2
    for _ in range(steps):
        x = (x + c / x) / 2
    return x


def two_layers(x, w1, w2):
    """A small network's loss, written with NumPy alone."""
    hidden = np.tanh(w1 @ x)
    output = w2 @ hidden
    return np.sum((output - 1.0) ** 2)


def loss(w, x):
    """A sum of squares, and below it its gradient by hand."""
    return np.sum((w * x - 1.0) ** 2)


def loss_grad(w, x):
    """The gradients of `loss` by w and by x."""
    rest = 2 * (w * x - 1.0)
    return rest * x, rest * w
