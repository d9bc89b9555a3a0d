# Names of physics: I, C, E_n and beta are inputs, and 2pi is a product
chainrule grad 'I = I_0*(1 + beta*cos(2pi*nu*t))' I_0=2 beta=0.5 nu=0.25 t=0.1 --no-grad nu
