"""Matrix calculus: identities of books and papers, each at random matrices; singular matrices; batches."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest
from truth import recorded

import chainrule as cr

# --- identities -------------------------------------------------------------------------------------------------------

V = {"x": (3,), "y": (3,), "b": (4,), "M": (4, 3), "X": (3, 3), "B": (3, 3), "S": (3, 3), "P": (3, 3), "R": (3, 4)}
POSITIVE_DEFINITE = ["S", "P"]
# Expression, by what, its gradient; S and P are symmetric and positive definite. From Petersen and Pedersen, "The
# Matrix Cookbook", and Magnus and Neudecker, "Matrix Differential Calculus".
IDENTITIES = [
    ("x@X@x", "x", "(X + X.T)@x"),
    ("sum((M@x - b)^2)", "x", "2*M.T@(M@x - b)"),
    ("norm(M@x - b)^2", "x", "2*M.T@(M@x - b)"),
    ("norm(M@x - b)", "M", "outer(M@x - b, x)/norm(M@x - b)"),
    ("(x - y)@S@(x - y)", "x", "2*S@(x - y)"),
    ("trace(X@B)", "X", "B.T"),
    ("trace(X.T@X)", "X", "2*X"),
    ("trace(X@X@X)", "X", "3*(X@X).T"),
    ("norm(X)", "X", "X/norm(X)"),
    ("det(X)", "X", "det(X)*inv(X).T"),
    ("det(B@X)", "X", "det(B@X)*inv(X).T"),
    ("det(M.T@M)", "M", "2*det(M.T@M)*M@inv(M.T@M)"),
    ("logdet(S)", "S", "inv(S).T"),
    ("slogdet(X)[1]", "X", "inv(X).T"),
    ("logdet(M.T@M)", "M", "2*pinv(M).T"),
    ("logdet(S + outer(x, x))", "x", "2*solve(S + outer(x, x), x)"),
    ("trace(inv(X)@B)", "X", "-(inv(X)@B@inv(X)).T"),
    ("x@inv(X)@y", "X", "-inv(X).T@outer(x, y)@inv(X).T"),
    ("x@solve(X, y)", "X", "-outer(solve(X.T, x), solve(X, y))"),
    ("x@solve(X, y)", "y", "solve(X.T, x)"),
    ("trace(solve(X, B))", "B", "inv(X).T"),
    ("sum(solve(X, R)^2)", "R", "2*solve(X.T, solve(X, R))"),
    ("trace(pinv(X)@B)", "X", "-(inv(X)@B@inv(X)).T"),
    ("sum(pinv(M)@b*x)", "b", "pinv(M).T@x"),
    ("2*sum(log(diag(cholesky(S))))", "S", "inv(S)"),
    ("sum(cholesky(S)^2)", "S", "eye(3)"),
    ("sum((cholesky(S) @ cholesky(S).T)*P)", "S", "P"),
    ("sum(eigvalsh(S))", "S", "eye(3)"),
    ("prod(eigvalsh(S))", "S", "det(S)*inv(S)"),
    ("sum(eigvalsh(S)^2)", "S", "2*S"),
    ("sum(log(eigvalsh(S)))", "S", "inv(S)"),
    ("sum(kron(X, B))", "X", "sum(B)*ones(3, 3)"),
    ("trace(kron(X, B))", "X", "trace(B)*eye(3)"),
    ("sum(outer(x, y)*X)", "x", "X@y"),
    ("cross(x, y)@X[0]", "x", "cross(y, X[0])"),
    ("x@cross(x, y)", "x", "zeros(3)"),
    ("sum(tril(X)@x)", "X", "tril(outer(ones(3), x))"),
    ("x@diag(y)@x", "y", "x^2"),
    ("sum(diag(X)*x)", "X", "diag(x)"),
    ("logsumexp(x)", "x", "softmax(x)"),
    ("y@softmax(x)", "x", "(diag(softmax(x)) - outer(softmax(x), softmax(x)))@y"),
    ("y@log_softmax(x)", "x", "y - sum(y)*softmax(x)"),
    ("prod(x)", "x", "prod(x)/x"),
    ("var(x)", "x", "2*(x - mean(x))/3"),
    ("std(x)", "x", "(x - mean(x))/(3*std(x))"),
    ("y@cumsum(x)", "x", "cumsum(y[::-1])[::-1]"),
    ("norm(x, 3)", "x", "x*abs(x)/norm(x, 3)^2"),
    ("concat(x, y)@concat(y, x)", "x", "2*y"),
    ("sum(stack(x, y)@X)", "x", "X@ones(3)"),
    ("sum(reshape(X, 9)*reshape(B.T, 9))", "X", "B.T"),
]
ROWS = [
    *(
        {"expression": e, "wrt": w, "gradient": g, "shapes": V, "symmetric": POSITIVE_DEFINITE}
        for e, w, g in IDENTITIES
    ),
    *recorded("matrix_identities.jsonl"),
]


def drawn(row: dict[str, Any], seed: int) -> dict[str, Any]:
    """Random values for a row's inputs, of condition numbers that leave most digits."""
    generator = np.random.default_rng([zlib.crc32(row["expression"].encode()), seed])
    values = {}
    for name, shape in row["shapes"].items():
        value = generator.uniform(-1, 1, shape)
        if len(shape) == 2 and shape[0] == shape[1]:
            value += 2 * np.eye(shape[0])
        if name in row.get("symmetric", ()):
            value = value @ value.T
        values[name] = abs(value) if name in row.get("positive", ()) else value
    return values


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['expression']} by {row['wrt']}" for row in ROWS])
def test_identity(row):
    program, identity = cr.parse(row["expression"]), cr.parse(row["gradient"])
    for seed in range(3):
        values = drawn(row, seed)
        _, gradients = program.value_and_grad({name: values[name] for name in program.inputs}, wrt=[row["wrt"]])
        expected = identity.run(values).output.detach().numpy()
        np.testing.assert_allclose(gradients[row["wrt"]], expected, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize(("expression", "wrt", "gradient"), IDENTITIES)
def test_identity_differentiated_again(expression, wrt, gradient):
    """Both sides of an identity have the same Jacobian: the rule's own derivative, and that of the formula."""
    program, identity = cr.parse(expression), cr.parse(gradient)
    values = drawn({"expression": expression, "shapes": V, "symmetric": POSITIVE_DEFINITE}, 0)

    def at(graph: cr.Program) -> Any:
        return lambda x: graph.run({**values, wrt: x}).output

    hessian = cr.hessian(at(program), cr.tensor(values[wrt])).detach().numpy()
    if wrt not in identity.inputs:
        assert not np.any(np.abs(hessian) > 1e-9)
        return
    jacobian = cr.jacobian(at(identity), cr.tensor(values[wrt])).detach().numpy()
    if wrt in POSITIVE_DEFINITE:  # the formula holds for symmetric matrices only, so among them are the directions
        hessian, jacobian = (h + np.swapaxes(h, -1, -2) for h in (hessian, jacobian))
    np.testing.assert_allclose(hessian, jacobian, rtol=1e-9, atol=1e-9)


# --- singular and unfit matrices --------------------------------------------------------------------------------------

SINGULAR = {
    "exactly": [[1.0, 2.0], [2.0, 4.0]],
    "of whole numbers": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]],
    "to rounding": [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.9]],
    "zero": [[0.0, 0.0], [0.0, 0.0]],
}
every_singular = pytest.mark.parametrize("matrix", SINGULAR.values(), ids=SINGULAR.keys())


