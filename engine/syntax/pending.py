"""What the parser keeps on its stack besides the rows of binary operators: what is more than that, and open brackets.

Everything on the stack has a `level`: an operator's precedence, 0 for an open bracket, less for the stack's bottom.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ..ops import Op
from ..ops.arithmetic import POWER

NONE: Mapping[str, Any] = MappingProxyType({})
ROOT = POWER + 1  # √ binds tighter than any operator, and refuses those whose reach would be unclear


class Waiting:
    """What waits for an operand and is no plain operator: a prefix, `if` and `else`, the second sign in a < b < c."""

    __slots__ = ("at", "chained", "level", "op", "prefix", "word")

    def __init__(self, level: int, op: Op | None, at: int, prefix: bool = False, word: str = "") -> None:
        self.level = level
        self.op = op
        self.at = at  # the token
        self.prefix = prefix
        self.word = word
        self.chained: int | None = None  # of the second sign in a < b < c the node of a < b


class Bottom:
    """What lies under all."""

    __slots__ = ()
    kind = ""
    level = -1


class Group:
    """An open bracket that only groups."""

    __slots__ = ("at", "depth")
    kind = "group"
    level = 0
    power = None

    def __init__(self, at: int, depth: int) -> None:
        self.at = at  # the token of the bracket
        self.depth = depth  # how many operands lie below it

    @property
    def start(self) -> int:
        """The token with which the whole operand starts."""
        return self.at


class Open:
    """An open bracket of a call, a list or an index."""

    level = 0
    params: Mapping[str, Any] = NONE  # a call's keyword arguments
    pending: str | None = None  # the keyword whose value comes next
    pending_at = 0  # its token
    power: int | None = None  # sin^2(x): the token of the exponent
    slice: list[int | None] | None = None  # the parts so far of the slice that is being read in an index

    def __init__(self, kind: str, at: int, depth: int, start: int, name: str = "") -> None:
        self.kind = kind
        self.at = at  # the token of the bracket
        self.start = start  # the token with which the whole operand starts
        self.depth = depth  # how many operands lie below it
        self.name = name  # the function's, for a call
        self.parts: list[Any] = []  # an index's finished items
