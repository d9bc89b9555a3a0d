"""Arrays: summing and spreading, indexing, lists; what moves a cotangent between shapes.

Three operations are the adjoints of NumPy's broadcasting and reducing. They take the array whose shape is wanted as a
second input, so that a rule needs no shapes and runs on graphs whose shapes are not known yet:

    sum_like(c, x)       c summed down to the shape of x (undoes a broadcast)
    expand_like(g, x)    g spread over the shape of x (undoes a sum)
    place_like(g, x)     zeros of the shape of x with g at an index (undoes indexing)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import ChainruleError
from .base import Op
from .sizes import shape_text

# --- summing and spreading --------------------------------------------------------------------------------------------

REDUCTION = "x; *, axis=None, keepdims=False"


def reduced_name(name: str) -> Any:
    """PyTorch's name of a reduction: 0 over all elements, 1 along axes."""
    return lambda x, axis=None, keepdims=False: f"{name}Backward{0 if axis is None else 1}"


def _sum_like(c: Any, x: Any) -> Any:
    shape, given = np.shape(x), np.shape(c)
    if given == shape:
        return c
    c = np.broadcast_to(c, np.broadcast_shapes(given, shape))
    extra = tuple(range(c.ndim - len(shape)))
    stretched = tuple(i for i in range(-len(shape), 0) if shape[i] == 1 and c.shape[i] != 1)
    return np.sum(c, axis=extra + stretched, keepdims=True).reshape(shape)[()]


def _with_axes(g: Any, axis: Any, keepdims: bool, ndim: int) -> Any:
    """`g` with the reduced axes put back as ones, so that it broadcasts over what was reduced."""
    if axis is None or keepdims:
        return g if axis is None and not keepdims else np.asarray(g)
    axes = sorted(a % ndim for a in ((axis,) if isinstance(axis, int) else axis))
    return np.expand_dims(g, tuple(axes))


def _expand_like(g: Any, x: Any, axis: Any = None, keepdims: bool = False, like: bool = False) -> Any:
    if like:
        return np.broadcast_to(g, np.broadcast_shapes(np.shape(g), np.shape(x)))
    shape = getattr(x, "shape", ())
    if not shape:
        return g if not np.shape(g) else np.reshape(g, ())[()]
    if isinstance(g, (float, np.floating)):  # as np.broadcast_to, at an eighth of its price
        number: Any = np.float64(g) if type(g) is float else g
        return np.ndarray(shape, number.dtype, number, 0, (0,) * len(shape))
    return np.broadcast_to(_with_axes(g, axis, keepdims, len(shape)), shape)


def _place_like(g: Any, x: Any, key: Any) -> Any:
    out = np.zeros(np.shape(x), dtype=np.asarray(g).dtype)
    if _ONCE.issuperset(map(type, key)):
        out[key] = g
    else:
        np.add.at(out, key, g)  # an element that the index names twice receives both
    return out


sum_: Op = Op(
    "sum",
    lambda x, axis=None, keepdims=False: np.add.reduce(x, axis=axis, keepdims=keepdims),
    "the sum over all elements, or along axes",
    vjps=(
        lambda g, y, x, axis=None, keepdims=False: (
            expand_like(g, x) if axis is None else expand_like(g, x, axis=axis, keepdims=keepdims)
        ),
    ),
    signature=REDUCTION,
    grad_fn=reduced_name("Sum"),
    numpy=(np.sum,),
    shapes_only=True,
    scalar=lambda x: x,
)
sum_like: Op = Op(
    "sum_like",
    _sum_like,
    "c summed down to the shape of x",
    vjps=(lambda g, y, c, x: expand_like(g, c, like=True), None),
    sympy=lambda sp, c, x: _sum_like(c, x),
    signature="c, x",
    grad_fn="SumBackward1",
    public=False,
    shapes_only=True,
)
expand_like: Op = Op(
    "expand_like",
    _expand_like,
    "g spread over the shape of x",
    vjps=(
        lambda h, y, g, x, axis=None, keepdims=False, like=False: (
            sum_like(h, g) if like or axis is None else reshape_like(sum_(h, axis=axis, keepdims=keepdims), g)
        ),
        None,
    ),
    signature="g, x; *, axis=None, keepdims=False, like=False",
    grad_fn="ExpandBackward0",
    public=False,
    shapes_only=True,
    exact=True,
)
reshape_like: Op = Op(
    "reshape_like",
    lambda g, x: np.reshape(g, np.shape(x)),
    "g in the shape of x",
    vjps=(lambda h, y, g, x: reshape_like(h, g), None),
    signature="g, x",
    grad_fn="ViewBackward0",
    public=False,
    shapes_only=True,
    exact=True,
)


