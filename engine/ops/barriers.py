"""Where gradients stop: detach and const."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .base import Op


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
