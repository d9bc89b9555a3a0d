"""Shapes: transposing, reshaping, joining, diagonals and triangles. Nothing is computed, elements only move."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ChainruleError
from .arrays import expand_like, index, reshape_like
from .base import Op
from .sizes import check_size, shape_text

# --- transposing and reshaping ----------------------------------------------------------------------------------------

transpose: Op = Op(
    "transpose",
    np.transpose,
    "the axes in reverse order, also written A.T; or in the order axes=[…]",
    vjps=(lambda g, y, x, axes=None: transpose(g, axes=None if axes is None else _inverse(axes)),),
    signature="A; *, axes=None",
    grad_fn="PermuteBackward0",
    infix=".T",
    shapes_only=True,
    exact=True,
)


def _inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    """The order of axes that undoes `axes`."""
    return tuple(int(i) for i in np.argsort([a % len(axes) for a in axes]))


swap_last: Op = Op(
    "swap_last",
    lambda x: np.swapaxes(x, -1, -2),
    "the last two axes exchanged",
    vjps=(lambda g, y, x: swap_last(g),),
    numpy=(np.matrix_transpose, np.linalg.matrix_transpose),
    signature="x",
    grad_fn="TransposeBackward0",
    public=False,
    shapes_only=True,
    exact=True,
)


def swap(x: Any) -> Any:
    """The last two axes exchanged; of a matrix, its transpose."""
    return transpose(x) if np.ndim(x) == 2 else swap_last(x)


def _reshape(x: Any, shape: tuple[int, ...]) -> Any:
    try:
        return np.reshape(x, shape)
    except ValueError:
        wanted = "×".join("?" if n == -1 else str(n) for n in shape) or "a scalar"
        raise ChainruleError(
            "shape",
            f"{shape_text(np.shape(x))} cannot be reshaped to {wanted}: it has {np.size(x)} elements",
            hint="the sizes must multiply to the number of elements; one of them may be -1, whatever is left",
        ) from None


reshape: Op = Op(
    "reshape",
    _reshape,
    "the elements in their order, in another shape; a size of -1 is whatever is left",
    vjps=(lambda g, y, x, shape: reshape_like(g, x),),
    numpy=(np.reshape,),
    signature="x; *shape",
    grad_fn="ViewBackward0",
    shapes_only=True,
    exact=True,
)
flip: Op = Op(
    "flip",
    np.flip,
    "the elements in reverse order, along all axes or some",
    vjps=(lambda g, y, x, axis=None: flip(g, axis=axis),),
    signature="x; *, axis=None",
    shapes_only=True,
    exact=True,
)

# --- joining ----------------------------------------------------------------------------------------------------------


def _piece(g: Any, *xs: Any, axis: int | None, which: int) -> Any:
    """The part of `g`, arrays joined, that came from the one at place `which`."""
    lengths = [np.size(x) if axis is None else np.shape(x)[axis] for x in xs]
    start = sum(lengths[:which])
    piece = np.take(g, range(start, start + lengths[which]), axis=axis)
    return np.reshape(piece, np.shape(xs[which]))


piece_of: Op = Op(
    "piece_of",
    _piece,
    "of g, arrays joined, the part that one of them was",
    vjps=(
        lambda h, y, g, *xs, axis, which: concat(
            *[h if i == which else expand_like(0.0, x) for i, x in enumerate(xs)], axis=axis
        ),
        None,
    ),
    signature="*xs; *, axis, which",
    grad_fn="NarrowBackward0",
    public=False,
    shapes_only=True,
    exact=True,
)
concat: Op = Op(
    "concat",
    lambda *xs, axis=0: np.concatenate(xs, axis=axis),
    "arrays joined along an axis, one after the other; axis=None joins their elements",
    vjps=(lambda g, y, *xs, axis=0, which=0: piece_of(g, *xs, axis=axis, which=which),),
    numpy=(np.concatenate,),
    signature="*xs; *, axis=0",
    grad_fn="CatBackward0",
    fits="arrays (a number is written [x]) that are equally long along all axes but the joined one",
    shapes_only=True,
    exact=True,
)


def _along(axis: int, n: int) -> tuple[Any, ...]:
    """The index of element `n` along an axis."""
    return (*(slice(None),) * axis, n) if axis >= 0 else (Ellipsis, n, *(slice(None),) * (-axis - 1))


stack: Op = Op(
    "stack",
    lambda *xs, axis=0: np.stack(xs, axis=axis),
    "arrays of one shape along a new axis, the first unless told otherwise",
    vjps=(lambda g, y, *xs, axis=0, which=0: index(g, key=_along(axis, which)),),
    numpy=(np.stack,),
    signature="*xs; *, axis=0",
    fits="arrays of one shape",
    shapes_only=True,
    exact=True,
)

# --- diagonals and triangles ------------------------------------------------------------------------------------------


def _diag(x: Any, k: int = 0) -> Any:
    if np.ndim(x) == 1:
        check_size((np.size(x) + abs(k),) * 2)
    return np.diag(x, k)


def _place_diagonal(g: Any, x: Any, k: int = 0) -> Any:
    out = np.zeros(np.shape(x), dtype=np.asarray(g).dtype)
    rows = np.arange(np.size(g)) + max(0, -k)
    out[rows, rows + k] = g
    return out


diag: Op = Op(
    "diag",
    _diag,
    "the diagonal of a matrix; of a vector, the matrix with this diagonal. k=1 is the diagonal above the main one",
    vjps=(lambda g, y, x, k=0: diag(g, k=k) if np.ndim(x) == 1 else place_diagonal(g, x, k=k),),
    numpy=(np.diag,),
    signature="x; *, k=0",
    grad_fn=lambda x, k=0: "DiagEmbedBackward0" if np.ndim(x) == 1 else "DiagonalBackward0_copy",
    fits="a vector or a matrix",
    shapes_only=True,
    exact=True,
)
place_diagonal: Op = Op(
    "place_diagonal",
    _place_diagonal,
    "zeros of the shape of x, with g on a diagonal",
    vjps=(lambda h, y, g, x, k=0: diag(h, k=k), None),
    signature="g, x; *, k=0",
    grad_fn="DiagEmbedBackward0",
    public=False,
    shapes_only=True,
    exact=True,
)
eye_like: Op = Op(
    "eye_like",
    lambda x: np.eye(np.shape(x)[-1]),
    "the identity matrix with a row for each element along the last axis of x",
    vjps=(None,),
    signature="x",
    public=False,
)


def _triangle(forward: Any) -> Any:
    """NumPy's triangle, of what may be allocated: a vector becomes a matrix."""

    def of(x: Any, k: int = 0) -> Any:
        n = np.shape(x)[-1:]
        check_size(n * 2 if np.ndim(x) == 1 else np.shape(x))
        return forward(x, k)

    return of


tril: Op = Op(
    "tril",
    _triangle(np.tril),
    "the lower triangle: zeros above the diagonal, or above the k-th one over it",
    vjps=(lambda g, y, x, k=0: tril(g, k=k),),
    numpy=(np.tril,),
    signature="A; *, k=0",
    fits="a matrix",
    shapes_only=True,
    exact=True,
)
triu: Op = Op(
    "triu",
    _triangle(np.triu),
    "the upper triangle: zeros below the diagonal, or below the k-th one over it",
    vjps=(lambda g, y, x, k=0: triu(g, k=k),),
    numpy=(np.triu,),
    signature="A; *, k=0",
    fits="a matrix",
    shapes_only=True,
    exact=True,
)
