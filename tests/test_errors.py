"""Every error of tests/errors/: its command ends with this message and status, and never a traceback."""

from __future__ import annotations

import shlex

import pytest
from command import ROOT, run

CASES = sorted((ROOT / "tests" / "errors").glob("*.txt"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_error(path, expect):
    first = path.read_text(encoding="utf-8").splitlines()[0]
    result = run(shlex.split(first.removeprefix("$ ")))
    assert "Traceback" not in result.err
    assert result.status == 2
    expect(f"{first}\n{result.out}{result.err}exit {result.status}\n", path)
