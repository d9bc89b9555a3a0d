"""Inverses of matrices and systems of equations.

Functions of matrices take one, or an array of them (the last two axes). The rules are the matrix calculus of Giles
(2008), "An extended collection of matrix derivative results for forward and reverse mode algorithmic differentiation";
that of pinv is Golub's and Pereyra's (1973).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .arrays import column, row
from .base import Op
from .linalg import matmul
from .shapes import swap


def _singular(measure: float) -> np.linalg.LinAlgError:
    precision = f" to working precision (condition number {measure:.0e})" if np.isfinite(measure) else ""
    return np.linalg.LinAlgError(f"the matrix is singular{precision}")


def _regular(function: Any, *xs: Any) -> Any:
    """A function of NumPy's that needs a matrix which is not singular."""
    try:
        return function(*xs)
    except np.linalg.LinAlgError as error:
        raise (_singular(np.inf) if "Singular" in str(error) else error) from None


# --- counterparts in SymPy and its like -------------------------------------------------------------------------------


def by_matrix(function: Any, *xs: Any) -> Any:
    """A function of object arrays of two axes applied to each matrix of arrays of them; it gives a term or a list."""
    lead = np.broadcast_shapes(*(np.shape(x)[:-2] for x in xs))
    spread = [np.broadcast_to(x, lead + np.shape(x)[-2:]) for x in xs]
    found = [np.array(function(*(x[i] for x in spread)), dtype=object) for i in np.ndindex(lead)]
    return np.stack(found).reshape(lead + found[0].shape)[()]


def _inverse(sp: Any, x: Any) -> Any:
    return np.array(sp.Matrix(x.tolist()).inv().tolist(), dtype=object)


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
    sympy=lambda sp, x: by_matrix(partial(_inverse, sp), x),
    signature="A",
    fits="square matrices that are not singular",
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
    found = by_matrix(lambda a, c: _inverse(sp, a) @ c, x, b if np.ndim(b) > 1 else b[:, None])
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
    fits="a square matrix that is not singular, and in b as many elements or rows",
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
    return by_matrix(lambda a: _inverse(sp, a.T @ a) @ a.T if tall else a.T @ _inverse(sp, a @ a.T), x)


pinv: Op = Op(
    "pinv",
    np.linalg.pinv,
    "the pseudoinverse (Moore's and Penrose's); its derivative is that among matrices of the same rank",
    vjps=(_pinv_vjp,),
    sympy=_symbolic_pinv,
    signature="A",
    fits="matrices",
    grad_fn="LinalgPinvBackward0",
)
