# Only leaves keep a gradient, unless --retain asks for more
chainrule grad 'a=x+w; b=w+1; y=a*b' x=2 w=1 --retain a
