"""A block: a program, and claims about its derivatives, as a person writes them.

f(x) = x^2*sin(x)
f'(x) = 2x*sin(x) + x^2*cos(x) | x > 0
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .errors import ChainruleError, Span
from .graph import INPUT, Graph
from .ops import CONSTANTS
from .ops.arithmetic import identity
from .program import Program, parse
from .syntax import parse_expression
from .syntax.claims import Stretch, is_claim, known_names, named_constants, read_left, stretches
from .syntax.latex import from_latex

NOWHERE = Span(0, 0)


@dataclass(eq=False)
class Claim:
    """A claim about a derivative, its expression parsed.

    text    as written
    label   what is claimed: dy/dx
    graph   the program's graph with the claim's nodes behind it
    root    the node that is differentiated
    by      for each order the nodes differentiated by; several stand for a list of scalars
    answer  the node of what is claimed; its own nodes start at `begin`
    at      values that the claim itself gives: f'(2) = 4
    along   the direction of a directional derivative: for each node by which it moves, how far
    source  the text that it stands in, and `span`, where its right side does
    """

    text: str
    label: str
    graph: Graph
    root: int
    by: tuple[tuple[int, ...], ...]
    begin: int
    answer: int
    at: dict[int, Any] = field(default_factory=dict)
    along: dict[int, Any] | None = None
    source: str = ""
    span: Span = NOWHERE

    def misfit(self, error: ChainruleError) -> ChainruleError:
        """An error of running its nodes, placed in its own text and not in the program's."""
        return ChainruleError(error.kind, error.message, spans=[self.span], source=self.source, hint=error.hint)

    @property
    def wrt(self) -> str:
        """The names that it differentiates by: x; x,w."""
        return ",".join(",".join(self.graph.nodes[i].name or "" for i in group) for group in self.by)


@dataclass(eq=False)
class Block:
    """A program with its claims; a claim that cannot be read stands as the error that says why, with its text."""

    source: str
    program: Program
    claims: list[Claim | ChainruleError] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)


def read_block(
    source: str, *, claims: Mapping[str, str] | Sequence[str] = (), items: Iterable[str] = (), seed: int = 0
) -> Block:
    """Read a program with the claims that stand in its own text and those given besides.

    `claims` are further texts, or as a mapping `{"x": …, "x,x": …}`; `items` are assumptions, values and shapes that
    belong behind the bar. Raises `ChainruleError` where the program itself cannot be read or there is no claim.
    """
    given = [claims] if isinstance(claims, str) else claims
    source = _plain(source)
    given = {k: _plain(v) for k, v in given.items()} if isinstance(given, Mapping) else [*map(_plain, given)]
    found, bar = stretches(source)
    _refuse_behind_bar(source, bar)
    own = [s for s in found if is_claim(source, s)]
    block = Block(source, _program(source, own, bar, given, [*filter(str.strip, items)], seed))
    for stretch in own:
        _add(block, source, stretch)
    if isinstance(given, Mapping):
        for key, right in given.items():
            _add_keyed(block, key, right)
    else:
        for claim in given:
            found, _ = stretches(claim)
            if not found or found[0].equals < 0:
                raise ChainruleError("syntax", f"{claim.strip()!r} is no claim", hint="write dy/dx = …")
            for stretch in found:
                _add(block, claim, stretch)
    if not block.texts:
        raise ChainruleError("syntax", "there is no claim to verify", hint="add one: dy/dx = 2*x", source=source,
                             spans=[Span(0, len(source.rstrip()))])  # fmt: skip
    return block


def _program(
    source: str, own: Sequence[Stretch], bar: int, given: Mapping[str, str] | Sequence[str], items: list[str], seed: int
) -> Program:
    """The program of a block: its text without its own claims, or what stands inside its first claim."""
    by_key = isinstance(given, Mapping)
    lefts = [source[s.start : s.equals] for s in own]
    lefts += ["d" + " d".join(key.split(",")) if by_key else key.partition("=")[0] for key in given]
    text = _without(source, own)
    if not re.sub(r"#[^\n]*", "", text[:bar]).strip(" \t\n;"):
        first = next(iter(given), "") if not own and not by_key else source if own else ""
        text = _applied_expression(first) + text[bar:]
    if items:
        text += ("\n, " if bar < len(source) else "\n| ") + ", ".join(items)
    return parse(text, names=[name for left in lefts for name in named_constants(left, CONSTANTS)], seed=seed)


