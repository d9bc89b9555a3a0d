"""An operation: one row of the table, and how a row is applied to whatever its arguments are.

A row is applied by calling it: `sin(x)`. On numbers and arrays it computes. On a `Traced` value (a Tensor that
records, a term of a graph under construction, a SymPy term) it asks that value's interpreter. So one rule, written
once with ordinary operators and the rows themselves, runs on all of them.

A row says how its gradient flows in one of two ways, with one formula for each input:

    partials    ∂y/∂xᵢ of an elementwise function, as formula(y, *xs) or an integer where the derivative is one
    vjps        the cotangent of xᵢ itself, as formula(g, y, *xs), where it is more than a product

From a partial d the cotangent is `chain(g, d)`, in which a zero cotangent contributes exactly zero even where d is
not finite. `None` for an input, or for all, means that no gradient flows.
"""

from __future__ import annotations

import contextvars
import dis
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from .sizes import MAX_ELEMENTS, check_size
from .traced import Traced, Wrapped

Rule = Callable[..., Any] | int | None
PLAIN = frozenset({float, int, bool})
ARITHMETIC = (ValueError, OverflowError, ZeroDivisionError)


# No warnings of NumPy's inside. Entering this costs as much as three operations: it is for many of them.
quietly = partial(np.errstate, all="ignore")
with quietly():
    quiet = contextvars.copy_context().copy  # a context for a single operation, nearly free; none is entered twice


