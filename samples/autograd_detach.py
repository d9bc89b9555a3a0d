"""A value without its history: detach() lets a number pass and holds the gradient back."""

import chainrule as cr

x = cr.arange(4.0, requires_grad=True)
y = x * x

# u has y's values, but for backward it is a constant.
u = y.detach()
print("u requires a gradient:", u.requires_grad, "- it is a leaf:", u.is_leaf)

z = u * x
z.sum().backward()
print("gradient of u*x:", x.grad, "which is u:", (x.grad == u).tolist())

# y itself was not harmed: through it the gradient is 2x.
x.grad.zero_()
y.sum().backward()
print("gradient of y:  ", x.grad)

# For a whole stretch of code without a record there is no_grad().
with cr.no_grad():
    w = x * x
print("under no_grad:  ", w, "- grad_fn:", w.grad_fn)
