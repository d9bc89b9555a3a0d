"""The page of `--html`: what it holds, and how it behaves in a real browser."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from command import run
from pictured import CASES, LONG_SUM, Case

pytest.importorskip("graphlay", reason="the graphlay library, which places the boxes, is not installed")

import chainrule as cr
from chainrule.cli.report.drawings import shortened
from chainrule.cli.report.explanations import Explanation
from chainrule.cli.report.page import embedded, page, told
from chainrule.cli.report.values import value_text

cases = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


class Elements(HTMLParser):
    """The elements of a page, their attributes, and the text of the data."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.handlers: list[str] = []
        self.data = ""
        self._inside: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._inside = dict(attrs).get("id")
        self.links += [value for name, value in attrs if name in ("src", "href") and value]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data: str) -> None:
        if self._inside == "data":
            self.data += data
        self._inside = None


@cases
def test_one_file_without_network(case):
    text = page(case.steps(), 6)
    found = Elements(text)
    assert found.links == []
    assert found.handlers == []
    assert found.tags.count("script") == 2
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\((?!#)", text)
    assert json.loads(found.data)["steps"]


@cases
def test_steps_hold_the_engines_numbers(case):
    steps = case.steps()
    made = list(told(Explanation(steps, 9, 0, False), ""))
    last: dict[int, str] = {}
    for step in made:
        for row in step["values"]:
            assert value_text(steps.rows[row].value, 9, 3) in step["lines"][0]
        last.update(dict(step["gradients"]))
    if not steps.analysis.missing:
        expected = {
            row: shortened(f"gradient {value_text(g, 9, 3)}") for row, g in enumerate(steps.gradients) if g is not None
        }
        assert last == expected


@pytest.mark.parametrize("text", ["</script><script>alert(1)</script>", "a\u2028b", "<!--", "&lt;", "]]>"])
def test_embedded_data_cannot_end_its_element(text):
    made = embedded({"x": text})
    assert not set("<>&\u2028\u2029") & set(made)
    assert json.loads(made) == {"x": text}


def test_commands(tmp_path):
    for command in ("grad --no-check", "graph", "explain"):
        target = tmp_path / f"{command.split()[0]}.html"
        result = run(f"chainrule {command} x*w x=2 w=3 --html {target}")
        assert (result.status, result.err) == (0, "")
        assert result.out == run(f"chainrule {command} x*w x=2 w=3").out
        assert target.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    (tmp_path / "also.html").write_text(run("chainrule graph x*w x=2 w=3 --format html").out)
    assert (tmp_path / "also.html").read_bytes() == (tmp_path / "graph.html").read_bytes()


# --- in a browser -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as made:
        opened = made.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Open a page of a case: the page, after a check that it loaded without a word on the console."""
    contexts = []

    def open_page(text: str, **how: Any) -> Any:
        (tmp_path / "page.html").write_text(text, encoding="utf-8")
        contexts.append(context := browser.new_context(**how))
        made = context.new_page()
        made.said = []
        made.on("console", lambda message: made.said.append(message.text))
        made.on("pageerror", lambda error: made.said.append(str(error)))
        made.on("request", lambda request: request.url.startswith("file:") or made.said.append(request.url))
        made.goto((tmp_path / "page.html").as_uri())
        return made

    yield open_page
    for context in contexts:
        context.close()


def step(made: Any) -> str:
    return made.locator("#count").inner_text()


@pytest.mark.parametrize("case", [*CASES[:-1:4], LONG_SUM], ids=lambda case: case.name)
def test_stepping_shows_the_engines_numbers(case, opened):
    steps = case.steps()
    made = opened(page(steps, 6))
    made.keyboard.press("End")
    shown = made.evaluate(
        """() => [...document.querySelectorAll('[data-row]')].map((node) => [
            +node.dataset.row, ...['value', 'gradient'].map((kind) => {
              const text = node.querySelector('.' + kind);
              return text && getComputedStyle(text).visibility === 'visible' ? text.textContent : null; })])"""
    )
    assert len(shown) > 1
    for row, value, gradient in shown:
        node, g = steps.rows[row], steps.gradients[row]
        assert value == (None if node.value is None else shortened(f"value {value_text(node.value, 6, 3)}"))
        assert gradient == (None if g is None else shortened(f"gradient {value_text(g, 6, 3)}"))
    assert made.said == []


def test_numbers_appear_as_steps_are_taken(opened):
    made = opened(page(Case("", "a=x+w; b=w+1; y=a*b", {"x": 2.0, "w": 1.0}).steps(), 6))

    def seen(row: int, kind: str) -> str | None:
        text = made.locator(f'[data-row="{row}"] .{kind}')
        return text.text_content() if text.is_visible() else None

    assert step(made) == "Step 0 of 9"
    assert seen(2, "value") is None
    for _ in range(3):
        made.keyboard.press("ArrowRight")
    assert (seen(2, "value"), seen(3, "value")) == ("value 3", None)
    made.locator("#slider").fill("7")  # b handed 3 on to w
    assert (seen(1, "gradient"), seen(0, "gradient")) == ("gradient 3", None)
    assert "∂b/∂w = 1" in made.locator("#now").inner_text()
    made.get_by_role("button", name="Next", exact=True).click()
    assert (seen(1, "gradient"), seen(0, "gradient")) == ("gradient 5", "gradient 2")
    assert "∂y/∂w = 3 + 2 = 5" in made.locator("#now").inner_text()
    assert made.locator('[data-row="2"].now').count() == 1
    made.keyboard.press("Home")
    assert step(made) == "Step 0 of 9"
    made.locator("#steps button").nth(4).click()
    assert step(made) == "Step 4 of 9"
    assert "w + 1" in made.locator('[data-row="3"] title').text_content()
    assert made.said == []


def test_pan_zoom_and_phone(opened):
    made = opened(page(CASES[3].steps(), 6), viewport={"width": 390, "height": 800}, has_touch=True)
    view = lambda: [float(n) for n in made.locator("svg").get_attribute("viewBox").split()]
    whole = view()
    assert made.evaluate("document.documentElement.scrollWidth") <= 390
    assert made.locator("#slider").is_visible()
    made.keyboard.press("+")
    assert view()[2] < whole[2]
    made.keyboard.press("0")
    assert view() == whole
    box = made.locator("#drawing").bounding_box()
    made.mouse.move(box["x"] + 50, box["y"] + 50)
    made.mouse.wheel(0, -300)
    assert view()[2] < whole[2]
    before = view()
    made.mouse.down()
    made.mouse.move(box["x"] + 90, box["y"] + 50)
    made.mouse.up()
    assert view()[0] < before[0]
    made.keyboard.press("Shift+ArrowDown")
    assert view()[1] > before[1]
    assert made.said == []


def test_light_and_dark(opened):
    text = page(CASES[0].steps(), 6)
    papers = []
    for scheme in ("light", "dark"):
        made = opened(text, color_scheme=scheme)
        style = "e => [getComputedStyle(e).backgroundColor, getComputedStyle(document.querySelector('.paper')).fill]"
        papers.append(made.locator("body").evaluate(style))
    assert papers == [["rgb(255, 255, 255)"] * 2, ["rgb(13, 17, 23)"] * 2]


def test_hostile_names_are_text(opened, tmp_path):
    """A function's file may be called anything: its name stands in the title."""
    hostile = "<img src=x onerror=alert(1)>&lt;script>alert(2)<"
    program = cr.parse("y = x*x")
    program.source = f"{hostile}\u2028</script><script>alert(3)</script>{{{{data}}}}"
    from chainrule.analysis import analyse
    from chainrule.steps import steps_of

    made = opened(page(steps_of(lambda: analyse(program, {"x": 2})), 6))
    made.on("dialog", lambda dialog: made.said.append(dialog.message))
    assert hostile in made.locator("h1").text_content()
    assert hostile in made.locator("#now").text_content()
    assert made.locator("img").count() == 0
    assert made.locator("script").count() == 2
    assert made.said == []
