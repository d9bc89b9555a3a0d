"""`chainrule grad FILE.py:FUNCTION`, and derivatives beyond the gradient: the real command."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from command import Finished, run

SAMPLE = "samples/functions.py"


def record(command: str) -> dict:
    result = run(f"chainrule grad --json {command}")
    assert (result.status, result.err) == (0, ""), result.err
    assert result.out.count("\n") == 1, result.out
    return json.loads(result.out)


def refused(result: Finished) -> str:
    """The message of a command that ended with one error and nothing else."""
    assert result.status == 2
    assert result.out == ""
    assert "Traceback" not in result.err
    assert result.err.count("error:") == 1
    return result.err


def rows(text: str) -> dict[str, list[str]]:
    """The lines of a table by their first word, the first of each."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        words = line.split()
        if words:
            found.setdefault(words[0], words)
    return found


# --- functions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("a", [0.7, 1e-4, 1e5, -0.7])
def test_control_flow(a):
    made = record(f"{SAMPLE}:control_flow a={a}")
    assert made["gradients"]["a"] == pytest.approx(made["value"] / a, rel=1e-15)
    assert abs(made["value"]) >= (100_000 if a < 0 else 1000)


def test_newton_root():
    made = record(f"{SAMPLE}:newton_root c=2 --check")
    assert made["value"] == pytest.approx(math.sqrt(2), rel=1e-14)
    assert made["gradients"]["c"] == pytest.approx(1 / (2 * math.sqrt(2)), rel=1e-10)
    assert made["check"]["c"]["verdict"] == "agrees"
    assert (made["output"], made["nodes"][-1]["name"]) == ("x", "x")


def test_argument_with_a_default():
    few = record(f"{SAMPLE}:newton_root c=2 steps=1 --no-grad steps")
    assert few["value"] == 1.5
    assert few["gradients"] == {"c": 0.25}


def test_two_layers():
    x, w1, w2 = np.array([1.0, -2.0]), np.array([[0.5, 0.1], [-0.3, 0.2]]), np.array([[1.0, 2.0]])
    made = record(f"{SAMPLE}:two_layers x=[1,-2] w1=[[0.5,0.1],[-0.3,0.2]] w2=[[1,2]] --check")
    hidden = np.tanh(w1 @ x)
    slope = 2 * (w2 @ hidden - 1)
    below = (slope @ w2) * (1 - hidden**2)
    assert made["value"] == pytest.approx(float(np.sum((w2 @ hidden - 1) ** 2)), rel=1e-14)
    assert made["gradients"]["w2"] == pytest.approx(np.outer(slope, hidden), rel=1e-13)
    assert made["gradients"]["w1"] == pytest.approx(np.outer(below, x), rel=1e-13)
    assert made["gradients"]["x"] == pytest.approx(w1.T @ below, rel=1e-13)
    assert {check["verdict"] for check in made["check"].values()} == {"agrees"}
    assert len(made["check"]) == 8


def test_names_of_local_variables():
    command = f"{SAMPLE}:two_layers x=[1,2] w1=[[1,0],[0,1]] w2=[1,1]"
    nodes = {node["name"]: node for node in record(f"{command} --retain hidden")["nodes"]}
    assert {"x", "w1", "w2", "hidden", "output", "two_layers"} <= set(nodes)
    assert nodes["hidden"]["grad_fn"] == "TanhBackward0"
    assert nodes["two_layers"]["grad_fn"] == "SumBackward0"
    slope = 2 * (math.tanh(1) + math.tanh(2) - 1)
    assert nodes["hidden"]["grad"] == pytest.approx([slope, slope], rel=1e-14)
    assert nodes["output"]["grad"] is None


def test_table_and_differences():
    result = run(f"chainrule grad {SAMPLE}:control_flow a=0.7")
    assert (result.status, result.err) == (0, "")
    lines = rows(result.out)
    assert lines["b"][-4:] == ["no", "yes", "MulBackward0", "None"]
    assert lines["a"][-1] == "2048"
    assert lines["db/da"][1:4] == ["2048", "differences", "agree"]


def test_only_some_inputs():
    command = f"{SAMPLE}:two_layers x=[1,2] w1=[[1,0],[0,1]] w2=[1,1]"
    assert list(record(f"{command} --wrt w2,x")["gradients"]) == ["w2", "x"]
    made = record(f"{command} --no-grad x")
    assert list(made["gradients"]) == ["w1", "w2"]


def test_argument_without_gradient_keeps_its_name():
    made = record(f"{SAMPLE}:two_layers x=[1,2] w1=[[1,0],[0,1]] w2=[1,1] --no-grad x")
    assert "x" in {node["name"] for node in made["nodes"]}


