"""Code in Fortran 2008; what it lacks comes from the C library."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..ops import Op
from ..ops.arithmetic import POSTFIX, POWER
from .c import LIBM
from .emit import Piece
from .languages import ATOM, Body, Language, indented, words


class Fortran(Language):
    """Fortran 2008; what it lacks comes from the C library."""

    name, title, ascii_names, folds_case = "fortran", "Fortran", True, True
    own = words(
        "exp log log10 sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh sqrt hypot erf erfc gamma"
    ) | {"abs"}
    native = own | LIBM
    renamed: ClassVar = {"lgamma": "log_gamma({})", "round": "c_rint({})"} | {
        n: f"c_{n}({{}})" for n in LIBM - own - {"lgamma"}
    }
    reserved = (
        words("if then else end do function subroutine module use real integer call result sign mod modulo merge value")
        | native
    )
    signs: ClassVar = {"and": ".and.", "or": ".or.", "not": ".not.", "ne": "/="}
    nan, infinity = "ieee_value(0d0, ieee_quiet_nan)", "ieee_value(0d0, ieee_positive_inf)"

    def number(self, value: float) -> str:
        """A number of double precision."""
        text = super().number(value)
        if "ieee" in text:
            return text
        return text.replace("e", "d") if "e" in text else f"{text}d0"

    def choice(self, c: Piece, a: Piece, b: Piece) -> Piece:
        """Merge, which evaluates both sides: nothing raises here."""
        return Piece(f"merge({a.text}, {b.text}, {c.text})", ATOM)

    def power(self, base: Piece, exponent: Piece) -> Piece:
        """`**`, with whole exponents as integers, which take negative bases."""
        text = self.operand(exponent, ATOM)
        if exponent.number is not None and exponent.number.is_integer() and abs(exponent.number) < 1e9:
            whole = int(exponent.number)
            text = str(whole) if whole >= 0 else f"({whole})"
        return Piece(f"{self.operand(base, POSTFIX)}**{text}", POWER)

    def template(self, op: Op) -> str | None:
        """The remainder is an intrinsic; note what the C library must bring."""
        if op.infix == "%":
            return "modulo({}, {})"
        found = super().template(op)
        if found is not None and found.startswith("c_"):
            self.used.add(found[2:].partition("(")[0])
        return found

    def frame(self, body: Body, *, helper: bool = False) -> str:
        """A function, or a subroutine that gives the value and the derivatives."""
        declared = [
            f"real(real64), intent(in) :: {p.name}{_fortran_shape(p.shape)}" for p in body.parameters
        ]  # fmt: skip
        out: list[str] = []
        if helper:
            head = f"pure function {body.name}({body.names}) result(value)"
            declared.append("real(real64) :: value")
        else:
            assert body.result is not None
            head = (
                f"subroutine {body.name}({', '.join([*(p.name for p in body.parameters), 'value', body.result.name])})"
            )
            for result in (*([] if isinstance(body.value, str) else [body.value]), body.result):
                declared.append(f"real(real64), intent(out) :: {result.name}{_fortran_shape(result.shape)}")
                places = map(self.element, [result.name] * len(result.texts), np.ndindex(result.shape))
                out += [f"{place} = {text}" for place, text in zip(places, result.texts, strict=True)]
            if isinstance(body.value, str):
                declared.append("real(real64), intent(out) :: value")
        if isinstance(body.value, str):
            out.insert(0, f"value = {body.value}")
        declared += [f"real(real64) :: {name}" for name, _ in body.lines]
        lines = [*declared, *(f"{name} = {text}" for name, text in body.lines), *out]
        doc = "\n".join(f"! {line}" for line in body.doc)
        kind = "function" if helper else "subroutine"
        inside = "\n".join(_continued(line) for line in lines)
        return f"{doc}\n{_continued(head, '')}\n{inside}\nend {kind} {body.name}"

    def element(self, name: str, key: tuple[int, ...]) -> str:
        """Indices count from 1."""
        return f"{name}({', '.join(str(k + 1) for k in key)})"

    def module(self, body: Body) -> str:
        """A module with the interfaces of the C library's functions."""
        functions = [*self.helpers.values(), self.frame(body)]
        uses = ["use, intrinsic :: iso_fortran_env, only: real64"]
        if any("ieee_value" in text for text in functions):
            uses.append("use, intrinsic :: ieee_arithmetic")
        if self.used:
            uses.append("use, intrinsic :: iso_c_binding, only: c_double")
        interface = ""
        if self.used:
            inside = "\n".join(INTERFACE_FORTRAN.replace("NAME", name) for name in sorted(self.used))
            interface = f"    interface\n{inside}\n    end interface\n"
        inside = "\n\n".join(indented(text.splitlines()) for text in functions)
        head = indented([*uses, "implicit none"])
        name = f"{body.name}_module"
        return f"module {name}\n{head}\n{interface}contains\n\n{inside}\n\nend module {name}\n"


INTERFACE_FORTRAN = """        pure function c_NAME(x) bind(c, name="NAME")
            import c_double
            real(c_double), intent(in), value :: x
            real(c_double) :: c_NAME
        end function c_NAME"""


def _fortran_shape(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))})" if shape else ""


def _continued(line: str, by: str = "    ", width: int = 100) -> str:
    """A line of Fortran, cut into shorter ones."""
    parts = []
    while len(line) > width:
        cut = max(line.rfind(sign, 0, width) for sign in (" ", "*", ",", "("))
        if cut <= 0:
            break
        parts.append(line[: cut + 1] + "&")
        line = "    &" + line[cut + 1 :]
    return "\n".join(f"{by}{part}" for part in [*parts, line])
