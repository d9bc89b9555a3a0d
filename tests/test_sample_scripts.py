"""Every Python sample that is a script runs and prints what is beside it."""

from __future__ import annotations

import sys

import pytest
from command import ROOT, run

# functions.py holds functions for the command line and prints nothing.
SCRIPTS = sorted(path for path in (ROOT / "samples").glob("*.py") if path.name != "functions.py")


def test_the_walk_throughs_are_there():
    assert {path.stem for path in SCRIPTS} >= {
        "autograd_quadratic", "autograd_detach", "autograd_control_flow", "linear_regression",
    }  # fmt: skip


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_script(path, expect):
    result = run([sys.executable, str(path)])
    assert (result.status, result.err) == (0, "")
    expect(result.out, path.with_suffix(".out"))
