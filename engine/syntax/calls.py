"""What stands inside brackets: the arguments of calls, the entries of indices."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..errors import did_you_mean
from ..ops import Op, find
from . import refusals
from .characters import GRAMMAR_WORDS, is_name, is_number, is_superscript, read_superscript
from .pending import Open

if TYPE_CHECKING:
    from .expressions import Expressions

LITERALS = {"True": True, "False": False, "None": None}


# --- calls ------------------------------------------------------------------------------------------------------------


def keyword(parser: Expressions, word: str, k: int) -> bool:
    """Read `name=` inside a call; an operand is wanted next, unless the value is True, False or None."""
    bracket = parser.stack[-1]
    if word in bracket.params:
        parser.fail("syntax", f"{word} is given twice", k)
    bracket.pending, bracket.pending_at = word, k
    parser.k += 2
    value = parser.words[parser.k]
    if value in LITERALS:
        bracket.params = {**bracket.params, word: (LITERALS[value], k)}
        parser.k += 1
        following = parser.words[parser.k]
        if following not in (",", ")"):
            refusals.after_operand(parser, following, parser.k)
        return following_item(parser, bracket)
    return True


def following_item(parser: Expressions, bracket: Open) -> bool:
    """Go on after an item that is no operand: over a comma, or out of the bracket."""
    if parser.words[parser.k] == ",":
        parser.k += 1
        bracket.pending = None
        return True
    parser.stack[-1].pending = ""
    return parser.close(parser.words[parser.k])


def end_item(parser: Expressions, bracket: Open) -> None:
    """Finish the item before a comma or a closing bracket."""
    if bracket.kind == "index":
        item = static_value(parser, "an index") if len(parser.operands) > bracket.depth else None
        if bracket.slice is not None:
            start, stop, step = (*bracket.slice, item, None, None)[:3]
            bracket.parts.append(slice(start, stop, step))
            bracket.slice = None
        elif item is not None:
            bracket.parts.append(item)
    elif bracket.kind == "call":
        if bracket.pending:
            value = static_value(parser, bracket.pending)
            bracket.params = {**bracket.params, bracket.pending: (value, bracket.pending_at)}
        elif bracket.params and bracket.pending is None and len(parser.operands) > bracket.depth:
            parser.fail("syntax", "an argument by position after one by name", parser.k - 1)
        bracket.pending = None


def static_value(parser: Expressions, what: str) -> Any:
    """The operand just read as a fixed value: a number (whole ones as int), or a list of them as a tuple."""
    node = parser.operands.pop()
    start = parser.begins.pop()
    if not parser.graph.nodes[node].constant:
        raise _at_text(parser, start, f"{what} must be a constant")
    return plain(parser.graph.constant_value(node))


def plain(value: Any) -> Any:
    """A value as a static parameter: whole numbers as int, arrays as tuples."""
    if np.ndim(value):
        return tuple(plain(v) for v in value)
    return int(value) if float(value).is_integer() else float(value)


def _at_text(parser: Expressions, start: int, message: str) -> Exception:
    from ..errors import ChainruleError, Span

    return ChainruleError("value", message, spans=[Span(parser.starts[start], parser.end)], source=parser.text)


def call(parser: Expressions, bracket: Open, args: tuple[int, ...]) -> int:
    """The node of a finished call."""
    name, at = bracket.name, bracket.at - 1
    op = find(name, len(args))
    assert op is not None
    span = (bracket.start, parser.k)
    if not op.statics and not bracket.params and len(args) == op.arity:
        return parser.graph.append(op, args, span)
    params = dict(bracket.params)
    taken = len(args) if op.variadic else op.arity
    inputs, statics = args[:taken], args[taken:]
    if len(inputs) < op.arity or (op.variadic and not inputs) or (statics and all(s.by_name for s in op.statics)):
        wrong_count(parser, op, name, len(args), at)
    given = positional_statics(parser, op, statics, at) if statics else {}
    known = op.parameters - {"seed"}
    for word, (value, k) in params.items():
        if word not in known:
            hint = did_you_mean(word, known) or (f"it knows {', '.join(sorted(known))}" if known else None)
            parser.fail("name", f"{name} has no parameter {word!r}", k, hint=hint)
        given[word] = value
    for static in op.statics:
        if static.default is None and static.name not in given and not static.name.startswith("*"):
            wrong_count(parser, op, name, len(args), at)
    given = {key: value for key, value in given.items() if not is_default(op, key, value)}
    if any(static.name == "seed" for static in op.statics):
        given["seed"] = (*parser.graph.seed, parser.draws)
        parser.draws += 1
    check_statics(parser, op, given, at)
    return parser.graph.append(op.bind(**given), inputs, span)


def positional_statics(parser: Expressions, op: Op, nodes: tuple[int, ...], at: int) -> dict[str, Any]:
    """Static parameters given by position: reshape(x, 2, 3), norm(x, 1)."""
    values = []
    for node in nodes:
        if not parser.graph.nodes[node].constant:
            parser.fail("value", f"{op.name}: its parameters must be constants, not expressions of inputs", at)
        values.append(plain(parser.graph.constant_value(node)))
    if len(values) == 1 and isinstance(values[0], tuple):
        values = list(values[0])
    try:
        return op.static_params(tuple(values))
    except TypeError:
        wrong_count(parser, op, op.name, op.arity + len(nodes), at)


def is_default(op: Op, name: str, value: Any) -> bool:
    """Whether a static parameter was given the value that it has anyway."""
    default = next((static.default for static in op.statics if static.name == name), None)
    return default is not None and ast.literal_eval(default) == value


def check_statics(parser: Expressions, op: Op, given: dict[str, Any], at: int) -> None:
    """Refuse static parameters that no array could have, at the call that gives them."""
    for name in ("shape", "n", "m", "num") if not op.inputs else ():
        sizes = given.get(name)
        for size in sizes if isinstance(sizes, tuple) else () if sizes is None else (sizes,):
            if not isinstance(size, int) or size < 0:
                parser.fail("value", f"{op.name}: a size must be a whole number from 0, not {size}", at)


def wrong_count(parser: Expressions, op: Op, name: str, count: int, at: int) -> NoReturn:
    """Refuse a call with the wrong number of arguments."""
    wanted = op.arity + sum(static.default is None and not static.by_name for static in op.statics)
    signature = op.signature.replace(";", ",").strip(", ").replace("*, ", "").replace(", seed=0", "")
    noun = "argument" if wanted == 1 else "arguments"
    parser.fail("syntax", f"{name} takes {wanted} {noun}, not {count}", at, hint=f"write {name}({signature})")


def powered_call(parser: Expressions, word: str, k: int) -> bool:
    """Read sin^2(x) or sin²(x): the call is opened and its power kept for later. False: not of this form."""
    words = parser.words
    raised = is_superscript(words[k + 1])
    at = k + 1 if raised else k + 2
    if not raised and words[at] == "-" and is_number(words[at + 1]) and words[at + 2] == "(":
        refusals.inverse_or_reciprocal(parser, word, k, at + 2)
    if (
        not raised
        and words[at : at + 2] == ["(", "-"]
        and is_number(words[at + 2])
        and words[at + 3 : at + 5] == [")", "("]
    ):
        refusals.inverse_or_reciprocal(parser, word, k, at + 4)
    parts = read_superscript(words[at]) if raised else None
    if words[at + 1 : at + 2] == ["("] and (is_number(words[at]) or parts):
        if parts and parts.negative:
            refusals.inverse_or_reciprocal(parser, word, k, at + 1)
        parser.called.setdefault(word, k)
        bracket = Open("call", at + 1, len(parser.operands), k, word)
        bracket.power = at
        parser.k = at + 1
        parser.open(bracket)
        return True
    after = words[at + 1] if at + 1 < len(words) else ""
    if word not in parser.known and (is_number(words[at]) or parts) and is_name(after) and after not in GRAMMAR_WORDS:
        refusals.bracketless_call(parser, k)
    return False


# --- indices ----------------------------------------------------------------------------------------------------------


def slice_colon(parser: Expressions) -> bool:
    """Read `:` after an operand in an index."""
    k = parser.k
    bracket = parser.stack[-1]
    if bracket.kind != "index":
        parser.fail("syntax", "':' has no meaning here", k, hint="slices stand in x[1:3], shapes after the bar")
    part = static_value(parser, "an index")
    bracket.slice = [*(bracket.slice or []), part]
    parser.k += 1
    return True


def special_item(parser: Expressions, item: Any) -> bool:
    """Read `None` or `...` in an index; whether an operand is wanted next."""
    bracket = parser.stack[-1]
    bracket.parts.append(item)
    parser.k += 1
    if parser.words[parser.k] not in (",", "]"):
        refusals.after_operand(parser, parser.words[parser.k], parser.k)
    return following_index(parser)


def following_index(parser: Expressions) -> bool:
    """Go on after an item of an index that is no operand."""
    if parser.words[parser.k] == ",":
        parser.k += 1
        return True
    return parser.close("]")


def new_axis(parser: Expressions) -> bool:
    """Read `None` in an index: a new axis."""
    return special_item(parser, None)


def no_operand(parser: Expressions, word: str) -> bool:
    """A token that starts no operand: part of a slice, or an error."""
    top = parser.stack[-1]
    bracket: Any = top
    if getattr(top, "kind", "") == "index":
        if word == ":":
            bracket.slice = [*(bracket.slice or []), None]
            parser.k += 1
            return True
        if word == "...":
            return special_item(parser, Ellipsis)
        if word in ("]", ",") and bracket.slice is not None:
            end_item(parser, bracket)
            return following_index(parser)
        if word == "]" and bracket.parts and parser.words[parser.k - 1] == ",":
            return parser.close("]")
    refusals.no_operand(parser, word, parser.k)
