"""The real command: formats, pipes, exit codes, and how it ends."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from command import ENVIRONMENT, ROOT, run

CHAINRULE = [sys.executable, "-m", "chainrule"]


def record(command: str, **kwargs) -> dict:
    result = run(command, **kwargs)
    assert (result.status, result.err) == (0, ""), result.err
    assert result.out.count("\n") == 1
    return json.loads(result.out)


# --- what is an expression, what an option ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (["-x^2", "x=3"], -9),
        (["grad", "-f*x", "x=3", "f=2"], -6),
        (["-sin(f)+1", "f=0"], 1),
        (["-5"], -5),
        (["--", "-f", "f=3"], -3),
        (["--json", "x+1", "x=1"], 2),
        (["x*x", "x=-1"], 1),
        (["x", "x=pi/2"], np.pi / 2),
        (["x*(1)", "x=1e-3"], 1e-3),
        (["e^x", "e=2", "x=3"], 8),
        (["α₁·2", "α_1=3"], 6),
        (["a-b", "--no-grad", "a", "a=3", "b=1"], 2),
    ],
)
def test_arguments_with_a_minus_are_expressions(arguments, value):
    where = arguments.index("--") if "--" in arguments else len(arguments)
    made = [*arguments[:where], "--json", *arguments[where:]]
    result = run(["chainrule", *made])
    assert json.loads(result.out)["value"] == pytest.approx(value), result.err


def test_short_options_are_options(tmp_path):
    (tmp_path / "p.txt").write_text("y = x^2\n")
    assert record(f"chainrule -f {tmp_path}/p.txt x=3 --json")["value"] == 9
    assert run("chainrule -h").out.startswith("Usage: chainrule")
    assert run("chainrule grad -h").out.startswith("Usage: chainrule grad")
    assert run("chainrule --version").out.startswith("chainrule ")


# --- where the program and the values come from -----------------------------------------------------------------------


def test_program_from_a_pipe_and_a_file(tmp_path):
    text = "a = x + w  # a comment\nb = w + 1\r\ny = a*b | x=2, w=1\n"
    assert record("chainrule - --json", stdin=text)["gradients"] == {"x": 2, "w": 5}
    assert record("chainrule grad -f - --json", stdin=text)["gradients"] == {"x": 2, "w": 5}
    (tmp_path / "p.txt").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert record(f"chainrule -f {tmp_path}/p.txt --json x=3")["gradients"] == {"x": 2, "w": 6}


def test_values_from_files(tmp_path):
    np.save(tmp_path / "x.npy", np.array([1.0, 2.0]))
    (tmp_path / "t.csv").write_text("name,h\na,3\nb,4\n")
    (tmp_path / "one.csv").write_text("h\n3\n4\n")
    made = record(f"chainrule --json dot(x,t)+sum(s) x=@{tmp_path}/x.npy t=@{tmp_path}/t.csv:h s=@{tmp_path}/one.csv")
    assert made["value"] == 18
    assert made["gradients"] == {"x": [3, 4], "t": [1, 2], "s": [1, 1]}


def test_random_values_follow_the_seed():
    first = record("chainrule --json sum(x*x) x=randn(3)")
    assert first == record("chainrule --json sum(x*x) x=randn(3)")
    assert first["value"] != record("chainrule --json sum(x*x) x=randn(3) --seed 1")["value"]


# --- what comes out ---------------------------------------------------------------------------------------------------


def test_json_follows_the_schema():
    made = record("chainrule --json 'y=(x+w)*(w+1)' x=2 w=1")
    assert list(made) == ["id", "expression", "output", "value", "gradients", "nodes"]
    assert (made["id"], made["expression"], made["output"]) == (1, "y=(x+w)*(w+1)", "y")
    assert made["nodes"][1] == {
        "name": "w", "expression": "w", "value": 1.0, "shape": [], "requires_grad": True, "is_leaf": True,
        "grad_fn": None, "grad": 5.0,
    }  # fmt: skip


def test_json_has_no_number_that_json_has_not():
    result = run("chainrule --json 'log(x)*w' x=0 w=1")
    made = json.loads(result.out, parse_constant=lambda word: pytest.fail(word))
    assert made["value"] == "-inf"
    assert made["gradients"] == {"x": "inf", "w": "-inf"}


def test_json_of_missing_values():
    made = record("chainrule --json 'x*w' x=2")
    assert (made["value"], made["missing"], made["gradients"]) == (None, ["w"], {})
    assert made["nodes"][0]["value"] == 2


def test_json_check():
    made = record("chainrule --json --check 'sum(x*w)' x=[1,2] w=3")
    assert made["symbolic"] == {"x[0]": "w", "x[1]": "w", "w": "x[0] + x[1]"}
    assert {c["verdict"] for c in made["check"].values()} == {"agrees"}


def test_csv_is_read_by_csv():
    rows = list(csv.DictReader(io.StringIO(run("chainrule --format csv 'sum(x*x)' x=[1,2]").out)))
    assert [row["name"] for row in rows] == ["x", "v1", "y"]
    assert json.loads(rows[0]["grad"]) == [2, 4]


def test_output_file(tmp_path):
    result = run(f"chainrule x*x x=3 --json -o {tmp_path}/out.json")
    assert result.out == ""
    assert json.loads((tmp_path / "out.json").read_text())["gradients"] == {"x": 6}
    assert run(f"chainrule x*x x=3 -o {tmp_path}/no/such").status == 2


def test_options_of_the_graph():
    assert record("chainrule --json x*w x=2 w=3 --wrt w")["gradients"] == {"w": 2}
    assert record("chainrule --json x*w x=2 w=3 --no-grad w")["gradients"] == {"x": 3}
    assert record("chainrule --json 'w=const(3); x*w' x=2")["gradients"] == {"x": 3}
    assert record("chainrule --json 'a=x*x; y=a+x' x=3 --output a")["gradients"] == {"x": 6}
    nodes = record("chainrule --json 'a=x*x; sin(a)' x=0 --retain all")["nodes"]
    assert [node["grad"] for node in nodes] == [0, 1, 1]
    assert record("chainrule --json x*x x=[1,2] --cotangent [1,10]")["gradients"] == {"x": [2, 40]}
    assert record("chainrule --json 2*pi")["gradients"] == {}


def test_nothing_to_differentiate_is_said():
    result = run("chainrule 2*pi")
    assert result.status == 0
    assert "6.28319" in result.out
    assert "nothing to differentiate" in result.out


def test_sympy_that_hangs_is_stopped():
    start = time.monotonic()
    result = run("chainrule 'gamma(x)^gamma(x)*erf(sin(x)^cos(x))/lgamma(x)^x' x=2.5 --timeout 0.1")
    assert result.status == 0
    assert "not checked: SymPy took longer than 0.1 s" in result.out
    assert time.monotonic() - start < 8


def test_first_part_needs_no_sympy():
    code = (
        "import sys\nfrom chainrule.cli.main import main\n"
        "try: main(['grad', '--no-check', *sys.argv[1:]])\n"
        "finally: print(sorted({'sympy', 'scipy', 'rich', 'mpmath'} & {*sys.modules}), file=sys.stderr)"
    )
    result = run([sys.executable, "-c", code, "(x+w)*(w+1)", "x=2", "w=1"])
    assert result.err.strip() == "[]"


# --- terminals --------------------------------------------------------------------------------------------------------


def on_a_terminal(arguments: list[str], columns: int = 80, **environment: str) -> str:
    """What the command writes to a terminal of so many columns."""
    import fcntl
    import struct
    import termios

    main, worker = pty.openpty()
    fcntl.ioctl(worker, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen(
        [*CHAINRULE, *arguments],
        stdout=worker,
        stderr=worker,
        cwd=ROOT,
        env={**ENVIRONMENT, "TERM": "xterm", **environment},
    )
    os.close(worker)
    seen = b""
    while True:
        try:
            piece = os.read(main, 65536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    os.close(main)
    assert process.wait(100) == 0
    return seen.decode()


def test_colours_only_where_a_person_looks():
    assert "\x1b[" not in run("chainrule --no-check x*x x=2").out
    assert "\x1b[" in run("chainrule --no-check x*x x=2 --color").out
    assert "\x1b[" in on_a_terminal(["--no-check", "x*x", "x=2"])
    assert "\x1b[3" not in on_a_terminal(["--no-check", "x*x", "x=2"], NO_COLOR="1")
    assert "\x1b[" not in on_a_terminal(["--no-check", "x*x", "x=2", "--no-color"])


@pytest.mark.parametrize("columns", [80, 200])
def test_nothing_is_cut_on_a_terminal(columns):
    seen = on_a_terminal(
        ["--no-check", "logaddexp(x*w, sigmoid(x))*x_long_name", "x=0.123456", "w=1e-9", "x_long_name=3"], columns
    )
    for line in seen.splitlines():
        plain = "".join(part.partition("m")[2] if i else part for i, part in enumerate(line.split("\x1b[")))
        assert len(plain.rstrip()) <= columns
    assert "LogaddexpBackward0" in seen
    assert "…" not in seen


# --- endings ----------------------------------------------------------------------------------------------------------


def test_interrupt_ends_quietly():
    process = subprocess.Popen(
        [*CHAINRULE, "-", "--json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err.strip()) == (130, b"", b"")


def test_closed_pipe_ends_quietly():
    terms = "+".join(f"x^{i}" for i in range(3000))
    with subprocess.Popen(
        [*CHAINRULE, "--json", "--", terms, "x=0.5"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0
