# The loss of a linear regression
chainrule grad 'mean((w*x+b-t)^2)' w=2 b=0.5 'x=[1,2,3]' 't=[2.1,4.3,6.2]' --wrt w,b
