# Matrix calculus: a quadratic form, the logarithm of a determinant, the solution of a system of equations
chainrule grad 'y = x@A@x' 'A=[[2,1],[0,3]]' 'x=[1,2]'
chainrule grad 'y = logdet(A)' 'A=[[2,1],[0,3]]'
chainrule grad 'y = w@solve(A, b)' 'A=[[2,1],[0,3]]' 'b=[1,2]' 'w=[1,1]'
