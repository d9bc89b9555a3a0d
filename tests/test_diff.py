"""`chainrule diff`: the real command, its formulas against the engine's numbers, its files, its limits."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from command import run

import chainrule as cr

FORMULAS = [
    "x^3*w - w/x",
    "exp(-x^2/2)*sin(w*x)",
    "where(x > 0.3, sqrt(x)*w, x^2)",
    "max(x, w)*min(x, 2) + abs(x - w)",
    "x % w + sigmoid(x*w) + tanh(w)^2",
    "log(x, w + 1) + atan2(x, w) + hypot(x, w)",
    "0.1*x^2.5 + 1e-3*w^0.3 + 123456789.123*x",
    "relu(x - w) + softplus(x)*gelu(w)",
]
POINT = {"x": 0.7, "w": 1.3}


def derivatives(command: str) -> dict[str, str]:
    result = run(f"chainrule diff {command} --json")
    assert result.status == 0, result.err
    return json.loads(result.out)["derivatives"]


@pytest.mark.parametrize("option", ["--simplify", "--no-simplify"])
@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_are_the_gradient(text, option):
    expected = cr.parse(text).value_and_grad(POINT)[1]
    for name, formula in derivatives(f"'{text}' {option}").items():
        assert cr.parse(formula).value_and_grad(POINT, [])[0] == pytest.approx(expected[name], rel=1e-9)


@pytest.mark.parametrize("text", ["gamma(x)", "digamma(x)*w", "lgamma(x)^2", "erfinv(x/2)", "x^w", "erf(x)"])
def test_special_functions_read_back(text):
    expected = cr.parse(text).value_and_grad(POINT)[1]
    for name, formula in derivatives(f"'{text}' --order 1").items():
        assert cr.parse(formula).value_and_grad(POINT, [])[0] == pytest.approx(expected[name], rel=1e-9)


def test_one_formula_stands_alone():
    assert run("chainrule diff x^3").out == "3*x^2\n"
    assert run("chainrule diff x^3*w").out == "dy/dx = 3*w*x^2\ndy/dw = x^3\n"
    inner = run("chainrule diff x^3").out.strip()
    assert run(["chainrule", "diff", inner]).out == "6*x\n"


def test_values_are_put_in_afterwards():
    assert run("chainrule diff x^3 x=2").out == "12\n"
    assert run("chainrule diff x^3 x=2 --no-simplify").out == "12\n"
    assert run("chainrule diff 'x^3 | x = 2'").out == "12\n"
    assert run("chainrule diff 'w*x^3' w=2 --wrt x").out == "6*x^2\n"
    assert run("chainrule diff 'w*x^3' w=2 --wrt x --order 2 --no-simplify").out == "12*x\n"
    assert derivatives("'w*x^3' w=2 x=3 --hessian") == {"x,x": "36", "x,w": "27", "w,x": "27", "w,w": "0"}
    assert derivatives("'sum(x*w)' x=[1,2] --wrt w --no-simplify") == {"w": "3"}
    assert "const double y = 2.0*x;" in run("chainrule diff a*x a=2 --wrt x --format c").out


def test_orders_and_matrices():
    assert derivatives("'x^5*w' --order 3 --wrt x") == {"x,x,x": "60*w*x^2"}
    assert derivatives("'[x*w, x/w]' --jacobian") == {
        "y[0],x": "w",
        "y[0],w": "x",
        "y[1],x": "1/w",
        "y[1],w": "-x/w^2",
    }
    latex = json.loads(run("chainrule diff x^2*w --hessian --format latex --json").out)
    assert latex["matrix"].count("&") == 2


@pytest.mark.parametrize("options", ["", "--hessian", "--no-simplify", "--order 2"])
def test_mathml_is_xml(options):
    out = run(f"chainrule diff 'x^2*sin(w*x)/a_1 if x < w else α' --format mathml {options}").out
    roots = [ET.fromstring(line) for line in out.splitlines()]
    assert roots
    assert all(root.tag == "{http://www.w3.org/1998/Math/MathML}math" for root in roots)


def test_latex_names():
    out = run("chainrule diff 'α_1*x' --format latex").out
    assert out == "\\frac{\\partial y}{\\partial \\alpha_{1}} = x\n\\frac{\\partial y}{\\partial x} = \\alpha_{1}\n"
    assert run("chainrule diff 'x^5' --order 4 --format latex").out == "120 x\n"


@pytest.mark.parametrize(
    ("file", "start"), [("g.c", "#include <math.h>"), ("g.py", "def f(x)"), ("g.rs", "/// The value"), ("g.tex", "2 x")]
)
def test_the_suffix_says_the_format(tmp_path, file, start):
    assert run(f"chainrule diff x^2 -o {tmp_path / file}").out == ""
    assert (tmp_path / file).read_text(encoding="utf-8").startswith(start)


def test_a_failing_program_leaves_the_file_alone(tmp_path):
    (tmp_path / "g.c").write_text("precious", encoding="utf-8")
    assert run(f"chainrule diff 'digamma(x)' -o {tmp_path / 'g.c'}").status == 2
    assert (tmp_path / "g.c").read_text(encoding="utf-8") == "precious"


def test_a_file_that_cannot_be_written(tmp_path):
    result = run(f"chainrule diff x^2 -o {tmp_path}/none/g.c")
    assert result.status == 2
    assert result.err.startswith("error: ")
    assert "Traceback" not in result.err


def test_the_limit_of_time():
    text = "*".join(f"sin(x*w^{i} + cos(x^{i}/(1 + w)))" for i in range(2, 40))
    result = run(["chainrule", "diff", text, "--timeout", "1"])
    assert result.status == 0
    assert "note: not simplified: SymPy took longer than 1 s" in result.err
    assert result.out.startswith("v1 = ")
    assert "dy/dx = " in result.out


def test_comments_do_not_reach_the_code():
    hostile = "# */ int main() {\n# \"\"\"\ny = x^2  # '''"
    for language in ("c", "python", "rust", "julia", "fortran", "javascript", "numpy"):
        code = run(["chainrule", "diff", hostile, "--format", language]).out
        assert "main" not in code
        assert "#" not in code.replace("#include", "").replace("#[allow", "")


def test_large_sums_are_linear():
    text = " + ".join(f"x*sin({i}*w)" for i in range(3000))
    done = subprocess.run(
        [sys.executable, "-m", "chainrule", "diff", "-", "--format", "python"],
        input=text, capture_output=True, text=True, timeout=100, check=True,
    )  # fmt: skip
    space: dict = {}
    exec(done.stdout, space)
    value, gradients = space["f"](0.3, 0.01)
    expected = cr.parse(text).value_and_grad({"x": 0.3, "w": 0.01})
    assert value == pytest.approx(expected[0], rel=1e-9)
    assert gradients == pytest.approx(list(expected[1].values()), rel=1e-9)


def test_arrays_as_text_read_back():
    formula = derivatives("'mean((x @ w - t)^2) | x: 5x3, w: 3, t: 5' --wrt w")["w"]
    random = np.random.default_rng(0)
    point = {"x": random.normal(size=(5, 3)), "w": random.normal(size=3), "t": random.normal(size=5)}
    expected = cr.parse("mean((x @ w - t)^2)").value_and_grad(point)[1]["w"]
    found = cr.parse(formula).run(point).output.detach().numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("text", ["x*2 | x: 3", "foo(x)", "1/2x"])
def test_errors_as_json(text):
    result = run(["chainrule", "diff", text, "--json"])
    assert result.status == 2
    assert set(json.loads(result.out)) == {"id", "expression", "error"}
