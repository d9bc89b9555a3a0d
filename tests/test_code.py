"""Derivatives as code: every language's functions are compiled and run, and give the engine's numbers.

A language that is not on the machine is skipped. Every elementwise row of the table is either written or refused.
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import chainrule as cr
from chainrule import higher
from chainrule.code import LANGUAGES, code_text
from chainrule.code.expansions import EXPANSIONS
from chainrule.derive import derive
from chainrule.elementwise import Elementwise
from chainrule.errors import ChainruleError
from chainrule.evaluate import forward
from chainrule.ops import TABLE, Op
from chainrule.program import Program

PROGRAMS = [
    ("(x + w)*(w + 1)", "gradient"),
    ("x^3*w + sin(x*w)", "hessian"),
    ("[x*w, x/w, 3]", "jacobian"),
    ("1/2*x^2 + x/3 - 7//2 + w^-2 + (-w)^3 + w^0.5 + x^w + 2^70*x", "gradient"),
    ("0.1*x + 1e-300*w + 123456789.123456789*x + pi*e*w", "gradient"),
    ("sqrt(x - 1) if x > 1 else w", "gradient"),
    ("where(x > 5, log(x - 5)*sqrt(x - 5), where(w < 0.2 and x < 3, acosh(x + 1), asin(w/5))) + x", "gradient"),
    ("a = sqrt(x - 9); b = a*a + log(x - 9); a*b if x > 9 else w*x", "gradient"),
    ("(0 < x < 1) + (not w) + (x == w) + (x != w)*x + (x >= w or x <= 0.1) ", "gradient"),
    ("max(x, w, 0.5) + min(x, w)*abs(x - w) + sign(w - x) + clip(x, 0.2, w + 1)", "gradient"),
    ("x % w + x // w + (-x) % w + floor(x) + ceil(w) + round(x*3)", "gradient"),
    ("sigmoid(x*w)*softplus(-x) + relu(x - w) + tanh(w)^2", "gradient"),
    ("α_1 = 2x; lambda = α_1*w; X = x + 1; X*lambda*sin(α_1*lambda)", "gradient"),
    ("end*do + double*class/int", "gradient"),
    ("x*" * 400 + "w", "gradient"),
    ("sum((A @ v - t)^2)/mean(t) + max(v) | A: 2x3, v: 3, t: 2", "gradient"),
    ("v*t[0] | v: 2, t: 2", "jacobian"),
    ("x + inf*0", "gradient"),
]
# What a language does not have, besides the derivatives of sinc.
MISSING = {
    "python": {"erfinv", "digamma", "gamma", "lgamma"},
    "c": {"erfinv", "digamma", "gamma", "lgamma"},
    "fortran": {"erfinv", "digamma", "gamma", "lgamma"},
    "rust": {"erfinv", "digamma", "gamma", "lgamma"},
    "javascript": {"erfinv", "digamma", "gamma", "lgamma", "erf", "erfc", "gelu"},
    "julia": set(),
}


class Case(NamedTuple):
    """A function in code, where to call it, and what it must return there."""

    name: str
    code: str
    program: Program
    points: list[dict[str, Any]]
    expected: list[list[float]]
    kind: str
    shapes: tuple[tuple[int, ...], tuple[int, ...]]


def call(op: Op) -> str:
    if op.infix and op.level:
        return f"({f' {op.infix} '.join(op.inputs)})" if op.arity == 2 else f"{op.infix} {op.inputs[0]}"
    return f"{op.name}({', '.join(op.inputs)})"


ROWS = [op for op in TABLE.values() if op.public and op.elementwise and op.arity and not op.statics]


def drawn(program: Program, seed: int, row: Op | None) -> dict[str, Any]:
    """A point: inside the row's domain, or between 0.1 and 4."""
    random = np.random.default_rng(seed)
    if row is None:
        shapes = {name: program.shapes.get(name, ()) for name in program.inputs}
        return {name: np.round(random.uniform(0.1, 4, shape), 3).tolist() for name, shape in shapes.items()}
    lows = [max(i.low, -3.0) for i in row.domain]
    highs = [min(i.high, low + 6) for i, low in zip(row.domain, lows, strict=True)]
    return {n: low + random.uniform(0.05, 0.95) * (high - low)
            for n, low, high in zip(row.inputs, lows, highs, strict=True)}  # fmt: skip