def divisor(n: Any) -> Any:
    """A number to divide by: Python's floats leave float32 as it is; NumPy's 0 gives nan where Python's raises."""
    return np.float64(0.0) if type(n) is float and n == 0 else n


def _count(x: Any, axis: Any = None) -> Any:
    found = np.size(x) if axis is None else math.prod(np.shape(x)[a] for a in np.atleast_1d(axis))
    return float(found) or np.float64(
        0.0
    )  # NumPy's 0 gives nan where Python's raises; other floats keep single ones so


count: Op = Op(
    "count",
    _count,
    "the number of elements along the axes",
    vjps=(None,),
    signature="x; *, axis=None",
    public=False,
)

# --- indexing and assembling ------------------------------------------------------------------------------------------


_ONCE = frozenset({int, slice, type(None), type(Ellipsis)})  # indices that name no element twice


def _index_name(x: Any, key: tuple[Any, ...]) -> str:
    """PyTorch's name: it applies the parts of an index one by one, and the last that does something gives the name."""
    if not _ONCE.issuperset(map(type, key)):
        return "IndexBackward0"
    name = "Slice" if slice in map(type, key) else "Alias"
    for k in key:
        if k is not Ellipsis and k != slice(None):
            name = "Select" if type(k) is int else "Unsqueeze" if k is None else "Slice"
    return f"{name}Backward0"


index: Op = Op(
    "index",
    lambda x, key: np.asarray(x)[key],
    "the element or slice of x at a fixed index",
    vjps=(lambda g, y, x, key: place_like(g, x, key=key),),
    signature="x; *, key",
    grad_fn=_index_name,
    public=False,
    shapes_only=True,
    exact=True,
)
place_like: Op = Op(
    "place_like",
    _place_like,
    "zeros of the shape of x, with g at an index",
    vjps=(lambda h, y, g, x, key: index(h, key=key), None),
    sympy=lambda sp, g, x, key: _place_like(np.asarray(g, dtype=object), x, key),
    signature="g, x; *, key",
    grad_fn="SelectBackward0",
    public=False,
    shapes_only=True,
    exact=True,
)


def _array(*xs: Any) -> Any:
    shapes = {np.shape(x) for x in xs}
    if len(shapes) > 1:
        rows = " and ".join(sorted(shape_text(shape) for shape in shapes)[:2])
        raise ChainruleError("shape", f"the entries of a list must have one shape, not {rows}")
    return np.stack([np.asarray(x) for x in xs]) if xs else np.zeros(0)


put: Op = Op(
    "put",
    lambda x, v, key: _put(x, v, key),
    "x with v at an index",
    vjps=(
        lambda g, y, x, v, key: put(g, 0.0, key=key),
        lambda g, y, x, v, key: sum_like(index(g, key=key), v),
    ),
    signature="x, v; *, key",
    grad_fn="CopySlices",
    public=False,
    shapes_only=True,
    exact=True,
)


def _put(x: Any, v: Any, key: Any) -> Any:
    made = np.array(x)
    times = np.zeros(made.shape, dtype=int)
    np.add.at(times, key, 1)
    if np.any(times > 1):
        raise ChainruleError("value", "an element is assigned twice by one index", hint="name each element once")
    made[key] = v
    return made


copy_into: Op = Op(
    "copy_into",
    lambda x, v: np.broadcast_to(v, np.shape(x)).copy()[()],
    "v in the shape of x",
    vjps=(lambda g, y, x, v: copy_into(g, 0.0), lambda g, y, x, v: g),
    grad_fn="CopyBackwards",
    signature="x, v",
    exact=True,
    public=False,
)
array: Op = Op(
    "array",
    _array,
    "the list of its arguments, along a new first axis",
    numpy=(np.array,),
    vjps=(lambda g, y, *xs, which=0: index(g, key=(which,)),),
    signature="*xs",
    grad_fn="StackBackward0",
    public=False,
    shapes_only=True,
    exact=True,
)


def row(x: Any) -> Any:
    """Vectors (the last axis) as rows: matrices with one row."""
    return index(x, key=(Ellipsis, None, slice(None)))


def column(x: Any) -> Any:
    """Vectors (the last axis) as columns: matrices with one column."""
    return index(x, key=(Ellipsis, None))
