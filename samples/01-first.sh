# The graph of y = (x+w)*(w+1), and its gradients at x = 2, w = 1
chainrule grad 'y=(x+w)*(w+1)' x=2 w=1
