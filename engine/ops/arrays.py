"""Arrays: making them, indexing, reducing; and the operations that move a cotangent between shapes.

Three operations are the adjoints of NumPy's broadcasting and reducing. They take the array whose shape is wanted as a
second input, so that a rule needs no shapes and runs on graphs whose shapes are not known yet:

    sum_like(c, x)       c summed down to the shape of x (undoes a broadcast)
    expand_like(g, x)    g spread over the shape of x (undoes a sum)
    place_like(g, x)     zeros of the shape of x with g at an index (undoes indexing)
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ..errors import ChainruleError
from .arithmetic import where
from .base import Op

MAX_ELEMENTS = 10**8  # 800 MB: nothing larger is allocated


def check_size(shape: tuple[int, ...]) -> tuple[int, ...]:
    """`shape` itself if an array of it may be allocated, else a `ChainruleError` of kind `limit`."""
    if math.prod(shape) > MAX_ELEMENTS:
        raise ChainruleError(
            "limit",
            f"an array of shape {shape_text(shape)} has {math.prod(shape):,} elements; the limit is {MAX_ELEMENTS:,}",
        )
    return shape


def shape_text(shape: tuple[int, ...]) -> str:
    """A shape as people write it: 2×3, and 'a scalar' for ()."""
    return "×".join(map(str, shape)) if len(shape) > 1 else f"({shape[0]},)" if shape else "a scalar"


# --- shapes -----------------------------------------------------------------------------------------------------------


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


def _expand_like(g: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    shape = np.shape(x)
    if not shape:
        return g if not np.shape(g) else np.reshape(g, ())[()]
    return np.broadcast_to(_with_axes(g, axis, keepdims, len(shape)), shape)


def _place_like(g: Any, x: Any, key: Any) -> Any:
    out = np.zeros(np.shape(x), dtype=np.asarray(g).dtype)
    np.add.at(out, key, g)
    return out


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
    lambda g, x, axis=None, keepdims=False, like=False: (
        np.broadcast_to(g, np.broadcast_shapes(np.shape(g), np.shape(x)))
        if like
        else _expand_like(g, x, axis, keepdims)
    ),
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
count: Op = Op(
    "count",
    lambda x, axis=None: float(np.size(x) if axis is None else np.prod([np.shape(x)[a] for a in np.atleast_1d(axis)])),
    "the number of elements along the axes",
    vjps=(None,),
    signature="x; *, axis=None",
    public=False,
)

# --- indexing and assembling ------------------------------------------------------------------------------------------


def _index_name(x: Any, key: tuple[Any, ...]) -> str:
    kinds = {type(k) for k in key}
    return "SelectBackward0" if kinds == {int} else "SliceBackward0" if kinds <= {slice, int} else "IndexBackward0"


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
    numpy=(np.stack, np.array),
    vjps=(lambda g, y, *xs, which=0: index(g, key=(which,)),),
    signature="*xs",
    grad_fn="StackBackward0",
    public=False,
    shapes_only=True,
    exact=True,
)
transpose: Op = Op(
    "transpose",
    np.transpose,
    "the axes in reverse order, also written A.T",
    vjps=(lambda g, y, x: transpose(g),),
    signature="A",
    grad_fn="PermuteBackward0",
    infix=".T",
    shapes_only=True,
    exact=True,
)

# --- arrays from nothing ----------------------------------------------------------------------------------------------


def _creation(name: str, forward: Any, doc: str, signature: str = "; *shape") -> Op:
    return Op(name, forward, doc, vjps=(), signature=signature)


def _random(draw: str) -> Any:
    def forward(shape: tuple[int, ...] = (), seed: int | tuple[int, ...] = 0) -> Any:
        """Drawn from PCG64 seeded by (the user's seed, the draw's number in its program): the same at every call."""
        return getattr(np.random.default_rng(seed), draw)(check_size(shape) or None)

    return forward


def _arange(bounds: tuple[float, ...]) -> Any:
    if not 1 <= len(bounds) <= 3:
        raise ChainruleError("value", "arange takes stop, or start and stop, or start, stop and step")
    start, stop, step = (0.0, *bounds, 1.0) if len(bounds) == 1 else (*bounds, 1.0)[:3]
    if step == 0:
        raise ChainruleError("value", "the step of arange must not be 0")
    check_size((max(0, math.ceil(min((stop - start) / step, 1e18))),))
    return np.arange(start, stop, step, dtype=float)


zeros = _creation("zeros", lambda shape=(): np.zeros(check_size(shape))[()], "zeros of a shape")
ones = _creation("ones", lambda shape=(): np.ones(check_size(shape))[()], "ones of a shape")
eye = _creation(
    "eye", lambda n, m=None: np.eye(n, check_size((n, n if m is None else m))[1]), "the identity matrix", "; n, m=None"
)
arange = _creation("arange", _arange, "0, 1, … below stop; or from start, or by a step", "; *bounds")
linspace = _creation(
    "linspace",
    lambda start, stop, num=50: np.linspace(start, stop, check_size((num,))[0]),
    "num evenly spaced numbers, both ends included",
    "; start, stop, num=50",
)
rand = _creation("rand", _random("random"), "uniform random numbers in [0, 1)", "; *shape, *, seed=0")
randn = _creation(
    "randn", _random("standard_normal"), "normal random numbers (mean 0, variance 1)", "; *shape, *, seed=0"
)

# --- reductions -------------------------------------------------------------------------------------------------------

REDUCTION = "x; *, axis=None, keepdims=False"


def _reduced_name(name: str) -> Any:
    return lambda x, axis=None, keepdims=False: f"{name}Backward{0 if axis is None else 1}"


sum_: Op = Op(
    "sum",
    np.sum,
    "the sum over all elements, or along axes",
    vjps=(lambda g, y, x, axis=None, keepdims=False: expand_like(g, x, axis=axis, keepdims=keepdims),),
    signature=REDUCTION,
    grad_fn=_reduced_name("Sum"),
    shapes_only=True,
    scalar=lambda x: x,
)


def _mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    # Not np.mean, which warns of an empty array; its mean is nan.
    return np.true_divide(np.sum(x, axis=axis, keepdims=keepdims), count.forward(x, axis))


mean: Op = Op(
    "mean",
    _mean,
    "the mean over all elements, or along axes",
    vjps=(
        lambda g, y, x, axis=None, keepdims=False: (
            expand_like(g, x, axis=axis, keepdims=keepdims) / count(x, axis=axis)
        ),
    ),
    signature=REDUCTION,
    grad_fn=_reduced_name("Mean"),
    shapes_only=True,
    numpy=(np.mean,),
    sympy=lambda sp, x, axis=None, keepdims=False: (
        np.sum(x, axis=axis, keepdims=keepdims) / sp.Integer(int(count.forward(x, axis)))
    ),
)


def _largest(extreme: Any) -> Any:
    """SymPy's counterpart of a largest or smallest element: Max or Min taken along axes."""

    def reduced(x: Any, axis: Any, keepdims: bool, take: Any) -> Any:
        pairwise = np.frompyfunc(take, 2, 1)
        if axis is None:
            found = pairwise.reduce(np.ravel(x))
            return np.reshape(np.asarray(found, dtype=object), (1,) * np.ndim(x)) if keepdims else found
        return pairwise.reduce(x, axis=axis, keepdims=keepdims)

    return lambda sp, x, axis=None, keepdims=False: reduced(x, axis, keepdims, getattr(sp, extreme))