def case(name: str, text: str, kind: str, language: str, row: Op | None = None) -> Case:
    program = cr.parse(text)
    derived = derive(program, kind, elementwise=True)
    points = [drawn(program, seed, row) for seed in range(3)]
    expected = []
    for point in points:
        if kind == "gradient":
            value, found = program.value_and_grad(point)
            flat = [float(v) for g in found.values() for v in np.ravel(g)]
        else:
            value = forward(program, point)[program.output]
            flat = [d.value for d in getattr(higher, kind)(program, point, program.inputs)]
        expected.append([*map(float, np.ravel(value)), *flat])
    code = code_text(derived, kind, language, name=name)
    return Case(name, code, program, points, expected, kind, (derived.value_shape, derived.shape))


def cases(language: str) -> list[Case]:
    """All programs, and every row that the language has; those refused are the ones that we know of."""
    made = [case(f"p{n}", text, kind, language) for n, (text, kind) in enumerate(PROGRAMS)]
    refused = set()
    for op in ROWS:
        try:
            made.append(case(f"row_{op.name}", call(op), "gradient", language, op))
        except ChainruleError as error:
            refused.add((op.name, LANGUAGES[language].title in error.message))
    assert refused == {(name, True) for name in MISSING[language]}
    return made


def compare(made: list[Case], printed: str) -> None:
    """The numbers printed, a line for each call, against the engine's."""
    lines = iter(printed.splitlines())
    for c in made:
        for point, expected in zip(c.points, c.expected, strict=True):
            found = [float(word.replace("D", "e")) for word in next(lines).split()]
            assert len(found) == len(expected), (c.name, str(c.program))
            scale = max([abs(v) for v in expected if math.isfinite(v)], default=1.0)
            for ours, theirs in zip(expected, found, strict=True):
                close = math.isclose(ours, theirs, rel_tol=2e-12, abs_tol=1e-14 * scale)
                assert close or (ours != ours and theirs != theirs), (c.name, str(c.program), point, ours, theirs)
    assert next(lines, None) is None


def needs(*commands: str) -> None:
    for command in commands:
        if shutil.which(command) is None:
            pytest.skip(f"{command} is not on this machine")


