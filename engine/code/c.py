"""Code in C99, by math.h, whose functions most languages have."""

from __future__ import annotations

from typing import ClassVar

from ..ops import Op
from .languages import Body, Language, Parameter, indented, words

LIBM = words(
    "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh sqrt "
    "cbrt hypot floor ceil erf erfc lgamma"
)


class C(Language):
    """C99 with math.h."""

    name, title, ascii_names = "c", "C's math.h", True
    reserved = words(
        "auto break case char const continue default do double else enum extern float for goto if inline int long "
        "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while "
        "gradient hessian jacobian derivative main y0 y1 yn j0 j1 jn gamma round signbit div abs"
    ) | LIBM  # fmt: skip
    native = LIBM
    renamed: ClassVar = {"abs": "fabs({})", "gamma": "tgamma({})", "round": "rint({})"}

    def frame(self, body: Body, *, helper: bool = False) -> str:
        """A function that returns the value and writes the derivatives where its last argument points."""
        parameters = [_c_parameter(p) for p in body.parameters]
        lines = [f"const double {name} = {text};" for name, text in body.lines]
        if body.result is not None:
            parameters.append(f"double {body.result.name}[{len(body.result.texts)}]")
            lines += [f"{body.result.name}[{n}] = {text};" for n, text in enumerate(body.result.texts)]
        kind = "static double" if helper else "double"
        if isinstance(body.value, str):
            lines.append(f"return {body.value};")
        else:
            kind = "void"
            parameters.insert(len(body.parameters), f"double value[{len(body.value.texts)}]")
            lines += [f"value[{n}] = {text};" for n, text in enumerate(body.value.texts)]
        doc = [f"/* {body.doc[0]}", *(f"   {line}" for line in body.doc[1:])]
        head = "\n".join([*doc[:-1], doc[-1] + " */"])
        return f"{head}\n{kind} {body.name}({', '.join(parameters) or 'void'})\n{{\n{indented(lines)}\n}}"

    def template(self, op: Op) -> str | None:
        """The remainder has C's function, and the sign to mend."""
        if op.infix == "%":
            self.helpers.setdefault("modulo", MODULO_C)
            return "modulo({}, {})"
        return super().template(op)

    def preamble(self) -> str:
        """The header of the functions."""
        return "#include <math.h>"


def _c_parameter(parameter: Parameter) -> str:
    sizes = "".join(f"[{size}]" for size in parameter.shape)
    return f"{'const ' * bool(sizes)}double {parameter.name}{sizes}"


MODULO_C = """/* the remainder with the sign of y */
static double modulo(double x, double y)
{
    const double r = fmod(x, y);
    return r != 0.0 && (r < 0.0) != (y < 0.0) ? r + y : r;
}"""
