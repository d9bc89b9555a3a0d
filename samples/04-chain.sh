# A chain of six statements
chainrule grad 'x=a+b; y=x*w; z=0.5*y^2; m=(z-1)/2; n=m-0.1; p=sin(n)' a=1 b=0.5 w=0.8 --retain all