class Interval(NamedTuple):
    """A safe interval for an argument: the function is finite and smooth inside, ends excluded."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"({self.low:g}, {self.high:g})".replace("inf", "∞")


REAL = Interval(-math.inf, math.inf)
POSITIVE = Interval(0.0, math.inf)
UNIT = Interval(-1.0, 1.0)
BEYOND_ONE = Interval(1.0, math.inf)


class Edge(NamedTuple):
    """A place where the derivative is a convention: a kink, a tie, a jump or a pole.

    `hit(*xs)` tells elementwise whether the arguments are there; `point` is an example. `value`, `left` and `right`
    hold a derivative for each input: the one chosen, and those just below and above (where the first argument is less
    than, and greater than, what `at` says); nan where the function does not exist. Of a row on whole arrays `hit` gets
    the static parameters too, and the derivatives are those by the first element; without any none can be told.
    """

    kind: str
    at: str
    hit: Callable[..., Any]
    point: tuple[Any, ...]
    value: tuple[float, ...]
    left: tuple[float, ...]
    right: tuple[float, ...]


def kink(at: float, *, value: float, left: float, right: float, kind: str = "kink") -> Edge:
    """An edge of a function of one argument at x = `at`."""
    return Edge(kind, f"x = {at:g}", lambda x: x == at, (at,), (value,), (left,), (right,))


def pole(at: float, value: float, left: float = math.nan, right: float = math.nan) -> Edge:
    """A place of a function of one argument where its derivative is infinite."""
    return kink(at, value=value, left=left, right=right, kind="pole")


class Static(NamedTuple):
    """A static parameter: its default as text (None: it must be given), and whether it is given by name only."""

    name: str
    default: str | None
    by_name: bool


def _typed(value: Any) -> Any:
    """A parameter as a key: x[1] and x[True] are not the same."""
    return (tuple, *map(_typed, value)) if type(value) is tuple else (type(value), value)


def _words(text: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, text.split(","))))


@dataclass(frozen=True, eq=False)
class Op:
    """One operation. See the module's text for `partials` and `vjps`.

    name       as it is called in the language
    forward    the value by NumPy, on numbers and arrays of any shape, never raising on a value (nan or inf instead)
    scalar     the same on Python floats, by `math`; may raise where `forward` gives nan or inf. Static parameters it
               takes if the row is elementwise
    slopes     the partials on Python floats, as `scalar` is the value; where none are given, `partials` serve
    sympy      its SymPy counterpart: a name in SymPy, or a function of (sympy, *arguments), arrays as object arrays
    means      for a row that people do not call, the same by rows that they do: what its formula says, less accurately
    grad_fn    PyTorch's name of the backward function, or a function of the arguments that gives it
    law        what calculus calls its rule, where it has a name ("product rule"); or a function of the arguments
    infix      how it is written as an operator, with `level`, its precedence
    signature  the inputs, then after `;` the static parameters, as `x; ord=2, *, axis=None`: those after `*` are given
               by name, `*shape` is any number of static numbers, `*xs` any number of inputs
    fits       the shapes that it takes, in words, told where others were given
    instead_of the operations, from the outer to the inner, that it does in one where they overflow or lose digits
    numpy      functions of NumPy's, besides `forward`, that mean this row when they meet a Tensor
    exact      the result is made of the inputs' own numbers, their negatives or small integers: nothing is rounded
    shapes_only  the rules need the inputs for their shapes only, not their values
    overloads  a name under which it answers too when called with its own number of arguments: log(x, b), max(x, y);
               a row of any number of inputs answers from three on
    """

    name: str
    forward: Callable[..., Any]
    doc: str
    partials: tuple[Rule, ...] | None = None
    vjps: tuple[Callable[..., Any] | None, ...] | None = None
    scalar: Callable[..., Any] | None = None
    slopes: tuple[Rule, ...] | None = None
    sympy: str | Callable[..., Any] | None = None
    means: Callable[..., Any] | None = None
    domain: tuple[Interval, ...] = ()
    aliases: tuple[str, ...] = ()
    grad_fn: str | Callable[..., str] | None = None
    law: str | Callable[..., str] | None = None
    edges: tuple[Edge, ...] = ()
    infix: str | None = None
    level: int = 0
    signature: str = ""
    overloads: str | None = None
    elementwise: bool | None = None
    public: bool = True
    shapes_only: bool = False
    exact: bool = False
    fits: str = ""
    instead_of: tuple[Op, ...] = ()
    numpy: tuple[Callable[..., Any], ...] = ()
    params: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    # The slopes of a row of one input or two, where each is a function or a number that is not 0.
    quick: tuple[Any, ...] | None = field(init=False)

    def __post_init__(self) -> None:
        set_ = partial(object.__setattr__, self)
        if self.elementwise is None:
            set_("elementwise", self.partials is not None)
        if self.vjps is None and self.partials is not None:
            set_("vjps", tuple(_vjp_of(d) for d in self.partials))
        if self.slopes is None:
            set_("slopes", self.partials)
        slopes = self.slopes or ()
        set_("quick", slopes if all(slopes) and 0 < len(slopes) <= 2 else None)
        if not self.signature:
            set_("signature", ", ".join("xyz"[: len(self.vjps or ())]))
        if not self.domain:
            set_("domain", (REAL,) * self.arity)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The names of its inputs; a single `*xs` for any number of them."""
        return _words(self.signature.partition(";")[0])

    @cached_property
    def statics(self) -> tuple[Static, ...]:
        """Its static parameters, which are no nodes of a graph: shapes, axes, orders."""
        words = _words(self.signature.partition(";")[2])
        named_from = words.index("*") if "*" in words else len(words)
        return tuple(
            Static(name, default or None, i > named_from)
            for i, (name, _, default) in enumerate(word.partition("=") for word in words)
            if name != "*"
        )

    @cached_property
    def parameters(self) -> frozenset[str]:
        """Their names."""
        return frozenset(static.name.lstrip("*") for static in self.statics)

    @cached_property
    def variadic(self) -> bool:
        """Whether it takes any number of inputs."""
        return bool(self.inputs) and self.inputs[0].startswith("*")

    @cached_property
    def arity(self) -> int:
        """How many inputs it takes; 0 for one that takes any number."""
        return 0 if self.variadic else len(self.inputs)

    @cached_property
    def flows(self) -> tuple[bool, ...]:
        """For each input, whether a gradient flows to it; of a row of any number of inputs, for all of them."""
        return tuple(vjp is not None for vjp in self.vjps or ())

    @property
    def differentiable(self) -> bool:
        """Whether a gradient flows to any input."""
        return any(self.flows)

    def bind(self, **params: Any) -> Op:
        """The same row with its static parameters fixed, so that it takes nothing but inputs."""
        if not params:
            return self
        key = tuple((name, _typed(value)) for name, value in params.items())
        try:
            if key in self._bound:
                return self._bound[key]
        except TypeError:  # a slice has no hash
            return self._fixed(params)
        if len(self._bound) > 100:
            self._bound.clear()
        return self._bound.setdefault(key, self._fixed(params))

    @cached_property
    def _bound(self) -> dict[Any, Op]:
        return {}

    def _fixed(self, params: Mapping[str, Any]) -> Op:
        def fixed(rule: Any) -> Any:
            return partial(rule, **params) if callable(rule) else rule

        return replace(
            self,
            forward=fixed(self.forward),
            scalar=fixed(self.scalar) if self.elementwise else None,
            partials=self.partials and tuple(map(fixed, self.partials)),
            slopes=self.slopes and tuple(map(fixed, self.slopes)),
            vjps=self.vjps and tuple(map(fixed, self.vjps)),
            params=MappingProxyType({**self.params, **params}),
        )

    def backward_name(self, *xs: Any) -> str:
        """PyTorch's name of the backward function for these arguments; plain numbers among them are constants."""
        if callable(self.grad_fn):
            return self.grad_fn(*xs, **self.params)
        return self.grad_fn or f"{self.name.capitalize()}Backward0"

    @cached_property
    def usual_name(self) -> str | None:
        """That name, if it is the same for all arguments and a gradient flows to every one of them; else None."""
        if not self.flows or not all(self.flows):
            return None
        if callable(self.grad_fn) and any(i < (self.arity or 1) for i in _used_arguments(self.grad_fn)):
            return None
        return self.backward_name(*self.inputs)

    def law_name(self, *xs: Any) -> str:
        """What calculus calls its rule for these arguments; plain numbers among them are constants."""
        if callable(self.law):
            return self.law(*xs)
        return self.law or f"derivative of {self.infix or self.overloads or self.name}"

    def vjp(self, i: int) -> Callable[..., Any] | None:
        """The rule for the cotangent of input `i`; a row of any number of inputs has one rule that is told which."""
        vjps = self.vjps or ()
        if i < len(vjps):
            return vjps[i]
        rule = vjps[-1] if vjps else None
        return None if rule is None else partial(rule, which=i)

    def saves(self, n: int) -> tuple[int | str, ...]:
        """What the rule for input `n` needs when backward runs: places of inputs, and "y" for the output.

        It is read off the rule's own code: the arguments that it uses.
        """
        if self.shapes_only:
            return ()
        if n not in self._saved:
            rule, skip = (self.partials[n], 0) if self.partials is not None else (self.vjp(n), 1)
            self._saved[n] = tuple("y" if i == skip else i - skip - 1 for i in _used_arguments(rule) if i >= skip)
        return self._saved[n]

    @cached_property
    def _saved(self) -> dict[int, tuple[int | str, ...]]:
        return {}

    @cached_property
    def saves_nothing(self) -> bool:
        """Whether no rule needs a value when backward runs, so that backward may run twice."""
        return not any(self.saves(n) for n in range(len(self.vjps or ())))

    def compute(self, *xs: Any) -> Any:
        """The value on plain numbers and arrays. Nothing is raised for nan or inf, and nothing is warned."""
        return self.computed(xs)

    def computed(self, xs: Sequence[Any]) -> Any:
        """The same of arguments that stand in a row already."""
        plain, most = True, 1  # no broadcast has more elements than that
        for x in xs:
            if type(x) is ndarray:
                plain = False
                most *= x.size
            elif type(x) not in PLAIN:
                plain = False
        if plain and self.scalar is not None:
            try:
                return self.scalar(*xs)
            except ARITHMETIC:  # nan and inf are NumPy's to give
                return float(quiet().run(self.forward, *map(np.float64, xs)))
        if most > MAX_ELEMENTS and self.elementwise:
            check_size(np.broadcast_shapes(*map(np.shape, xs)))
        return quiet().run(self.forward, *xs)

    @property
    def called(self) -> str:
        """How Python calls it: sum(x, axis=None, *, keepdims=False)."""
        return f"{self.name}({self.signature.replace('; ', ', ').removeprefix(', ')})"

    def by(self, library: Any, *xs: Any) -> Any:
        """The value on a library's terms or numbers: SymPy itself, or one that has the names of SymPy's functions.

        Arrays are object arrays, and elementwise rows are applied to each element.
        """
        if self.elementwise:
            if callable(self.sympy):
                counterpart = partial(self.sympy, library, **self.params)
            elif self.means is not None:
                counterpart = partial(self._meant, library)
            else:
                counterpart = getattr(library, self.sympy or self.name)
            if any(type(x) is np.ndarray for x in xs):
                return np.frompyfunc(counterpart, len(xs), 1)(*xs)
            return counterpart(*xs)
        arrays = [np.asarray(x, dtype=object) for x in xs]
        return self.sympy(library, *arrays, **self.params) if callable(self.sympy) else self.forward(*arrays)

    def _meant(self, library: Any, *xs: Any) -> Any:
        """What the row means, on a library's terms."""
        assert self.means is not None
        return self.means(*(_Term(x, library) for x in xs), **self.params).value

    def static_params(self, values: tuple[Any, ...], *, named: bool = False) -> dict[str, Any]:
        """Static parameters that were given by position, as a mapping; a TypeError when there are too many.

        With `named` those that the language wants by name may be among them, as in Python's x.sum(0).
        """
        given = [static for static in self.statics if named or not static.by_name]
        if given and given[0].name.startswith("*"):
            listed = len(values) == 1 and isinstance(values[0], (tuple, list))  # reshape(x, (2, 3))
            return {given[0].name[1:]: tuple(values[0]) if listed else values}
        if len(values) > len(given):
            raise TypeError(f"{self.called} was called with too many arguments")
        return {static.name: value for static, value in zip(given, values, strict=False)}

    def __call__(self, *xs: Any, **params: Any) -> Any:
        """Apply the operation: compute on numbers and arrays, or ask the interpreter of a `Traced` argument."""
        op = self
        if params or len(xs) != self.arity:
            op, xs = self._arranged(xs, params)
        for x in xs:
            if isinstance(x, Traced):
                return x.interpret(op, xs)
        return op.computed(xs)

    def _arranged(self, xs: tuple[Any, ...], params: dict[str, Any]) -> tuple[Op, tuple[Any, ...]]:
        """The row with its static parameters fixed, and the inputs, of what was given in a call."""
        if self.variadic and len(xs) == 1 and isinstance(xs[0], (list, tuple)):
            xs = tuple(xs[0])  # cr.stack([x, w]), as NumPy has it
        if self.statics and not self.variadic and len(xs) > self.arity:
            params |= self.static_params(xs[self.arity :], named=True)
            xs = xs[: self.arity]
        for name in params:
            if name not in self.parameters:
                raise TypeError(f"{self.called} has no parameter {name!r}")
        if not self.variadic and len(xs) != self.arity:
            raise TypeError(f"{self.called} was called with {len(xs)} argument{'s' * (len(xs) != 1)}")
        return self.bind(**params), xs

    def __repr__(self) -> str:
        inside = "".join(f", {name}={value!r}" for name, value in self.params.items())
        return f"<op {self.name}{inside}>"


