"""Reductions: sums, means, products, extremes, lengths, over all elements or along axes; softmax; running sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import ChainruleError
from .arithmetic import abs_, sign, where
from .arrays import REDUCTION, column, count, divisor, expand_like, reduced_name, reshape_like, row, sum_
from .base import Edge, Op, chain
from .kernels import in_doubles
from .shapes import eye_like, flip


def each(function: Any, x: Any) -> Any:
    """A function of SymPy's of each element."""
    return np.frompyfunc(function, 1, 1)(x)


# --- means and variances ----------------------------------------------------------------------------------------------


def _mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    # Not np.mean, which warns of an empty array; its mean is nan.
    return np.true_divide(np.sum(x, axis=axis, keepdims=keepdims), count.forward(x, axis))


def _symbolic_mean(sp: Any, x: Any, axis: Any = None, keepdims: bool = False, ddof: int = 0) -> Any:
    return np.sum(x, axis=axis, keepdims=keepdims) / sp.Integer(int(count.forward(x, axis)) - ddof)


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
    grad_fn=reduced_name("Mean"),
    shapes_only=True,
    numpy=(np.mean,),
    sympy=_symbolic_mean,
)


def _deviations(x: Any, axis: Any) -> Any:
    return x - mean(x, axis=axis, keepdims=True)


def _var(x: Any, axis: Any = None, keepdims: bool = False, ddof: int = 0) -> Any:
    squares = np.square(_deviations(x, axis))
    return np.true_divide(np.sum(squares, axis=axis, keepdims=keepdims), count.forward(x, axis) - ddof)


@in_doubles
def _std(x: Any, axis: Any = None, keepdims: bool = False, ddof: int = 0) -> Any:
    length = _norm(_deviations(x, axis), axis=axis, keepdims=keepdims)  # by norm, so that no square overflows
    return length / np.sqrt(count.forward(x, axis) - ddof)


def _symbolic_var(sp: Any, x: Any, axis: Any = None, keepdims: bool = False, ddof: int = 0) -> Any:
    return _symbolic_mean(sp, (x - _symbolic_mean(sp, x, axis, True)) ** 2, axis, keepdims, ddof)


def _var_vjp(g: Any, y: Any, x: Any, axis: Any = None, keepdims: bool = False, ddof: int = 0) -> Any:
    n = divisor(count(x, axis=axis) - ddof)
    return chain(expand_like(g, x, axis=axis, keepdims=keepdims), 2 / n * _deviations(x, axis))


var: Op = Op(
    "var",
    _var,
    "the variance Σ(x - mean)²/n, over all elements or along axes; ddof=1 divides by n - 1",
    vjps=(_var_vjp,),
    numpy=(np.var,),
    sympy=_symbolic_var,
    signature=f"{REDUCTION}, ddof=0",
)


def _std_vjp(g: Any, y: Any, x: Any, axis: Any = None, keepdims: bool = False, ddof: int = 0) -> Any:
    n = divisor(count(x, axis=axis) - ddof)
    g, y = (expand_like(v, x, axis=axis, keepdims=keepdims) for v in (g, y))
    return where(y == 0, 0, chain(g, _deviations(x, axis) / y / n))


std: Op = Op(
    "std",
    _std,
    "the standard deviation, the root of the variance; ddof=1 divides by n - 1",
    vjps=(_std_vjp,),
    numpy=(np.std,),
    edges=(
        Edge("kink", "all elements equal", lambda x, **params: _std(x, **params) == 0, ([3.0, 3.0],),
             (0.0,), (-0.5,), (0.5,)),
    ),
    sympy=lambda sp, x, **params: each(sp.sqrt, _symbolic_var(sp, x, **params)),
    signature=f"{REDUCTION}, ddof=0",
)  # fmt: skip

# --- products ---------------------------------------------------------------------------------------------------------