@every_singular
@pytest.mark.parametrize("expression", ["sum(inv(A))", "sum(solve(A, A[0] + 1))", "logdet(A)", "trace(solve(A, A))"])
def test_singular_matrix_is_refused(expression, matrix):
    program = cr.parse(expression)
    with pytest.raises(cr.ChainruleError, match="singular") as caught:
        program.value_and_grad({"A": matrix})
    assert caught.value.kind == "value"
    assert caught.value.place is not None
    leaf = cr.tensor(matrix, requires_grad=True)
    with pytest.raises((cr.ChainruleError, np.linalg.LinAlgError), match="singular"):
        program.run({"A": leaf}).output.backward()


def test_scaling_makes_no_matrix_singular():
    _, gradients = cr.parse("sum(inv(A))").value_and_grad({"A": [[1e-200, 0.0], [0.0, 1e200]]})
    assert gradients["A"][1, 1] == pytest.approx(0, abs=1e-300)
    value, _ = cr.parse("sum(solve(A, [1, 1]))").value_and_grad({"A": [[1e-150, 0.0], [0.0, 1e150]]})
    assert value == 1e150


@every_singular
def test_determinant_of_a_singular_matrix_has_a_gradient(matrix):
    """The matrix of cofactors: it exists although no inverse does."""
    value, gradients = cr.parse("det(A)").value_and_grad({"A": matrix})
    a = np.array(matrix)
    minors = [
        [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(len(a))]
        for i in range(len(a))
    ]
    assert value == pytest.approx(0, abs=1e-15)
    np.testing.assert_allclose(gradients["A"], minors, rtol=1e-12, atol=1e-15)


@every_singular
def test_second_derivatives_of_the_determinant_of_a_singular_matrix(matrix):
    """By differences of the cofactors, which are polynomials."""
    hessian = cr.hessian(cr.det, cr.tensor(matrix)).detach().numpy()
    a = np.array(matrix)
    for i, j in np.ndindex(*a.shape):
        step = np.zeros(a.shape)
        step[i, j] = 1e-3
        up, down = (cr.parse("det(A)").value_and_grad({"A": a + sign * step})[1]["A"] for sign in (1, -1))
        np.testing.assert_allclose(hessian[i, j], (up - down) / 2e-3, rtol=1e-9, atol=1e-9)


