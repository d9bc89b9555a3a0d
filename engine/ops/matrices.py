"""Functions of matrices: inverses, systems of equations, determinants, decompositions.

Each takes one matrix, or an array of them (the last two axes). The rules are the matrix calculus of Giles (2008), "An
extended collection of matrix derivative results for forward and reverse mode algorithmic differentiation", that of
cholesky is Murray's (2016), that of pinv Golub's and Pereyra's (1973).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..errors import ChainruleError
from .arithmetic import where
from .arrays import column, index, row, sum_
from .base import Edge, Op, chain
from .elementary import log
from .linalg import matmul
from .shapes import eye_like, swap, tril

ASYMMETRY = 0.01  # of the largest element: what rounding and difference quotients leave is averaged away, more refused


def _singular(measure: float) -> np.linalg.LinAlgError:
    precision = f" to working precision (condition number {measure:.0e})" if np.isfinite(measure) else ""
    return np.linalg.LinAlgError(f"the matrix is singular{precision}")


def _regular(function: Any, *xs: Any) -> Any:
    """A function of NumPy's that needs a matrix which is not singular."""
    try:
        return function(*xs)
    except np.linalg.LinAlgError as error:
        raise (_singular(np.inf) if "Singular" in str(error) else error) from None


def _symmetric(x: Any, name: str) -> Any:
    """(A + Aᵀ)/2, which is A; refused where A is not symmetric."""
    if np.ndim(x) < 2 or np.shape(x)[-1] != np.shape(x)[-2]:
        raise np.linalg.LinAlgError("a square matrix is needed")
    across = np.swapaxes(x, -1, -2)
    if np.any(np.abs(x - across) > ASYMMETRY * np.max(np.abs(x), axis=(-2, -1), keepdims=True, initial=0.0)):
        raise ChainruleError("value", f"{name} takes a symmetric matrix", hint=f"write {name}((A + A.T)/2)")
    return (x + across) / 2


# --- counterparts in SymPy and its like -------------------------------------------------------------------------------


def _by_matrix(function: Any, *xs: Any) -> Any:
    """A function of object arrays of two axes applied to each matrix of arrays of them; it gives a term or a list."""
    lead = np.broadcast_shapes(*(np.shape(x)[:-2] for x in xs))
    spread = [np.broadcast_to(x, lead + np.shape(x)[-2:]) for x in xs]
    found = [np.array(function(*(x[i] for x in spread)), dtype=object) for i in np.ndindex(lead)]
    return np.stack(found).reshape(lead + found[0].shape)[()]


def _determinant(sp: Any, x: Any) -> Any:
    return sp.Matrix(x.tolist()).det()


def _inverse(sp: Any, x: Any) -> Any:
    return np.array(sp.Matrix(x.tolist()).inv().tolist(), dtype=object)


def _minor(x: Any, i: int, j: int) -> Any:
    return np.delete(np.delete(x, i, axis=0), j, axis=1)


# --- inverses and systems of equations --------------------------------------------------------------------------------


def _inv(x: Any) -> Any:
    y = _regular(np.linalg.inv, x)
    # Skeel's condition number, which no scaling of rows changes: where it reaches 1/ulp no digit of y is right.
    measure = np.max(np.sum(np.abs(y) @ np.abs(x), axis=-1), initial=0.0)
    if measure > 2.0**52:
        raise _singular(measure)
    return y


inv: Op = Op(
    "inv",
    _inv,
    "the inverse of a square matrix",
    vjps=(lambda g, y, x: -matmul(matmul(swap(y), g), swap(y)),),
    numpy=(np.linalg.inv,),
    sympy=lambda sp, x: _by_matrix(partial(_inverse, sp), x),
    signature="A",
    grad_fn="LinalgInvExBackward0",
)


def _solve(x: Any, b: Any) -> Any:
    y = _regular(np.linalg.solve, x, b)
    # One step of refinement tells how many digits are right: where it is as large as the solution, none.
    missing = np.asarray(b) - np.matmul(x, y)
    step = np.linalg.solve(x, missing)
    if np.max(np.abs(step), initial=0.0) > 0.1 * np.max(np.abs(y), initial=0.0):
        raise _singular(np.linalg.cond(x).max())
    return y


def _solve_right_vjp(g: Any, y: Any, x: Any, b: Any) -> Any:
    return solve(swap(x), column(g))[..., 0] if np.ndim(b) == 1 else solve(swap(x), g)


def _solve_left_vjp(g: Any, y: Any, x: Any, b: Any) -> Any:
    found = _solve_right_vjp(g, y, x, b)
    return -(column(found) * row(y)) if np.ndim(b) == 1 else -matmul(found, swap(y))


