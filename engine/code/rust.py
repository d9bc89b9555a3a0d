"""Code in Rust, by the methods of f64; the error functions and gamma are the C library's."""

from __future__ import annotations

from typing import ClassVar

from ..ops import Op
from .c import LIBM
from .emit import Piece
from .languages import ATOM, Body, Language, indented, words


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
