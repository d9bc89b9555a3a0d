"""`python -m chainrule`."""

from .cli.main import main

main()
