"""What is asked of every line: the options, as they travel to the workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from chainrule.graph import Value

Kind: TypeAlias = Literal["gradient", "order", "hessian"]
Columns: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]  # elements of inputs: the name, and the index in it


@dataclass(frozen=True)
class Settings:
    """The options of a run that concern the lines.

    at          values common to all lines
    wrt, no_grad  as in `grad`, where a line has such inputs
    expression  the program of every line, None where each line brings its own
    kind        gradient, order or hessian, with `order`
    nodes, symbolic, check  what a result holds besides
    separate    whether error records go to a file of their own
    limit       the longest line in bytes, and `elements` the most numbers in a result
    dtype       what is computed in: float64 or float32
    timeout     seconds for a line; None for no limit
    output      the name of the output of `expression`
    columns     for rows of cells: the inputs' elements whose derivatives have columns of their own
    """

    format: str = "jsonl"
    at: Mapping[str, Value] = field(default_factory=dict)
    wrt: tuple[str, ...] | None = None
    no_grad: tuple[str, ...] = ()
    expression: str | None = None
    kind: Kind = "gradient"
    order: int = 1
    nodes: bool = False
    symbolic: bool = False
    check: bool = False
    seed: int = 0
    dtype: str = "float64"
    digits: int = 6
    separate: bool = False
    limit: int = 16 * 2**20
    elements: int = 1_000_000
    timeout: float | None = None
    output: str = "y"
    columns: Columns | None = None

    @property
    def quick(self) -> bool:
        """Whether values and gradients are all that is asked for."""
        return self.kind == "gradient" and not (self.nodes or self.symbolic or self.check)
