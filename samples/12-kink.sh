# At a kink the value is a convention, and both sides are told
chainrule grad 'relu(x-1)*w' x=1 w=3
