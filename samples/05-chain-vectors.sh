# The same chain on vectors, with a cotangent of ones
chainrule grad 'x=a+b; y=x*w; z=0.5*y^2; m=(z-1)/2; n=m-0.1; p=sin(n)' 'a=[1,2]' 'b=[0.5,-1]' 'w=[0.8,1.2]' --cotangent '[1,1]'
