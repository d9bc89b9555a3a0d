"""The README's commands give the output shown, its Python runs, and its list of functions is the table's."""

from __future__ import annotations

import doctest
import json
import re
import subprocess
import sys

import pytest
from command import ENVIRONMENT, ROOT, run

README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
BLOCKS = re.findall(r"```console\n(.*?)```\n", TEXT, re.DOTALL)
LIST = re.compile(r"(<!-- functions: .*? -->\n).*?(<!-- end of functions -->)", re.DOTALL)


def played(block: str) -> str:
    """A block's commands, each followed by what it writes now."""
    parts = []
    for line in block.splitlines():
        if line.startswith("$ "):
            command = line[2:].replace("chainrule", f"{sys.executable} -m chainrule", 1)
            done = subprocess.run(
                command, shell=True, capture_output=True, cwd=ROOT, env=ENVIRONMENT, timeout=100, text=True, check=False
            )
            parts.append("\n".join(text for text in (line, done.stdout.rstrip("\n"), done.stderr.rstrip("\n")) if text))
    return "\n\n".join(parts) + "\n"


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_commands(number, request):
    seen = played(BLOCKS[number])
    assert "DIFFERS" not in seen
    assert "Traceback" not in seen
    if request.config.getoption("--update"):
        README.write_text(README.read_text(encoding="utf-8").replace(BLOCKS[number], seen, 1), encoding="utf-8")
        return
    assert seen == BLOCKS[number]


def test_python():
    result = doctest.testfile(str(README), module_relative=False)
    assert result.attempted > 10
    assert result.failed == 0


def test_list_of_functions(request):
    listed = run("chainrule functions --format markdown").out
    made = LIST.sub(lambda match: f"{match[1]}\n{listed}\n{match[2]}", TEXT)
    if request.config.getoption("--update"):
        now = README.read_text(encoding="utf-8")
        README.write_text(LIST.sub(lambda match: f"{match[1]}\n{listed}\n{match[2]}", now), encoding="utf-8")
        return
    assert made == TEXT


def test_accuracy_is_what_the_figures_say():
    """Of the table that compares libraries, what can be told without them: every row, and our own column."""
    shown = re.findall(r"^\| (\w+) \| (\d+\.\d) \|", TEXT, re.MULTILINE)
    figures = json.loads((ROOT / "engine" / "accuracy.json").read_text())
    assert len(shown) > 60
    for name, ulps in shown:
        assert 0 <= figures[name]["first"] - float(ulps) < 1.05, name  # the one rounded up, the other to a digit


def test_every_option_is_described():
    for command in ("grad", "graph", "explain", "plot", "diff", "verify", "batch", "functions"):
        options = re.findall(r"--[a-z-]+", run(f"chainrule {command} --help").out)
        assert set(options) - {"--help", "--file", "--out"} <= set(re.findall(r"--[a-z-]+", TEXT))
