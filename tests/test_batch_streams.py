"""`chainrule batch` as a process: the same bytes whatever blocks and jobs; kills, interrupts, slow pipes, memory."""

from __future__ import annotations

import json
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command import ENVIRONMENT, ROOT, run

from chainrule.cli.stream.blocks import Block, Pace, Source, blocks, cut
from chainrule.cli.stream.pool import Pool
from chainrule.cli.stream.records import record_lines
from chainrule.cli.stream.settings import Settings
from chainrule.cli.stream.work import Worker

BATCH = [sys.executable, "-m", "chainrule", "batch"]
FUNCTIONS = (
    "sin({}*x)*w",
    "exp(-x^2/{})",
    "x^{}/(1 + w^2)",
    "log(x + {})*tanh(w)",
    "sqrt(x*x + w*w + {})",
    "erf(x/{})",
)


def mixed_lines(count: int) -> list[str]:
    """Distinct and repeated programs, and lines that fail."""
    draw = random.Random(5)
    lines = []
    for i in range(count):
        k = draw.randrange(10)
        if k == 0:
            lines.append(draw.choice(["", "# comment", "x +", "y z", "missing*x", "[1, 2]*[1, 2, 3]"]))
        text = FUNCTIONS[0 if k < 5 else i % 6].format(7 if k < 5 else i + 1)
        lines.append(f"{text} | x={draw.uniform(0.1, 2)!r}, w={draw.uniform(-2, 2)!r}")
    return lines


def json_lines(count: int) -> list[str]:
    draw = random.Random(6)
    made = []
    for i in range(count):
        text = "sin(x)*exp(w)" if draw.random() < 0.6 else FUNCTIONS[i % 6].format(i + 1)
        at = {"x": draw.uniform(0.1, 2), "w": draw.uniform(-2, 2)} if draw.random() < 0.95 else {"x": [1, 2]}
        made.append(json.dumps({"id": f"row {i}", "expression": text, "at": at, "n": i}) if i % 37 else '{"broken": ')
    return made


def rows(count: int) -> list[str]:
    draw = random.Random(7)
    cells = [
        [repr(draw.uniform(-2, 2)), repr(draw.uniform(-2, 2)), draw.choice(["a", '"b, c"', '"d\ne"'])]
        for _ in range(count)
    ]
    for i in range(0, count, 91):
        cells[i][0] = draw.choice(["", "abc", "pi/2", "nan"])
    return ["x,w,name", *map(",".join, cells)]


CASES = {
    "text": (mixed_lines, []),
    "jsonl": (json_lines, []),
    "csv": (rows, ["--expression", "y = sin(x)*exp(w) + x^2*w"]),
}


# --- blocks and jobs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format_", CASES)
@pytest.mark.parametrize("quoted", [False, True])
def test_results_do_not_depend_on_blocks(format_, quoted, tmp_path):
    make, options = CASES[format_]
    lines = make(600)
    if not quoted:
        lines = [line.replace('"b, c"', "b").replace('"d\ne"', "d") for line in lines]
    path = tmp_path / f"input.{format_}"
    path.write_text("\n".join(lines))
    worker = Worker(Settings(expression=options[1] if options else None))

    def texts(pace: Pace) -> Iterator[str]:
        for block in blocks([Source(str(path))], format_, pace, 2**20):
            yield from worker.run(block).texts
            pace.size = draw.randint(1, pace.most)

    draw = random.Random(8)
    whole = list(texts(Pace(2**16, 2**16)))
    assert len(whole) > 550
    for size in (1, 300, 5000):
        assert list(texts(Pace(1, size))) == whole
    block = next(blocks([Source(str(path))], format_, Pace(2**15, 2**15), 2**20))
    pieces = cut(block, record_lines(block))
    found = [text for piece in pieces for text in worker.run(piece).texts]
    assert len(pieces) > 100
    assert found == whole[: len(pieces)]


