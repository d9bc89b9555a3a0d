# The nodes as CSV
chainrule grad 'y=(x+w)*(w+1)' x=2 w=1 --format csv
