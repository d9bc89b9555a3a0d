"""Linear regression by gradient descent: find the line that the noisy points were made from."""

import numpy as np

import chainrule as cr

true_w, true_b = np.array([2.0, -3.4]), 4.2

# 200 points near the plane y = X·w + b.
rng = np.random.default_rng(1)
X = rng.standard_normal((200, 2))
labels = X @ true_w + true_b + 0.01 * rng.standard_normal(200)

# Start anywhere, say at zero.
w = cr.zeros(2, requires_grad=True)
b = cr.tensor(0.0, requires_grad=True)
rate, steps = 0.1, 0

while True:
    loss = cr.mean((X @ w + b - labels) ** 2)
    if steps % 20 == 0:
        print(f"step {steps:3}: loss {loss.item():.6f}")
    if loss.item() < 1e-3 or steps == 200:
        break
    loss.backward()
    with cr.no_grad():  # the update is not part of the function
        for parameter in (w, b):
            parameter -= rate * parameter.grad
            parameter.grad.zero_()  # or the next gradient would be added to this one
    steps += 1

print(f"fits after {steps} steps: loss {loss.item():.6f}")
print("w =", w.detach(), " true:", true_w.tolist())
print("b =", b.detach(), " true:", true_b)
assert np.allclose(w.detach(), true_w, atol=0.05)
assert abs(b.item() - true_b) < 0.05
