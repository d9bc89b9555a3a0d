"""The first steps with gradients: y = 2·xᵀx, whose gradient is 4x."""

import chainrule as cr

# A tensor that requires a gradient is watched: every operation on it is recorded.
x = cr.arange(4.0, requires_grad=True)
print("x      ", x)
print("x.grad ", x.grad)

y = 2 * cr.dot(x, x)
print("y      ", y)

# backward() walks the record from y to x and leaves the gradient there.
y.backward()
print("x.grad ", x.grad, "which is 4x:", (x.grad == 4 * x.detach()).tolist())

# A second gradient is added to the first: sum(x) has gradient 1 everywhere.
x.sum().backward()
print("added  ", x.grad)

# So clear it before a new one is wanted.
x.grad.zero_()
x.sum().backward()
print("cleared", x.grad)

# Several outputs have no single gradient; a sum makes one number of them.
x.grad = None
try:
    (x * x).backward()
except RuntimeError as error:
    print("refused:", str(error).partition(";")[0])
(x * x).sum().backward()
print("x*x    ", x.grad)
