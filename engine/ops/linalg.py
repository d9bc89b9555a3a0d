"""Linear algebra: lengths, products, inverses, determinants."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import ChainruleError
from .arithmetic import PRODUCT, abs_, sign, where
from .arrays import expand_like, extreme_vjp, index, max_, sum_, sum_like, transpose
from .base import Edge, Op

# --- lengths ----------------------------------------------------------------------------------------------------------


def _norm(x: Any, ord: float = 2, axis: Any = None, keepdims: bool = False) -> Any:
    size = np.abs(x)
    if ord == math.inf:
        return np.max(size, axis=axis, keepdims=keepdims)
    if ord == 2:
        scale = np.max(size, axis=axis, keepdims=True, initial=0.0)
        scale = np.where((scale > 0) & np.isfinite(scale), scale, 1.0)  # squares neither overflow nor vanish
        total = np.sqrt(np.sum(np.square(size / scale), axis=axis, keepdims=True)) * scale
    elif ord > 0:
        total = np.sum(size**ord, axis=axis, keepdims=True) ** (1 / ord)
    else:
        raise ChainruleError("value", f"the order of a norm must be positive, not {ord:g}")
    if keepdims:
        return total
    return np.squeeze(total, axis=axis if axis is not None else tuple(range(np.ndim(total))))[()]


def _norm_vjp(g: Any, y: Any, x: Any, ord: float = 2, axis: Any = None, keepdims: bool = False) -> Any:
    if ord == math.inf:
        return extreme_vjp(g, y, abs_(x), axis=axis, keepdims=keepdims) * sign(x)
    g, y = (expand_like(v, x, axis=axis, keepdims=keepdims) for v in (g, y))
    if ord == 1:
        return g * sign(x)
    if ord == 2:
        return where(y == 0, 0, g * x / y)
    return where(y == 0, 0, g * sign(x) * (abs_(x) / y) ** (ord - 1))


norm: Op = Op(
    "norm",
    _norm,
    "the length: (Σ|x|^ord)^(1/ord) over all elements, or along axes; the largest |x| for ord=inf",
    vjps=(_norm_vjp,),
    numpy=(np.linalg.norm,),
    edges=(Edge("kink", "x = 0", lambda x: np.all(np.equal(x, 0)), (0.0,), (0.0,), (-1.0,), (1.0,)),),
    sympy=lambda sp, x, ord=2, axis=None, keepdims=False: _symbolic_norm(sp, x, ord, axis, keepdims),
    signature="x; ord=2, *, axis=None, keepdims=False",
    grad_fn="LinalgVectorNormBackward0",
)


def _symbolic_norm(sp: Any, x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    size = np.frompyfunc(sp.Abs, 1, 1)(x)
    if ord == math.inf:
        return max_.sympy(sp, size, axis=axis, keepdims=keepdims)  # type: ignore[operator,misc]
    total = np.sum(x * x if ord == 2 else size ** sp.nsimplify(ord), axis=axis, keepdims=keepdims)
    return np.frompyfunc(lambda t: t ** (1 / sp.nsimplify(ord)), 1, 1)(total)


# --- products ---------------------------------------------------------------------------------------------------------


def _product_name(x: Any, y: Any) -> str:
    kind = {(1, 1): "Dot", (1, 2): "Mv", (2, 1): "Mv", (2, 2): "Mm"}.get((np.ndim(x), np.ndim(y)), "Bmm")
    return f"{kind}Backward0"


def _column(x: Any) -> Any:
    return index(x, key=(Ellipsis, None))


def _row(x: Any) -> Any:
    return index(x, key=(Ellipsis, None, slice(None)))


def _swap(x: Any) -> Any:
    """The last two axes exchanged."""
    return transpose(x) if np.ndim(x) == 2 else swap_last(x)


def _left_vjp(g: Any, z: Any, x: Any, y: Any) -> Any:
    if np.ndim(x) == 0 or np.ndim(y) == 0:
        return sum_like(g * y, x)
    if np.ndim(x) == 1 and np.ndim(y) == 1:
        return g * y
    if np.ndim(y) == 1:
        return sum_like(_column(g) * y, x)
    if np.ndim(x) == 1:
        return sum_like(matmul(y, _column(g))[..., 0], x)
    return sum_like(matmul(g, _swap(y)), x)


def _right_vjp(g: Any, z: Any, x: Any, y: Any) -> Any:
    if np.ndim(x) == 0 or np.ndim(y) == 0:
        return sum_like(g * x, y)
    if np.ndim(x) == 1 and np.ndim(y) == 1:
        return g * x
    if np.ndim(x) == 1:
        return sum_like(_column(x) * _row(g), y)
    if np.ndim(y) == 1:
        return sum_like(matmul(_swap(x), _column(g))[..., 0], y)
    return sum_like(matmul(_swap(x), g), y)


swap_last: Op = Op(
    "swap_last",
    lambda x: np.swapaxes(x, -1, -2),
    "the last two axes exchanged",
    vjps=(lambda g, y, x: swap_last(g),),
    grad_fn="TransposeBackward0",
    public=False,
    exact=True,
)
matmul: Op = Op(
    "matmul",
    np.matmul,
    "the matrix product, also written A @ B",
    vjps=(_left_vjp, _right_vjp),
    signature="x, y",
    grad_fn=_product_name,
    infix="@",
    level=PRODUCT,
)


def _dot(x: Any, y: Any) -> Any:
    if np.ndim(x) > 2 or np.ndim(y) > 2:
        raise ChainruleError("shape", "dot takes vectors and matrices", hint="for arrays of more axes write x @ y")
    return np.dot(x, y)


dot: Op = Op(
    "dot",
    _dot,
    "the inner product of two vectors; of matrices, the matrix product",
    vjps=(_left_vjp, _right_vjp),
    signature="x, y",
    grad_fn=_product_name,
    numpy=(np.dot,),
)

# --- inverses and determinants ----------------------------------------------------------------------------------------


def _matrix(sp: Any, x: Any) -> Any:
    return sp.Matrix(x.tolist())


inv: Op = Op(
    "inv",
    np.linalg.inv,
    "the inverse of a square matrix",
    vjps=(lambda g, y, x: -matmul(matmul(_swap(y), g), _swap(y)),),
    sympy=lambda sp, x: np.array(_matrix(sp, x).inv().tolist(), dtype=object),
    signature="A",
    grad_fn="LinalgInvExBackward0",
)


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
    inverse = _swap(inv(x))  # so second derivatives are refused where the matrix is singular
    trace = sum_(h * y, axis=(-2, -1), keepdims=True)
    return trace * inverse - matmul(matmul(inverse, _swap(h)), y)


cofactors: Op = Op(
    "cofactors",
    _cofactors,
    "the matrix of cofactors, det(A)·A⁻ᵀ",
    vjps=(_cofactor_vjp,),
    sympy=lambda sp, x: np.array(_matrix(sp, x).cofactor_matrix().tolist(), dtype=object),
    signature="A",
    public=False,
)
det: Op = Op(
    "det",
    np.linalg.det,
    "the determinant of a square matrix",
    vjps=(lambda g, y, x: index(g, key=(Ellipsis, None, None)) * cofactors(x),),
    sympy=lambda sp, x: _matrix(sp, x).det(),
    signature="A",
    grad_fn="LinalgDetBackward0",
)