def extreme_vjp(g: Any, y: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The elements of `x` that are the largest (or smallest), `y`, share the cotangent evenly."""
    g, y = (expand_like(v, x, axis=axis, keepdims=keepdims) for v in (g, y))
    chosen = where(x == y, 1, 0)
    sharing = expand_like(sum_(chosen, axis=axis, keepdims=keepdims), x, axis=axis, keepdims=keepdims)
    return where(chosen, g / sharing, 0)


def _extreme(name: str, forward: Any, doc: str) -> Op:
    """The row of a largest or smallest element."""
    title = name.capitalize()
    return Op(
        name,
        forward,
        f"{doc}, over all or along axes; {name}(x, y, …) is elementwise",
        vjps=(extreme_vjp,),
        sympy=_largest(title),
        signature=REDUCTION,
        grad_fn=lambda x, axis=None, keepdims=False: f"{title}Backward{1 if axis is None else 0}",
        exact=True,
    )


max_: Op = _extreme("max", np.max, "the largest element")
min_: Op = _extreme("min", np.min, "the smallest element")

# --- graph ------------------------------------------------------------------------------------------------------------


@cache
def _opaque(sp: Any) -> Any:
    """A function of SymPy's that is its argument and has derivative 0."""

    class detach(sp.Function):  # type: ignore[misc]  # noqa: N801
        def fdiff(self, argindex: int = 1) -> Any:
            return sp.Integer(0)

        def _eval_evalf(self, prec: int) -> Any:
            return self.args[0]._eval_evalf(prec)

        def _eval_is_extended_real(self) -> Any:
            return self.args[0].is_extended_real

    return detach


detach: Op = Op(
    "detach",
    np.positive,
    "its argument, through which no gradient flows",
    (None,),
    scalar=lambda x: x,
    sympy=lambda sp, x: _opaque(sp)(x),
    aliases=("stop_gradient",),
    exact=True,
)
const: Op = Op(
    "const",
    np.positive,
    "its argument as a constant: a leaf that requires no gradient",
    (None,),
    scalar=lambda x: x,
    sympy=lambda sp, x: _opaque(sp)(x),
    exact=True,
)
