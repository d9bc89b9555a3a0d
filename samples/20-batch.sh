# One expression for the rows of a table; x is 0 where the table has none.
chainrule batch samples/points.csv --expression 'y = x^2*sin(w)' --at x=0
chainrule batch samples/points.csv --expression 'y = x^2*sin(w)' --at x=0 --format table
