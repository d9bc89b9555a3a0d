"""Every sample's commands give the output beside them."""

from __future__ import annotations

import json
import shlex

import pytest
from command import ROOT, run

SAMPLES = sorted((ROOT / "samples").glob("*.sh"))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_sample(path, expect):
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    commands, _, statuses = zip(*(line.partition("   # exit ") for line in lines), strict=True)
    results = [run(shlex.split(command)) for command in commands]
    assert [result.status for result in results] == [int(status or 0) for status in statuses]
    assert not any("DIFFERS" in result.out for result in results)
    expect("".join(result.out for result in results), path.with_suffix(".out"))


def gradients(name: str) -> dict[str, float | list[float]]:
    """The gradients of a sample's program, from its own command with --json."""
    lines = (ROOT / "samples" / f"{name}.sh").read_text(encoding="utf-8").splitlines()
    record = json.loads(run([*shlex.split(lines[-1]), "--json"]).out)
    return {
        "value": record["value"],
        **record["gradients"],
        **{n["name"]: n["grad"] for n in record["nodes"] if n["grad"]},
    }


def test_values_worked_out_by_hand():
    assert gradients("01-first") == {"value": 6, "x": 2, "w": 5}
    assert gradients("02-retain") == {"value": 6, "x": 2, "w": 5, "a": 2}
    assert gradients("06-dot") == {"value": 28, "x": [0, 4, 8, 12]}
    assert gradients("07-sum") == {"value": 6, "x": [1, 1, 1]}
    assert gradients("08-squares") == {"value": 14, "x": [2, 4, 6]}
    assert gradients("09-detach") == {"value": 36, "x": [1, 4, 9]}
