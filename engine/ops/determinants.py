"""Determinants, their logarithms, and their derivatives: the matrix of cofactors, which singular matrices have, too."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .arrays import index, sum_
from .base import Op
from .exponentials import log
from .linalg import matmul
from .matrices import by_matrix, inv
from .shapes import eye_like, swap

# --- cofactors --------------------------------------------------------------------------------------------------------


def _determinant(sp: Any, x: Any) -> Any:
    return sp.Matrix(x.tolist()).det()


def _minor(x: Any, i: int, j: int) -> Any:
    return np.delete(np.delete(x, i, axis=0), j, axis=1)


def _cofactors(x: Any) -> Any:
    """The matrix of cofactors, det(A)·A⁻ᵀ, by singular values, so that it exists for singular matrices too."""
    u, s, v = np.linalg.svd(x)
    n = s.shape[-1]
    others = np.broadcast_to(s[..., None, :], (*s.shape, n)).copy()
    others[..., np.arange(n), np.arange(n)] = 1.0
    products = np.prod(others, axis=-1)
    signs = np.linalg.det(u) * np.linalg.det(v)
    return signs[..., None, None] * (u * products[..., None, :]) @ v


def _cofactor_derivative(h: Any, x: Any) -> Any:
    """How the cofactors change with the matrix: among singular vectors by the products of all values but two."""
    u, s, v = np.linalg.svd(x)
    moved = np.swapaxes(u, -1, -2) @ h @ np.swapaxes(v, -1, -2)
    without = _products_without_two(s)
    diagonal = np.diagonal(moved, axis1=-2, axis2=-1)
    changes = -without * np.swapaxes(moved, -1, -2)
    n = np.arange(s.shape[-1])
    changes[..., n, n] = np.matmul(without, diagonal[..., None])[..., 0]
    signs = np.linalg.det(u) * np.linalg.det(v)
    return signs[..., None, None] * u @ changes @ v


def _products_without_two(s: Any) -> Any:
    """For each pair the product of all others; 0 on the diagonal. Nothing is divided, so zeros do no harm."""
    n = s.shape[-1]
    one = np.ones((*s.shape[:-1], 1))
    before = np.cumprod(np.concatenate([one, s[..., :-1]], axis=-1), axis=-1)
    after = np.cumprod(np.concatenate([one, s[..., :0:-1]], axis=-1), axis=-1)[..., ::-1]
    later = np.where(np.arange(n) > np.arange(n)[:, None], s[..., None, :], 1.0)
    between = np.concatenate([np.ones((*later.shape[:-1], 1)), np.cumprod(later, axis=-1)[..., :-1]], axis=-1)
    upper = np.triu(before[..., :, None] * between * after[..., None, :], 1)
    return upper + np.swapaxes(upper, -1, -2)


def _cofactor_derivative_vjp(g: Any, y: Any, h: Any, x: Any) -> Any:
    """The third derivative of det, by the inverse: it is refused where the matrix is singular."""
    inverse = inv(x)
    by_g, by_h = matmul(inverse, g), matmul(inverse, h)
    trace_g, trace_h, trace_both = (
        sum_(eye_like(x) * m, axis=(-2, -1), keepdims=True) for m in (by_g, by_h, matmul(by_g, by_h))
    )
    inside = trace_g * by_h + trace_h * by_g - matmul(by_g, by_h) - matmul(by_h, by_g)
    whole = (trace_g * trace_h - trace_both) * inverse - matmul(inside, inverse)
    return _each_matrix(det(x)) * swap(whole)


cofactors: Op = Op(
    "cofactors",
    _cofactors,
    "the matrix of cofactors, det(A)·A⁻ᵀ",
    vjps=(lambda h, y, x: cofactor_derivative(h, x),),  # it is its own adjoint, being the Hessian of det
    sympy=lambda sp, x: by_matrix(
        lambda a: [[(-1) ** (i + j) * _determinant(sp, _minor(a, i, j)) for j in range(len(a))] for i in range(len(a))],
        x,
    ),
    signature="A",
    public=False,
)
cofactor_derivative: Op = Op(
    "cofactor_derivative",
    _cofactor_derivative,
    "the derivative of the matrix of cofactors in the direction H",
    vjps=(lambda g, y, h, x: cofactor_derivative(g, x), _cofactor_derivative_vjp),
    signature="H, A",
    public=False,
)


# --- determinants -----------------------------------------------------------------------------------------------------


def _each_matrix(g: Any) -> Any:
    """A number for each matrix, with axes for its rows and columns."""
    return index(g, key=(Ellipsis, None, None))


det: Op = Op(
    "det",
    np.linalg.det,
    "the determinant of a square matrix",
    vjps=(lambda g, y, x: _each_matrix(g) * cofactors(x),),
    sympy=lambda sp, x: by_matrix(partial(_determinant, sp), x),
    signature="A",
    fits="square matrices",
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
    sympy=lambda sp, x: by_matrix(lambda a: sp.log(_determinant(sp, a)), x),
    signature="A",
)


def _symbolic_slogdet(sp: Any, x: Any) -> Any:
    def one(a: Any) -> Any:
        determinant = _determinant(sp, a)
        return [sp.sign(determinant), sp.log(sp.Abs(determinant))]

    return np.moveaxis(by_matrix(one, x), -1, 0)


slogdet: Op = Op(
    "slogdet",
    lambda x: np.stack(np.linalg.slogdet(x)),
    "the sign of the determinant and log|det A|, in this order along a new first axis",
    vjps=(lambda g, y, x: _each_matrix(index(g, key=(1,))) * swap(inv(x)),),
    numpy=(np.linalg.slogdet,),
    sympy=_symbolic_slogdet,
    signature="A",
    fits="square matrices that are not singular",
    grad_fn="LinalgSlogdetBackward0",
)
