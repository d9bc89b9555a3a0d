"""From characters to a graph: `parse_into` for programs, `parse_expression` for what uses one, `parse_value` for values."""

from .programs import MAX_TEXT, parse_expression, parse_into, parse_value

__all__ = ["MAX_TEXT", "parse_expression", "parse_into", "parse_value"]
