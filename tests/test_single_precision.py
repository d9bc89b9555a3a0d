"""float32 on request: everything that a program computes stays float32, and is judged by float32's own precision."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from accuracy import rows
from command import run

import chainrule as cr
from chainrule.analysis import analyse
from chainrule.cli.stream.blocks import Block
from chainrule.cli.stream.settings import Settings
from chainrule.cli.stream.work import Worker
from chainrule.crosscheck import compare

SINGLE = np.dtype(np.float32)
PROGRAMS = [
    ("y = (x + w)*(w + 1)/3", {"x": 2, "w": 0.1}),
    ("a = 2*pi; y = sum(sin(a*x) + [1, 2, 3]/7)", {"x": [0.1, 0.2, 0.3]}),
    ("k = 0.1; y = mean(sigmoid(A@x + k*ones(2)))", {"A": [[1, 2], [3, 4]], "x": [0.5, -0.3]}),
    ("y = gamma(x) + erfinv(w)*cbrt(x) + x^2.5*logaddexp(x, w)", {"x": 1.5, "w": 0.25}),
    ("y = norm(x) + det(inv([[x[0], 1], [1, 2]])) if x[0] > 0 else 0", {"x": [1, 2]}),
]


@pytest.mark.parametrize(("text", "values"), PROGRAMS)
def test_all_stays_single(text, values):
    program = cr.parse(text, dtype="float32")
    value, gradients = program.value_and_grad(values)
    assert all(np.asarray(v).dtype == SINGLE for v in (value, *gradients.values()))
    analysis = analyse(program, values, retain="all")
    shown = [v for row in analysis.nodes for v in (row.value, row.grad) if v is not None]
    assert all(np.asarray(v).dtype == SINGLE for v in (*shown, *analysis.gradients.values()))
    in_doubles, others = cr.parse(text).value_and_grad(values)
    np.testing.assert_allclose(value, in_doubles, rtol=2e-6)
    for name, gradient in gradients.items():
        np.testing.assert_allclose(gradient, others[name], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(gradient, analysis.gradients[name], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("op", [op for op in rows().values() if op.public], ids=lambda op: op.name)
def test_rows_keep_single_precision(op):
    """Forward, backward and backward again on arrays and numbers of float32, as near to doubles as float32 can be."""
    ends = [(max(low, -2.0), min(high, 3.0)) for low, high in op.domain]
    arrays = [
        np.linspace(low, high, 7, dtype=np.float32)[1:-1] + SINGLE.type(0.01 * i) for i, (low, high) in enumerate(ends)
    ]
    for xs in (arrays, [x[1] for x in arrays]):
        leaves = [cr.tensor(x, requires_grad=True) for x in xs]
        result = op(*leaves)
        assert result.dtype == SINGLE
        firsts = cr.grad(result, leaves, np.ones(result.shape), create_graph=True, materialize_grads=True)
        doubles = [cr.tensor(np.asarray(x, dtype=float), requires_grad=True) for x in xs]
        true = cr.grad(op(*doubles), doubles, np.ones(result.shape), materialize_grads=True)
        for first, other in zip(firsts, true, strict=True):
            assert first.dtype == SINGLE
            np.testing.assert_allclose(first.detach().numpy(), other.numpy(), rtol=4e-6, atol=1e-6)


def test_single_array_with_a_double():
    """As in PyTorch, a number has no say in the type, and each leaf's gradient has the leaf's own."""
    x = cr.tensor([1.0, 2.0], requires_grad=True, dtype=np.float32)
    w = cr.tensor(0.1, requires_grad=True)
    y = (x * w + 0.5).sum()
    y.backward()
    assert (y.dtype, x.grad.dtype, w.grad.dtype) == (SINGLE, SINGLE, np.float64)
    assert w.grad.item() == 3


def test_verdict_knows_the_precision():
    single = np.finfo(np.float32)
    third = "0.333333333333333333333333333333"
    assert compare(np.float32(1 / 3), third, 0.0, single) == ("agrees", 6, 0)
    assert compare(float(np.float32(1 / 3)), third, 0.0)[0] == "differs"
    assert compare(np.float32(0.33334), third, 0.0, single)[0] == "differs"


def test_command_shows_what_float32_has():
    record = json.loads(run(["chainrule", "y=0.1*x", "x=3", "--dtype", "float32", "--json"]).out)
    assert record["dtype"] == "float32"
    assert record["value"] == 0.3
    assert record["gradients"] == {"x": 0.1}
    assert "0.1" in run(["chainrule", "y=0.1*x", "x=3", "--dtype", "float32", "--digits", "17", "--no-check"]).out
    assert "float64" in run(["chainrule", "x", "x=3", "--dtype", "float16"]).err


def test_batch_together_and_one_by_one():
    """Rows of one program, each by itself or all as arrays, come to the same float32, written in its own digits."""
    points = [{"x": k / 7, "w": 3 - k / 11} for k in range(1, 30)]
    for text in ("y = sin(0.1*x)*w + x^2.5", "k = 0.1; y = k*gamma(x)/exp(w)", "y = x if x > w else sigmoid(w)*0"):
        lines = [json.dumps({"expression": text, "at": point}).encode() for point in points]
        together = Worker(Settings(dtype="float32")).run(Block(1, 1, None, "jsonl", b"\n".join(lines))).texts
        single = Worker(Settings(dtype="float32"))
        assert together == [single.run(Block(i, i, None, "jsonl", line)).texts[0] for i, line in enumerate(lines, 1)]
        program = cr.parse(text, dtype="float32")
        for point, record in zip(points, map(json.loads, together), strict=True):
            value, gradients = program.value_and_grad(point)
            assert record["dtype"] == "float32"
            assert [record["value"], *record["gradients"].values()] == [
                float(str(v)) for v in (value, *gradients.values())
            ]


def test_batch_of_rows_and_formats(tmp_path):
    table = tmp_path / "points.csv"
    table.write_text("x,w\n3,0.3\n0.1,pi\n1e-40,2\n1e39,1\n")
    words = ["chainrule", "batch", str(table), "--expression", "y=sin(0.1*x)*w", "--dtype", "float32"]
    done = run(words)
    *found, error = map(json.loads, done.out.splitlines())
    assert [r["value"] for r in found] == [0.08865607, pytest.approx(math.sin(0.01) * math.pi, rel=2.0**-22), 2e-41]
    assert [r["gradients"]["w"] for r in found] == [0.29552022, 0.009999834, 1e-41]
    assert "larger than the largest float32" in error["error"]["message"]
    lines = run([*words, "--format", "csv"]).out.splitlines()
    assert lines[1] == "2,0.08865607,0.028660098,0.29552022,"
    checked = [json.loads(line) for line in run([*words, "--check"]).out.splitlines()]
    assert [r["check"]["x"]["verdict"] for r in checked[:3]] == ["agrees"] * 3


def test_pictures_and_explanations_have_its_digits():
    words = ["y=sin(0.1*x)*w", "x=3", "w=0.3", "--dtype", "float32", "--json"]
    for command in ("graph", "explain"):
        text = run(["chainrule", command, *words]).out
        assert json.loads(text)["dtype"] == "float32"
        assert "0.300000011" not in text
        assert '"local": 0.9553365' in text


def test_functions_of_a_file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("import numpy as np\ndef f(x, w):\n    return np.sin(0.1*x)*w\n")
    done = run(["chainrule", f"{path}:f", "x=3", "w=0.3", "--dtype", "float32", "--json", "--check"])
    record = json.loads(done.out)
    assert (record["dtype"], record["value"]) == ("float32", 0.08865607)
    assert record["gradients"] == {"x": 0.028660098, "w": 0.29552022}
    assert {check["verdict"] for check in record["check"].values()} == {"agrees"}


def test_too_large():
    program = cr.parse("x", dtype="float32")
    with pytest.raises(cr.ChainruleError, match=r"the value of x is larger than the largest float32, about 3\.4e38"):
        program.value_and_grad({"x": [1.0, 1e39]})
    with pytest.raises(cr.ChainruleError, match=r"1e39 is larger than the largest number, about 3\.4e38"):
        cr.parse("1e39*x", dtype="float32")
    assert program.value_and_grad({"x": np.inf})[0] == np.inf
    assert cr.parse("1e39*x").value_and_grad({"x": 1})[0] == 1e39


def test_unknown_type():
    with pytest.raises(cr.ChainruleError, match="cannot compute in float16"):
        cr.parse("x", dtype="float16")


@pytest.mark.parametrize("power", [2, 3, 2.5, -1, 0.1])
def test_recorded_gradients_of_powers_stay_single(power):
    x = cr.tensor([0.3, 0.6], requires_grad=True, dtype="float32")
    (g,) = cr.grad(cr.sum(x**power), x, create_graph=True)
    assert g.dtype == np.float32