def output(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stderr.lower(), done.stderr
    return done.stdout


def arguments(c: Case, point: dict[str, Any], left: str = "[", right: str = "]") -> str:
    text = ", ".join(json.dumps(float(point[n]) if np.ndim(point[n]) == 0 else point[n]) for n in c.program.inputs)
    return text.replace("[", left).replace("]", right)


def test_python(tmp_path):
    made = cases("python")
    lines = [
        "from collections.abc import Iterable",
        "def flat(v):",
        "    return [u for w in v for u in flat(w)] if isinstance(v, Iterable) else [v]",
    ]
    for c in made:
        (tmp_path / f"module_{c.name}.py").write_text(c.code, encoding="utf-8")
        lines += [f"from module_{c.name} import {c.name}"]
        lines += [f"print(*[repr(float(v)) for v in flat({c.name}({arguments(c, point)}))])" for point in c.points]
    (tmp_path / "main.py").write_text("\n".join(lines), encoding="utf-8")
    compare(made, output(sys.executable, "-W", "error", "main.py", cwd=tmp_path))


def test_c(tmp_path):
    needs("cc")
    made = cases("c")
    lines = ["#include <stdio.h>"]
    body = []
    for c in made:
        (tmp_path / f"{c.name}.c").write_text(c.code, encoding="utf-8")
        size, count = math.prod(c.shapes[1]), math.prod(c.shapes[0])
        declared = [
            f"{'const double[' + ']['.join(map(str, s)) + ']' if (s := np.shape(c.points[0][n])) else 'double'}"
            for n in c.program.inputs
        ]
        outs = ["double*"] * bool(c.shapes[0]) + ["double*"]
        lines.append(f"{'void' if c.shapes[0] else 'double'} {c.name}({', '.join(declared + outs)});")
        for point in c.points:
            body.append("{")
            for k, n in enumerate(c.program.inputs):
                if s := np.shape(point[n]):
                    sizes = "".join(f"[{d}]" for d in s)
                    body.append(
                        f"const double a{k}{sizes} = {json.dumps(point[n]).replace('[', '{').replace(']', '}')};"
                    )
            given = ", ".join(f"a{k}" if np.ndim(point[n]) else repr(point[n]) for k, n in enumerate(c.program.inputs))
            body.append(f"double d[{size}], value[{count}];")
            if c.shapes[0]:
                body.append(f"{c.name}({given}, value, d);")
            else:
                body.append(f"value[0] = {c.name}({given}, d);")
            body.append(f'for (int i = 0; i < {count}; i++) printf("%.17g ", value[i]);')
            body.append(f'for (int i = 0; i < {size}; i++) printf("%.17g ", d[i]);')
            body.append('puts("");}')
    (tmp_path / "main.c").write_text("\n".join([*lines, "int main(void) {", *body, "return 0; }"]), encoding="utf-8")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-unused-function", "-pedantic", "-O0"]
    output("cc", *flags, *sorted(tmp_path.glob("*.c")), "-lm", "-o", "all", cwd=tmp_path)
    compare(made, output("./all", cwd=tmp_path))


def test_javascript(tmp_path):
    needs("node")
    made = cases("javascript")
    lines = ['"use strict";']
    for c in made:
        lines.append(f"const {c.name} = (() => {{ {c.code}\nreturn {c.name}; }})();")
        lines += [f"console.log({c.name}({arguments(c, point)}).flat(3).map(String).join(' '));" for point in c.points]
    (tmp_path / "main.js").write_text("\n".join(lines), encoding="utf-8")
    compare(made, output("node", "main.js", cwd=tmp_path).replace("Infinity", "inf"))


def test_rust(tmp_path):
    needs("rustc")
    made = cases("rust")
    modules, body = [], []
    for c in made:
        modules.append(f"mod m_{c.name} {{\n{c.code}}}")
        for point in c.points:
            given = ", ".join(
                f"&{json.dumps(v)}" if np.ndim(v := point[n]) else repr(float(v)) for n in c.program.inputs
            )
            body.append(f'let r = m_{c.name}::{c.name}({given}); println!("{{:?}}", r);')
    text = "\n".join([*modules, "fn main() {", *body, "}"])
    (tmp_path / "main.rs").write_text(text, encoding="utf-8")
    output("rustc", "--edition", "2021", "-A", "dead_code", "main.rs", cwd=tmp_path)
    printed = output("./main", cwd=tmp_path)
    for sign in "()[],":
        printed = printed.replace(sign, " ")
    compare(made, printed)


def test_fortran(tmp_path):
    needs("gfortran")
    made = cases("fortran")
    uses, declared, body = [], [], []
    for c in made:
        uses.append(f"use {c.name}_module, only: {c.name}")
        for k, point in enumerate(c.points):
            given = []
            for n in c.program.inputs:
                v = np.asarray(point[n])
                numbers = ", ".join(f"{x!r}d0" for x in map(float, v.ravel(order="F")))
                given.append(f"reshape([{numbers}], [{', '.join(map(str, v.shape))}])" if v.ndim else f"{float(v)!r}d0")
            value, d = f"u_{c.name}_{k}", f"d_{c.name}_{k}"
            shape = f"({math.prod(c.shapes[0])})" if c.shapes[0] else ""
            declared.append(f"real(real64) :: {value}{shape}, {d}({', '.join(map(str, c.shapes[1]))})")
            body.append(f"call {c.name}(" + ", &\n".join([*given, value, d]) + ")")
            order = f"transpose({d})" if len(c.shapes[1]) == 2 else d
            body.append(f"print '(*(es26.17e3))', {value}, {order}")
    text = [c.code for c in made] + ["program main", "use, intrinsic :: iso_fortran_env, only: real64", *uses]
    (tmp_path / "main.f90").write_text("\n".join([*text, "implicit none", *declared, *body, "end program"]), "utf-8")
    output(
        "gfortran",
        "-std=f2008",
        "-Wall",
        "-Wno-unused-function",
        "-Wno-unused-dummy-argument",
        "-Wno-compare-reals",
        "main.f90",
        "-o",
        "main",
        cwd=tmp_path,
    )
    compare(made, output("./main", cwd=tmp_path))


def test_julia(tmp_path):
    made = cases("julia")
    needs("julia")
    lines = []
    for c in made:
        lines.append(f"module M_{c.name}\n{c.code}end")
        for point in c.points:
            given = ", ".join(
                f"[{'; '.join(' '.join(map(repr, row)) for row in v)}]"
                if np.ndim(v := point[n]) == 2
                else json.dumps(v)
                for n in c.program.inputs
            )
            lines.append(f"let (v, d) = M_{c.name}.{c.name}({given}); println(join([v; vec(permutedims(d))], ' ')) end")
    (tmp_path / "main.jl").write_text("\n".join(lines), encoding="utf-8")
    compare(made, output("julia", "main.jl", cwd=tmp_path).replace("NaN", "nan"))


@pytest.mark.parametrize("name", EXPANSIONS)
def test_expansions_are_as_good_as_plain_formulas_can_be(name):
    op = TABLE[name]
    graph = cr.parse(EXPANSIONS[name], names=op.inputs)
    for seed in range(200):
        point = drawn(graph, seed, op)
        expected = float(op(*point.values()))
        assert cr.parse(EXPANSIONS[name], names=op.inputs).value_and_grad(point, [])[0] == pytest.approx(
            expected, rel=1e-12, abs=1e-300
        )


@pytest.mark.parametrize("name", ["sigmoid", "softplus", "logaddexp", "silu", "gauss", "round", "floordiv"])
def test_expansions_far_out(name):
    op = TABLE[name]
    graph = cr.parse(EXPANSIONS[name], names=op.inputs)
    for x in (-800.0, -30.0, -2.5, -0.5, 0.0, 0.5, 1.5, 0.49999999999999994, 30.0, 800.0):
        point = {n: x if k == 0 else 0.1 for k, n in enumerate(op.inputs)}
        assert graph.value_and_grad(point, [])[0] == pytest.approx(float(op(*point.values())), rel=1e-13, abs=1e-300)


def test_only_the_chosen_side_is_evaluated():
    """Python raises for sqrt(-1): what one side of a choice needs is not computed on the other."""
    code = code_text(
        Elementwise(cr.parse("a = sqrt(x); a*log(x)*a if x > 0 else x^2")).gradient(), "gradient", "python"
    )
    space: dict[str, Any] = {}
    exec(code, space)
    assert space["f"](-2.0) == (4.0, [-4.0])


# --- NumPy, for whole arrays ------------------------------------------------------------------------------------------

WHOLE = [
    "mean((sigmoid(x @ w + b) - t)^2) + norm(w) + norm(w, 1) | x: 5x3, w: 3, t: 5",
    "-mean(t*log(p) + (1 - t)*log(1 - p)) | p: 4, t: 4",
    "sum(x + b) + mean(x, axis=0)[1] + sum(mean(x, axis=1)) | x: 4x3, b: 3",
    "sum(x[1:]^2)*det(A) + erf(b)*sinc(b)*lgamma(b) + sum([1, 2, 3]*x) + sum(max(A, axis=1)) | x: 3, A: 2x2",
    "sum(inv(A)*B) + sum(A.T) + dot(A[0], B[1]) + sum(digamma(B)) | A: 2x2, B: 2x2",
    "sum(where(x > 0.5 and x < 0.8, x*w, w^-1)) + sum(zeros(3) + x) + sum(arange(3.)*x) | x: 2x3, w: 3",
    "sum((x - mean(x, axis=1, keepdims=True))^2 / w) | x: 4x3, w: 4x1",
]


def ran(code: str) -> Any:
    space: dict[str, Any] = {}
    exec(code, space)
    return space["f"]


@pytest.mark.parametrize("text", WHOLE + [text for text, kind in PROGRAMS if kind == "gradient"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numpy(text):
    program = cr.parse(text)
    function = ran(code_text(derive(program), "gradient", "numpy"))
    for seed in range(3):
        random = np.random.default_rng(seed)
        point = {name: random.uniform(0.1, 0.9, program.shapes.get(name, ())) for name in program.inputs}
        value, expected = program.value_and_grad(point)
        found, gradients = function(*point.values())
        assert found == pytest.approx(value, rel=1e-13, nan_ok=True)
        for ours, theirs in zip(gradients, expected.values(), strict=True):
            assert np.shape(ours) == np.shape(theirs)
            np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("op", ROWS, ids=[op.name for op in ROWS])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numpy_has_every_row(op):
    program = cr.parse(call(op))
    function = ran(code_text(derive(program), "gradient", "numpy"))
    point = drawn(program, 1, op)
    value, expected = program.value_and_grad(point)
    found, gradients = function(*point.values())
    assert [found, *gradients] == pytest.approx([value, *expected.values()], rel=1e-12)


def test_numpy_holds_for_other_lengths():
    text = "mean((tanh(x @ u + b) @ w - t)^2) | x: 5x3, u: 3x4, b: 4, w: 4, t: 5"
    program = cr.parse(text)
    function = ran(code_text(derive(program), "gradient", "numpy"))
    shapes = {"x": (7, 2), "u": (2, 6), "b": (6,), "w": (6,), "t": (7,)}
    point = {name: np.random.default_rng(0).normal(size=shapes[name]) for name in program.inputs}
    expected = program.value_and_grad(point)[1]
    for ours, theirs in zip(function(*point.values())[1], expected.values(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)


def test_numpy_hessian():
    program = cr.parse("sum((x*w)^3) | x: 3, w: 3")
    function = ran(code_text(derive(program, "hessian"), "hessian", "numpy"))
    point = {"x": [1.0, 2.0, 3.0], "w": [0.5, 0.25, 2.0]}
    expected = [d.value for d in higher.hessian(program, point, program.inputs)]
    assert function(*point.values())[1].shape == (6, 6)
    assert np.ravel(function(*point.values())[1]) == pytest.approx(expected)
