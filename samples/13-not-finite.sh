# The first node that is not finite is named
chainrule grad 'y=sqrt(x-3)*x' x=2
