"""What the languages that code is written in have in common, and how a whole function is put together.

A language says how it writes numbers, choices, powers and a function's frame, and which operations it has; those it
does not have become helper functions, made from their expansion by the same emitter.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from ..errors import ChainruleError
from ..graph import Graph
from ..ops import CONSTANTS, TABLE, Op
from ..ops.arithmetic import AND, COMPARISON, CONDITIONAL, NOT, OR, PRODUCT, SUM, identity, neg, where
from ..ops.arrays import index
from ..ops.barriers import const, detach
from ..ops.powers import pow_
from ..printing import ascii_name
from ..program import parse
from .emit import Emitter, Piece
from .expansions import EXPANSIONS

ATOM = 99
TRANSPARENT = (identity, detach, const)  # their value is their argument


class Result(NamedTuple):
    """What a function returns besides the value: its name (gradient), the shape, what each entry is, and the texts."""

    name: str
    shape: tuple[int, ...]
    labels: list[str]
    texts: list[str]

    def nested(self, texts: Sequence[str], left: str = "[", right: str = "]") -> str:
        """The entries as a list, for several axes as a list of lists."""
        for size in reversed(self.shape[1:]):
            texts = [f"{left}{', '.join(texts[i : i + size])}{right}" for i in range(0, len(texts), size)]
        return f"{left}{', '.join(texts)}{right}"


class Parameter(NamedTuple):
    """An argument: its name, and its shape."""

    name: str
    shape: tuple[int, ...] = ()


class Body(NamedTuple):
    """A function's parts; the value of an output that is an array is a result, a helper has none besides its value."""

    name: str
    parameters: list[Parameter]
    doc: list[str]
    lines: list[tuple[str, str]]
    value: str | Result
    result: Result | None

    @property
    def names(self) -> str:
        """The parameters' names."""
        return ", ".join(p.name for p in self.parameters)

    def value_text(self, left: str = "[", right: str = "]") -> str:
        """The value; that of an array as a list."""
        return self.value if isinstance(self.value, str) else self.value.nested(self.value.texts, left, right)


