"""Drawings: SVG that parses, boxes that do not overlap, PNG that shows something."""

from __future__ import annotations

import io
import shutil
import xml.etree.ElementTree as ET

import pytest
from command import run
from pictured import CASES, LONG_SUM
from test_looking import HOSTILE, pictures

from chainrule.cli.report import layout
from chainrule.cli.report.diagrams import lines
from chainrule.cli.report.drawings import shortened, svg

SVG = "{http://www.w3.org/2000/svg}"
PNG = b"\x89PNG\r\n\x1a\n"
cases = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


@pytest.fixture(params=["graphlay", "dot"])
def placing(request, monkeypatch):
    """Each of the two ways to place boxes, where it is installed."""
    if request.param == "dot":
        if shutil.which("dot") is None:
            pytest.skip("Graphviz is not installed")
    else:
        pytest.importorskip("graphlay", reason="the graphlay library is not installed")
        monkeypatch.setattr(layout.shutil, "which", lambda name: None)
    return request.param


def boxes(root: ET.Element) -> list[tuple[float, float, float, float]]:
    rects = [node.find(f"{SVG}rect") for node in root.iter(f"{SVG}g") if "node" in node.get("class", "").split()]
    return [tuple(float(rect.get(name)) for name in ("x", "y", "width", "height")) for rect in rects]


@cases
def test_svg(case, placing):
    for picture in pictures(case):
        root = ET.fromstring(svg(picture))
        assert root.tag == f"{SVG}svg"
        assert len(boxes(root)) == len(picture.boxes)
        assert sum("edge" in g.get("class", "").split() for g in root.iter(f"{SVG}g")) == len(picture.arrows)
        seen = [text.text for text in root.iter(f"{SVG}text")]
        for box in picture.boxes:
            assert {shortened(line) for line in lines(box)} <= set(seen)
        for arrow in picture.arrows:
            assert not arrow.label or shortened(arrow.label, 30) in seen


@cases
def test_boxes_do_not_overlap(case, placing):
    picture = pictures(case)[0]
    root = ET.fromstring(svg(picture))
    found = sorted(boxes(root), key=lambda box: box[1])
    for i, (x, y, w, h) in enumerate(found):
        for other_x, other_y, other_w, _ in found[i + 1 :]:
            if other_y >= y + h:
                break
            assert x + w <= other_x or other_x + other_w <= x
    high = float(root.get("height"))
    assert all(y + h < high for _, y, _, h in found)


def test_inputs_stand_above(placing):
    picture = pictures(CASES[0])[0]
    centre = {i: y for i, (_, y, _, _) in enumerate(boxes(ET.fromstring(svg(picture))))}
    assert all(centre[arrow.source] < centre[arrow.target] for arrow in picture.arrows)


def test_hostile_texts(placing):
    picture = pictures(CASES[0])[0]
    picture.title = HOSTILE + "\x00\x1b"
    picture.boxes[0] = picture.boxes[0]._replace(title=HOSTILE)
    root = ET.fromstring(svg(picture))
    assert [e.tag for e in root.iter() if "script" in e.tag] == []
    assert any(HOSTILE.splitlines()[0] in (text.text or "") for text in root.iter(f"{SVG}text"))


def test_kinds_look_different(placing):
    text = run("chainrule graph 'u = detach(x*x); y = u*x + k/z' x=2 k=3 z=0 --no-grad k --format svg").out
    kinds = {
        frozenset(g.get("class").split()) - {"node"} for g in ET.fromstring(text).iter(f"{SVG}g") if g.get("class")
    }
    for kind in ("leaf", "constant", "detached", "not-finite", "operation", "output"):
        assert any(kind in found for found in kinds), kind


def test_without_a_library(monkeypatch):
    monkeypatch.setattr(layout.shutil, "which", lambda name: None)
    monkeypatch.setitem(__import__("sys").modules, "graphlay", None)
    with pytest.raises(Exception, match="needs a library that places its boxes, or Graphviz") as error:
        svg(pictures(CASES[0])[0])
    assert error.value.hint == "pip install 'chainrule[draw]'"


@pytest.mark.parametrize("case", [CASES[0], CASES[-2], LONG_SUM], ids=lambda case: case.name)
def test_png(case, tmp_path):
    pytest.importorskip("resvg_py", reason="resvg-py is not installed")
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    target = tmp_path / "graph.png"
    result = run(["chainrule", "graph", *case.words(), "-o", str(target)])
    assert (result.status, result.out, result.err) == (0, "", "")
    data = target.read_bytes()
    assert data.startswith(PNG)
    picture = image.open(io.BytesIO(data)).convert("L")
    dark = sum(picture.histogram()[:100]) / (picture.width * picture.height)
    assert 0.005 < dark < 0.3
    assert min(picture.size) > 300


def test_format_by_the_files_name(tmp_path):
    for suffix, start in ((".svg", "<svg"), (".dot", "digraph"), (".gv", "digraph"), (".mmd", "%%"), (".json", "{")):
        target = tmp_path / f"graph{suffix}"
        assert run(f"chainrule graph x*w x=2 w=3 -o {target}").status == 0
        assert target.read_text(encoding="utf-8").startswith(start)
