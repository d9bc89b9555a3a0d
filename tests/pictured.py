"""The programs that every picture and explanation is tried on: samples, physics, networks, a long sum."""

from __future__ import annotations

import shlex
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from command import ROOT
from truth import recorded

import chainrule as cr
from chainrule.analysis import Analysis, analyse
from chainrule.steps import Steps, steps_of


class Case(NamedTuple):
    """A program, its values, and how it is run."""

    name: str
    text: str
    values: dict[str, Any]
    no_grad: tuple[str, ...] = ()
    cotangent: Any = None

    def analysis(self, **how: Any) -> Analysis:
        """The program run and differentiated."""
        program = cr.parse(self.text, names=self.values)
        return analyse(program, self.values, no_grad=self.no_grad, cotangent=self.cotangent, **how)

    def steps(self) -> Steps:
        """Its steps."""
        return steps_of(self.analysis)

    def words(self) -> list[str]:
        """What stands after a command's name."""
        given = [f"{name}={np.asarray(value).tolist()}".replace(" ", "") for name, value in self.values.items()]
        frozen = [word for name in self.no_grad for word in ("--no-grad", name)]
        seed = [] if self.cotangent is None else ["--cotangent", str(self.cotangent.tolist())]
        return [self.text, *given, *frozen, *seed]


def _samples() -> list[Case]:
    """The samples' expressions with their values."""
    found: dict[str, Case] = {}
    for path in sorted((ROOT / "samples").glob("*.sh")):
        for line in path.read_text(encoding="utf-8").splitlines():
            words = shlex.split(line, comments=True)
            if words[:2] != ["chainrule", "grad"] or words[2].startswith("-"):
                continue
            options = dict(pairwise(words))
            no_grad = (options["--no-grad"],) if "--no-grad" in options else ()
            given = [word.partition("=") for word in words[3:] if "=" in word]
            values = {name: cr.parse_value(text, name=name) for name, _, text in given}
            cotangent = cr.parse_value(options["--cotangent"]) if "--cotangent" in options else None
            found.setdefault(words[2], Case(path.stem, words[2], values, no_grad, cotangent))
    return list(found.values())


NETWORK = """h = tanh(W1 @ x + b1)
p = sigmoid(W2 @ h + b2)
loss = -mean(t*log(p) + (1 - t)*log(1 - p))"""
CROSS_ENTROPY = "z = W @ x + b; loss = -sum(t*(z - log(sum(exp(z)))))"


def _networks() -> list[Case]:
    draw = np.random.default_rng(7).normal
    network = {"W1": draw(size=(4, 3)), "x": draw(size=3), "b1": draw(size=4), "W2": draw(size=(2, 4)),
               "b2": draw(size=2), "t": np.array([1.0, 0.0])}  # fmt: skip
    entropy = {"W": draw(size=(3, 4)), "x": draw(size=4), "b": draw(size=3), "t": np.array([0.0, 1.0, 0.0])}
    return [Case("network", NETWORK, network, ("t",)), Case("cross-entropy", CROSS_ENTROPY, entropy, ("t",))]


PHYSICS = [
    Case(row["id"].replace("/", "-"), f"{row['output']} = {row['formula']}", row["point"])
    for row in recorded("feynman.jsonl")[:10]
]
TERMS = 1000
LONG_SUM = Case(
    "long-sum",
    " + ".join(f"sin(a{i})*x" for i in range(TERMS)),
    {"x": 0.5} | {f"a{i}": i / TERMS for i in range(TERMS)},
)
CASES = [*_samples(), *PHYSICS, *_networks(), LONG_SUM]
