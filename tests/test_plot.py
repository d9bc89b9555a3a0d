"""`chainrule plot`: the samples are the engine's, poles and kinks are not joined, every format opens."""

from __future__ import annotations

import io
import math
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from command import run

import chainrule as cr
from chainrule.cli.report.canvas import Canvas, curve_lines
from chainrule.curves import Curves, curves, field_of


def sampled(text: str, low: float, high: float, order: int = 1, **values) -> Curves:
    return curves(cr.parse(text, names=["x"]), values, "x", (low, high), order)


def breaks(found: Curves, k: int) -> list[float]:
    """Where curve k is interrupted: the middles between one piece and the next."""
    xs = [sample.x for sample in found.samples]
    return [(xs[a[1] - 1] + xs[b[0]]) / 2 for a, b in zip(found.pieces[k], found.pieces[k][1:], strict=False)]


def test_samples_are_the_engines():
    program = cr.parse("y = a*x*sin(x)")
    found = curves(program, {"a": 2.0}, "x", (-3.0, 4.0), 2)
    assert (found.samples[0].x, found.samples[-1].x) == (-3, 4)
    for sample in found.samples[::17]:
        value, gradients = program.value_and_grad({"a": 2.0, "x": sample.x})
        assert sample.ys[:2] == (value, gradients["x"])
        assert sample.ys[2] == pytest.approx(2 * (2 * math.cos(sample.x) - sample.x * math.sin(sample.x)), abs=1e-12)
    assert [len(pieces) for pieces in found.pieces] == [1, 1, 1]
    assert [found.label(k) for k in range(3)] == ["y", "dy/dx", "d²y/dx²"]


@pytest.mark.parametrize(
    ("text", "of_function", "of_derivative"),
    [
        ("1/x", [0], [0]),
        ("1/(x - 0.1234)^2", [0.1234], [0.1234]),
        ("tan(x)", [-math.pi / 2, math.pi / 2], [-math.pi / 2, math.pi / 2]),
        ("relu(x)", [], [0]),
        ("abs(x - 1) + x", [], [1]),
        ("sign(x)*(2 + x)", [0], [0]),
        ("x if x < 1 else x + 5", [1], []),
        ("sqrt(x)", [], []),
        ("exp(x)", [], []),
        ("tanh(100*x)", [], []),
    ],
)
def test_poles_jumps_and_kinks_are_not_joined(text, of_function, of_derivative):
    found = sampled(text, -2, 2.3)
    for k, expected in enumerate((of_function, of_derivative)):
        assert breaks(found, k) == pytest.approx(expected, abs=0.02), k


def test_a_curve_begins_where_it_is_real():
    found = sampled("sqrt(x - 1)", -2, 3)
    ((start, end),) = found.pieces[0]
    assert found.samples[start].x == pytest.approx(1, abs=0.001)
    assert end == len(found.samples)


def test_a_pole_does_not_set_the_range():
    low, high = sampled("1/x", -10, 10).ranges[0]
    assert -30 < low < -0.5
    assert 0.5 < high < 30
    assert sampled("x^2", -10, 10).ranges[0] == (0, 100)


def test_field():
    found = field_of(cr.parse("x^2 + x*w"), {}, {"x": (-2.0, 2.0), "w": (-1.0, 1.0)}, 5)
    xs, ws = np.meshgrid(found.xs, found.ys)
    assert np.array_equal(found.values, xs**2 + xs * ws)
    assert np.array_equal(found.gradient[0], 2 * xs + ws)
    assert np.array_equal(found.gradient[1], xs)


# --- the terminal -----------------------------------------------------------------------------------------------------


def test_canvas_sets_the_dots_of_a_line():
    canvas = Canvas(2, 1, (0, 1), (0, 1))
    canvas.line((0, 0), (1, 1), "red")
    assert canvas.runs(0) == [("⡠⠊", "red")]


