# A function inside a product
chainrule grad 'y=sin(a*x+b)*x' a=0.5 x=2 b=0.1
