"""Every recorded result of PyTorch: values, gradients, gradients of gradients, names of backward functions."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from truth import close, pairs, recorded, ulps

import chainrule as cr

ROWS = recorded("pytorch.jsonl")

# Where the names of backward functions differ from PyTorch's on purpose.
NAMED_OTHERWISE = {
    "1/x": ("DivBackward0", "it is a division; PyTorch's MulBackward0 is the product behind a hidden reciprocal"),
    "logdet(A)": ("LogdetBackward0", "PyTorch's WhereBackward0 is the choice of nan behind a hidden slogdet"),
}
# PyTorch's trigamma is off by 1e-10: the derivatives by mpmath decide, of the first and of the second order.
MORE_EXACT = {
    "lgamma(x)": (mpmath.digamma, lambda x: mpmath.psi(1, x)),
    "digamma(x)": (lambda x: mpmath.psi(1, x), lambda x: mpmath.psi(2, x)),
}
every_row = pytest.mark.parametrize("row", ROWS, ids=[f"{n}: {row['expression']}" for n, row in enumerate(ROWS)])


def run(row: dict[str, Any]) -> tuple[dict[str, cr.Tensor], cr.Tensor]:
    """The row's inputs as Tensors, and the output of a run on them."""
    leaves = {name: cr.tensor(value, requires_grad=True) for name, value in row["inputs"].items()}
    return leaves, cr.parse(row["expression"]).run(leaves).output


def taken(leaves: dict[str, cr.Tensor]) -> dict[str, Any]:
    """The gradients, taken off the leaves."""
    found = {name: leaf.grad for name, leaf in leaves.items()}
    for leaf in leaves.values():
        leaf.grad = None
    return found


def numbers(gradient: cr.Tensor | None, leaf: cr.Tensor) -> Any:
    return np.zeros(leaf.shape) if gradient is None else gradient.detach().numpy()


@every_row
def test_tensors(row):
    leaves, output = run(row)
    assert close(output.detach().numpy(), row["value"])
    output.backward(row.get("cotangent"))
    for name, gradient in taken(leaves).items():
        check_first(row, name, numbers(gradient, leaves[name]))


@every_row
def test_numbers(row):
    value, gradients = cr.parse(row["expression"]).value_and_grad(row["inputs"], cotangent=row.get("cotangent"))
    assert close(value, row["value"])
    assert gradients.keys() == row["grads"].keys()
    for name, gradient in gradients.items():
        check_first(row, name, gradient)


def check_first(row: dict[str, Any], name: str, ours: Any) -> None:
    if row["expression"] in MORE_EXACT:
        slope, _ = MORE_EXACT[row["expression"]]
        for (x, got), (_, c) in zip(pairs(row["inputs"][name], ours), cotangents(row), strict=True):
            with mpmath.workdps(40):
                assert ulps(got, c * slope(mpmath.mpf(x))) <= 6
    else:
        assert close(ours, row["grads"][name])


def cotangents(row: dict[str, Any]) -> Any:
    """Each element of the value, with its cotangent."""
    return pairs(row["value"], row.get("cotangent", 1.0))


@every_row
def test_gradients_of_gradients(row):
    expected = row.get("grads_of_sum_of_squared_grads")
    if expected is None:
        pytest.skip("PyTorch's gradients are constant here")
    leaves, output = run(row)
    output.backward(row.get("cotangent"), create_graph=True)
    total = sum(cr.sum(g * g) for g in taken(leaves).values() if g is not None)
    if total.requires_grad:  # else the gradients are constant, and theirs are 0 (relu, where PyTorch records zeros)
        total.backward()
    for name, gradient in taken(leaves).items():
        ours = numbers(gradient, leaves[name])
        if row["expression"] in MORE_EXACT:
            slope, curvature = MORE_EXACT[row["expression"]]
            for (x, got), (_, c) in zip(pairs(row["inputs"][name], ours), cotangents(row), strict=True):
                with mpmath.workdps(40):
                    exact = mpmath.mpf(x)
                    assert ulps(got, 2 * mpmath.mpf(c) ** 2 * slope(exact) * curvature(exact)) <= 16
        elif expected[name] is None:
            assert not np.any(ours)
        else:
            assert close(ours, expected[name])


@every_row
def test_name_of_the_backward_function(row):
    _, output = run(row)
    ours = output.grad_fn.name()
    expected, _ = NAMED_OTHERWISE.get(row["expression"], (row["grad_fn"], ""))
    assert ours == expected


def test_differences_of_names_are_real():
    """A name that has become PyTorch's has no place among the exceptions."""
    pytorch = {row["expression"]: row["grad_fn"] for row in ROWS}
    assert all(pytorch[expression] != name for expression, (name, _) in NAMED_OTHERWISE.items())