def test_a_straight_line_in_the_terminal():
    lines = ["".join(text for text, _ in line) for line in curve_lines(sampled("x", 0, 1), 0, 20, 4, 3)]
    assert lines[0].split() == ["y"]
    assert [line.split()[0] for line in (lines[1], lines[4])] == ["1", "0"]
    marks = [next(i for i, c in enumerate(line) if c > "⠀") for line in lines[1:5]]
    assert marks == sorted(marks, reverse=True)
    assert max(map(len, lines)) <= 20


def test_what_a_person_sees():
    result = run("chainrule plot 'y = x*sin(x)' x=-10:10 --tangent x=2")
    assert (result.status, result.err) == (0, "")
    lines = result.out.splitlines()
    assert lines[0] == "y = x*sin(x)"
    assert sum("└" in line for line in lines) == 2
    slope = math.sin(2) + 2 * math.cos(2)
    assert lines[-1] == f"tangent at x = 2: y = {2 * math.sin(2):.4g} + {slope:.4g}*(x - 2)"
    tangent = run("chainrule plot x^3-7x x=-3:3 --tangent x=-1").out.splitlines()[-1]
    assert tangent == "tangent at x = -1: y = 6 - 4*(x + 1)"
    assert max(map(len, lines)) <= 80
    field = run("chainrule plot 'x^2 + w^2' x=-1:1 w=-1:1").out
    assert {"→", "←", "↑", "↓"} <= set(field)


def test_a_tangent_without_the_derivatives_panel():
    text = run("chainrule plot x^2 x=-3:3 --order 0 --tangent x=2").out
    assert text.splitlines()[-1] == "tangent at x = 2: y = 4 + 4*(x - 2)"
    assert text.count("└") == 1


def test_default_interval():
    assert run("chainrule plot 'x + a' a=1").out == run("chainrule plot 'x + a' x=-10:10 a=1").out.replace("x=", "x=")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("'a*b*c'", "a plot needs one or two inputs to vary, not 3 (a, b, c)"),
        ("x*a x=1 a=2", "a plot needs one or two inputs to vary, not 0 (x, a)"),
        ("x x=3:1", "x=3:1 is no interval"),
        ("x z=1:3", "the program has no input 'z'"),
        ("x*[1,2] x=1:3", "a plot needs a scalar output; this one has shape (2,)"),
        ("x x=1:3 --tangent w=1", "--tangent w=1 is no place on the plot"),
        ("x*w --tangent w=1", "--tangent is for functions of one input"),
        ("x -o picture.gif", "a picture ends in .png, .svg, .pdf"),
    ],
)
def test_errors(arguments, message):
    result = run(f"chainrule plot {arguments}")
    assert (result.status, result.out) == (2, "")
    assert message in result.err
    assert "Traceback" not in result.err


# --- files ------------------------------------------------------------------------------------------------------------


def test_files(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    for program in ("'tan(x)' x=-5:5 --tangent x=1", "'x^2 + w^2' x=-1:1 w=-1:1"):
        for suffix in ("png", "svg", "pdf"):
            target = tmp_path / f"plot.{suffix}"
            result = run(f"chainrule plot {program} -o {target}")
            assert (result.status, result.out, result.err) == (0, "", "")
            data = target.read_bytes()
            if suffix == "png":
                assert min(image.open(io.BytesIO(data)).size) > 500
            elif suffix == "svg":
                assert ET.fromstring(data).tag.endswith("svg")
            else:
                assert data.startswith(b"%PDF")


def test_without_matplotlib(tmp_path):
    from chainrule.cli.report import plots

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(__import__("sys").modules, "matplotlib.figure", None)
        with pytest.raises(cr.ChainruleError, match="needs the library matplotlib") as error:
            plots.write_curves(sampled("x", 0, 1), "", io.BytesIO(), "png")
    assert error.value.hint == "pip install 'chainrule[draw]'"