def _plain(text: str) -> str:
    """A text in LaTeX, which has a backslash or braces, as one in the language."""
    return from_latex(text) if re.search(r"[\\{]", text) else text


def _refuse_behind_bar(source: str, bar: int) -> None:
    """Claims stand before the bar."""
    for s in stretches(source[bar + 1 :])[0]:
        start, equals, end = (bar + 1 + place for place in (s.start, s.equals, s.end))
        start += source[start:equals].rfind(",") + 1
        if s.equals >= 0 and is_claim(source, Stretch(start, end, equals)):
            span, hint = _trimmed(source, start, end), "the bar with values, shapes and assumptions ends a block"
            raise ChainruleError("syntax", "a claim behind the bar", source=source, spans=[span], hint=hint)


def _without(source: str, own: Sequence[Stretch]) -> str:
    """The text with the claims blanked, so that places stay true."""
    for s in own:
        source = source[: s.start] + " " * (s.end - s.start) + source[s.end :]
    return source


def _applied_expression(text: str) -> str:
    """The expression inside `d/dx (…) = …`, the first claim of a text; blanks before it keep its place."""
    found, _ = stretches(text)
    if not found:
        return ""
    start, end, equals = found[0]
    try:
        of = read_left(text, start, max(start, equals), _letters(text[start:equals]), ()).of
    except ChainruleError as error:
        if error.kind == "syntax":
            raise
        of = ""
    if isinstance(of, str):
        hint = "write the function first: y = x^2"
        raise ChainruleError("syntax", "there is no program before the claim", source=text,
                             spans=[_trimmed(text, start, end)], hint=hint)  # fmt: skip
    return " " * of.start + text[of.start : of.end]


def _letters(left: str) -> set[str]:
    """Names that `d/dxdw` may mean."""
    return {*re.findall(r"(?<=[d∂])[^\W\d_](?:_?\d+)?", left), *re.findall(r"(?<=[d∂])[^\W\d]\w*", left)}


# --- one claim --------------------------------------------------------------------------------------------------------


def _add(block: Block, source: str, stretch: Stretch) -> None:
    text = source[stretch.start : stretch.end].partition("#")[0].strip()
    block.texts.append(text)
    try:
        block.claims.append(_read(block.program, source, stretch, text))
    except ChainruleError as error:
        block.claims.append(error)


def _add_keyed(block: Block, key: str, right: str) -> None:
    names = [name.strip() for name in key.split(",")]
    below = "".join(f"d{name}{_order([*same])}" for name, same in itertools.groupby(names))
    left = f"d{_order(names)}{block.program.output_name}/{below}"
    text = f"{left} = {right}"
    block.texts.append(text)
    try:
        graph = _extended(block.program)
        by = tuple((_place(graph, name, names),) for name in names)
        span = Span(len(left) + 3, len(text.rstrip()))
        begin, answer = len(graph.nodes), _parse_right(graph, text, span)
        block.claims.append(Claim(text, left, graph, graph.output, by, begin, answer, source=text, span=span))
    except ChainruleError as error:
        block.claims.append(error)


def _order(names: Sequence[str]) -> str:
    """How often is differentiated, as it is written: nothing for once."""
    return str(len(names)) if len(names) > 1 else ""


