"""Code in Python, by its own `math`."""

from __future__ import annotations

import math
from typing import ClassVar

from ..ops import CONSTANTS, Op
from ..ops.arithmetic import CONDITIONAL, OR, POSTFIX, POWER, PRODUCT, SUM
from .emit import Piece
from .languages import Body, Language, indented, words


class Python(Language):
    """Python with its own `math`."""

    name, title, raises = "python", "Python's math module", True
    reserved = words(
        "False None True and as assert async await break class continue def del elif else except finally for from "
        "global if import in is lambda nonlocal not or pass raise return try while with yield math abs max min"
    )
    signs: ClassVar = {"and": "and", "or": "or", "not": "not", "ne": "!="}
    constants: ClassVar = {name: f"math.{name}" for name in CONSTANTS}
    nan, infinity = "math.nan", "math.inf"
    renamed: ClassVar = {"abs": "abs({})", "floor": "math.floor({})", "ceil": "math.ceil({})", "round": "round({})"}

    def number(self, value: float) -> str:
        """Whole numbers without a point: division is true division here."""
        text = super().number(value)
        return text.removesuffix(".0")

    def template(self, op: Op) -> str | None:
        """What `math` has under one of the operation's names."""
        if not op.elementwise:
            return None
        if op.name in self.renamed or op.infix:
            return {"%": "{} % {}", "//": "{} // {}"}.get(op.infix or "", self.renamed.get(op.name))
        found = next((name for name in (op.name, *op.aliases) if hasattr(math, name)), None)
        return None if found is None else f"math.{found}({', '.join(['{}'] * op.arity)})"

    def called(self, template: str, args: list[Piece]) -> Piece:
        """A call, or an operator that no other language has."""
        if template.startswith("{"):
            return Piece(template.format(*(self.operand(a, PRODUCT + 1) for a in args)), SUM)
        return super().called(template, args)

    def choice(self, c: Piece, a: Piece, b: Piece) -> Piece:
        """A conditional expression."""
        text = f"{self.operand(a, OR)} if {self.operand(c, OR)} else {self.operand(b, CONDITIONAL)}"
        return Piece(text, CONDITIONAL)

    def power(self, base: Piece, exponent: Piece) -> Piece:
        """`**` for whole exponents; elsewhere a negative base would give a complex number, and math.pow raises."""
        if exponent.number is not None and exponent.number.is_integer():
            return Piece(f"{self.operand(base, POSTFIX)}**{self.operand(exponent, POWER)}", POWER)
        return self.called("math.pow({}, {})", [base, exponent])

    def frame(self, body: Body, *, helper: bool = False) -> str:
        """A function with a docstring."""
        doc = [f'"""{body.doc[0]}', *body.doc[1:]]
        doc = [f'{doc[0]}"""'] if len(doc) == 1 else [*doc, '"""']
        value = body.value_text()
        if body.result is not None:
            value += f", {body.result.nested(body.result.texts)}"
        lines = [*doc, *(f"{name} = {text}" for name, text in body.lines), f"return {value}"]
        return f"def {body.name}({body.names}):\n{indented(lines)}"

    def module(self, body: Body) -> str:
        """Two empty lines between functions."""
        parts = [*self.helpers.values(), self.frame(body)]
        head = "import math\n\n\n" if any("math." in part for part in parts) else ""
        return head + "\n\n\n".join(parts) + "\n"
