"""Mermaid itself, in a browser, draws what `graph --format mermaid` writes."""

from __future__ import annotations

import html

import pytest
from command import ROOT
from pictured import CASES
from test_looking import HOSTILE, pictures
from test_page import browser  # noqa: F401

from chainrule.cli.report.diagrams import lines, mermaid

MERMAID = ROOT / "node_modules" / "mermaid" / "dist" / "mermaid.min.js"


@pytest.fixture
def rendered(browser):  # noqa: F811
    """Draw a diagram: its SVG's texts, and whatever the browser said."""
    if not MERMAID.exists():
        pytest.skip("Mermaid is not installed (npm install --no-save mermaid)")
    page = browser.new_page()
    said = []
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.set_content("<div id=drawing></div>")
    page.add_script_tag(path=MERMAID)

    def render(text: str) -> list[str]:
        drawn = page.evaluate(
            """async (text) => {
                mermaid.initialize({ startOnLoad: false, maxEdges: 5000, maxTextSize: 1000000 });
                const { svg } = await mermaid.render('one', text);
                document.getElementById('drawing').innerHTML = svg;
                return [...document.querySelectorAll('.node')].map((node) => node.textContent);
            }""",
            text,
        )
        assert said == []
        return drawn

    yield render
    page.close()


@pytest.mark.parametrize("case", CASES[::3], ids=lambda case: case.name)
def test_mermaid_draws(case, rendered):
    for picture in pictures(case):
        drawn = rendered(mermaid(picture))
        expected = ["".join("".join(lines(box)).split()) for box in picture.boxes]
        assert sorted("".join(text.split()) for text in drawn) == sorted(expected)


def test_hostile_texts(rendered):
    picture = pictures(CASES[0])[0]
    picture.title = HOSTILE
    picture.boxes[0] = picture.boxes[0]._replace(title=HOSTILE)
    drawn = rendered(mermaid(picture))
    assert any(html.unescape(HOSTILE.splitlines()[0]) in text for text in drawn)