@pytest.mark.parametrize("format_", CASES)
def test_results_do_not_depend_on_jobs(format_):
    make, options = CASES[format_]
    text = "\n".join(make(3000))
    alone = run(["chainrule", "batch", "--input-format", format_, *options], stdin=text)
    shared = run(["chainrule", "batch", "--input-format", format_, *options, "--jobs", "2"], stdin=text)
    assert shared == alone
    assert alone.status == 1


def test_together_agrees_with_one_by_one():
    """Rows together and lines by themselves differ by rounding only: 4 ulp an operation."""
    lines = [json.loads(line) for line in json_lines(400) if "sin(x)*exp(w)" in line]
    together, alone = Worker(Settings()), Worker(Settings())
    data = "\n".join(map(json.dumps, lines)).encode()
    first = [json.loads(t) for t in together.run(Block(1, 1, None, "jsonl", data)).texts]
    second = []
    for line in lines:
        second += [json.loads(t) for t in alone.run(Block(1, 1, None, "jsonl", json.dumps(line).encode())).texts]
    compared = 0
    for a, b in zip(first, second, strict=True):
        assert a.keys() == b.keys()
        if "value" in a:
            for one, other in [
                (a["value"], b["value"]),
                *zip(a["gradients"].values(), b["gradients"].values(), strict=True),
            ]:
                assert one == pytest.approx(other, rel=12 * 2.0**-52, abs=0)
                compared += 1
    assert compared > 150


# --- workers that die -------------------------------------------------------------------------------------------------


def test_a_worker_that_dies_costs_one_line(monkeypatch):
    """The workers of this pool kill themselves over one line."""
    evaluate = Worker.run

    def deadly(self, block):
        if b"deadly" in block.data:
            os.kill(os.getpid(), signal.SIGKILL)
        return evaluate(self, block)

    monkeypatch.setattr(Worker, "run", deadly)
    lines = [f"{i}*x | x=2" for i in range(20)]
    lines[7] = "deadly*x | x=2, deadly=1"
    pool = Pool(2, Settings())
    try:
        data = ["\n".join(lines[i : i + 5]).encode() + b"\n" for i in range(0, 20, 5)]
        futures = [pool.submit(Block(5 * i + 1, 5 * i + 1, None, "text", part)) for i, part in enumerate(data)]
        texts = [json.loads(text) for future in futures for text in future.result().texts]
    finally:
        pool.close()
    assert [r["id"] for r in texts] == list(range(1, 21))
    assert texts[7]["error"]["kind"] == "crash"
    assert texts[7]["expression"] == lines[7]
    assert [r.get("value") for r in texts] == [None if i == 7 else 2.0 * i for i in range(20)]


def test_a_worker_that_died_while_idle_costs_nothing():
    pool = Pool(2, Settings())
    try:
        for number in (1, 2):
            for process in [*pool.processes]:
                os.kill(process.process.pid, signal.SIGKILL)
                process.process.join()
            block = Block(number, number, None, "text", b"sin(x) | x=2\n")
            assert "value" in json.loads(pool.submit(block).result().texts[0])
    finally:
        pool.close()
    assert not any(process.alive for process in pool.processes)


def test_table_is_the_same_for_any_number_of_jobs(tmp_path):
    source = tmp_path / "in.txt"
    source.write_text("\n".join(f"{'x*' * (i // 40)}x | x={i}/7" for i in range(1000)))
    words = ["chainrule", "batch", str(source), "--format", "table", "--quiet", "--jobs"]
    assert len({run([*words, jobs]).out for jobs in ("1", "2", "3")}) == 1


def test_settings_travel():
    settings = replace(Settings(), at={"x": 2.0}, columns=(("x", ()),))
    assert pickle.loads(pickle.dumps(settings)) == settings


def test_time_limit():
    slow = "+".join(f"sin({i}*x)" for i in range(60_000))
    text = f"x | x=1\n{slow} | x=1\nx^2 | x=3"
    for options in ([], ["--jobs", "2"]):
        done = run(["chainrule", "batch", "--timeout", "0.1", *options], stdin=text)
        found = [json.loads(line) for line in done.out.splitlines()]
        assert [r.get("value") for r in found] == [1.0, None, 9.0]
        assert found[1]["error"]["kind"] == "limit"
        assert "took longer than 0.1 s" in found[1]["error"]["message"]


