"""What the tests share: comparing output with files, and updating them."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write the output seen as the output expected")


@pytest.fixture
def expect(request: pytest.FixtureRequest):
    """Compare a text with a file, or write the file with --update (then read the difference before it is committed)."""

    def compare(seen: str, path: Path) -> None:
        if request.config.getoption("--update"):
            path.write_text(seen, encoding="utf-8")
        assert seen == path.read_text(encoding="utf-8")

    return compare
