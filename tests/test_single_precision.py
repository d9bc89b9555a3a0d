"""float32 on request: everything that a program computes stays float32, and is judged by float32's own precision."""

from __future__ import annotations

import json

import numpy as np
import pytest
from accuracy import rows
from command import run

import chainrule as cr
from chainrule.analysis import analyse
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


def test_unknown_type():
    with pytest.raises(cr.ChainruleError, match="cannot compute in float16"):
        cr.parse("x", dtype="float16")