def _read(program: Program, source: str, stretch: Stretch, text: str) -> Claim:
    graph = _extended(program)
    start, equals, end = stretch.start, stretch.equals, stretch.end
    names = known_names(graph)
    if not any(node.is_leaf for node in graph.nodes):  # a constant may be differentiated by anything
        names |= _letters(source[start:equals])
    left = read_left(source, start, equals, names, graph.inputs)
    if isinstance(left.of, Span):
        root = _parse_right(graph, source, left.of)
        root = graph.append(identity, (root,)) if graph.nodes[root].is_leaf else root
    else:
        root = graph.names[left.of]
    label = " ".join(source[start:equals].split())
    inputs = [graph.names[name] for name in graph.free]
    needs = [i for i in inputs if not graph.is_default(graph.nodes[i].name or "")] or inputs
    at: dict[int, Any] = {}
    along = None
    if left.at is not None:
        at = _arguments(graph, source, left.at, needs)
    if left.along is not None:
        along = _direction(graph, source, left.along, needs)
        by: tuple[tuple[int, ...], ...] = (tuple(along),)
    elif left.all_inputs:
        by = (tuple(needs),) * left.order
    elif left.by:
        by = tuple((_place(graph, name, left.by),) for name in left.by)
    else:
        if len(needs) != 1:
            listed = ", ".join(graph.nodes[i].name or "" for i in needs) or "none"
            raise ChainruleError("syntax", f"{label} does not say by which input ({listed})", source=source,
                                 spans=[Span(start, equals)], hint="write dy/dx = …")  # fmt: skip
        by = ((needs[0],),) * left.order
    begin, answer = len(graph.nodes), _parse_right(graph, source, Span(equals + 1, end))
    span = _trimmed(source, equals + 1, end)
    return Claim(text, label, graph, root, by, begin, answer, at, along, source, span)


def _extended(program: Program) -> Graph:
    """A copy of the program's graph that a claim's nodes are added to."""
    made = replace(program, nodes=list(program.nodes), names=dict(program.names), _words=None)
    if made.nodes[made.output].name is None:
        made.names[made.output_name] = made.output
    return made


def _place(graph: Graph, name: str, by: Sequence[str]) -> int:
    """The node to differentiate by; for a constant program an input is made."""
    if name not in graph.names:
        if any(node.is_leaf for node in graph.nodes[: graph.output]):
            known = ", ".join(graph.inputs)
            raise ChainruleError("name", f"the program has no {name!r} to differentiate by", hint=f"it has {known}")
        graph.give_name(name, graph.append(INPUT, ()))
    return graph.names[name]


def _parse_right(graph: Graph, source: str, span: Span) -> int:
    if not source[span.start : span.end].partition("#")[0].strip():
        raise ChainruleError("syntax", "nothing is claimed: the right side is empty", source=source, spans=[span],
                             hint="write the derivative after the equals sign")  # fmt: skip
    return parse_expression(graph, source, span)


def _arguments(graph: Graph, source: str, span: Span, inputs: Sequence[int]) -> dict[int, Any]:
    """The values in f'(2) = 4."""
    node = parse_expression(graph, f"{source[: span.start - 1]}[{source[span.start : span.end]}]",
                            Span(span.start - 1, span.end + 1))  # fmt: skip
    values = _constant(graph, node, source, span)
    if len(values) != len(inputs):
        names = ", ".join(graph.nodes[i].name or "" for i in inputs)
        raise ChainruleError("syntax", f"{len(values)} values for the inputs {names}", source=source, spans=[span])
    return dict(zip(inputs, values, strict=True))


def _direction(graph: Graph, source: str, span: Span, inputs: Sequence[int]) -> dict[int, Any]:
    """The direction in `D_[1, 2] y`: a list with an entry for each input, or an array for the only one."""
    node = parse_expression(graph, source, span)
    values = _constant(graph, node, source, span)
    if len(inputs) == 1:
        return {inputs[0]: values}
    if np.ndim(values) == 0 or len(values) != len(inputs):
        names = ", ".join(graph.nodes[i].name or "" for i in inputs)
        raise ChainruleError("shape", f"the direction needs an entry for each of {names}", source=source, spans=[span])
    return dict(zip(inputs, values, strict=True))


def _trimmed(source: str, start: int, end: int) -> Span:
    """The stretch without the space around it and a comment behind it."""
    text = source[start:end].partition("#")[0]
    return Span(start + len(text) - len(text.lstrip()), start + len(text.rstrip()))


def _constant(graph: Graph, node: int, source: str, span: Span) -> Any:
    if not graph.nodes[node].constant:
        raise ChainruleError("value", "this must be a constant", source=source, spans=[span])
    return graph.constant_value(node)
