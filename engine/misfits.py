"""What to say of arguments that an operation does not take: which shapes met, and what would fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import ChainruleError
from .ops import Op, shape_text

UNFIT = (ValueError, IndexError, TypeError, OverflowError, np.linalg.LinAlgError)  # what NumPy raises for them
BROADCASTING = "shapes are matched from the right; each pair must be equal, or one of them 1"


def misfit(op: Op, xs: Sequence[Any], error: Exception) -> ChainruleError:
    """The error, without a place, for arguments that made NumPy raise `error`."""
    name = op.infix or op.name
    shapes = " and ".join(shape_text(np.shape(x)) for x in xs)
    if isinstance(error, np.exceptions.AxisError) and error.axis is not None and error.ndim is not None:
        return ChainruleError("shape", f"{name}: there is no axis {error.axis} in {shapes}", hint=_axes(error.ndim))
    if isinstance(error, IndexError):
        return _index_misfit(op, np.shape(xs[0]), error)
    if isinstance(error, np.linalg.LinAlgError):
        return _matrix_misfit(name, xs, error)
    if not op.fits and len(xs) < 2:
        return ChainruleError("value", f"{name}: {error}")
    hint = f"{name} takes {op.fits}" if op.fits else BROADCASTING if op.elementwise else None
    return ChainruleError("shape", f"{name} does not fit the shape{'s' * (len(xs) > 1)} {shapes}", hint=hint)


def _axes(ndim: int) -> str:
    if ndim == 0:
        return "a scalar has no axes"
    return "its only axis is 0" if ndim == 1 else f"its axes are 0 to {ndim - 1}, or -1 to {-ndim} from the last"


def _indices(n: int) -> str:
    if n < 2:
        return "its only index is 0" if n else "it is empty"
    return f"indices go from 0 to {n - 1}, or from -1 to {-n} from the end"


def _index_misfit(op: Op, shape: tuple[int, ...], error: IndexError) -> ChainruleError:
    """An index beyond an axis, or more indices than axes."""
    key = op.params.get("key", ())
    taken = [k for k in key if k is not None and k is not Ellipsis]
    if len(taken) > len(shape):
        given = "1 index" if len(taken) == 1 else f"{len(taken)} indices"
        return ChainruleError("shape", f"{given} for {shape_text(shape)}", hint=_axes(len(shape)))
    after = len(key) - key.index(Ellipsis) - 1 if Ellipsis in key else 0
    for place, k in enumerate(taken):
        axis = place if place < len(taken) - after else len(shape) - (len(taken) - place)
        n = shape[axis]
        for i in np.ravel(k) if np.asarray(k).dtype.kind in "iu" else ():
            if not -n <= i < n:
                where = (
                    f"along axis {axis} of {shape_text(shape)}" if len(shape) > 1 else f"in shape {shape_text(shape)}"
                )
                return ChainruleError("shape", f"there is no index {i} {where}", hint=_indices(n))
    return ChainruleError("shape", f"{op.name}: {error}; the array has shape {shape_text(shape)}")


def _matrix_misfit(name: str, xs: Sequence[Any], error: Exception) -> ChainruleError:
    """A matrix that is not square, or has no inverse."""
    shape = np.shape(xs[0])
    if len(shape) < 2 or shape[-1] != shape[-2]:
        return ChainruleError("shape", f"{name} takes a square matrix, not one of shape {shape_text(shape)}")
    return ChainruleError("value", f"{name}: {error}")
