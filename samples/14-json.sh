# One line of JSON for a program
chainrule grad 'y=(x+w)*(w+1)' x=2 w=1 --json
