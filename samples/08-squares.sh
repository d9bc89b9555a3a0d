# The gradient of a sum of squares
chainrule grad 'sum(x*x)' 'x=[1,2,3]'
