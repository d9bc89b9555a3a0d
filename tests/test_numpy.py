"""NumPy's functions on Tensors mean the table's rows: their values are NumPy's own, and gradients flow."""

from __future__ import annotations

import numpy as np
import pytest

import chainrule as cr

A, X, V = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0]), np.array([1.0, 2.0, 4.0])
CALLS = {
    "amax": lambda a, x, v: np.amax(a, axis=1),
    "cholesky": lambda a, x, v: np.linalg.cholesky(a),
    "concatenate": lambda a, x, v: np.concatenate([x, v]),
    "concatenate along": lambda a, x, v: np.concatenate((a, a * a), 1),
    "cross": lambda a, x, v: np.cross(v, v * v),
    "cumsum": lambda a, x, v: np.cumsum(v),
    "cumsum along": lambda a, x, v: np.cumsum(a, 0),
    "det": lambda a, x, v: np.linalg.det(a),
    "diag": lambda a, x, v: np.diag(a),
    "diag of a vector": lambda a, x, v: np.diag(x, 1),
    "dot": lambda a, x, v: np.dot(a, x),
    "eigvalsh": lambda a, x, v: np.linalg.eigvalsh(a),
    "flip": lambda a, x, v: np.flip(a, axis=1),
    "inv": lambda a, x, v: np.linalg.inv(a),
    "kron": lambda a, x, v: np.kron(a, x),
    "matmul": lambda a, x, v: np.matmul(a, x),
    "matrix_transpose": lambda a, x, v: np.matrix_transpose(a),
    "outer": lambda a, x, v: np.outer(x, v),
    "pinv": lambda a, x, v: np.linalg.pinv(a),
    "prod": lambda a, x, v: np.prod(a, axis=0, keepdims=True),
    "reshape": lambda a, x, v: np.reshape(a, (1, 4)),
    "reshape to a vector": lambda a, x, v: np.reshape(a, -1),
    "slogdet": lambda a, x, v: np.linalg.slogdet(a)[1],
    "solve": lambda a, x, v: np.linalg.solve(a, x),
    "stack": lambda a, x, v: np.stack([x, x * x], axis=1),
    "std": lambda a, x, v: np.std(a, axis=1, keepdims=True),
    "trace": lambda a, x, v: np.trace(a),
    "transpose": lambda a, x, v: np.transpose(a, (1, 0)),
    "tril": lambda a, x, v: np.tril(a, -1),
    "triu": lambda a, x, v: np.triu(a),
    "var": lambda a, x, v: np.var(v, ddof=1),
    "vector_norm": lambda a, x, v: np.linalg.vector_norm(a, ord=1),
    "method reshape": lambda a, x, v: v.reshape(3, 1),
    "method reshape of a tuple": lambda a, x, v: v.reshape((3, 1)),
    "method trace": lambda a, x, v: a.trace(),
    "method cumsum": lambda a, x, v: v.cumsum(0),
    "method prod": lambda a, x, v: v.prod(),
    "method var": lambda a, x, v: v.var(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_numpy_function(call):
    leaves = [cr.tensor(value, requires_grad=True) for value in (A, X, V)]
    found, expected = call(*leaves), call(A, X, V)
    assert found.grad_fn is not None
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-13)
    found.backward(np.ones(np.shape(expected)))
    assert any(leaf.grad is not None and np.any(leaf.grad.numpy()) for leaf in leaves)


def test_tensors_given_by_name():
    x, z = cr.tensor([1.0, 2.0]), cr.tensor([1.0, 2.0], requires_grad=True)
    assert np.sum(x, where=x > 1).item() == 2
    assert np.max(x, where=x < 2, initial=0).item() == 1
    assert np.clip(np.ones(2), a_min=x, a_max=3).tolist() == [1, 2]
    for call in (lambda: np.sum(z, where=z > 1), lambda: np.clip(np.ones(2), a_min=z, a_max=3)):
        with pytest.raises(cr.ChainruleError, match="is not differentiable here"):
            call()


def test_pair_of_slogdet():
    sign, size = np.linalg.slogdet(cr.tensor(A, requires_grad=True))
    assert (sign.item(), size.item()) == (1, pytest.approx(np.log(5)))


@pytest.mark.parametrize(
    "call",
    [
        lambda a: np.linalg.norm(a, 2), lambda a: np.linalg.cholesky(a, upper=True), lambda a: np.trace(a, 1),
        lambda a: np.reshape(a, 4, order="F"), lambda a: np.prod(a, dtype=float),
    ],
)  # fmt: skip
def test_other_meanings_are_refused(call):
    with pytest.raises((cr.ChainruleError, TypeError, ValueError)):
        call(cr.tensor(A, requires_grad=True))
