"""`python -m chainrule`."""

from .cli import run

run()
