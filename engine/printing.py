"""A graph as text in the language: text that parses to the same graph.

Emitting is a loop over an explicit stack of pieces, so its time is linear and its depth does not matter.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable
from typing import Any

import numpy as np

from .graph import INPUT, LEAF, Graph, Node
from .ops import CONSTANTS
from .ops.arithmetic import COMPARISON, CONDITIONAL, POSTFIX, POWER, SIGN, SUM, and_, identity, where
from .ops.arrays import array, index

Element = tuple[str, tuple[int, ...]]  # an input's name, and the index of one of its elements
Piece = str | tuple[int, int]  # text, or a node and the precedence that its text must at least have


def program_text(graph: Graph) -> str:
    """The whole program: its statements, then the bar with values, shapes and assumptions."""
    statements = []
    for i, node in enumerate(graph.nodes[: graph.last + 1]):
        last = i == graph.last
        if node.op is LEAF and node.name is not None:
            right = expression_text(graph, node.args[0])
            statements.append(f"{node.name} = {f'const({right})' if node.frozen else right}")
        elif last or (node.name is not None and node.op is not INPUT):
            head = "" if node.name is None else f"{node.name}{_header(graph) if last else ''} = "
            text = expression_text(graph, i, own=True)
            if not head and re.match(r"\w+ == ", text):  # without brackets it would look like a definition
                text = f"({text})"
            statements.append(head + text)
    items = [f"{name} = {value_text(value)}" for name, value in graph.at.items()]
    items += [f"{name}: {'x'.join(map(str, shape)) or '()'}" for name, shape in graph.shapes.items()]
    items += [expression_text(graph, i) for i in graph.assumptions]
    return "; ".join(statements) + (" | " + ", ".join(items) if items else "")


def _header(graph: Graph) -> str:
    return f"({', '.join(graph.declared)})" if graph.declared else ""


def element_name(name: str, index: tuple[int, ...]) -> str:
    """An element as the language writes it: x[0], A[1, 2]; the name itself for a scalar."""
    return f"{name}[{', '.join(map(str, index))}]" if index else name


def ascii_name(name: str) -> str:
    """A name in ASCII: Greek letters are spelled out, others stand as their numbers in Unicode."""
    return "".join(char if char.isascii() else _spelled(char) for char in name)


def _spelled(char: str) -> str:
    words = unicodedata.name(char, "").split()
    if words[:1] != ["GREEK"]:
        return f"u{ord(char):x}"
    return words[-1].capitalize() if "CAPITAL" in words else words[-1].lower()


def value_text(value: Any) -> str:
    """A number or array in the language."""
    if np.ndim(value):
        return "[" + ", ".join(map(value_text, value)) + "]"
    return number_text(float(value))


def number_text(value: float) -> str:
    """The shortest text that reads back as `value`; whole numbers without a point."""
    if value != value or math.isinf(value):
        return "inf" if value == math.inf else "-inf" if value == -math.inf else "(inf - inf)"
    text = repr(value)
    return text[:-2] if text.endswith(".0") else text


def expression_text(
    graph: Graph, root: int, *, own: bool = False, name: Callable[[int], str | None] | None = None
) -> str:
    """The text of one node's expression. Named nodes inside it stand as their names, the root too unless `own`.

    `name` gives other names: `labels().get` shows each node in terms of its neighbours. It may give numbers.
    """
    lookup = name or (lambda i: graph.nodes[i].name)
    out: list[str] = []
    stack: list[Piece] = []
    if own and graph.nodes[root].op is identity:
        stack.append((graph.nodes[root].args[0], 0))
    elif own:
        stack.extend(reversed(pieces(graph, root)[1]))
    else:
        stack.append((root, 0))
    while stack:
        piece = stack.pop()
        if isinstance(piece, str):
            out.append(piece)
            continue
        i, level = piece
        if (known := lookup(i)) is not None:
            out.append(f"({known})" if level > SUM and known.startswith("-") else known)
            continue
        own_level, inside = pieces(graph, i)
        if own_level < level:
            out.append("(")
            stack.append(")")
        stack.extend(reversed(inside))
    return "".join(out)


def pieces(graph: Graph, i: int) -> tuple[int, list[Piece]]:
    """A node's precedence, and its text as pieces."""
    node = graph.nodes[i]
    op, args = node.op, node.args
    if node.value is not None:
        text = number_text(node.value)
        return (SIGN if text.startswith("-") else POSTFIX), [text]
    if op.name == identity.name:
        return POSTFIX, [(args[0], POSTFIX)]
    if op.name == array.name:
        return POSTFIX, ["[", *_commas([(j, 0) for j in args]), "]"]
    if op.name == index.name:
        return POSTFIX, [(args[0], POSTFIX), f"[{', '.join(map(key_text, op.params['key']))}]"]
    if op.infix == ".T" and not op.params:
        bracket = graph.nodes[args[0]].value is not None
        return POSTFIX, [*("(" * bracket), (args[0], POSTFIX), *(")" * bracket), ".T"]
    if op.level and op.arity == 1:
        return op.level, [op.infix + " " * op.infix.isalpha() if op.infix else "", (args[0], op.level)]
    if op.level and op.infix:
        return op.level, _infix_pieces(graph, node)
    if node.is_leaf:
        return POSTFIX, [node.name or "?"]
    if op.name == where.name and args[1] < args[0]:  # as it was written, so that inputs keep their order of appearance
        a, c, b = (args[1], CONDITIONAL + 1), (args[0], CONDITIONAL + 1), (args[2], CONDITIONAL)
        return CONDITIONAL, [a, " if ", c, " else ", b]
    if op.name in CONSTANTS:
        return POSTFIX, [op.name]
    statics = [_static_text(value) if name in _positional(node) else f"{name}={_parameter_text(value)}"
               for name, value in op.params.items() if name != "seed"]  # fmt: skip
    return POSTFIX, [op.overloads or op.name, "(", *_commas([*((j, 0) for j in args), *filter(None, statics)]), ")"]


