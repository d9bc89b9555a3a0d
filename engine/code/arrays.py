"""Code in NumPy, for whole arrays: what a row computes with is what the code calls.

A row whose forward is a function of NumPy's is that function here; one that is written in NumPy alone is copied beside
the code, and special functions are SciPy's. Shapes are read from the arrays when the code runs, so the code holds for
other lengths than those that were said; the number of axes is fixed.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ..graph import Graph
from ..ops import CONSTANTS, TABLE, Op
from ..ops.arithmetic import COMPARISON, POSTFIX, PRODUCT
from ..ops.arrays import array, count, expand_like, index, place_like, reshape_like, sum_like
from ..ops.reductions import norm
from ..ops.shapes import swap_last
from ..printing import key_text
from .emit import Piece
from .languages import ATOM, Body, indented
from .python import Python


class Numpy(Python):
    """NumPy, with SciPy's special functions."""

    name, title, raises = "numpy", "NumPy", False
    signs: ClassVar = {"and": "&", "or": "|", "not": "~", "ne": "!="}
    constants: ClassVar = {name: f"np.{name}" for name in CONSTANTS if hasattr(np, name)}
    nan, infinity = "np.nan", "np.inf"
    special: ClassVar = {name: name for name in ("erf", "erfc", "erfinv", "gamma", "digamma")} | {"lgamma": "gammaln"}

    # --- elementwise --------------------------------------------------------------------------------------------------

    def choice(self, c: Piece, a: Piece, b: Piece) -> Piece:
        """Both sides are computed, and one is taken for each element."""
        return Piece(f"np.where({c.text}, {a.text}, {b.text})", ATOM)

    def negation(self, piece: Piece) -> Piece:
        """Not, elementwise."""
        return Piece(f"~({piece.text})", ATOM, True)

    def conjunction(self, pieces: list[Piece]) -> Piece:
        """All, elementwise."""
        return Piece(" & ".join(f"({piece.text})" for piece in pieces), COMPARISON - 1, True)

    def _logic(self, op: Op, args: list[Piece]) -> Piece:
        text = f" {self.signs[op.name]} ".join(f"({a.text})" for a in args)
        return Piece(text, COMPARISON - 1, True)

    def power(self, base: Piece, exponent: Piece) -> Piece:
        """`**`: the arrays are of floats."""
        return Piece(f"{self.operand(base, POSTFIX)}**{self.operand(exponent, POSTFIX)}", POSTFIX - 1)

    # --- operations ---------------------------------------------------------------------------------------------------

    def piece(self, graph: Graph, i: int, args: list[Piece]) -> Piece:
        """The text of node `i`; an element of an array is as an array's."""
        op = graph.nodes[i].op
        if op.name == index.name:
            return Piece(f"{self.operand(args[0], ATOM)}[{_key(op.params['key'])}]", ATOM)
        return super().piece(graph, i, args)

    def function(self, op: Op, args: list[Piece]) -> Piece:
        """NumPy's function, SciPy's, a row's own or a helper."""
        row, params = TABLE[op.name], dict(op.params)
        if row.infix == "@":
            return Piece(" @ ".join(self.operand(a, PRODUCT + 1) for a in args), PRODUCT - 1)
        if row.infix == ".T":
            return Piece(f"{self.operand(args[0], ATOM)}.T", ATOM)
        texts = [a.text for a in args]
        if row.name in MOVES:
            return Piece(MOVES[row.name](self, texts, params), ATOM)
        if row.name in self.special or row.name == "polygamma":
            self.used.add("special")
            order = [str(params.get("order", 1))] if row.name == "polygamma" else []
            return Piece(f"special.{self.special.get(row.name, row.name)}({', '.join([*order, *texts])})", ATOM)
        known = next((name for f in (row.forward, *row.numpy) if (name := _numpy_name(f))), None)
        if not args:
            return self._made(row, params)
        if known is not None:
            return Piece(f"{known}({', '.join([*texts, *_keywords(params)])})", ATOM)
        if (source := _source(row.forward)) is not None:
            name = row.forward.__name__.lstrip("_")
            self.helpers.setdefault(name, source)
            return Piece(f"{name}({', '.join([*texts, *_keywords(params)])})", ATOM)
        return super().function(op, args)

    def template(self, op: Op) -> str | None:
        """Everything is found above."""
        return None

    def _made(self, row: Op, params: dict[str, Any]) -> Piece:
        """An array from nothing: NumPy's function, or for random numbers those that were drawn."""
        if hasattr(np, row.name):
            given = [str(value) for name, values in params.items()
                     for value in (values if name == "bounds" else [values])]  # fmt: skip
            return Piece(f"np.{row.name}({', '.join(given)})", ATOM)
        return Piece(f"np.array({np.asarray(row(**params)).tolist()})", ATOM)

    # --- the function -------------------------------------------------------------------------------------------------

    def frame(self, body: Body, *, helper: bool = False) -> str:
        """A function of arrays, or of what makes arrays."""
        if helper:
            return super().frame(body, helper=True)
        lines = [f"{p.name} = np.asarray({p.name}, dtype=float)" for p in body.parameters]
        lines += [f"{name} = {text}" for name, text in body.lines]
        assert body.result is not None
        found = body.result.nested(body.result.texts)
        if len(body.result.shape) == 2:
            found = f"np.array({found})"
        value = body.value if isinstance(body.value, str) else f"np.array({body.value_text()})"
        doc = ['"""' + body.doc[0], *body.doc[1:], '"""']
        return f"def {body.name}({body.names}):\n{indented([*doc, *lines, f'return {value}, {found}'])}"

    def module(self, body: Body) -> str:
        """The imports, the helpers, the function."""
        parts = [*self.helpers.values(), self.frame(body)]
        head = "import numpy as np\n" + "from scipy import special\n" * ("special" in self.used)
        return head + "\n\n" + "\n\n\n".join(parts) + "\n"


