# A vector with itself
chainrule grad '2*dot(x,x)' 'x=arange(4.)'
