"""Loops and ifs are Python's own: the gradient is that of the branch which was taken."""

import numpy as np

import chainrule as cr


def f(a):
    """Double b until its norm reaches 1000; a negative sum costs another factor of 100."""
    b = a * 2
    while np.linalg.norm(b) < 1000:
        b = b * 2
    return b if b.sum() > 0 else 100 * b


# Whatever path was taken, f(a) = k·a with some k, so the gradient must be f(a)/a.
for start in (0.7, 3.0, 2500.0, -0.5):
    a = cr.tensor(start, requires_grad=True)
    d = f(a)
    d.backward()
    print(f"a = {start:6}: f(a) = {d.item():9.1f}, gradient = {a.grad.item():8.1f}, f(a)/a = {d.item() / start:8.1f}")