def test_ill_conditioned_matrix_has_the_digits_that_it_has():
    """Hilbert's matrix of 8 rows, condition number 1e10: refused it would be a loss."""
    hilbert = [[1 / (i + j + 1) for j in range(8)] for i in range(8)]
    value, _ = cr.parse("sum(inv(H))").value_and_grad({"H": hilbert})
    assert value == pytest.approx(64, rel=1e-6)  # known: n²


@pytest.mark.parametrize(
    ("expression", "matrix", "message"),
    [
        ("cholesky(A)", [[1.0, 2.0], [2.0, 1.0]], "not positive definite"),
        ("cholesky(A)", [[1.0, 0.5], [0.0, 1.0]], "takes a symmetric matrix"),
        ("eigvalsh(A)", [[1.0, 0.5], [0.0, 1.0]], "takes a symmetric matrix"),
        ("eigvalsh(A)", [[1.0, 0.5]], "square"),
        ("inv(A)", [[1.0, 0.5]], "inv takes a square matrix, not one of shape 1×2"),
        ("det(A)", [1.0, 0.5], r"det takes a square matrix, not one of shape \(2,\)"),
        ("trace(A)", [1.0, 0.5], r"trace does not fit the shape \(2,\)"),
        ("solve(A, [1, 2, 3])", [[1.0, 0.5], [0.0, 1.0]], r"shapes 2×2 and \(3,\)"),
        ("cross(A, [1, 2])", [1.0, 0.5], "vectors of 3 elements"),
        ("A @ A", [[1.0, 0.5]], "shapes 1×2 and 1×2"),
        ("reshape(A, 3, -1)", [[1.0, 0.5]], r"1×2 cannot be reshaped to 3×\?: it has 2 elements"),
        ("concat(A, [[1, 2]], axis=1)", [[1.0], [2.0]], "equally long along all axes but the joined one"),
        ("stack(A, [1])", [1.0, 0.5], "arrays of one shape"),
        ("cumsum(A, axis=2)", [[1.0, 0.5]], "there is no axis 2 in 1×2"),
        ("softmax(A, axis=1)", [1.0, 0.5], r"there is no axis 1 in \(2,\)"),
        ("A[2, 0]", [[1.0, 0.5]], "there is no index 2 along axis 0 of 1×2"),
        ("A[..., -3]", [[1.0, 0.5]], "there is no index -3 along axis 1 of 1×2"),
        ("A[0, 0, 0]", [[1.0, 0.5]], "3 indices for 1×2"),
        ("A[[0, 4]]", [1.0, 0.5], r"there is no index 4 in shape \(2,\)"),
    ],
)
def test_what_does_not_fit_is_refused(expression, matrix, message):
    with pytest.raises(cr.ChainruleError, match=message) as caught:
        cr.parse(expression).value_and_grad({"A": matrix}, cotangent=None)
    assert caught.value.place is not None


@pytest.mark.parametrize(
    "expression",
    [
        "outer(x, x)", "kron(x, x)", "x[:, None] + x", "x[:, None]*x", "max(x[:, None], x)", "max(0, x, x[:, None])",
        "x[:, None] @ x[None]", "diag(x)", "tril(x)", "where(x, x[:, None], 1)", "eye(1e5)", "zeros(1e5, 1e5)",
        "linspace(0, 1, 1e9)",
    ],
)  # fmt: skip
def test_nothing_is_allocated_before_its_size_is_checked(expression):
    program = cr.parse(expression)
    with pytest.raises(cr.ChainruleError, match=r"elements; the limit is 100,000,000") as caught:
        program.value_and_grad({name: np.ones(100_000) for name in program.inputs})
    assert caught.value.kind == "limit"


# --- batches ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expression",
    ["inv(A)", "solve(A, M)", "det(A)", "logdet(S)", "slogdet(A)", "cholesky(S)", "pinv(M)", "A @ M", "eigvalsh(S)"],
)
def test_batch_is_each_matrix_alone(expression):
    generator = np.random.default_rng(5)
    matrices = generator.uniform(-1, 1, (4, 3, 3)) + 2 * np.eye(3)
    given = {"A": matrices, "S": matrices @ np.swapaxes(matrices, -1, -2), "M": generator.uniform(-1, 1, (4, 3, 2))}
    program = cr.parse(expression)
    values = {name: given[name] for name in program.inputs}
    batch = -1 if expression.startswith("slogdet") else 0  # its new axis is the first
    cotangent = generator.uniform(-1, 1, program.run(values).output.shape)
    value, gradients = program.value_and_grad(values, cotangent=cotangent)
    for i in range(4):
        alone, slopes = program.value_and_grad(
            {name: v[i] for name, v in values.items()}, cotangent=np.take(cotangent, i, axis=batch)
        )
        np.testing.assert_allclose(np.take(value, i, axis=batch), alone, rtol=1e-12)
        for name, slope in slopes.items():
            np.testing.assert_allclose(gradients[name][i], slope, rtol=1e-11, atol=1e-13)
