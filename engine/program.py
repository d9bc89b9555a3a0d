"""A program that runs: the parsed graph, with Tensors through it or numbers through it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .errors import ChainruleError, did_you_mean
from .evaluate import checked_names, missing_error, trace_forward, typed_value, value_and_grad
from .graph import Graph, Node, Value
from .syntax import parse_into
from .tensors import Tensor

if TYPE_CHECKING:
    from .steps import Steps

DTYPES = ("float64", "float32")


class Program(Graph):
    """A program as a graph, made by `parse`.

    >>> g = parse("y = (x + w)*(w + 1)")
    >>> g.value_and_grad({"x": 2, "w": 1})
    (6.0, {'x': 2.0, 'w': 5.0})
    """

    def value_and_grad(
        self, values: Mapping[str, Any], wrt: Iterable[str] | None = None, cotangent: Any = None
    ) -> tuple[Value, dict[str, Value]]:
        """The output and its gradients on numbers and arrays: `(value, {name: gradient})`.

        `wrt` names the inputs (default: all that are not `const`); `cotangent`, of the output's shape, is needed where
        the output is not a scalar. Values for names that the program does not have are ignored.
        Raises `ChainruleError`.
        """
        return value_and_grad(self, values, wrt, cotangent)

    def run(
        self, values: Mapping[str, Any], *, retain: Iterable[str] | Literal["all"] = (), no_grad: Iterable[str] = ()
    ) -> Run:
        """Run forward on Tensors, recording as PyTorch does; the caller calls `.output.backward()` on the result.

        A Tensor among `values` is the leaf itself; other values become leaves that require a gradient unless the
        program says `const` or `no_grad` names them. `retain` names nodes that keep their gradient, `"all"` means all.
        Raises `ChainruleError`.
        """
        missing = self.missing(values)
        if missing:
            raise missing_error(self, missing)
        frozen = set(checked_names(self, no_grad))

        def leaf(i: int, node: Node) -> Tensor:
            assert node.name is not None
            given = values.get(node.name, self.at.get(node.name))
            if given is None:
                given = self.constant_value(node.args[0]) if node.args else 0.0  # 0 where the output needs no value
            if isinstance(given, Tensor):
                return given
            made = Tensor(typed_value(self, given, node.name))
            made.requires_grad = not node.frozen and node.name not in frozen
            return made

        tape = trace_forward(self, leaf, float if self.dtype is None else self.typed)
        if not isinstance(tape[self.output], Tensor):
            tape[self.output] = Tensor(tape[self.output])
        run = Run(self, tape)
        for name in run.retainable() if retain == "all" else retain:
            run.retain(name)
        return run

    def steps(self, values: Mapping[str, Any], *, no_grad: Iterable[str] = (), cotangent: Any = None) -> Steps:
        """A run forward and backward, step by step; in a notebook it shows itself. Raises `ChainruleError`."""
        from .analysis import analyse
        from .steps import steps_of

        return steps_of(lambda: analyse(self, values, no_grad=no_grad, cotangent=cotangent))

    def _repr_latex_(self) -> str:
        from .notebook import program_latex

        return program_latex(self)

    def _repr_svg_(self) -> str | None:
        from .notebook import drawing

        return drawing(self.steps({}))


class Run(Mapping[str, Tensor]):
    """A program's Tensors after a run: by name, by place in the graph (`at`), and the `output`."""

    def __init__(self, graph: Graph, tape: list[Any]) -> None:
        self.graph = graph
        self.tape = tape
        self._places = {label: i for i, label in graph.labels().items()}

    @property
    def output(self) -> Tensor:
        """The output's tensor."""
        return self.at(self.graph.output)

    def at(self, i: int) -> Tensor:
        """The tensor of the node at place `i`."""
        found = self.tape[i]
        return found if isinstance(found, Tensor) else Tensor(found)

    def retainable(self) -> list[str]:
        """The names of all nodes that may keep their gradient."""
        return [name for name, tensor in self.items() if tensor.requires_grad]

    def retain(self, name: str) -> None:
        """Call `retain_grad` on the node called `name`."""
        if name not in self._places:
            hint = did_you_mean(name, self._places) or f"its nodes are {', '.join(list(self._places)[:12])}"
            raise ChainruleError("name", f"no node is called {name!r}", hint=hint)
        try:
            self[name].retain_grad()
        except ChainruleError as error:
            error.hint = f"{name} requires no gradient, so none will arrive"
            raise

    def __getitem__(self, name: str) -> Tensor:
        return self.at(self._places[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def parse(text: str, *, names: Iterable[str] = (), seed: int = 0, dtype: Any = None) -> Program:
    """The graph of a program.

    `names` are inputs even where the language has a constant of that name (e, pi, tau, inf); `seed` is that of `rand`
    and `randn`; `dtype` is "float64" or "float32", the type of all numbers that the program computes with.
    Raises `ChainruleError` with the place in the text.
    """
    program = Program(dtype=computing_type(dtype))
    parse_into(program, text, names=names, seed=seed)
    return program


def computing_type(dtype: Any) -> Any:
    """NumPy's type for a program's numbers; None for float64. Raises `ChainruleError` for any other than float32."""
    if dtype is None:
        return None
    name = dtype if isinstance(dtype, str) else np.dtype(dtype).name
    if name not in DTYPES:
        hint = did_you_mean(name, DTYPES) or f"choose {' or '.join(DTYPES)}"
        raise ChainruleError("value", f"a program cannot compute in {name}", hint=hint)
    return np.float32 if name == "float32" else None