# --- killed and resumed -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format_", ["jsonl", "csv"])
@pytest.mark.parametrize("apart", [False, True])
def test_resume_after_kills(format_, apart, tmp_path):
    source, out, errors = tmp_path / "in.txt", tmp_path / "out", tmp_path / "errors"
    source.write_text("\n".join(mixed_lines(4000)))
    words = [*BATCH, str(source), "--format", format_, "--quiet"]
    apart_words = ["--errors", str(tmp_path / "whole-errors")] if apart else []
    subprocess.run([*words, *apart_words, "-o", str(tmp_path / "whole")], cwd=ROOT, env=ENVIRONMENT, check=False)
    words += ["-o", str(out), "--resume"] + (["--errors", str(errors)] if apart else [])
    whole, draw, kills = (tmp_path / "whole").read_bytes(), random.Random(9), 0
    for _ in range(4):
        target = out.stat().st_size if out.exists() else 0
        target += draw.randint(1, len(whole) // 4)
        process = subprocess.Popen(words, cwd=ROOT, env=ENVIRONMENT)
        while process.poll() is None and (not out.exists() or out.stat().st_size < target):
            time.sleep(0.001)
        kills += process.poll() is None
        process.kill()
        process.wait()
        torn = draw.randrange(40)  # as if the last write had been cut short
        with out.open("ab") as file:
            file.truncate(max(0, out.stat().st_size - torn))
        assert whole.startswith(out.read_bytes())
    assert kills
    subprocess.run(words, cwd=ROOT, env=ENVIRONMENT, check=False)
    assert out.read_bytes() == whole
    if apart:
        assert errors.read_bytes() == (tmp_path / "whole-errors").read_bytes()
    again = subprocess.run(words, cwd=ROOT, env=ENVIRONMENT, check=False)
    assert again.returncode == 1
    assert out.read_bytes() == whole


def test_resume_of_something_else(tmp_path):
    out = tmp_path / "out.jsonl"
    for content in (
        '{"id": 1}\n',
        "something\n",
        '{"id": 9, "expression": "x", "value": 1}\n' * 2,
        '{"id": 5, "value": 1}\n',
    ):
        out.write_text(content)
        done = run(["chainrule", "batch", "-o", str(out), "--resume"], stdin="x | x=1\n")
        if content != '{"id": 1}\n':
            assert (done.status, out.read_text()) == (2, content)
            assert "does not hold the results of this input" in done.err


@pytest.mark.parametrize("format_", ["jsonl", "csv"])
def test_resume_of_another_input(format_, tmp_path):
    """Ids are mere numbers; the last result tells its expression, too."""
    out = tmp_path / "out"
    words = ["chainrule", "batch", "--format", format_, "-o", str(out)]
    assert run(words, stdin="x^2 | x=1\nx^2 | x=2\n").status == 0
    before = out.read_text()
    done = run([*words, "--resume"], stdin="x^3 | x=7\nx^3 | x=8\nx^3 | x=9\n")
    assert (done.status, out.read_text()) == (2, before)
    assert "does not hold the results of this input" in done.err
    fixed = [*words, "--expression", "x^2", "--input-format", "csv"]
    assert run(fixed, stdin="x\n1\n2\n").status == 0
    assert run([*fixed, "--resume"], stdin="x\n1\n2\n3\n").status == 0
    assert out.read_text().count("\n") == (3 if format_ == "jsonl" else 4)


# --- streams ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_results_come_at_once(jobs):
    process = subprocess.Popen(
        [*BATCH, "--jobs", jobs], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env=ENVIRONMENT
    )
    assert process.stdin
    assert process.stdout
    for i in range(3):
        process.stdin.write(f"{i}*x | x=2\n{i}+x |".encode())
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["value"] == 2 * i
        process.stdin.write(b" x=2\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["value"] == 2 + i
    process.stdin.close()
    assert process.wait(10) == 0
    process.stdout.close()


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupt(jobs, tmp_path):
    source = tmp_path / "in.txt"
    source.write_text("\n".join(mixed_lines(20_000)))
    words = [*BATCH, str(source), "--jobs", jobs]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, env=ENVIRONMENT, start_new_session=True
    ) as process:
        assert process.stdout
        first = process.stdout.readline()
        os.killpg(process.pid, signal.SIGINT)
        rest, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert (first + rest).endswith(b"\n")
    assert 0 < len([json.loads(line) for line in (first + rest).splitlines()]) < 20_000
    assert b"Traceback" not in said


def test_closed_pipe(tmp_path):
    source = tmp_path / "in.txt"
    source.write_text("\n".join(mixed_lines(20_000)))
    with subprocess.Popen(
        [*BATCH, str(source)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, env=ENVIRONMENT
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(20) == 0
        assert process.stderr.read() == b""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell the peak of memory")
@pytest.mark.parametrize(("format_", "counts"), [("csv", (50_000, 200_000)), ("text", (10_000, 40_000))])
def test_memory_is_constant(format_, counts, tmp_path):
    script = (
        "import sys; from chainrule.cli.main import main\n"
        "try: main(['batch', *sys.argv[1:]])\n"
        "finally: print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0], file=sys.stderr)"
    )
    peaks = []
    for count in counts:
        path = tmp_path / f"{count}.{format_}"
        words = [sys.executable, "-c", script, str(path), "-o", str(tmp_path / "out"), "--input-format", format_]
        if format_ == "csv":
            path.write_text("x,w\n" + "".join(f"{i},{i / 7}\n" for i in range(count)))
            words += ["--expression", "x*sin(w)"]
        else:
            path.write_text("".join(f"sin({i}*x)*w | x={i / 7}, w=2\n" for i in range(count)))
        done = run(words)
        with (tmp_path / "out").open("rb") as out:
            assert sum(1 for _ in out) == count
        peaks.append(int(done.err))
    assert peaks[1] < peaks[0] + 6_000  # kilobytes


# --- a cluster --------------------------------------------------------------------------------------------------------


def test_cluster_that_loses_a_worker(tmp_path):
    """A real scheduler with two worker processes, one of which is killed while it works."""
    pytest.importorskip("distributed", reason="needs distributed (pip install chainrule[dask])")
    address_file, source = tmp_path / "scheduler.json", tmp_path / "in.txt"
    source.write_text("\n".join(mixed_lines(15_000)))
    alone = run(["chainrule", "batch", str(source)])
    dask = [sys.executable, "-m", "distributed.cli."]
    common = ["--scheduler-file", str(address_file), "--no-dashboard"]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    scheduler = subprocess.Popen([*dask[:2], dask[2] + "dask_scheduler", *common, "--port", "0"], **quiet)
    worker = [*dask[:2], dask[2] + "dask_worker", *common, "--no-nanny", "--nthreads", "1"]
    workers = [subprocess.Popen(worker, **quiet) for _ in range(2)]
    try:
        deadline = time.monotonic() + 30
        while not address_file.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        address = json.loads(address_file.read_text())["address"]
        from distributed import Client

        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=30)
        with subprocess.Popen(
            [*BATCH, str(source), "--scheduler", address], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT,
            env=ENVIRONMENT,
        ) as process:  # fmt: skip
            assert process.stdout
            first = process.stdout.readline()
            workers[0].kill()
            rest, said = process.communicate(timeout=60)
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()
    assert (first + rest).decode() == alone.out
    assert said.decode().endswith(alone.err)  # Dask may warn of the lost worker before
    assert process.returncode is not None


def test_no_scheduler():
    pytest.importorskip("distributed", reason="needs distributed (pip install chainrule[dask])")
    done = run("chainrule batch --scheduler nowhere", stdin="x | x=1")
    assert (done.status, done.out) == (2, "")
    assert "no scheduler answers at nowhere" in done.err
    assert "Traceback" not in done.err
