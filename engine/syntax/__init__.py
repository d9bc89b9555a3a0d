"""From characters to a graph: `parse_into` for programs, `parse_expression` for more of one, `parse_value`."""

from .characters import split
from .programs import MAX_TEXT, parse_expression, parse_into, parse_value

__all__ = ["MAX_TEXT", "parse_expression", "parse_into", "parse_value", "split"]
