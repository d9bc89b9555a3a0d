"""Products of vectors and matrices, and the trace."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import ChainruleError
from .arithmetic import PRODUCT
from .arrays import column, expand_like, index, reshape_like, row, sum_like
from .base import Op
from .shapes import diag, place_diagonal, reshape, swap
from .sizes import check_size

# --- matrix products --------------------------------------------------------------------------------------------------


def _product_name(x: Any, y: Any) -> str:
    kind = {(1, 1): "Dot", (1, 2): "Mv", (2, 1): "Mv", (2, 2): "Mm"}.get((np.ndim(x), np.ndim(y)), "Bmm")
    return f"{kind}Backward0"


def _left_vjp(g: Any, z: Any, x: Any, y: Any) -> Any:
    if np.ndim(x) == 0 or np.ndim(y) == 0:
        return sum_like(g * y, x)
    if np.ndim(x) == 1 and np.ndim(y) == 1:
        return g * y
    if np.ndim(y) == 1:
        return sum_like(column(g) * y, x)
    if np.ndim(x) == 1:
        return sum_like(matmul(y, column(g))[..., 0], x)
    return sum_like(matmul(g, swap(y)), x)


def _right_vjp(g: Any, z: Any, x: Any, y: Any) -> Any:
    if np.ndim(x) == 0 or np.ndim(y) == 0:
        return sum_like(g * x, y)
    if np.ndim(x) == 1 and np.ndim(y) == 1:
        return g * x
    if np.ndim(x) == 1:
        return sum_like(column(x) * row(g), y)
    if np.ndim(y) == 1:
        return sum_like(matmul(swap(x), column(g))[..., 0], y)
    return sum_like(matmul(swap(x), g), y)


def _matmul(x: Any, y: Any) -> Any:
    if np.ndim(x) > 1 and np.ndim(y) > 1:
        batch = np.broadcast_shapes(np.shape(x)[:-2], np.shape(y)[:-2])
        check_size((*batch, np.shape(x)[-2], np.shape(y)[-1]))
    return np.matmul(x, y)


INNER = "as many columns on the left as rows on the right; a vector counts as a row on the left, a column on the right"

matmul: Op = Op(
    "matmul",
    _matmul,
    "the matrix product, also written A @ B; of arrays of more axes, for each pair of matrices",
    vjps=(_left_vjp, _right_vjp),
    numpy=(np.matmul,),
    signature="x, y",
    grad_fn=_product_name,
    infix="@",
    level=PRODUCT,
    fits=INNER,
)


def _dot(x: Any, y: Any) -> Any:
    if np.ndim(x) > 2 or np.ndim(y) > 2:
        raise ChainruleError("shape", "dot takes vectors and matrices", hint="for arrays of more axes write x @ y")
    return np.dot(x, y) if np.ndim(x) == 0 or np.ndim(y) == 0 else _matmul(x, y)


dot: Op = Op(
    "dot",
    _dot,
    "the inner product of two vectors; of matrices, the matrix product",
    vjps=(_left_vjp, _right_vjp),
    signature="x, y",
    grad_fn=_product_name,
    numpy=(np.dot,),
    fits=INNER,
)

# --- other products ---------------------------------------------------------------------------------------------------


def _outer(x: Any, y: Any) -> Any:
    check_size((np.size(x), np.size(y)))
    return np.outer(x, y)


def _flat(x: Any) -> Any:
    return reshape(x, shape=(-1,))


outer: Op = Op(
    "outer",
    _outer,
    "the outer product: the matrix of all xᵢ·yⱼ",
    vjps=(
        lambda g, z, x, y: reshape_like(matmul(g, _flat(y)), x),
        lambda g, z, x, y: reshape_like(matmul(_flat(x), g), y),
    ),
    numpy=(np.outer, np.linalg.outer),
    signature="x, y",
    grad_fn="MulBackward0",
)


def _cross(x: Any, y: Any, axis: int = -1) -> Any:
    if np.shape(x)[axis : axis + 1 or None] != (3,) or np.shape(y)[axis : axis + 1 or None] != (3,):
        raise ValueError("vectors of 3 elements are needed")
    if axis != -1 and np.ndim(x) != np.ndim(y):
        raise ValueError("arrays of as many axes are needed")
    return np.cross(x, y, axis=axis)


cross: Op = Op(
    "cross",
    _cross,
    "the cross product of vectors of 3 elements, along the last axis or another",
    vjps=(
        lambda g, z, x, y, axis=-1: cross(y, g, axis=axis),
        lambda g, z, x, y, axis=-1: cross(g, x, axis=axis),
    ),
    numpy=(np.cross, np.linalg.cross),
    signature="x, y; *, axis=-1",
    grad_fn="LinalgCrossBackward0",
    fits="vectors of 3 elements (along an axis other than the last, in arrays of as many axes)",
)


def _kron(x: Any, y: Any) -> Any:
    check_size((math.prod(np.shape(x)), math.prod(np.shape(y))))
    return np.kron(x, y)


def _interleaved(x: Any, y: Any) -> tuple[Any, Any]:
    """Both with new axes, so that their ordinary product is the Kronecker product but for its shape."""
    n = max(np.ndim(x), np.ndim(y))

    def key(z: Any, first: bool) -> tuple[Any, ...]:
        own = [None] * (n - np.ndim(z)) + [slice(None)] * np.ndim(z)
        return tuple(k for axis in own for k in ((axis, None) if first else (None, axis)))

    return index(x, key=key(x, True)), index(y, key=key(y, False))


def _kron_left_vjp(g: Any, z: Any, x: Any, y: Any) -> Any:
    left, right = _interleaved(x, y)
    return reshape_like(sum_like(reshape_like(g, expand_like(left, right, like=True)) * right, left), x)


def _kron_right_vjp(g: Any, z: Any, x: Any, y: Any) -> Any:
    left, right = _interleaved(x, y)
    return reshape_like(sum_like(reshape_like(g, expand_like(left, right, like=True)) * left, right), y)


kron: Op = Op(
    "kron",
    _kron,
    "the Kronecker product: a block xᵢⱼ·y for each element of x",
    vjps=(_kron_left_vjp, _kron_right_vjp),
    numpy=(np.kron,),
    signature="x, y",
)


def _trace(x: Any) -> Any:
    if np.ndim(x) != 2:
        raise ValueError("a matrix is needed")
    return np.trace(x)


trace: Op = Op(
    "trace",
    _trace,
    "the sum of the diagonal of a matrix",
    vjps=(lambda g, y, x: place_diagonal(expand_like(g, diag(x)), x),),
    numpy=(np.trace, np.linalg.trace),
    signature="A",
    fits="a matrix",
    shapes_only=True,
)
