# Cancellation is told, and is no disagreement
chainrule grad 'y=exp(x)-exp(x)*(1-1e-9*x)' x=3
