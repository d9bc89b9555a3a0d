"""Derivatives as code: a complete function in another language that returns the value and the derivatives."""

from __future__ import annotations

import re

from ..gradient import Derived, statement_name
from .arrays import Numpy
from .c import C
from .emit import Emitter
from .fortran import Fortran
from .javascript import JavaScript
from .julia import Julia
from .languages import Body, Language, Parameter, Result
from .python import Python
from .rust import Rust

__all__ = ["LANGUAGES", "code_text"]
LANGUAGES: dict[str, type[Language]] = {
    language.name: language for language in (Python, Numpy, C, Julia, Fortran, Rust, JavaScript)
}


def code_text(derived: Derived, kind: str, language: str, *, name: str | None = None, share: bool = True) -> str:
    """A function of the inputs that returns the value and the derivatives, with what it needs to run.

    `kind` says what the derivatives are called: gradient, derivative, jacobian or hessian. Shared expressions become
    variables unless `share` is false. Raises `ChainruleError` (kind `limit`) where the language lacks an operation.
    """
    target = LANGUAGES[language]()
    graph = derived.graph
    output = graph.output_name
    called = target.identifier(name or (output if graph.nodes[graph.output].name else "f"))
    target.reserved = target.reserved | {called, kind, "value"}
    places = [place for _, place in derived.found]
    names = _names(derived, target)
    emitter = Emitter(target, graph, [*derived.values, *places], names, share=share)
    texts = emitter.run()
    count = len(derived.values)
    labels = [derivative.label(output) for derivative, _ in derived.found]
    result = Result(kind, derived.shape, labels, texts[count:])
    value = Result("value", derived.value_shape, [], texts[:count]) if derived.value_shape else texts[0]
    parameters = [Parameter(names[graph.names[n]], derived.shapes[graph.names[n]]) for n in graph.inputs]
    return target.module(Body(called, parameters, _documentation(derived, kind), emitter.lines, value, result))


def _names(derived: Derived, target: Language) -> dict[int, str]:
    """The variables' names: the program's own, the output's, and one for each derivative, no two alike."""
    graph = derived.graph
    output = graph.output_name
    wanted = {i: name for name, i in graph.names.items()}
    for place, name in [(graph.output, output), *((p, statement_name(output, d)) for d, p in derived.found)]:
        if graph.nodes[place].value is None and not (derived.value_shape and place == graph.output):
            wanted.setdefault(place, name)
    names: dict[int, str] = {}
    taken: set[str] = set()
    for place, name in wanted.items():
        spelled = target.identifier(name)
        while (key := spelled.lower() if target.folds_case else spelled) in taken:
            spelled += "_"
        taken.add(key)
        names[place] = spelled
    return names


def _documentation(derived: Derived, kind: str) -> list[str]:
    """What the function computes."""
    graph = derived.graph
    labels = [derivative.label(graph.output_name) for derivative, _ in derived.found]
    source = re.sub(r"\s*\n\s*", "; ", graph.source.strip())
    shown = source if len(source) <= 200 else f"{source[:200]} …"
    listed = ", ".join(labels if len(labels) <= 12 else [*labels[:3], "…", labels[-1]])
    return [f"The value of {shown} and its {kind}:", f"{listed}."]
