# A detached factor counts as a constant: the gradient is u
chainrule grad 'u=detach(x*x); sum(u*x)' 'x=[1,2,3]'
