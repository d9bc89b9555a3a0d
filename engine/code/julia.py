"""Code in Julia; special functions come from SpecialFunctions.jl."""

from __future__ import annotations

import re
from typing import ClassVar

from ..ops import Op
from ..ops.arithmetic import POSTFIX, POWER
from .c import LIBM
from .emit import Piece
from .languages import Body, Language, indented, words


class Julia(Language):
    """Julia; special functions come from SpecialFunctions.jl."""

    name, title, raises = "julia", "Julia", True
    reserved = words(
        "baremodule begin break catch const continue do else elseif end export false finally for function global if "
        "import let local macro module quote return struct true try using while pi im Inf NaN"
    )  # fmt: skip
    special = frozenset({"erf", "erfc", "erfinv", "gamma", "lgamma", "digamma", "polygamma"})
    native = (LIBM - {"atan2"}) | special | {"abs", "sign", "round"}
    renamed: ClassVar = {
        "atan2": "atan({}, {})", "maximum": "max({}, {})", "minimum": "min({}, {})", "mod": "mod({}, {})",
        "floordiv": "fld({}, {})", "lgamma": "first(logabsgamma({}))",
    }  # fmt: skip
    constants: ClassVar = {"pi": "Float64(pi)", "inf": "Inf"}
    nan, infinity = "NaN", "Inf"

    def function(self, op: Op, args: list[Piece]) -> Piece:
        """Note which functions another package brings."""
        if op.name in self.special:
            self.used.add(re.findall(r"\w+", "logabsgamma" if op.name == "lgamma" else op.name)[0])
        if op.name == "polygamma":
            return self.called(f"polygamma({op.params.get('order', 1)}, {{}})", args)
        return super().function(op, args)

    def power(self, base: Piece, exponent: Piece) -> Piece:
        """`^`, with whole exponents as integers, which Julia compiles to products."""
        text = exponent.text
        if exponent.number is not None and exponent.number.is_integer() and abs(exponent.number) < 1e9:
            text = str(int(exponent.number))
        return Piece(f"{self.operand(base, POSTFIX)}^{text if text.isalnum() else f'({text})'}", POWER)

    def element(self, name: str, key: tuple[int, ...]) -> str:
        """Indices count from 1."""
        return f"{name}[{', '.join(str(k + 1) for k in key)}]"

    def preamble(self) -> str:
        """The package of the special functions that are used."""
        return f"using SpecialFunctions: {', '.join(sorted(self.used))}" if self.used else ""

    def frame(self, body: Body, *, helper: bool = False) -> str:
        """A function that returns the value and the derivatives."""
        value = body.value_text()
        if body.result is not None:
            rows = body.result.texts
            if len(body.result.shape) == 2:
                n = body.result.shape[1]
                inside = "; ".join(" ".join(f"({t})" for t in rows[i : i + n]) for i in range(0, len(rows), n))
            else:
                inside = ", ".join(rows)
            value += f", [{inside}]"
        lines = [*(f"{name} = {text}" for name, text in body.lines), f"return {value}"]
        doc = '"""\n' + "\n".join(body.doc) + '\n"""'
        return f"{doc}\nfunction {body.name}({body.names})\n{indented(lines)}\nend"
