"""The data of tensors: what is taken as numbers, and how numbers are printed."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from .errors import ChainruleError


def as_data(data: Any, dtype: Any) -> Any:
    """Data as a tensor holds them: a float for a float64 scalar, else a new array (or a NumPy scalar)."""
    if type(data) is float and dtype is None:
        return data
    try:
        dtype = None if dtype is None else np.dtype(dtype)
    except TypeError as error:
        raise ChainruleError("value", f"{dtype!r} is no type of numbers", hint="float64 or float32") from error
    if isinstance(data, (list, tuple)):
        data = _without_tensors(data)
    try:
        array = np.array(data, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise ChainruleError("value", f"the data of a tensor must be numbers in equal rows: {error}") from error
    if array.dtype.kind not in "fiub":
        raise ChainruleError("value", f"the data of a tensor must be numbers, not {array.dtype}")
    if array.ndim:
        return array
    return float(array) if array.dtype == np.float64 else array[()]


def constant(x: Any) -> Any:
    """An operand that is no tensor: a copy of an array, which may be changed while the graph lives; never complex."""
    if x is None or isinstance(x, str):
        raise ChainruleError("value", f"{x!r} is no number")
    if not isinstance(x, (np.ndarray, np.generic, complex)):
        return x
    if np.iscomplexobj(x):
        raise ChainruleError("value", "complex numbers are not supported: tensors are real")
    return x.copy() if isinstance(x, np.ndarray) and x.flags.writeable else x


def _without_tensors(data: Any) -> Any:
    """Nested lists with the numbers of tensors in them. Refuses those whose gradient would be lost, and None."""
    if isinstance(data, (list, tuple)):
        return [_without_tensors(entry) for entry in data]
    if getattr(data, "requires_grad", False):
        raise ChainruleError(
            "grad",
            "a tensor made of tensors that require a gradient would lose it",
            hint="use cr.stack(x, w): it is part of the graph; or detach() what needs no gradient",
        )
    return data.tolist() if hasattr(data, "tolist") else data


def check_floating(dtype: np.dtype[Any]) -> None:
    """Refuse a gradient for whole numbers and booleans."""
    if dtype.kind != "f":
        raise ChainruleError(
            "grad",
            "only Tensors of floating point dtype can require gradients",
            hint=f"this one holds {dtype}; write 3.0 for 3, or give dtype=float",
        )


def values_text(data: Any) -> str:
    """Values as PyTorch prints them: four decimals, whole numbers as `2.`, integers and booleans as they are."""
    array = np.asarray(data)
    if array.dtype.kind == "f":
        sizes = np.abs(array[np.isfinite(array) & (array != 0)])
        whole = bool(np.all(sizes == np.round(sizes)))
        uneven = sizes.size > 0 and (np.max(sizes) / np.min(sizes) > 1000 or np.max(sizes) > 1e8)
        small = sizes.size > 0 and not whole and np.min(sizes) < 1e-4
        form = "{:.4e}" if uneven or small else "{:.0f}." if whole else "{:.4f}"
        words = [form.format(v) if np.isfinite(v) else str(v) for v in array.ravel().tolist()]
    else:
        words = [str(v) for v in array.ravel().tolist()]
    size = max(map(len, words), default=0) if array.ndim else 0
    text = np.array2string(
        np.array([word.rjust(size) for word in words], dtype=object).reshape(array.shape),
        separator=", ",
        formatter={"object": str},
        max_line_width=80,
        prefix="tensor(",
    )
    return re.sub(r" +\n", "\n", text)
