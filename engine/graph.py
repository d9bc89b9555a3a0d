"""The explicit graph of a program: what a text says, before anything is computed.

A graph is a Wengert list (a tape): nodes in topological order, each with its operation and the places of its inputs in
the list. Running it forward is a loop, running it backward is the same loop reversed; nothing ever recurses over it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from .errors import ChainruleError, Span, did_you_mean
from .misfits import UNFIT, misfit
from .ops import Op, Traced
from .ops.base import quietly

Value: TypeAlias = float | np.ndarray[Any, np.dtype[Any]]

NUMBER = Op("number", lambda: None, "a number written in the program", vjps=(), signature="", public=False)
INPUT = Op("input", lambda: None, "a name that needs a value", vjps=(), signature="", public=False)
LEAF = Op("leaf", lambda x: x, "a name with a default value", vjps=(None,), signature="x", public=False)


class Node:
    """One node: `op` applied to the nodes at the places `args` of its graph.

    span      its words in the source: the first, and the one after the last; (0, 0) where it has none
    name      the name that the program gives it, if any
    constant  whether it depends on no input and no leaf; constants are part of what uses them and are not shown
    value     the number, for a number
    frozen    for an input or leaf: whether the program asks that it requires no gradient
    """

    __slots__ = ("args", "constant", "frozen", "name", "op", "span", "value")

    def __init__(
        self,
        op: Op,
        args: tuple[int, ...],
        span: tuple[int, int],
        constant: bool,
        value: float | None = None,
        name: str | None = None,
    ) -> None:
        self.op = op
        self.args = args
        self.span = span
        self.constant = constant
        self.value = value
        self.name = name
        self.frozen = False

    @property
    def is_leaf(self) -> bool:
        """Whether it is an input, or a name with a default value."""
        return self.op is INPUT or self.op is LEAF


@dataclass(eq=False, slots=True)
class Graph:
    """A program as a graph.

    nodes        the tape; see `Node`
    names        every name of the program: inputs, leaves and statements, to its node's place
    output       the place of the output; `last` is that of the last statement, the output unless another is selected
    declared     the inputs that `f(x, w) = …` declares, in their order
    at           the values that stand after the program's bar, and `shapes` and `assumptions` likewise
    source       the text, for errors, and `lexer`, which cuts it into words
    dtype        NumPy's type of the numbers that it computes with, constants included; None for Python's float, float64
    """

    nodes: list[Node] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    output: int = -1
    last: int = -1
    declared: tuple[str, ...] = ()
    at: dict[str, Value] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    assumptions: list[int] = field(default_factory=list)
    source: str = ""
    seed: tuple[int, ...] = (0,)
    lexer: Callable[[str], tuple[list[str], list[int]]] | None = None
    dtype: Any = None
    _words: tuple[list[str], list[int]] | None = None

    # --- what the graph has -------------------------------------------------------------------------------------------

    @property
    def inputs(self) -> list[str]:
        """The names that take a value: declared ones first, then in order of first appearance; leaves included."""
        nodes = self.nodes
        found = [name for name, i in self.names.items() if nodes[i].op is INPUT or nodes[i].op is LEAF]
        return list(dict.fromkeys([*self.declared, *found])) if self.declared else found

    @property
    def free(self) -> list[str]:
        """The inputs that require a gradient."""
        nodes = self.nodes
        if self.declared:
            return [name for name in self.inputs if not nodes[self.names[name]].frozen]
        places = self.names.items()
        return [name for name, i in places if (nodes[i].op is INPUT or nodes[i].op is LEAF) and not nodes[i].frozen]

    @property
    def output_name(self) -> str:
        """The output's name: its own, else the first of y, z, f, y_1, y_2, … that is free."""
        name = self.nodes[self.output].name
        if name is None and "y" not in self.names:
            return "y"
        return name or next(name for name in _output_names() if name not in self.names)

    @property
    def shown(self) -> list[int]:
        """The places of the nodes that a person sees: constants are left out, the output never."""
        return [i for i in range(self.output + 1) if not self.nodes[i].constant or i == self.output]

    def labels(self) -> dict[int, str]:
        """A name for each shown node: its own, `y` for an unnamed output, else v1, v2, … (skipping taken names)."""
        labels: dict[int, str] = {}
        taken = {*self.names, self.output_name}
        free = (name for name in _numbered("v", 1) if name not in taken)
        for i in self.shown:
            labels[i] = self.nodes[i].name or (self.output_name if i == self.output else next(free))
        return labels

    def select(self, name: str) -> None:
        """Make the node called `name` the output."""
        if name not in self.names:
            known = [n for n in self.names if not self.nodes[self.names[n]].is_leaf]
            hint = did_you_mean(name, known) or f"its names are {', '.join(known)}" if known else None
            raise ChainruleError("name", f"the program defines no {name!r}", hint=hint)
        self.output = self.names[name]

    def is_default(self, name: str) -> bool:
        """Whether the program itself gives `name` a value."""
        return name in self.at or self.nodes[self.names[name]].op is LEAF

    def missing(self, values: Mapping[str, Any]) -> list[str]:
        """The inputs that the output needs and that have a value neither in `values` nor in the program."""
        absent = [n for n in self.inputs if n not in values and not self.is_default(n)]
        needed = self.needed() if absent else []
        return [n for n in absent if needed[self.names[n]]]

    def needed(self) -> list[bool]:
        """For each node, whether the output depends on it."""
        needed = [False] * len(self.nodes)
        needed[self.output] = True
        for i in range(self.output, -1, -1):
            if needed[i]:
                for j in self.nodes[i].args:
                    needed[j] = True
        return needed

    def span(self, i: int) -> Span:
        """Where node `i` stands in the source: characters, found by cutting the source into words again."""
        first, after = self.nodes[i].span
        if self.lexer is None or not after:
            return Span(0, 0)
        if self._words is None:
            self._words = self.lexer(self.source)
        words, starts = self._words
        return Span(starts[first], starts[after - 1] + len(words[after - 1]))

    def error(self, kind: str, message: str, *places: int, hint: str | None = None) -> ChainruleError:
        """An error at the text of some nodes."""
        return ChainruleError(kind, message, spans=map(self.span, places), hint=hint, source=self.source or None)

    def constant_value(self, i: int) -> Value:
        """The value of a constant node."""
        values: dict[int, Value] = {}
        stack = [i]
        while stack:
            node = self.nodes[stack[-1]]
            todo = [j for j in node.args if j not in values]
            if todo:
                stack.extend(todo)
                continue
            place = stack.pop()
            values[place] = self.apply(place, [values[j] for j in node.args]) if node.value is None else node.value
        return values[i]

    # --- running one node ---------------------------------------------------------------------------------------------

    def apply(self, i: int, xs: Sequence[Any], *, traced: bool = True) -> Any:
        """The operation of node `i` on numbers and arrays or traced values, its errors placed in the source."""
        op = self.nodes[i].op
        try:
            value = op(*xs) if traced else op.computed(xs)
            return value if self.dtype is None else self.typed(value)
        except ChainruleError as error:
            raise error.located(self.source, self.span(i)) from None
        except UNFIT as error:
            raise misfit(op, xs, error).located(self.source, self.span(i)) from error

    def typed(self, value: Any) -> Any:
        """A number or an array in the graph's type; anything else as it is."""
        if self.dtype is None or value is None or isinstance(value, Traced):
            return value
        with quietly():  # a number too large becomes inf
            return np.asarray(value, dtype=self.dtype)[()]

    @property
    def largest(self) -> str:
        """The largest number in the graph's type, in short."""
        return f"{np.finfo(self.dtype or float).max:.1e}".replace("+", "")

    # --- building -----------------------------------------------------------------------------------------------------

    def append(self, op: Op, args: tuple[int, ...], span: tuple[int, int] = (0, 0)) -> int:
        """Add a node and return its place."""
        nodes = self.nodes
        constant = op is not INPUT and op is not LEAF
        for j in args:
            constant = constant and nodes[j].constant
        nodes.append(Node(op, args, span, constant))
        return len(nodes) - 1

    def number(self, value: float, span: tuple[int, int] = (0, 0)) -> int:
        """Add a number and return its place."""
        self.nodes.append(Node(NUMBER, (), span, True, value))
        return len(self.nodes) - 1

    def give_name(self, name: str, i: int) -> None:
        """Call node `i` by `name`."""
        self.nodes[i].name = name
        self.names[name] = i

    def canonical(self) -> list[tuple[Any, ...]]:
        """What the graph says, free of the order in which its nodes were made: numbers by value, the rest by place."""
        roots = [i for i in range(self.last + 1) if self.nodes[i].name is not None or i == self.last]
        place: dict[int, Any] = {}
        said: list[tuple[Any, ...]] = []
        stack = [*reversed(roots + self.assumptions)]
        while stack:
            i = stack[-1]
            node = self.nodes[i]
            todo = [] if i in place else [j for j in reversed(node.args) if j not in place]
            if todo:
                stack.extend(todo)
                continue
            stack.pop()
            if i in place:
                continue
            place[i] = ("number", node.value) if node.value is not None else len(said)
            if node.value is None:
                params = tuple((k, repr(v)) for k, v in node.op.params.items())
                said.append((node.op.name, params, tuple(place[j] for j in node.args), node.name, node.frozen))
        said.append((place.get(self.output), self.declared, tuple(self.shapes.items())))
        said.append(tuple((name, np.shape(value), np.asarray(value).tobytes()) for name, value in self.at.items()))
        return said

    def __eq__(self, other: object) -> bool:
        """Whether both say the same: statements, names, output and bar."""
        return self.canonical() == other.canonical() if isinstance(other, Graph) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        from .printing import program_text  # printing reads graphs; only this convenience points back

        return program_text(self)


def _numbered(stem: str, start: int) -> Iterator[str]:
    i = start
    while True:
        yield f"{stem}{i}"
        i += 1


def _output_names() -> Iterator[str]:
    yield from ("z", "f")
    yield from _numbered("y_", 1)