def _key(key: tuple[Any, ...]) -> str:
    return ", ".join(map(key_text, key))


def _keywords(params: dict[str, Any]) -> list[str]:
    return [f"{name}={value!r}" for name, value in params.items()]


def _numpy_name(function: Any) -> str | None:
    """What NumPy calls one of its functions."""
    name = getattr(function, "__name__", "")
    for module, prefix in ((np, "np"), (np.linalg, "np.linalg")):
        if getattr(module, name, None) is function:
            return f"{prefix}.{name}"
    return None


def _source(function: Any) -> str | None:
    """The text of a function that uses nothing but NumPy, without its annotations; None for any other."""
    if not inspect.isfunction(function) or function.__name__ == "<lambda>":
        return None
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.name = definition.name.lstrip("_")
    definition.returns = None
    arguments = (*definition.args.args, *definition.args.kwonlyargs)
    for argument in arguments:
        argument.annotation = None
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    own = {node.id for node in names if isinstance(node.ctx, ast.Store)} | {a.arg for a in arguments} | {"np"}
    return ast.unparse(tree) if {node.id for node in names} - own <= vars(builtins).keys() else None


# --- operations between shapes ----------------------------------------------------------------------------------------


def _sum_like(code: Numpy, texts: list[str], params: dict[str, Any]) -> str:
    code.helpers.setdefault("sum_like", SUM_LIKE)
    return f"sum_like({', '.join(texts)})"


def _place_like(code: Numpy, texts: list[str], params: dict[str, Any]) -> str:
    code.helpers.setdefault("place_like", PLACE_LIKE)
    return f"place_like({', '.join(texts)}, np.s_[{_key(params['key'])}])"


def _expand_like(code: Numpy, texts: list[str], params: dict[str, Any]) -> str:
    g, x = texts
    if params.get("like"):
        return f"np.broadcast_to({g}, np.broadcast_shapes(np.shape({g}), np.shape({x})))"
    if params.get("axis") is not None and not params.get("keepdims"):
        g = f"np.expand_dims({g}, {params['axis']})"
    return f"np.broadcast_to({g}, np.shape({x}))"


def _count(code: Numpy, texts: list[str], params: dict[str, Any]) -> str:
    axis = params.get("axis")
    axes = [] if axis is None else [axis] if isinstance(axis, int) else list(axis)
    return "*".join(f"np.shape({texts[0]})[{a}]" for a in axes) if axes else f"np.size({texts[0]})"


def _norm(code: Numpy, texts: list[str], params: dict[str, Any]) -> str:
    order = params.get("ord", 2)
    ordered = "" if order == 2 else f", {'np.inf' if order == np.inf else order}"
    rest = "".join(f", {word}" for word in _keywords({k: v for k, v in params.items() if k != "ord"}))
    inside = texts[0] if params.get("axis") is not None else f"np.ravel({texts[0]})"
    return f"np.linalg.norm({inside}{ordered}{rest})"


MOVES: dict[str, Callable[[Numpy, list[str], dict[str, Any]], str]] = {
    sum_like.name: _sum_like,
    place_like.name: _place_like,
    expand_like.name: _expand_like,
    count.name: _count,
    norm.name: _norm,
    reshape_like.name: lambda code, texts, params: f"np.reshape({texts[0]}, np.shape({texts[1]}))",
    swap_last.name: lambda code, texts, params: f"np.swapaxes({texts[0]}, -1, -2)",
    array.name: lambda code, texts, params: f"np.array([{', '.join(texts)}], dtype=float)",
}
SUM_LIKE = '''def sum_like(c, x):
    """c summed down to the shape of x, which was spread over it"""
    c = np.broadcast_to(c, np.broadcast_shapes(np.shape(c), np.shape(x)))
    c = np.sum(c, axis=tuple(range(np.ndim(c) - np.ndim(x))))
    return np.sum(c, axis=tuple(i for i, n in enumerate(np.shape(x)) if n == 1), keepdims=True)'''
PLACE_LIKE = '''def place_like(g, x, key):
    """zeros of the shape of x, with g at an index"""
    made = np.zeros(np.shape(x))
    np.add.at(made, key, g)
    return made'''
