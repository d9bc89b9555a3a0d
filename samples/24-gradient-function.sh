# A gradient that was written by hand, against autograd on the function itself
chainrule verify samples/functions.py:loss samples/functions.py:loss_grad 'w: 3' 'x: 3'
