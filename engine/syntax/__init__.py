"""From characters to a graph: `parse_into` for programs, `parse_value` for constant values."""

from .programs import MAX_TEXT, parse_into, parse_value

__all__ = ["MAX_TEXT", "parse_into", "parse_value"]
