"""Tensors, programs and steps show themselves in a notebook."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import chainrule as cr


def test_a_tensor_as_html():
    x = cr.tensor([[1.0, 2.5], [3.0, -4.0]], requires_grad=True)
    assert x._repr_html_() == (
        "<div><table><tr><td>1</td><td>2.5</td></tr><tr><td>3</td><td>-4</td></tr></table>"
        "<small>shape=(2, 2), requires_grad=True</small></div>"
    )
    assert (x * 2)._repr_html_().endswith("<small>shape=(2, 2), grad_fn=&lt;MulBackward0&gt;</small></div>")
    assert cr.tensor(2.5)._repr_html_() == "<div><code>2.5</code><br><small>shape=()</small></div>"
    assert "shape 2×3×4" in cr.zeros(2, 3, 4)._repr_html_()


def test_large_tensors_are_shortened():
    text = cr.zeros(1000, 1000)._repr_html_()
    assert text.count("<td>") <= 13 * 12
    assert "…" in text


@pytest.mark.parametrize(
    ("data", "latex"),
    [
        (2.5, "$2.5$"),
        ([1.0, 2.0], r"$\begin{bmatrix}1 & 2\end{bmatrix}$"),
        ([[1.0, 2.0], [3.0, 1 / 3]], r"$\begin{bmatrix}1 & 2 \\ 3 & 0.333333\end{bmatrix}$"),
        (np.zeros((2, 3, 4)), r"$\text{an array of shape } 2\times 3\times 4$"),
    ],
)
def test_a_tensor_in_latex(data, latex):
    assert cr.tensor(data)._repr_latex_() == latex


def test_a_program_in_latex():
    assert cr.parse("a = x^2/w; y = sin(a)*k | x = 2")._repr_latex_() == (
        r"$\displaystyle\begin{aligned}a &= \frac{{x}^{2}}{w} \\ y &= \operatorname{sin}(a)\cdot k\end{aligned}$"
    )


def test_drawings():
    pytest.importorskip("graphlay", reason="the graphlay library is not installed")
    program = cr.parse("y = x*w")
    assert "value" not in program._repr_svg_().split("</style>")[1]
    steps = program.steps({"x": 2, "w": 3})
    assert ET.fromstring(steps._repr_svg_()).tag.endswith("svg")
    text = steps._repr_html_()
    assert "<svg" in text
    assert "x.grad = 3" in text
    ET.fromstring(text.replace("<br>", "<br/>"))


def test_styles_stay_inside_the_drawing():
    """In a notebook's page a style sheet is everyone's: each of its rules is for this drawing alone."""
    pytest.importorskip("graphlay", reason="the graphlay library is not installed")
    style = cr.parse("x*w")._repr_svg_().split("<style>")[1].split("</style>")[0]
    rules = [rule for rule in style.split("}") if rule]
    assert len(rules) > 10
    assert all(rule.startswith(".chainrule ") for rule in rules)


CELLS = {
    "import chainrule as cr\nx = cr.tensor([1.0, 2.0], requires_grad=True)\nx": {
        "text/html",
        "text/latex",
        "text/plain",
    },
    "(x * 3).sum()": {"text/html", "text/latex", "text/plain"},
    "g = cr.parse('y = (x + w)*(w + 1)')\ng": {"image/svg+xml", "text/latex", "text/plain"},
    "g.steps({'x': 2, 'w': 1})": {"text/html", "image/svg+xml", "text/plain"},
}


def test_a_notebook_runs():
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    pytest.importorskip("graphlay", reason="the graphlay library is not installed")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    nbclient.NotebookClient(notebook, timeout=120).execute()
    for cell, kinds in zip(notebook.cells, CELLS.values(), strict=True):
        (output,) = cell.outputs
        assert set(output["data"]) == kinds
    assert "∂y/∂w = ∂y/∂v2·∂v2/∂w + ∂y/∂v1·∂v1/∂w" in notebook.cells[-1].outputs[0]["data"]["text/html"]
