"""Every recorded result of PyTorch: values, gradients, gradients of gradients, names of backward functions."""

from __future__ import annotations

import re
from typing import Any

import mpmath
import numpy as np
import pytest
from truth import close, pairs, recorded, ulps

import chainrule as cr
from chainrule.ops import CALLS

ROWS = recorded("pytorch.jsonl")

# Where the names of backward functions differ from PyTorch's on purpose: ours, those of the next functions, and why.
LEAF = "AccumulateGrad"
NAMED_OTHERWISE: dict[str, tuple[str, list[str], str]] = {
    "1/x": ("DivBackward0", [LEAF], "a division; PyTorch multiplies by a hidden reciprocal"),
    "logdet(A)": ("LogdetBackward0", [LEAF], "one function; PyTorch chooses nan behind a hidden slogdet"),
    "outer(x, y)": ("MulBackward0", [LEAF, LEAF], "one function; PyTorch reshapes x before the product"),
    "kron(A, B)": ("KronBackward0", [LEAF, LEAF], "one function; PyTorch reshapes a product of five axes"),
    "slogdet(A)[1]": ("SelectBackward0", ["LinalgSlogdetBackward0"], "one array of both; PyTorch gives a pair"),
    "A[0, 1]": ("SelectBackward0", [LEAF], "one index; PyTorch selects along one axis after the other"),
    "transpose(A)": ("PermuteBackward0", [LEAF], "all axes in an order; PyTorch's transpose swaps two"),
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
    expected = NAMED_OTHERWISE.get(row["expression"], (row["grad_fn"],))[0]
    assert output.grad_fn.name() == expected


# --- names of backward functions, and of the next ones ----------------------------------------------------------------

NAMES = recorded("pytorch_grad_fn.jsonl")
POINT = {"x": [0.3, 0.5], "y": [0.7, 0.4], "A": [[2.0, 0.3], [0.4, 1.5]], "B": [[1.0, -0.5], [0.2, 0.8]]}
SAME = [row for row in NAMES if row["ours"] is not None]


def names_of(text: str) -> tuple[str, list[str]]:
    """The name of the output's backward function, and those of the next functions."""
    leaves = {name: cr.tensor(value, requires_grad=True) for name, value in POINT.items()}
    function = cr.parse(text).run(leaves).output.grad_fn
    return function.name(), [edge.name() for edge, _ in function.next_functions if edge is not None]


@pytest.mark.parametrize("row", SAME, ids=[row["expression"] for row in SAME])
def test_backward_and_next_functions(row):
    expected = NAMED_OTHERWISE[row["ours"]][:2] if row["ours"] in NAMED_OTHERWISE else (row["grad_fn"], row["next"])
    assert names_of(row["ours"]) == expected


def test_what_is_left_out_is_not_in_the_language():
    left_out = {row["expression"] for row in NAMES if row["ours"] is None} - {"x.clamp(min=0.4)"}  # a clip of one side
    for expression in left_out:
        assert CALLS.keys().isdisjoint(re.findall(r"\.(\w+)\(", expression)), expression


def test_differences_of_names_are_real():
    """A name that has become PyTorch's has no place among the exceptions."""
    theirs = {row["ours"]: (row["grad_fn"], row["next"]) for row in SAME}
    assert all(theirs[text] != (name, after) for text, (name, after, _) in NAMED_OTHERWISE.items())


# PyTorch 2.13 on the parts of an index, one by one; the last that does something gives the name.
INDEX_NAMES = {
    "x[0]": "Select", "x[:1]": "Slice", "x[::2]": "Slice", "x[:]": "Slice", "x[...]": "Alias", "x[None]": "Unsqueeze",
    "x[[0, 1]]": "Index", "A[:, 0]": "Select", "A[..., 0]": "Select", "A[0, 1:]": "Slice", "A[1:, 0]": "Select",
    "A[None, 0]": "Select", "A[0, None]": "Unsqueeze", "A[0, [0, 1]]": "Index", "A[1:, :]": "Slice",
}  # fmt: skip


@pytest.mark.parametrize(("text", "name"), INDEX_NAMES.items())
def test_name_of_an_index(text, name):
    assert names_of(text)[0] == f"{name}Backward0"
