# The gradient of a sum is one everywhere
chainrule grad 'sum(x)' 'x=[1,2,3]'
