"""`chainrule verify` as people and programs run it: files, formats, exit statuses, interruption."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from xml.etree import ElementTree

import pytest
from command import ENVIRONMENT, ROOT, Finished, run

SLOW = "y = (x + sin(x) + exp(x) + sqrt(x) + 1)^40"
SLOW_CLAIM = "dy/dx = 40*(x + sin(x) + exp(x) + sqrt(x) + 1)^39*(1 + cos(x) + exp(x) + 1/(2*sqrt(x)))"
HOMEWORK = """\
# homework 3

f(x) = x^3      # the cube
f'(x) = 3x^2
f''(x) = 6x

y = log(x) + a
dy/dx = 1/x
dy/da = 0
| a > 0

y = sin(x
dy/dx = cos(x)

y = sin(x)
dy/dx = cos(z)

\\frac{d}{dx} \\sin(x)^2 = 2 \\sin(x) \\cos(x)
"""


def verify(*words: str, stdin: str = "", timeout: float = 0) -> Finished:
    """Run it; without time for proofs SymPy is not loaded, and what is proved otherwise agrees."""
    return run(["chainrule", "verify", *words, "--timeout", str(timeout)], stdin=stdin)


def objects(result: Finished) -> list[dict]:
    return [json.loads(line) for line in result.out.splitlines()]


@pytest.fixture
def homework(tmp_path):
    path = tmp_path / "homework.txt"
    path.write_text(HOMEWORK, encoding="utf-8")
    return str(path)


# --- one block --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "status", "shown"),
    [
        (["y = x^2", "dy/dx = 2*x"], 0, "agrees"),
        (["y = x^2; dy/dx = 2*x"], 0, "agrees"),
        (["y = x^2", "dy/dx = 2*x; d2y/dx2 = 2"], 0, "2 claims: 2 agree"),
        (["y = log(x)", "dy/dx = 1/x"], 0, "x > 0"),
        (["y = x^2", "dy/dx = 3*x"], 1, "at x = 1: the derivative is 2, claimed is 3 (off by 1, 1.5 times as much)"),
        (["y = x^2", "dy/dx = sqrt(-1-x^2)"], 1, "undecided"),
        (["y = x^2", "dy/dx = 2*x", "dy/dx = 2*z"], 1, "2 claims: 1 agrees, 1 error"),
        (["y = x^2", "dy/dx = 2*z"], 2, "the program has no 'z'"),
        (["y = x^2", "dy/dx = 2*x", "--strict"], 1, "agrees"),
        (["y = x@A@x", "dy/dx = (A+A.T)@x", "x: 3", "A: 3x3"], 0, "agrees"),
        (["y = a*x^2", "dy/dx = 6*x", "a=3"], 0, "agrees"),
        (["-x^2", "dy/dx = -2*x"], 0, "agrees"),
    ],
)
def test_one_block(words, status, shown):
    result = verify(*words)
    assert result.status == status
    assert shown in result.out
    assert result.err == ""


def test_strict_wants_proofs():
    assert verify("y = x^2", "dy/dx = 2*x", "--strict", timeout=20).status == 0


def test_json():
    result = verify("y = a*x^2", "dy/dx = a*x", "y' = 2*a*x", "a=3", "--json", timeout=20)
    assert result.status == 1
    (record,) = objects(result)
    assert (record["id"], record["expression"], record["verdict"]) == (1, "y = a*x^2", "differs")
    first, second = record["claims"]
    assert first["claim"] == "dy/dx = a*x"
    assert first["wrt"] == "x"
    assert first["verdict"] == "differs"
    assert first["counterexample"] == {
        "at": {"a": "3", "x": "1"},
        "element": [],
        "derivative": "6",
        "claimed": "3",
        "difference": "-3",
        "ratio": "0.5",
    }
    assert first["hint"] == "a constant factor is wrong: multiplied by 2 it is right"
    assert (second["verdict"], second["where"], second["timed_out"]) == ("proved", None, False)
    assert {*first} == {*second} == {
        "claim", "wrt", "verdict", "where", "counterexample", "hint", "reason", "points", "timed_out"
    }  # fmt: skip


def test_output_file(tmp_path):
    path = tmp_path / "result.xml"
    assert verify("y = x^2", "dy/dx = 2*x", "--format", "junit", "-o", str(path)) == Finished(0, "", "")
    assert ElementTree.parse(path).getroot().attrib["tests"] == "1"


# --- files ------------------------------------------------------------------------------------------------------------


def test_blocks_of_a_file(homework):
    result = verify("-f", homework)
    assert result.status == 1
    lines = [line for line in result.out.splitlines() if not line.startswith(" ")]
    assert [line.split(maxsplit=2)[:2] for line in lines[:-1]] == [
        ["3:", "agrees"], ["3:", "agrees"], ["7:", "agrees"], ["7:", "differs"],
        ["12:", "error"], ["15:", "error"], ["18:", "agrees"],
    ]  # fmt: skip
    assert lines[-1] == "7 claims: 4 agree, 1 differs, 2 errors"
    assert "\n    12 | y = sin(x\n       |        ^\n" in result.out
    assert "\n    16 | dy/dx = cos(z)\n" in result.out


def test_places_of_errors_are_those_of_the_file(homework):
    records = objects(verify("-f", homework, "--json"))
    assert [record["id"] for record in records] == [3, 7, 12, 15, 18]
    assert (records[2]["error"]["line"], records[2]["error"]["column"]) == (12, 8)
    (claim,) = records[3]["claims"]
    assert (records[3]["verdict"], claim["error"]["line"], claim["error"]["column"]) == ("error", 16, 13)


def test_quiet_shows_what_is_wrong(homework):
    out = verify("-f", homework, "--quiet").out
    assert "agrees  " not in out
    assert "7: differs" in out


def test_standard_input(homework):
    piped = verify("-", stdin=HOMEWORK)
    assert piped == verify("-f", homework) == verify("-f", "-", stdin=HOMEWORK)


def test_items_on_the_command_line_are_for_every_block():
    text = "y = abs(x)\ndy/dx = 1\n\ny = sqrt(x^2)\ndy/dx = 1"
    assert verify("-", stdin=text).status == 1
    assert verify("-", "x > 0", stdin=text).status == 0


ROWS = [
    {"id": "a", "expression": "x^2*w", "claims": {"x": "2*x*w", "x,x": "2*w", "x,w": "2*x"}},
    {"expression": "y = log(x)", "claims": ["dy/dx = 1/x"], "assume": ["x > 0"]},
    {"expression": "f(x) = x^3", "claims": "f'(x) = 3*x", "id": 7},
    {"expression": "x@A@x", "claims": {"x": "(A+A.T)@x"}, "shapes": {"x": 2, "A": [2, 2]}},
    {"expression": "a*x", "claims": {"x": "2"}, "at": {"a": 2}},
    {"expression": "x^2"},
    {"claims": {"x": "1"}},
    ["x"],
]
VERDICTS = ["agrees", "agrees", "differs", "agrees", "agrees", "error", "error", "error"]


def verdicts(result: Finished) -> list[str]:
    return ["error" if "error" in record else record["verdict"] for record in objects(result)]


@pytest.mark.parametrize("form", ["lines", "list"])
def test_json_input(tmp_path, form):
    path = tmp_path / ("rows.jsonl" if form == "lines" else "rows.json")
    rows = [*ROWS[:3], {**ROWS[3], "shapes": {"x": "2", "A": "2x2"}}, *ROWS[4:]]
    path.write_text("\n".join(map(json.dumps, rows)) if form == "lines" else json.dumps(rows, indent=1))
    result = verify("-f", str(path), "--json")
    assert result.status == 1
    assert verdicts(result) == VERDICTS
    assert [record["id"] for record in objects(result)][:4] == ["a", 2, 7, 4]


def test_json_lines_from_a_pipe_with_a_broken_one():
    text = "\n".join([json.dumps(ROWS[0]), '{"expression": "x^2", ', "", json.dumps(ROWS[4])])
    result = verify("-", "--input-format", "jsonl", "--json", stdin=text)
    assert verdicts(result) == ["agrees", "error", "agrees"]
    assert objects(result)[1]["error"]["message"].startswith("no valid JSON")
    assert [record["id"] for record in objects(result)] == ["a", 2, 4]


@pytest.mark.parametrize(("name", "delimiter"), [("rows.csv", ","), ("rows.tsv", "\t")])
def test_tables(tmp_path, name, delimiter):
    rows = [
        ["id", "expression", "wrt", "claim", "assume"],
        ["one", "x^2*w", "x", "2*x*w", ""],
        ["two", "x^2*w", "x", "2*x", ""],
        ["three", "abs(x)", "", "dy/dx = 1", "x > 0"],
        ["", "x^2", "", "", ""],
    ]
    path = tmp_path / name
    path.write_text("\n".join(delimiter.join(row) for row in rows))
    result = verify("-f", str(path), "--json")
    assert verdicts(result) == ["agrees", "differs", "agrees", "error"]
    assert [record["id"] for record in objects(result)] == ["one", "two", "three", 5]


def test_junit(homework):
    result = verify("-f", homework, "--format", "junit")
    assert result.status == 1
    suite = ElementTree.fromstring(result.out.encode())
    assert (suite.tag, suite.attrib["tests"], suite.attrib["failures"], suite.attrib["errors"]) == (
        "testsuite", "7", "1", "2"
    )  # fmt: skip
    cases = [(case.get("classname"), case.get("name"), [child.tag for child in case]) for case in suite]
    assert cases[0] == ("3: f(x) = x^3", "f'(x) = 3x^2", [])
    assert cases[3] == ("7: y = log(x) + a", "dy/da = 0", ["failure"])
    assert cases[4] == ("12: y = sin(x", "program", ["error"])
    assert "the derivative is 1, claimed is 0" in suite[3][0].text


def test_junit_survives_any_text():
    result = verify("-", "--format", "junit", stdin="y = x\x01<&\ndy/dx = 1\n\ny = x\ndy/dx = 1")
    assert ElementTree.fromstring(result.out.encode()).attrib["errors"] == "1"


def test_markdown(homework):
    out = verify("-f", homework, "--format", "markdown").out
    assert "| 7 | dy/da = 0 | differs |" in out
    assert "\n7: `dy/da = 0`\n\n    at x = 1, a = 1: the derivative is 1" in out


def test_jobs_change_nothing(homework):
    assert verify("-f", homework, "--jobs", "3") == verify("-f", homework)


@pytest.mark.parametrize(
    ("words", "stdin", "message"),
    [
        (["-"], "", "there is no block to verify"),
        (["-"], "\n\n# only a remark\n", "there is no block to verify"),
        (["-f", "missing.txt"], "", "missing.txt cannot be read"),
        (["-", "--input-format", "csv"], "a,b\n1,2\n", "the table has no column 'expression'"),
        ([], "", "No program and no claim"),
        (["x^2"], "", "there is no claim to verify"),
        (["x^2", "2x"], "", "what is '2x'?"),
    ],
)
def test_nothing_to_verify(words, stdin, message):
    result = verify(*words, stdin=stdin)
    assert result.status == 2
    assert message in result.err + result.out
    assert "Traceback" not in result.err


# --- Python functions -------------------------------------------------------------------------------------------------


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(
        "import numpy as np\n"
        "def loss(w, x):\n    return np.sum((w*x - 1)**2)\n"
        "def loss_grad(w, x):\n    r = w*x - 1\n    return np.sum(2*r*x), 2*r*w\n"
        "def loss_wrong(w, x):\n    r = w*x - 1\n    return {'w': np.sum(2*r*x), 'x': 2*r}\n"
        "def loss_short(w, x):\n    return 2*w\n"
    )
    return str(path)


def test_a_gradient_written_by_hand(model):
    right = verify(f"{model}:loss", f"{model}:loss_grad", "x: 3", "--json")
    assert right.status == 0
    assert [(claim["wrt"], claim["verdict"]) for claim in objects(right)[0]["claims"]] == [
        ("w", "agrees"),
        ("x", "agrees"),
    ]
    wrong = verify(f"{model}:loss", f"{model}:loss_wrong", "x: 3", "--json")
    assert wrong.status == 1
    assert [claim["verdict"] for claim in objects(wrong)[0]["claims"]] == ["agrees", "differs"]
    assert objects(wrong)[0]["claims"][1]["counterexample"]["element"] == [0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{}:loss"], "Give the function of the gradient too"),
        (["{}:loss", "{}:missing"], "missing"),
        (["{}:loss", "{}:loss_short", "x: 3"], "returns one gradient for the arguments w, x"),
    ],
)
def test_refused_functions(model, words, message):
    result = verify(*[word.format(model) for word in words])
    assert result.status == 2
    assert message in result.err
    assert "Traceback" not in result.err


# --- time -------------------------------------------------------------------------------------------------------------


def test_a_slow_proof_leaves_the_others():
    result = verify("-", "--json", stdin=f"{SLOW}\n{SLOW_CLAIM}\n\ny = x^2\ndy/dx = 2*x", timeout=1)
    assert result.status == 0
    slow, quick = (record["claims"][0] for record in objects(result))
    assert (slow["verdict"], slow["timed_out"]) == ("agrees", True)
    assert (quick["verdict"], quick["timed_out"]) == ("proved", False)


def test_interruption_keeps_whole_lines_and_leaves_no_process():
    slow = f"{SLOW}\n{SLOW_CLAIM}"
    words = [sys.executable, "-m", "chainrule", "verify", "-", "--timeout", "60", "--json"]
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, env=ENVIRONMENT,
        start_new_session=True,
    )  # fmt: skip
    process.stdin.write(f"y = x^2\ndy/dx = 2*x\n\n{slow}".encode())
    process.stdin.close()
    first = process.stdout.readline()
    time.sleep(0.3)
    os.kill(process.pid, signal.SIGINT)  # to the command alone, not to the processes that it started
    rest, errors = process.stdout.read(), process.stderr.read()
    assert process.wait(timeout=20) == 130
    assert json.loads(first)["verdict"] == "proved"
    assert rest == b""
    assert b"Traceback" not in errors
    assert not alive(process.pid)
    process.stdout.close()
    process.stderr.close()


def test_processes_end_with_the_command():
    words = [sys.executable, "-m", "chainrule", "verify", SLOW, SLOW_CLAIM, "--timeout", "60"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, cwd=ROOT, env=ENVIRONMENT, start_new_session=True)
    time.sleep(3)
    process.kill()
    process.wait()
    for _ in range(100):
        if not alive(process.pid):
            return
        time.sleep(0.2)
    raise AssertionError("a process is left")


def alive(group: int) -> bool:
    """Whether any process of a group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
