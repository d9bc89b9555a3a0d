# A program from a file
chainrule grad -f samples/program.txt --wrt w,b
