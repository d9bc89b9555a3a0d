# Without values: the graph and the formulas
chainrule grad 'y=x^2*sin(w*x)'