class _Term(Wrapped):
    """A library's term that rows are applied to."""

    __slots__ = ("library",)

    def __init__(self, value: Any, library: Any) -> None:
        super().__init__(value)
        self.library = library

    def interpret(self, op: Op, xs: tuple[Any, ...]) -> _Term:
        """The library's value of `op`."""
        return _Term(op.by(self.library, *[x.value if isinstance(x, _Term) else x for x in xs]), self.library)


def _used_arguments(rule: Any) -> list[int]:
    """The places of the positional arguments that a function's code reads; all of them where it takes any number."""
    while isinstance(rule, partial):
        rule = rule.func
    if not callable(rule):
        return []
    code = rule.__code__
    read: set[str] = set(code.co_cellvars)
    for instruction in dis.get_instructions(code):
        if instruction.opname.startswith("LOAD_FAST"):  # newer Pythons read two at a time
            read.update(instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,))
    used = [i for i, name in enumerate(code.co_varnames[: code.co_argcount]) if name in read]
    if code.co_flags & inspect.CO_VARARGS and code.co_varnames[code.co_argcount + code.co_kwonlyargcount] in read:
        used.append(code.co_argcount)
    return used


def _annihilating_product(g: Any, d: Any) -> Any:
    product = np.multiply(g, d)
    if np.all(np.isfinite(d)):
        return product
    return np.where(np.equal(g, 0), 0.0, product)


