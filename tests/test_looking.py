"""`chainrule graph` and `chainrule explain`: what a person sees, and what other programs make of it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest
from command import run
from pictured import CASES, Case

from chainrule.cli.report import diagrams, explanations, flows, latex, trees
from chainrule.cli.report.gradients import title
from chainrule.cli.report.pictures import Picture, backward_picture, picture_of
from chainrule.cli.report.values import value_text
from chainrule.steps import backward_graph

cases = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


def program(name: str):
    """A program of the machine's, or a reason to skip."""
    found = shutil.which(name)
    return pytest.mark.skipif(found is None, reason=f"{name} is not installed")


def pictures(case: Case) -> list[Picture]:
    steps = case.steps()
    made = [picture_of(steps, title(steps.analysis, 6), 6, 300)]
    if not steps.analysis.missing:
        made.append(backward_picture(backward_graph(steps.analysis), title(steps.analysis, 6), 300))
    return made


def out(command: str) -> str:
    result = run(command)
    assert (result.status, result.err) == (0, ""), result.err
    return result.out


# --- the terminal -----------------------------------------------------------------------------------------------------


def test_tree():
    assert (
        out("chainrule graph 'a=x+w; b=w+1; y=a*b' x=2 w=1")
        == """\
a=x+w; b=w+1; y=a*b   at x = 2, w = 1

node          value  local derivative  gradient  grad_fn
------------  -----  ----------------  --------  ------------
y = a*b           6                           1  MulBackward0
├─ a = x + w      3  ∂y/∂a = b = 2            2  AddBackward0
│  ├─ x           2  ∂a/∂x = 1                2  leaf
│  └─ w           1  ∂a/∂w = 1                5  leaf
└─ b = w + 1      2  ∂y/∂b = a = 3            3  AddBackward0
   └─ w ↑            ∂b/∂w = 1
"""
    )


def test_kinds_in_the_tree():
    text = out("chainrule graph 'u = detach(x*x); y = u*x + k/z' x=2 k=3 z=0 --no-grad k")
    lines = [line for line in text.splitlines()[4:] if "↑" not in line]
    rows = {line.lstrip("├─└│ ").split(" ")[0]: line.split()[-1] for line in lines}
    assert (rows["x"], rows["k"], rows["u"]) == ("leaf", "constant", "detached")
    assert "inf" in text


def test_an_input_taken_twice():
    text = out("chainrule graph x*x x=3")
    assert "∂y/∂x (1) = x = 3" in text
    assert "∂y/∂x (2) = x = 3" in text


@cases
def test_tree_shows_every_box_once(case):
    for picture in pictures(case):
        grid = trees.tree_grid(picture)
        whole = [row[0].lstrip("├─└│ ") for row in grid.rows if not re.search("[↑↓]$", row[0])]
        assert sorted(whole) == sorted(box.title for box in picture.boxes)
        assert max(len(row[0]) - len(row[0].lstrip("├─└│ ")) for row in grid.rows) <= 3 * trees.DEEPEST


def test_a_deep_graph_gets_several_trees():
    lines = out("chainrule graph " + "sin(" * 40 + "x" + ")" * 40 + " x=1 --limit 0").splitlines()
    assert sum("↓" in line for line in lines) == 3
    assert max(map(len, lines[2:])) < 120


def test_a_python_function():
    text = out("chainrule graph samples/functions.py:control_flow a=100")
    assert "b = v3*2" in text
    assert out("chainrule explain samples/functions.py:control_flow a=100").count("MulBackward0") == 0
    assert "a.grad = 16" in out("chainrule explain samples/functions.py:control_flow a=100")


def test_backward():
    text = out("chainrule graph '(x+w)*(w+1)' x=2 w=1 --backward")
    assert [line.split()[-1] for line in text.splitlines()[2:]][2:] == [
        "MulBackward0", *(f"next_functions[{n}]" for n in (0, 0, 1, 1, 0, 1))
    ]  # fmt: skip
    made = json.loads(out("chainrule graph '(x+w)*(w+1)' x=2 w=1 --backward --json"))
    assert made["functions"][0] == {"name": "MulBackward0", "next_functions": [2, 1]}
    assert {row.get("variable") for row in made["functions"]} == {None, "x", "w"}


def test_backward_needs_values():
    result = run("chainrule graph x*w x=1 --backward")
    assert (result.status, result.out) == (2, "")
    assert "w has no value" in result.err


@pytest.mark.parametrize("program", ["2+3", "'sum(x)' x=[1,2] --no-grad x"])
def test_backward_needs_a_gradient(program):
    result = run(f"chainrule graph {program} --backward")
    assert (result.status, result.out) == (2, "")
    assert "y requires no gradient" in result.err


@pytest.mark.parametrize("command", ["graph", "explain"])
def test_errors_as_json(command):
    result = run(f"chainrule {command} 'x*[1,2]' x=2 --json")
    assert result.status == 2
    assert json.loads(result.out)["error"]["kind"] == "grad"
    assert "error: grad can be implicitly created only for scalar outputs" in result.err
    assert run(f"chainrule {command} 'x*(' --json").status == 2
    assert run(f"chainrule {command} 2+3").out.startswith("2+3\n")


