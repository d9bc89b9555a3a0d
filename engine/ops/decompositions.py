"""Decompositions of symmetric matrices: Cholesky's factor, eigenvalues.

The rule of cholesky is Murray's (2016), "Differentiation of the Cholesky decomposition"; those of the eigenvalues and
eigenvectors are Giles's (2008).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ChainruleError
from .arithmetic import where
from .arrays import column, row
from .base import Edge, Op, chain
from .linalg import matmul
from .matrices import by_matrix, solve
from .shapes import eye_like, swap, tril

ASYMMETRY = 0.01  # of the largest element: what rounding and difference quotients leave is averaged away, more refused


def _symmetric(x: Any, name: str) -> Any:
    """(A + Aᵀ)/2, which is A; refused where A is not symmetric."""
    if np.ndim(x) < 2 or np.shape(x)[-1] != np.shape(x)[-2]:
        raise np.linalg.LinAlgError("a square matrix is needed")
    across = np.swapaxes(x, -1, -2)
    if np.any(np.abs(x - across) > ASYMMETRY * np.max(np.abs(x), axis=(-2, -1), keepdims=True, initial=0.0)):
        raise ChainruleError("value", f"{name} takes a symmetric matrix", hint=f"write {name}((A + A.T)/2)")
    return (x + across) / 2


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

    return by_matrix(one, x)


cholesky: Op = Op(
    "cholesky",
    _cholesky,
    "the lower triangular L with L Lᵀ = A, symmetric and positive definite",
    vjps=(_cholesky_vjp,),
    numpy=(np.linalg.cholesky,),
    sympy=_symbolic_cholesky,
    signature="A",
    fits="symmetric, positive definite matrices",
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

    return by_matrix(one, x)


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
    fits="symmetric matrices",
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
