# Derivatives as formulas: simplified by SymPy, as our own rules say them, of higher order, as LaTeX.
chainrule diff 'x^2*sin(w*x)'
chainrule diff 'x^2*sin(w*x)' --no-simplify
chainrule diff 'exp(-x^2/2)' --order 3
chainrule diff 'x^3*w + w^2' --hessian --format latex
chainrule diff 'relu(x - 1)*w if w > 0 else sqrt(x)' --format unicode
chainrule diff 'cos(a*x)' a=2 --wrt x --json