def _symbolic_solve(sp: Any, x: Any, b: Any) -> Any:
    found = _by_matrix(lambda a, c: _inverse(sp, a) @ c, x, b if np.ndim(b) > 1 else b[:, None])
    return found if np.ndim(b) > 1 else found[..., 0]


solve: Op = Op(
    "solve",
    _solve,
    "the x with A x = b, for a vector b or for each column of a matrix",
    vjps=(_solve_left_vjp, _solve_right_vjp),
    numpy=(np.linalg.solve,),
    sympy=_symbolic_solve,
    signature="A, b",
    grad_fn="LinalgSolveExBackward0",
    fits="a square matrix and as many elements, or rows, in b",
)


def _pinv_vjp(g: Any, y: Any, x: Any) -> Any:
    across, back = swap(g), swap(y)
    left = matmul(across, matmul(y, back))
    right = matmul(matmul(back, y), across)
    inside = matmul(matmul(back, g), back)
    return left - matmul(x, matmul(y, left)) + right - matmul(matmul(right, y), x) - inside


def _symbolic_pinv(sp: Any, x: Any) -> Any:
    """The formula for matrices of full rank."""

    tall = np.shape(x)[-2] >= np.shape(x)[-1]
    return _by_matrix(lambda a: _inverse(sp, a.T @ a) @ a.T if tall else a.T @ _inverse(sp, a @ a.T), x)


pinv: Op = Op(
    "pinv",
    np.linalg.pinv,
    "the pseudoinverse (Moore's and Penrose's); its derivative is that among matrices of the same rank",
    vjps=(_pinv_vjp,),
    sympy=_symbolic_pinv,
    signature="A",
    grad_fn="LinalgPinvBackward0",
)

# --- determinants -----------------------------------------------------------------------------------------------------


def _cofactors(x: Any) -> Any:
    """The matrix of cofactors, det(A)·A⁻ᵀ, by singular values, so that it exists for singular matrices too."""
    u, s, v = np.linalg.svd(x)
    n = s.shape[-1]
    others = np.broadcast_to(s[..., None, :], (*s.shape, n)).copy()
    others[..., np.arange(n), np.arange(n)] = 1.0
    products = np.prod(others, axis=-1)
    signs = np.linalg.det(u) * np.linalg.det(v)
    return signs[..., None, None] * (u * products[..., None, :]) @ v


def _cofactor_vjp(h: Any, y: Any, x: Any) -> Any:
    inverse = swap(inv(x))  # so second derivatives are refused where the matrix is singular
    trace = sum_(h * y, axis=(-2, -1), keepdims=True)
    return trace * inverse - matmul(matmul(inverse, swap(h)), y)


cofactors: Op = Op(
    "cofactors",
    _cofactors,
    "the matrix of cofactors, det(A)·A⁻ᵀ",
    vjps=(_cofactor_vjp,),
    sympy=lambda sp, x: _by_matrix(
        lambda a: [[(-1) ** (i + j) * _determinant(sp, _minor(a, i, j)) for j in range(len(a))] for i in range(len(a))],
        x,
    ),
    signature="A",
    public=False,
)


def _each_matrix(g: Any) -> Any:
    """A number for each matrix, with axes for its rows and columns."""
    return index(g, key=(Ellipsis, None, None))


det: Op = Op(
    "det",
    np.linalg.det,
    "the determinant of a square matrix",
    vjps=(lambda g, y, x: _each_matrix(g) * cofactors(x),),
    sympy=lambda sp, x: _by_matrix(partial(_determinant, sp), x),
    signature="A",
    grad_fn="LinalgDetBackward0",
)


def _logdet(x: Any) -> Any:
    sign, size = np.linalg.slogdet(x)
    return np.where(sign < 0, np.nan, size)[()]


logdet: Op = Op(
    "logdet",
    _logdet,
    "log(det(A)) without overflow; nan where the determinant is negative (log|det A| is slogdet(A)[1])",
    vjps=(lambda g, y, x: _each_matrix(g) * swap(inv(x)),),
    instead_of=(log, det),
    sympy=lambda sp, x: _by_matrix(lambda a: sp.log(_determinant(sp, a)), x),
    signature="A",
)


def _symbolic_slogdet(sp: Any, x: Any) -> Any:
    def one(a: Any) -> Any:
        determinant = _determinant(sp, a)
        return [sp.sign(determinant), sp.log(sp.Abs(determinant))]

    return np.moveaxis(_by_matrix(one, x), -1, 0)


