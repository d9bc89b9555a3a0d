# Derivatives worked out by hand, checked; two of them are wrong
chainrule verify -f samples/homework.txt   # exit 1