def reduced_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes that a reduction goes over, counted from the front."""
    return tuple(range(ndim)) if axis is None else tuple(a % ndim for a in np.atleast_1d(axis)) if ndim else ()


def _to_last(x: Any, axis: Any = None) -> Any:
    axes = reduced_axes(axis, np.ndim(x))
    moved = np.moveaxis(np.asarray(x), axes, range(-len(axes), 0))
    return np.reshape(moved, (*moved.shape[: moved.ndim - len(axes)], -1))


def _from_last(c: Any, x: Any, axis: Any = None) -> Any:
    axes = reduced_axes(axis, np.ndim(x))
    moved = np.moveaxis(np.broadcast_to(0, np.shape(x)), axes, range(-len(axes), 0))  # for its shape alone
    return np.moveaxis(np.reshape(c, moved.shape), range(-len(axes), 0), axes)[()]


to_last: Op = Op(
    "to_last",
    _to_last,
    "the elements along some axes as the last axis",
    vjps=(lambda g, y, x, axis=None: from_last(g, x, axis=axis),),
    signature="x; *, axis=None",
    grad_fn="ViewBackward0",
    public=False,
    shapes_only=True,
    exact=True,
)
from_last: Op = Op(
    "from_last",
    _from_last,
    "the last axis of c put back to where to_last took it from x",
    vjps=(lambda h, y, c, x, axis=None: to_last(h, axis=axis), None),
    signature="c, x; *, axis=None",
    grad_fn="ViewBackward0",
    public=False,
    shapes_only=True,
    exact=True,
)


def _product_of_others(x: Any) -> Any:
    # What stands before each element times what stands after it: no division, so a zero does no harm.
    n = np.shape(x)[-1]
    one = np.ones((*np.shape(x)[:-1], 1))
    before = np.cumprod(np.concatenate([one, x[..., :-1]], axis=-1), axis=-1)
    after = np.cumprod(np.concatenate([one, x[..., :0:-1]], axis=-1), axis=-1)
    return (before * after[..., ::-1])[..., :n]


def _product_of_others_vjp(h: Any, y: Any, x: Any) -> Any:
    """∂yᵢ/∂xⱼ is the product of all but the i-th and the j-th: that of the others where xᵢ is replaced by 1."""
    same = eye_like(x)
    without = where(same, 1, row(x))
    return sum_(where(same, 0, chain(column(h), product_of_others(without))), axis=-2)


product_of_others: Op = Op(
    "product_of_others",
    _product_of_others,
    "for each element the product of all others along the last axis",
    vjps=(_product_of_others_vjp,),
    signature="x",
    grad_fn="ProdBackward1",
    public=False,
)


def _prod_vjp(g: Any, y: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    others = from_last(product_of_others(to_last(x, axis=axis)), x, axis=axis)
    return chain(expand_like(g, x, axis=axis, keepdims=keepdims), others)


prod: Op = Op(
    "prod",
    np.prod,
    "the product of all elements, or along axes",
    vjps=(_prod_vjp,),
    signature=REDUCTION,
    grad_fn=reduced_name("Prod"),
)

# --- running sums -----------------------------------------------------------------------------------------------------


def _cumsum_vjp(g: Any, y: Any, x: Any, axis: int | None = None) -> Any:
    return reshape_like(flip(cumsum(flip(g, axis=axis), axis=axis), axis=axis), x)


cumsum: Op = Op(
    "cumsum",
    np.cumsum,
    "the running sums along an axis; without one, over all elements in their order",
    vjps=(_cumsum_vjp,),
    signature="x; *, axis=None",
    shapes_only=True,
)

# --- extremes ---------------------------------------------------------------------------------------------------------


def _largest(extreme: str) -> Any:
    """SymPy's counterpart of a largest or smallest element: Max or Min taken along axes."""

    def counterpart(sp: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        found = np.frompyfunc(getattr(sp, extreme), 2, 1).reduce(_to_last(x, axis), axis=-1)
        return np.expand_dims(found, reduced_axes(axis, np.ndim(x))) if keepdims else found

    return counterpart


def extreme_vjp(g: Any, y: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The elements of `x` that are the largest (or smallest), `y`, share the cotangent evenly."""
    g, y = (expand_like(v, x, axis=axis, keepdims=keepdims) for v in (g, y))
    chosen = where(x == y, 1, 0)
    sharing = expand_like(sum_(chosen, axis=axis, keepdims=keepdims), x, axis=axis, keepdims=keepdims)
    return where(chosen, g / sharing, 0)


def _tied(extreme: Any) -> Any:
    """Whether anywhere several elements are the largest (or smallest)."""

    def hit(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return np.any(np.sum(np.equal(x, extreme(x, axis=axis, keepdims=True)), axis=axis) > 1)

    return hit


def _extreme(name: str, forward: Any, alias: Any, doc: str, below: float, above: float) -> Op:
    """The row of a largest or smallest element."""
    title = name.capitalize()
    return Op(
        name,
        forward,
        f"{doc}, over all or along axes; {name}(x, y, …) is elementwise",
        vjps=(extreme_vjp,),
        sympy=_largest(title),
        edges=(Edge("tie", f"two {doc.split()[1]} elements", _tied(forward), ([1.0, 1.0],),
                    (0.5,), (below,), (above,)),),
        numpy=(alias,),
        signature=REDUCTION,
        grad_fn=lambda x, axis=None, keepdims=False: f"{title}Backward{1 if axis is None else 0}",
        exact=True,
    )  # fmt: skip


max_: Op = _extreme("max", np.max, np.amax, "the largest element", 0.0, 1.0)
min_: Op = _extreme("min", np.min, np.amin, "the smallest element", 1.0, 0.0)

# --- lengths ----------------------------------------------------------------------------------------------------------


def _norm(x: Any, ord: float = 2, axis: Any = None, keepdims: bool = False) -> Any:
    if not ord > 0:
        raise ChainruleError("value", f"the order of a norm must be positive, not {ord:g}")
    size = np.abs(x)
    if ord == math.inf:
        return np.max(size, axis=axis, keepdims=keepdims)
    scale = np.max(size, axis=axis, keepdims=True, initial=0.0)
    scale = np.where((scale > 0) & np.isfinite(scale), scale, 1.0)  # powers neither overflow nor vanish
    scaled = size / scale
    if ord == 2:
        total = np.sqrt(np.sum(np.square(scaled), axis=axis, keepdims=True)) * scale
    else:
        total = np.sum(scaled**ord, axis=axis, keepdims=True) ** (1 / ord) * scale
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
        return where(y == 0, 0, g * (x / y))
    return where(y == 0, 0, g * sign(x) * (abs_(x) / y) ** (ord - 1))


def _at_kink(x: Any, ord: float = 2, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether the norm has a kink: at 0, for ord=1 where any element is 0, for ord=inf where the largest are tied."""
    if ord == 1:
        return np.any(np.equal(x, 0))
    length = _norm(x, ord, axis)
    return np.any(length == 0) or (ord == math.inf and _tied(np.max)(np.abs(x), axis))


norm: Op = Op(
    "norm",
    _norm,
    "the length: (Σ|x|^ord)^(1/ord) over all elements, or along axes; the largest |x| for ord=inf",
    vjps=(_norm_vjp,),
    numpy=(np.linalg.norm, np.linalg.vector_norm),
    edges=(Edge("kink", "x = 0", _at_kink, ([0.0],), (0.0,), (-1.0,), (1.0,)),),
    sympy=lambda sp, x, ord=2, axis=None, keepdims=False: _symbolic_norm(sp, x, ord, axis, keepdims),
    signature="x; ord=2, *, axis=None, keepdims=False",
    grad_fn="LinalgVectorNormBackward0",
)


def _symbolic_norm(sp: Any, x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    size = each(sp.Abs, x)
    if ord == math.inf:
        return max_.sympy(sp, size, axis=axis, keepdims=keepdims)  # type: ignore[operator,misc]
    total = np.sum(x * x if ord == 2 else size ** sp.nsimplify(ord), axis=axis, keepdims=keepdims)
    return each(lambda t: t ** (1 / sp.nsimplify(ord)), total)
