# Attention: softmax of products of queries and keys, times values; and log-probabilities without overflow
chainrule grad 'sum(softmax(q@K.T/sqrt(2))@V)' 'q=[[1,0],[0,2]]' 'K=[[1,1],[0,1],[2,0]]' 'V=[[1],[2],[4]]' --wrt q --no-check
chainrule grad 'log(sum(exp(x)))' 'x=[1000,1]'
chainrule grad 'logsumexp(x)' 'x=[1000,1]'