class Language:
    """One target; see the subclasses."""

    name: ClassVar[str]
    title: ClassVar[str]
    raises: ClassVar[bool] = False  # whether functions raise outside of their domain
    ascii_names: ClassVar[bool] = False
    folds_case: ClassVar[bool] = False
    reserved: frozenset[str] = frozenset()  # names that no variable may have
    native: ClassVar[frozenset[str]] = frozenset()  # functions that it calls as we do
    renamed: ClassVar[Mapping[str, str]] = {}  # templates of the others
    constants: ClassVar[Mapping[str, str]] = {}
    signs: ClassVar[Mapping[str, str]] = {"and": "&&", "or": "||", "not": "!", "ne": "!="}
    nan: ClassVar[str] = "NAN"
    infinity: ClassVar[str] = "INFINITY"
    call: ClassVar[str] = "{}"

    def __init__(self) -> None:
        self.helpers: dict[str, str] = {}
        self.used: set[str] = set()  # the functions that were called, for imports

    # --- expressions --------------------------------------------------------------------------------------------------

    def piece(self, graph: Graph, i: int, args: list[Piece]) -> Piece:
        """The text of node `i`, given those of its inputs."""
        node = graph.nodes[i]
        op = node.op
        if node.value is not None:
            return Piece(self.number(node.value), ATOM, number=node.value)
        if op.name in CONSTANTS:
            return self._constant(op)
        if op in TRANSPARENT:
            return args[0]
        if op.name == index.name:
            return Piece(self.element(args[0].text, op.params["key"]), ATOM)
        if op is neg:
            value = None if args[0].number is None else -args[0].number
            return Piece(f"-{self.operand(args[0], PRODUCT)}", SUM, number=value)
        if op is pow_:
            return self.power(*map(self.as_number, args))
        if op is where:
            return self.choice(self.as_truth(args[0]), self.as_number(args[1]), self.as_number(args[2]))
        if op.level == COMPARISON:
            sides = [self.operand(self.as_number(a), SUM) for a in args]
            return Piece(f" {self.signs.get(op.name, op.infix or '')} ".join(sides), COMPARISON, True)
        if op.level == NOT:
            return self.negation(self.as_truth(args[0]))
        if op.level in (AND, OR):
            return self._logic(op, [self.as_truth(a) for a in args])
        if op.infix in ("+", "-", "*", "/"):
            left, right = (self.as_number(a) for a in args)
            sign = op.infix if op.level == PRODUCT else f" {op.infix} "
            text = f"{self.operand(left, op.level)}{sign}{self.operand(right, op.level + 1)}"
            return Piece(text, op.level)
        numbers = [self.as_number(a) for a in args]
        if op.variadic and op.elementwise:  # the largest of many is the larger of two, again and again
            two = TABLE[op.aliases[0]]
            return functools.reduce(lambda a, b: self.function(two, [a, b]), numbers)
        return self.function(op, numbers)

    def element(self, name: str, key: tuple[int, ...]) -> str:
        """An element of an array."""
        return name + "".join(f"[{k}]" for k in key)

    def operand(self, piece: Piece, level: int) -> str:
        """A text of at least that precedence, in brackets where it has less."""
        return piece.text if piece.level >= level else f"({piece.text})"

    def _constant(self, op: Op) -> Piece:
        if op.name in self.constants:
            return Piece(self.constants[op.name], ATOM)
        return Piece(self.number(float(op.forward())), ATOM)

    def _logic(self, op: Op, args: list[Piece]) -> Piece:
        sides = [self.operand(a, COMPARISON) for a in args]
        return Piece(f" {self.signs[op.name]} ".join(sides), op.level, True)

    def negation(self, piece: Piece) -> Piece:
        """Not a truth value."""
        sign = self.signs["not"]
        return Piece(f"{sign}{' ' * sign.isalpha()}({piece.text})", NOT, True)

    def conjunction(self, pieces: list[Piece]) -> Piece:
        """All of the truth values."""
        if len(pieces) == 1:
            return pieces[0]
        return Piece(f" {self.signs['and']} ".join(self.operand(p, COMPARISON) for p in pieces), AND, True)

    def as_number(self, piece: Piece) -> Piece:
        """A truth value as 1 or 0."""
        if not piece.truth:
            return piece
        return self.choice(piece, Piece(self.number(1.0), ATOM), Piece(self.number(0.0), ATOM))

    def as_truth(self, piece: Piece) -> Piece:
        """A number as a truth value: whether it is not 0."""
        if piece.truth:
            return piece
        return Piece(f"{self.operand(piece, SUM)} {self.signs['ne']} {self.number(0.0)}", COMPARISON, True)

    def guarded(self, piece: Piece, condition: Piece) -> Piece:
        """A text that is evaluated only where the condition holds."""
        return self.choice(condition, piece, Piece(self.nan, ATOM))

    def number(self, value: float) -> str:
        """A number with all its digits, and always with a point, so that no division is one of integers."""
        if value != value:
            return self.nan
        if math.isinf(value):
            return self.infinity
        return repr(value)

    def choice(self, c: Piece, a: Piece, b: Piece) -> Piece:
        """`a` where `c` holds, else `b`."""
        text = f"{self.operand(c, OR)} ? {self.operand(a, OR)} : {self.operand(b, CONDITIONAL)}"
        return Piece(text, CONDITIONAL)

    def power(self, base: Piece, exponent: Piece) -> Piece:
        """`base` to a power."""
        if exponent.number == 2 and re.fullmatch(r"\w+", base.text):
            return Piece(f"{base.text}*{base.text}", PRODUCT)
        return self.called("pow({}, {})", [base, exponent])

    def called(self, template: str, args: list[Piece]) -> Piece:
        """A call."""
        return Piece(template.format(*(a.text for a in args)), ATOM)

    def function(self, op: Op, args: list[Piece]) -> Piece:
        """A function: the language's own, or a helper."""
        template = self.template(op)
        if template is not None:
            return self.called(template, args)
        if op.name not in EXPANSIONS or op.params:
            raise ChainruleError(
                "limit",
                f"{self.title} has no {op.name}",
                hint="NumPy with SciPy has more functions: --format numpy" if self.name != "numpy" else None,
            )
        return self.called(self._helper(op) + f"({', '.join(['{}'] * len(args))})", args)

    def template(self, op: Op) -> str | None:
        """How the language calls an operation, None where it has none."""
        slots = f"({', '.join(['{}'] * max(op.arity, 1))})"
        if op.name in self.renamed:
            return self.renamed[op.name]
        if op.name in self.native:
            return self.call.format(op.name) + slots
        return None

    def _helper(self, op: Op) -> str:
        """Write an operation out as a function of its own; its name."""
        name = self.identifier(op.name)
        if name not in self.helpers:
            graph = parse(EXPANSIONS[op.name], names=op.inputs)
            names = {i: self.identifier(word) for word, i in graph.names.items()}
            emitter = Emitter(self, graph, [graph.output], names)
            texts = emitter.run()
            body = Body(
                name, [Parameter(self.identifier(n)) for n in op.inputs], [op.doc], emitter.lines, texts[0], None
            )
            self.helpers[name] = self.frame(body, helper=True)
        return name

    # --- names and frames ---------------------------------------------------------------------------------------------

    def identifier(self, name: str) -> str:
        """A name that the language takes: Greek letters spelled where it knows only ASCII, reserved words changed."""
        if self.ascii_names:
            name = ascii_name(name)
        return f"{name}_" if (name.lower() if self.folds_case else name) in self.reserved else name

    def frame(self, body: Body, *, helper: bool = False) -> str:
        """The text of a function."""
        raise NotImplementedError

    def module(self, body: Body) -> str:
        """The whole text: what it needs first, the helpers, the function."""
        return "\n\n".join([*filter(None, [self.preamble()]), *self.helpers.values(), self.frame(body)]) + "\n"

    def preamble(self) -> str:
        """Imports."""
        return ""


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def indented(lines: Sequence[str], by: str = "    ") -> str:
    """Lines with space before them."""
    return "\n".join(f"{by}{line}" if line else "" for line in lines)