def _vjp_of(rule: Rule) -> Callable[..., Any] | None:
    """The rule for a cotangent that a local derivative implies."""
    if rule is None:
        return None
    if callable(rule):
        return lambda g, y, *xs, **params: chain(g, rule(y, *xs, **params))
    return lambda g, y, *xs, **params: scaled(g, rule)


# The product of the chain rule: 0 where g is 0, whatever d is. Its derivative by g stays d, so a gradient that is zero
# at a point still has the right derivative there (create_graph).
chain_product: Op = Op(
    "chain_product",
    _annihilating_product,
    "g·d, the cotangent times a local derivative: exactly 0 where g is 0, even if d is not finite",
    partials=(lambda y, g, d: d, lambda y, g, d: g),
    scalar=lambda g, d: 0.0 if g == 0 else g * d,
    sympy=lambda sp, g, d: g * d,
    grad_fn="MulBackward0",
    infix="*",
    public=False,
)


def scaled(g: Any, d: int) -> Any:
    """The cotangent `g` through a local derivative that is the same integer everywhere: 1 or -1 cost no product."""
    if d == 0 and not isinstance(g, Traced):
        return np.zeros(np.shape(g))[()]
    return g if d == 1 else -g if d == -1 else g * d


def all_finite(x: Any) -> bool:
    """Whether no element is nan or infinite, by one quick look at all; False, too, where squares overflow."""
    return math.isfinite(x if type(x) is float else np.vdot(x, x))


def chain(g: Any, d: Any) -> Any:
    """The cotangent `g` through the local derivative `d`."""
    if isinstance(g, Traced) or isinstance(d, Traced):
        return chain_product(g, d)
    product = g * d
    if all_finite(product):
        return product
    return chain_product.compute(g, d)
