"""The languages: Python, C, Julia, Fortran, Rust and JavaScript.

The word lists say what a language has: its keywords, and the functions that it calls as the table does.
"""

from __future__ import annotations

import math
import re
from typing import ClassVar

import numpy as np

from ..ops import CONSTANTS, Op
from ..ops.arithmetic import CONDITIONAL, OR, POSTFIX, POWER, PRODUCT, SUM
from .emit import Piece
from .languages import ATOM, Body, Language, Parameter, indented, words

LIBM = words(
        "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh sqrt "
        "cbrt hypot floor ceil erf erfc lgamma"
    )  # fmt: skip


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


class Rust(Language):
    """Rust's f64; the error functions and gamma are those of the C library."""

    name, title, ascii_names = "rust", "Rust's f64", True
    reserved = words(
        "as break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub "
        "ref return self static struct super trait true type unsafe use where while async await abstract become box "
        "do final macro override priv try typeof unsized virtual yield gen"
    )  # fmt: skip
    native = LIBM - {"erf", "erfc", "lgamma"} | {"abs"}
    renamed: ClassVar = {"log": "ln", "expm1": "exp_m1", "log1p": "ln_1p", "round": "round_ties_even"}
    linked: ClassVar = {"erf": "erf", "erfc": "erfc", "gamma": "tgamma", "lgamma": "lgamma"}
    constants: ClassVar = {"pi": "std::f64::consts::PI", "e": "std::f64::consts::E", "tau": "std::f64::consts::TAU"}
    nan, infinity = "f64::NAN", "f64::INFINITY"

    def function(self, op: Op, args: list[Piece]) -> Piece:
        """Methods, and functions of the C library."""
        if op.name in self.native or op.name in self.renamed:
            return self.method(self.renamed.get(op.name, op.name), args)
        if op.name in self.linked:
            name = self.linked[op.name]
            self.helpers.setdefault(name, LINKED_RUST.replace("NAME", name))
            return self.called(f"{name}({{}})", args)
        if op.infix == "%":
            self.helpers.setdefault("modulo", MODULO_RUST)
            return self.called("modulo({}, {})", args)
        return super().function(op, args)

    def method(self, name: str, args: list[Piece]) -> Piece:
        """A method of the first argument; a bare number says its type."""
        first = f"{args[0].text}_f64" if args[0].number is not None and args[0].level == ATOM else None
        receiver = first or self.operand(args[0], ATOM)
        return Piece(f"{receiver}.{name}({', '.join(a.text for a in args[1:])})", ATOM)

    def power(self, base: Piece, exponent: Piece) -> Piece:
        """Whole exponents by products, others by powf."""
        if exponent.number is not None and exponent.number.is_integer() and abs(exponent.number) < 1024:
            return self.method("powi", [base, Piece(str(int(exponent.number)), ATOM)])
        return self.method("powf", [base, exponent])

    def choice(self, c: Piece, a: Piece, b: Piece) -> Piece:
        """An if expression."""
        return Piece(f"if {c.text} {{ {a.text} }} else {{ {b.text} }}", 0)

    def frame(self, body: Body, *, helper: bool = False) -> str:
        """A function that returns the value and the derivatives."""
        value = body.value_text()
        kind = _rust_type(() if isinstance(body.value, str) else body.value.shape)
        if body.result is not None:
            value, kind = (
                f"({value}, {body.result.nested(body.result.texts)})",
                f"({kind}, {_rust_type(body.result.shape)})",
            )
        parameters = ", ".join(f"{p.name}: {'&' * bool(p.shape)}{_rust_type(p.shape)}" for p in body.parameters)
        lines = [*(f"let {name}: f64 = {text};" for name, text in body.lines), value]
        doc = "".join(f"/// {line}\n" for line in body.doc)
        quiet = "#[allow(unused_parens, non_snake_case)]\n"
        return f"{doc}{quiet}{'pub ' * (not helper)}fn {body.name}({parameters}) -> {kind} {{\n{indented(lines)}\n}}"


def _rust_type(shape: tuple[int, ...]) -> str:
    kind = "f64"
    for size in reversed(shape):
        kind = f"[{kind}; {size}]"
    return kind


LINKED_RUST = """/// of the C library, which Rust's programs are linked with
fn NAME(x: f64) -> f64 {
    unsafe extern "C" {
        fn NAME(x: f64) -> f64;
    }
    unsafe { NAME(x) }
}"""
MODULO_RUST = """/// the remainder with the sign of y
fn modulo(x: f64, y: f64) -> f64 {
    let r = x % y;
    if r != 0.0 && (r < 0.0) != (y < 0.0) { r + y } else { r }
}"""


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


LANGUAGES: dict[str, type[Language]] = {
    language.name: language for language in (Python, C, Julia, Fortran, Rust, JavaScript)
}
