# A gradient as a function to paste elsewhere.
chainrule diff 'f(x, w) = log(1 + exp(w*x)) if x > 0 else atan2(x, w)/2' --format c
chainrule diff 'softplus(w*x)/(1 + x^2)' --format python
chainrule diff 'x % w + max(x, w)' --format rust --name step
chainrule diff 'sum((A @ x - t)^2) | A: 2x2, x: 2, t: 2' --wrt x --format fortran
chainrule diff 'x^3*w' --hessian --format julia
chainrule diff 'x^3/w' --format javascript --simplify
chainrule diff 'mean((sigmoid(x @ w + b) - t)^2) | x: 5x3, w: 3, t: 5' --wrt w,b --format numpy
