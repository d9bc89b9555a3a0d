# Verdicts for a program: one object a block
chainrule verify 'y = log(x)' 'dy/dx = 1/x' --json
chainrule verify 'y = x^3' 'dy/dx = 3*x' --json   # exit 1
