"""Code in JavaScript, by Math."""

from __future__ import annotations

from typing import ClassVar

from ..ops import Op
from ..ops.arithmetic import POSTFIX, POWER
from .c import LIBM
from .emit import Piece
from .languages import Body, Language, indented, words


class JavaScript(Language):
    """JavaScript with Math."""

    name, title = "javascript", "JavaScript's Math"
    reserved = words(
        "await break case catch class const continue debugger default delete do else enum export extends false "
        "finally for function if implements import in instanceof interface let new null package private protected "
        "public return static super switch this throw true try typeof var void while with yield Math NaN Infinity "
        "arguments eval undefined"
    )
    signs: ClassVar = {"and": "&&", "or": "||", "not": "!", "ne": "!==", "eq": "==="}
    native = LIBM - {"exp2", "erf", "erfc", "lgamma"} | {"abs", "sign"}
    renamed: ClassVar = {"maximum": "Math.max({}, {})", "minimum": "Math.min({}, {})"}
    constants: ClassVar = {"pi": "Math.PI", "e": "Math.E"}
    nan, infinity, call = "NaN", "Infinity", "Math.{}"

    def number(self, value: float) -> str:
        """All numbers are floating."""
        return super().number(value).removesuffix(".0")

    def power(self, base: Piece, exponent: Piece) -> Piece:
        """The operator `**`, which no sign may stand before."""
        return Piece(f"{self.operand(base, POSTFIX)}**{self.operand(exponent, POSTFIX)}", POWER)

    def template(self, op: Op) -> str | None:
        """The remainder has the sign of x, to be mended."""
        if op.infix == "%":
            self.helpers.setdefault("modulo", MODULO_JAVASCRIPT)
            return "modulo({}, {})"
        return super().template(op)

    def frame(self, body: Body, *, helper: bool = False) -> str:
        """A function that returns the value and the derivatives in a list."""
        value = body.value_text()
        if body.result is not None:
            value = f"[{value}, {body.result.nested(body.result.texts)}]"
        lines = [*(f"const {name} = {text};" for name, text in body.lines), f"return {value};"]
        doc = "/**\n" + "".join(f" * {line}\n" for line in body.doc) + " */"
        return f"{doc}\nfunction {body.name}({body.names}) {{\n{indented(lines, '  ')}\n}}"


MODULO_JAVASCRIPT = """/**
 * the remainder with the sign of y
 */
function modulo(x, y) {
  const r = x % y;
  return r !== 0 && (r < 0) !== (y < 0) ? r + y : r;
}"""
