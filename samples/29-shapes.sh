# Indexing with slices, steps and new axes; reshaping and joining
chainrule grad 'sum(x[1:] * x[:-1]) + x[::-2]@x[:2]' 'x=[1,2,3,4]'
chainrule grad 'd = x[:, None] - w; sum(d^2)' 'x=[1,2]' 'w=[0,1,2]'
chainrule grad 'prod(concat(x, reshape(A, -1)))' 'x=[1,2]' 'A=[[1,2],[0,3]]'