# --- explain ----------------------------------------------------------------------------------------------------------


def test_explanation():
    text = out("chainrule explain 'a=x+w; b=w+1; y=a*b' x=2 w=1")
    assert "w.grad = 3 + 2 = 5  ∂y/∂w = ∂y/∂b·∂b/∂w + ∂y/∂a·∂a/∂w = 3·1 + 2·1" in text
    assert re.search(r"a = x \+ w +∂y/∂a = 2 +∂a/∂x = 1 +2·1 = 2 +∂y/∂x = 2", text)


def test_explanation_in_formulas():
    text = out("chainrule explain 'y = sin(x^2)' --symbolic")
    assert re.search(r"y = sin\(v1\) +∂y/∂y +derivative of sin +∂y/∂v1 = cos\(v1\)", text)
    assert re.search(r"v1 = x\^2 +∂y/∂v1 +power rule, chain rule +∂v1/∂x = 2\*x +∂y/∂v1·∂v1/∂x", text)
    assert out("chainrule explain 'y = sin(x^2)' x=3 --symbolic").count(" = 3") == 1  # in the title alone


def test_a_broadcast_is_summed():
    text = out("chainrule explain 'sum(w*x)' x=[1,2] w=3")
    assert "Σ [1, 1]·[1, 2] = 3" in text


@cases
def test_explanations_hold_the_engines_numbers(case):
    steps = case.steps()
    made = explanations.Explanation(steps, 9, 0, False)
    values = [row[4] for row in made.forward()]
    assert values == ["" if row.value is None else value_text(row.value, 9, 3) for row in steps.rows]
    for _, _, sent in made.backward():
        for one in sent:
            if not made.symbolic:
                assert one.arrived.endswith(f"= {value_text(one.edge.total, 9, 3)}")
                assert one.product.endswith(value_text(one.edge.product, 9, 3))
    text = explanations.as_markdown(explanations.Explanation(steps, 6, 60, False), "")
    assert text.count("\n") < 400


@cases
def test_json(case):
    made = json.loads(explanations.as_json(case.steps()))
    steps = case.steps()
    assert made["forward"] == [row.name for row in steps.rows]
    assert [visit["node"] for visit in made["backward"]] == [steps.rows[row].name for row, _ in steps.visits()]
    assert len(json.loads(flows.graph_line(steps))["edges"]) == len(steps.edges)


TYPESET = ("11-formulas", "network", "cross-entropy", "feynman-I.9.18")

# --- other programs ---------------------------------------------------------------------------------------------------


HOSTILE = 'x"]\\;<script>alert(1)</script>\n%%&#|`{}'


def test_texts_of_diagrams_are_quoted():
    picture = pictures(CASES[0])[0]
    picture.boxes[0] = picture.boxes[0]._replace(title=HOSTILE)
    picture.title = HOSTILE
    for text in (diagrams.dot(picture), diagrams.mermaid(picture)):
        assert "\n%%&" not in text.replace('"]\\\\;', "") or text.startswith("%%")
    assert "<script" not in diagrams.mermaid(picture).split("flowchart TB")[1]


@program("dot")
@cases
def test_graphviz_accepts(case):
    for picture in pictures(case):
        done = subprocess.run(["dot", "-Tplain"], input=diagrams.dot(picture).encode(), capture_output=True, check=True)
        assert done.stderr == b""
        lines = done.stdout.decode().splitlines()
        assert sum(line.startswith("node ") for line in lines) == len(picture.boxes)
        assert sum(line.startswith("edge ") for line in lines) == len(picture.arrows)


@program("dot")
def test_graphviz_reads_hostile_texts():
    picture = pictures(CASES[0])[0]
    picture.boxes[0] = picture.boxes[0]._replace(title=HOSTILE)
    done = subprocess.run(["dot", "-Tsvg"], input=diagrams.dot(picture).encode(), capture_output=True, check=True)
    assert b"alert(1)" in done.stdout
    assert b"<script" not in done.stdout


@program("pdflatex")
@pytest.mark.parametrize("case", [c for c in CASES if c.name in TYPESET], ids=lambda case: case.name)
def test_latex_compiles(case, tmp_path):
    steps = case.steps()
    for symbolic in (False, True):
        made = latex.document(latex.LatexExplanation(steps, 6, 60, symbolic), title(steps.analysis, 6))
        (tmp_path / "steps.tex").write_text(made, encoding="utf-8")
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "steps.tex"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]


@cases
def test_latex_is_plain_text_of_balanced_groups(case):
    steps = case.steps()
    made = latex.document(latex.LatexExplanation(steps, 6, 60, False), title(steps.analysis, 6))
    assert made.isascii()
    assert made.count("{") - made.count(r"\{") == made.count("}") - made.count(r"\}")
    assert made.count(r"\left") == made.count(r"\right")