slogdet: Op = Op(
    "slogdet",
    lambda x: np.stack(np.linalg.slogdet(x)),
    "the sign of the determinant and log|det A|, in this order along a new first axis",
    vjps=(lambda g, y, x: _each_matrix(index(g, key=(1,))) * swap(inv(x)),),
    numpy=(np.linalg.slogdet,),
    sympy=_symbolic_slogdet,
    signature="A",
    grad_fn="LinalgSlogdetBackward0",
)

# --- decompositions ---------------------------------------------------------------------------------------------------


def _cholesky(x: Any) -> Any:
    try:
        return np.linalg.cholesky(_symmetric(x, "cholesky"))
    except np.linalg.LinAlgError as error:
        if "positive" in str(error):
            raise np.linalg.LinAlgError("the matrix is not positive definite") from None
        raise


def _cholesky_vjp(g: Any, y: Any, x: Any) -> Any:
    inner = matmul(swap(y), g)
    lower = (tril(inner) + tril(inner, k=-1)) / 2
    found = solve(swap(y), swap(solve(swap(y), swap(lower))))
    return (found + swap(found)) / 2


def _symbolic_cholesky(sp: Any, x: Any) -> Any:
    def one(a: Any) -> Any:
        n = len(a)
        factor = [[sp.Integer(0)] * n for _ in range(n)]
        for i in range(n):
            for j in range(i + 1):
                rest = (a[i, j] + a[j, i]) / 2 - sum(factor[i][k] * factor[j][k] for k in range(j))
                factor[i][j] = sp.sqrt(rest) if i == j else rest / factor[j][j]
        return factor

    return _by_matrix(one, x)


cholesky: Op = Op(
    "cholesky",
    _cholesky,
    "the lower triangular L with L Lᵀ = A, symmetric and positive definite",
    vjps=(_cholesky_vjp,),
    numpy=(np.linalg.cholesky,),
    sympy=_symbolic_cholesky,
    signature="A",
    grad_fn="LinalgCholeskyExBackward0",
)


def _equal_eigenvalues(x: Any) -> Any:
    values = eigvalsh.forward(x)
    return np.any(np.diff(values, axis=-1) <= 1e-12 * np.max(np.abs(values), initial=0.0))


def _symbolic_eigenvalues(sp: Any, x: Any) -> Any:
    def one(a: Any) -> Any:
        a = (a + a.T) / 2
        if hasattr(sp, "eigsy"):  # mpmath's; SymPy has none in order
            return [*sp.eigsy(sp.matrix(a.tolist()), eigvals_only=True)]
        if len(a) > 2:
            raise ChainruleError("value", "SymPy has no usable formula for the eigenvalues of more than 2 rows")
        middle, half = (a[0, 0] + a[-1, -1]) / 2, (a[0, 0] - a[-1, -1]) / 2
        radius = sp.sqrt(half**2 + a[0, -1] ** 2)
        return [middle - radius, middle + radius] if len(a) == 2 else [a[0, 0]]

    return _by_matrix(one, x)


def _eigenvalue_vjp(g: Any, y: Any, x: Any) -> Any:
    vectors = eigenvectors(x)
    return matmul(vectors * row(g), swap(vectors))


eigvalsh: Op = Op(
    "eigvalsh",
    lambda x: np.linalg.eigvalsh(_symmetric(x, "eigvalsh")),
    "the eigenvalues of a symmetric matrix, in ascending order",
    vjps=(_eigenvalue_vjp,),
    numpy=(np.linalg.eigvalsh,),
    edges=(Edge("kink", "two equal eigenvalues", _equal_eigenvalues, ([[1.0, 0.0], [0.0, 1.0]],), (), (), ()),),
    sympy=_symbolic_eigenvalues,
    signature="A",
    grad_fn="LinalgEighBackward0",
)


def _eigenvector_vjp(h: Any, y: Any, x: Any) -> Any:
    """Each vector turns towards another by 1/(difference of their eigenvalues): nothing finite where they are equal."""
    values = eigvalsh(x)
    gap = where(eye_like(x), 1, row(values) - column(values))
    turned = chain(matmul(swap(y), h), where(eye_like(x), 0, 1 / gap))
    found = matmul(matmul(y, turned), swap(y))
    return (found + swap(found)) / 2


eigenvectors: Op = Op(
    "eigenvectors",
    lambda x: np.linalg.eigh(_symmetric(x, "eigvalsh"))[1],
    "the eigenvectors of a symmetric matrix, as columns",
    vjps=(_eigenvector_vjp,),
    signature="A",
    grad_fn="LinalgEighBackward0",
    public=False,
)