# --- functions of one's own -------------------------------------------------------------------------------------------

CODE = """\
import math
import numpy as np

def boom(x):
    y = x * 2
    return y / [][0]

def nothing(x):
    x * 2

def text(x):
    return "text"

def several(x):
    return [x, x * 2]

def dropped(x):
    return math.sin(x)

def detached(x):
    return x * x.detach()

def constant(x):
    return 3.0

def kink(x):
    return np.abs(x)

def vector(x):
    return x * x

def leaves(x):
    raise SystemExit(0)

def talks(x):
    print("hello")
    return x * x

def helped(x):
    return deeper(x)

def deeper(x):
    return np.cumprod(x)

count = 3
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("own") / "own.py"
    path.write_text(CODE)
    return path


@pytest.mark.parametrize(
    ("function", "parts"),
    [
        ("boom x=1", ["IndexError: list index out of range", "own.py, line 6: return y / [][0]"]),
        ("nothing x=1", ["nothing must return a number, an array or a tensor, not NoneType"]),
        ("text x=1", ["text must return a number, an array or a tensor, not str"]),
        ("several x=1", ["several must return a number, an array or a tensor, not list"]),
        ("dropped x=1", ["line 18: return math.sin(x)", "np.sin or cr.sin"]),
        ("helped x=[1,2]", ["np.cumprod is not differentiable", "line 43: return np.cumprod(x)"]),
        ("vector x=[1,2]", ["only for scalar outputs"]),
        ("leaves x=1", ["SystemExit", "own.py, line 33"]),
        ("vektor x=1", ["has no function 'vektor'", "did you mean 'vector'?"]),
        ("count x=1", ["has no function 'count'"]),
        ("vector", ["vector needs values for x", "add x=…"]),
        ("vector x=1 y=2", ["vector has no argument 'y'", "it takes x"]),
        ("vector x=1 --wrt y", ["y is no argument that requires a gradient"]),
        ("vector x=1 --retain y", ["no node is called 'y'"]),
    ],
)
def test_errors_in_the_persons_file(file, function, parts):
    message = refused(run(f"chainrule grad {file}:{function}"))
    for part in parts:
        assert part in message


@pytest.mark.parametrize(
    ("code", "message"),
    [("def f(x:\n", "line 1: '(' was never closed"), ("import no_such_module\n", "ModuleNotFoundError: No module"),
     ("1/0\n", "ZeroDivisionError"), ("raise SystemExit(0)\n", "SystemExit")],
)  # fmt: skip
def test_file_that_does_not_run(tmp_path, code, message):
    (tmp_path / "own.py").write_text(code)
    assert message in refused(run(f"chainrule grad {tmp_path}/own.py:f x=1"))


def test_no_such_file():
    assert "nowhere.py cannot be read: no such file" in refused(run("chainrule grad nowhere.py:f x=1"))


def test_error_as_json(file):
    result = run(f"chainrule grad {file}:boom x=1 --json")
    assert result.status == 2
    assert "IndexError" in json.loads(result.out)["error"]["message"]


@pytest.mark.parametrize("option", ["--order 2", "--jvp 1"])
def test_options_for_expressions_only(file, option):
    message = run(f"chainrule grad {file}:vector x=1 {option}")
    assert message.status == 2
    assert f"{option.split()[0]} is for expressions, not for Python functions" in message.err


def test_random_functions_cannot_be_checked(tmp_path):
    (tmp_path / "own.py").write_text("import numpy as np\ndef f(x): return x*np.random.rand() + 5*x.detach()\n")
    done = run(f"chainrule grad {tmp_path}/own.py:f x=2")
    assert "not checked: the function gives other values each time it is called" in " ".join(done.out.split())


def test_cotangent_of_a_vector(file):
    made = record(f"{file}:vector x=[1,2] --cotangent [1,10] --check")
    assert made["gradients"] == {"x": [2, 40]}
    assert {check["verdict"] for check in made["check"].values()} == {"agrees"}


def test_wrong_gradient_differs(file):
    result = run(f"chainrule grad {file}:detached x=3")
    assert "DIFFERS: differences find 6" in result.out


def test_kink_is_not_called_wrong(file):
    result = run(f"chainrule grad {file}:kink x=0")
    assert "the sides give -1 and 1" in result.out
    assert "DIFFERS" not in result.out


def test_constant_result(file):
    made = record(f"{file}:constant x=2 --check")
    assert (made["value"], made["gradients"]["x"], made["check"]["x"]["verdict"]) == (3, 0, "agrees")


def test_what_the_function_prints_does_not_mix_with_the_result(file):
    result = run(f"chainrule grad {file}:talks x=3 --json")
    assert json.loads(result.out)["gradients"] == {"x": 6}


# --- beyond the gradient ----------------------------------------------------------------------------------------------


def test_order():
    made = record("x^3*w x=2 w=3 --order 2 --check")
    assert made["derivatives"] == {"x,x": 36, "w,w": 0}
    assert {check["verdict"] for check in made["check"].values()} == {"agrees"}
    assert record("sin(x)*w x=0 w=1 --order 5 --wrt x")["derivatives"] == {"x,x,x,x,x": 1}
    assert record("a*x a=2 x=3 --order 3")["derivatives"] == {"a,a,a": 0, "x,x,x": 0}


def test_order_as_a_table():
    lines = rows(run("chainrule grad x^3*w x=2 w=3 --order 2").out)
    assert lines["d²y/dx²"][1:] == ["36", "6*w*x", "SymPy", "agrees", "to", "15", "digits"]
    assert lines["d²y/dw²"][1] == "0"


def test_hessian():
    made = record("'x[0]^2*x[1]*w' x=[2,3] w=5 --hessian --check")
    assert made["hessian"] == {
        "rows": ["x[0]", "x[1]", "w"],
        "columns": ["x[0]", "x[1]", "w"],
        "matrix": [[30, 20, 12], [20, 0, 4], [12, 4, 0]],
    }
    assert made["gradients"] == {"x": [60, 20], "w": 12}
    assert len(made["check"]) == 9
    assert {check["verdict"] for check in made["check"].values()} == {"agrees"}


def test_hessian_as_a_table():
    lines = [line.split() for line in run("chainrule grad x^3*w x=2 w=3 --hessian").out.splitlines()]
    header = lines.index(["x", "w"])
    assert lines[header + 2 : header + 4] == [["x", "36", "12"], ["w", "12", "0"]]
    assert ["d²y/dx", "dw", "12", "3*x^2", "SymPy", "agrees", "to", "15", "digits"] in lines


def test_jacobian():
    made = record("x*w x=[1,2] w=3 --jacobian")
    assert made["jacobian"] == {
        "rows": ["y[0]", "y[1]"],
        "columns": ["x[0]", "x[1]", "w"],
        "matrix": [[3, 0, 1], [0, 3, 2]],
    }
    assert record("x*w x=2 w=3 --jacobian")["jacobian"]["matrix"] == [[3, 2]]


def test_every_element_of_a_jacobian_is_checked():
    made = record("x*w x=[1,2] w=3 --jacobian --check")
    assert len(made["check"]) == 6
    assert {check["verdict"] for check in made["check"].values()} == {"agrees"}


def test_jacobian_as_a_table():
    out = run("chainrule grad x*w x=[1,2] w=3 --jacobian").out
    lines = rows(out)
    assert lines["y[0]"] == ["y[0]", "3", "0", "1"]
    assert lines["dy[1]/dw"][1:4] == ["2", "x[1]", "SymPy"]
    assert out.count("SymPy agrees") == 6


def test_jvp():
    made = record("x*w x=[1,2] w=3 --jvp 'x=[1,0], w=2'")
    assert made["jvp"] == {"direction": {"x": [1, 0], "w": 2}, "product": [5, 4]}
    assert record("x*w x=[1,2] w=3 --jvp 'x=[1,0]'")["jvp"]["product"] == [3, 0]
    assert record("sum(x*x) x=[1,2] --jvp [1,10]")["jvp"]["product"] == 42
    assert "dy = [5, 4]" in run("chainrule grad x*w x=[1,2] w=3 --jvp x=[1,0],w=2").out


@pytest.mark.parametrize(
    ("command", "part"),
    [
        ("x*x x=3 --order 2 --jvp 1", "--order and --jvp ask for different things"),
        ("x*x x=3 --hessian --jacobian", "--hessian and --jacobian ask for different things"),
        ("x*w x=3 w=1 --jvp 1", "--jvp needs a direction for each input"),
        ("x*x x=3 --order 0", "--order"),
    ],
)
def test_usage(command, part):
    result = run(f"chainrule grad {command}")
    assert (result.status, result.out) == (2, "")
    assert part in result.err


@pytest.mark.parametrize(
    ("command", "part"),
    [
        ("'sum(x*x)' x=[1,2] --order 2", "--order asks for scalars; x has shape (2,)"),
        ("x*x x=[1,2] --hessian", "scalar output"),
        ("x*w x=[1,2] w=3 --jvp x=1", "Mismatch in shape"),
        ("x*w x=[1,2] w=3 --jvp z=1", "z is no input of the program"),
    ],
)
def test_refusals(command, part):
    assert part in refused(run(f"chainrule grad {command}"))
