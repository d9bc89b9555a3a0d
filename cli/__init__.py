"""The command line: commands connect the engine to what a person or a program reads."""
