"""Operands: numbers, names, signs, and what opens a bracket."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..graph import NUMBER, Node
from ..ops import CALLS, UNLISTED
from ..ops.arithmetic import NOT, SIGN, mul, neg, not_
from ..ops.powers import cbrt, sqrt
from . import calls, refusals
from .characters import GRAMMAR_WORDS, is_name, is_number, is_superscript, read_superscript
from .pending import ROOT, Open, Waiting

if TYPE_CHECKING:
    from .expressions import Expressions

CALLABLE = frozenset({*CALLS, *UNLISTED})
# What may stand before an operand; a plus sign does nothing.
PREFIXES = {"-": neg, "+": None, "not": not_, "√": sqrt, "∛": cbrt}


def read(parser: Expressions, word: str) -> bool:
    """Read a token where an operand is wanted; whether one is wanted still."""
    k = parser.k
    if word in CALLABLE and parser.words[k + 1] == "(":
        parser.called.setdefault(word, k)
        parser.stack.append(Open("call", k + 1, len(parser.operands), k, word))
        parser.k = k + 2
        return parser.words[k + 2] != ")" or parser.close(")")
    if is_name(word) and word not in GRAMMAR_WORDS:
        return _name(parser, word, k)
    if is_number(word):
        parser.push(number(parser, word, k), k)
        return False
    if word in PREFIXES:
        _prefix(parser, word, k)
        return True
    if word == "[":
        parser.open(Open("list", k, len(parser.operands), k))
        return parser.words[parser.k] != "]" or parser.close("]")
    if word == "\n" and parser.bracketed:
        parser.k += 1
        return True
    if word == "∞":
        parser.push(parser.named("inf", k), k)
        return False
    return calls.no_operand(parser, word)


def number(parser: Expressions, word: str, k: int) -> int:
    """The node of a number."""
    if word == "0" or word[-1] == ".":
        _whole_number(parser, word, k)
    value, graph = float(word), parser.graph
    if value == math.inf or (graph.dtype is not None and graph.typed(value) == math.inf):
        parser.fail("value", f"{word} is larger than the largest number, about {graph.largest}", k)
    nodes = parser.nodes
    node = parser.known[word] = len(nodes)
    nodes.append(Node(NUMBER, (), (k, k + 1), True, value))
    return node


def _whole_number(parser: Expressions, word: str, k: int) -> None:
    """Refuse 0x10 and 2.x."""
    following = parser.words[k + 1]
    if not is_name(following.lstrip(".")) or parser.starts[k + 1] > parser.starts[k] + len(word):
        return
    if word != "0":
        refusals.point_before_name(parser, k)
    if following[0] in "xXbBoO" and following[1:2].isdecimal():
        refusals.other_base(parser, k)


def exponent(parser: Expressions, word: str, k: int) -> int:
    """The node of a raised exponent."""
    parts = read_superscript(word)
    if parts is None:
        parser.fail("syntax", f"{word} is not an exponent", k, hint="write ^( … )")
    span = (k, k + 1)
    node = parser.graph.number(float(parts.digits), span) if parts.digits else None
    if parts.letter:
        n = parser.known.get("n")
        n = parser.named("n", k) if n is None else n
        node = n if node is None else parser.graph.append(mul, (node, n), span)
    assert node is not None
    return parser.graph.append(neg, (node,), span) if parts.negative else node


def _prefix(parser: Expressions, word: str, k: int) -> None:
    """Read a sign, `not` or a root sign."""
    op = PREFIXES[word]
    level = SIGN if op is None else op.level or ROOT
    if level == NOT and parser.stack[-1].level > NOT:
        parser.fail("syntax", "'not' binds looser than the operator before it", k, hint="put brackets: (not …)")
    if parser.stack[-1].level == ROOT:
        parser.fail("syntax", "a root sign stands before a number, a name or a bracket", k, hint=f"write {word}( … )")
    parser.stack.append(Waiting(level, op, k, prefix=True, word=word))
    parser.k += 1


def _name(parser: Expressions, word: str, k: int) -> bool:
    """Read a name: a constant, an input, or a function's in a shorter form; whether an operand is wanted still."""
    following = parser.words[k + 1]
    inside = getattr(parser.stack[-1], "kind", "")
    if following == "=" and inside == "call":
        return calls.keyword(parser, word, k)
    if word in CALLS:
        if following in ("^", "**") or is_superscript(following):
            opened = calls.powered_call(parser, word, k)
            if opened:
                return True
        if (is_name(following) and following not in GRAMMAR_WORDS) or is_number(following):
            refusals.bracketless_call(parser, k)
    if word == "None" and inside == "index":
        return calls.new_axis(parser)
    parser.push(parser.named(word, k), k)
    return False
