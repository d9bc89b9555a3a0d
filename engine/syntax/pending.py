"""What the parser keeps on its stack: operators that wait for an operand, and open brackets."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ..ops import Op
from ..ops.arithmetic import POWER

NONE: Mapping[str, Any] = MappingProxyType({})
ROOT = POWER + 1  # √ binds tighter than any operator, and refuses those whose reach would be unclear


class Waiting:
    """A binary operator that waits for its right operand; the many are of this class, the few are `Marked`."""

    __slots__ = ("at", "level", "op")
    prefix: bool = False
    word: str = ""
    chained: int | None = None

    def __init__(self, level: int, op: Any, at: int) -> None:
        self.level = level
        self.op = op
        self.at = at  # the token


class Marked(Waiting):
    """One that is more than that: a prefix, `if` and `else`, or the comparison after `chained` in a < b < c."""

    __slots__ = ("chained", "prefix", "word")

    def __init__(self, level: int, op: Op | None, at: int, prefix: bool = False, word: str = "") -> None:
        super().__init__(level, op, at)
        self.prefix = prefix
        self.word = word
        self.chained: int | None = None


class Open:
    """An open bracket: `(` of a group or a call, `[` of a list or an index."""

    __slots__ = ("at", "depth", "kind", "level", "name", "params", "parts", "pending", "pending_at", "power",
                 "slice", "start")  # fmt: skip

    def __init__(self, kind: str, at: int, depth: int, start: int, name: str = "") -> None:
        self.kind = kind
        self.level = 0
        self.at = at  # the token of the bracket
        self.start = start  # the token with which the whole operand starts
        self.depth = depth  # how many operands lie below it
        self.name = name  # the function's, for a call
        self.params: Mapping[str, Any] = NONE  # its keyword arguments
        self.pending: str | None = None  # the keyword whose value comes next
        self.pending_at = at  # its token
        self.parts: Any = [] if kind == "index" else None  # an index's finished items
        self.slice: list[int | None] | None = None  # the parts so far of the slice that is being read
        self.power: int | None = None  # sin^2(x): the token of the exponent