def _positional(node: Node) -> set[str]:
    return {static.name.lstrip("*") for static in node.op.statics if static.default is None and not static.by_name}


def _infix_pieces(graph: Graph, node: Node) -> list[Piece]:
    op, (left, right) = node.op, node.args
    level = op.level
    if op.name == and_.name and is_chain(graph, node):
        comparison = graph.nodes[right]
        return [*_chain_start(graph, left), f" {comparison.op.infix} ", (comparison.args[1], COMPARISON + 1)]
    sign = op.infix if level == POWER or op.infix in ("*", "/") else f" {op.infix} "
    if level == POWER:
        return [(left, level + 1), sign or "", (right, SIGN)]
    return [(left, level + (level == COMPARISON)), sign or "", (right, level + 1)]


def is_chain(graph: Graph, node: Node) -> bool:
    """Whether an `and` is a chain a < b < c: its parts are comparisons that share the middle node."""
    while True:
        left, right = (graph.nodes[j] for j in node.args)
        if right.op.level != COMPARISON or left.name is not None or right.name is not None:
            return False
        before = graph.nodes[left.args[1]] if left.op.name == and_.name else left
        if before.op.level != COMPARISON or before.args[1] != right.args[0]:
            return False
        if left.op.level == COMPARISON:
            return True
        node = left


def _chain_start(graph: Graph, i: int) -> list[Piece]:
    """The pieces of a comparison, or of a chain of them, without brackets."""
    links: list[Node] = []
    node = graph.nodes[i]
    while node.op.name == and_.name:
        links.append(graph.nodes[node.args[1]])
        node = graph.nodes[node.args[0]]
    start = _infix_pieces(graph, node)
    for link in reversed(links):
        start += [f" {link.op.infix} ", (link.args[1], COMPARISON + 1)]
    return start


def _commas(pieces: list[Any]) -> list[Piece]:
    out: list[Piece] = []
    for piece in pieces:
        out += [", ", piece] if out else [piece]
    return out


def key_text(key: Any) -> str:
    """A part of an index: 1, 1:3, ..., None."""
    if isinstance(key, slice):
        text = f"{'' if key.start is None else key.start}:{'' if key.stop is None else key.stop}"
        return text if key.step is None else f"{text}:{key.step}"
    if key is Ellipsis:
        return "..."
    return "None" if key is None else _parameter_text(key)


def _parameter_text(value: Any) -> str:
    """A static parameter after its name: several numbers stand in brackets."""
    return f"[{', '.join(map(key_text, value))}]" if isinstance(value, tuple) else _static_text(value)


def _static_text(value: Any) -> str:
    if isinstance(value, (tuple, list, np.ndarray)):
        return ", ".join(map(_static_text, value)) if isinstance(value, tuple) else value_text(value)
    if isinstance(value, bool) or value is None:
        return str(value)
    return number_text(float(value))
