"""`chainrule batch`: every input, every output, and lines that fail."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import random

import pytest
from command import ROOT, run
from hypothesis import given, settings
from hypothesis import strategies as st

from chainrule.cli.stream.blocks import Block
from chainrule.cli.stream.records import record_lines
from chainrule.cli.stream.settings import Settings
from chainrule.cli.stream.work import Worker

FEYNMAN = ROOT / "tests" / "data" / "feynman.jsonl"


def batch(text: str | bytes, *options: str, status: int = 0) -> list[dict]:
    """The records of a run on standard input."""
    done = run(["chainrule", "batch", *options], stdin=text)
    assert done.status == status, done.err
    assert "Traceback" not in done.err
    return [json.loads(line) for line in done.out.splitlines()]


def table(text: str, *options: str, delimiter: str = ",") -> list[dict]:
    done = run(["chainrule", "batch", *options], stdin=text)
    return list(csv.DictReader(io.StringIO(done.out), delimiter=delimiter))


# --- input ------------------------------------------------------------------------------------------------------------


def test_text():
    text = "# a comment\n\ny = (x+w)*(w+1) | x=2, w=1\n  x^2 | x=3  \n   # another\n[1, x][1] * 2 | x=4"
    assert batch(text) == [
        {"id": 3, "expression": "y = (x+w)*(w+1) | x=2, w=1", "output": "y", "value": 6.0,
         "gradients": {"x": 2.0, "w": 5.0}},
        {"id": 4, "expression": "x^2 | x=3", "output": "y", "value": 9.0, "gradients": {"x": 6.0}},
        {"id": 6, "expression": "[1, x][1] * 2 | x=4", "output": "y", "value": 8.0, "gradients": {"x": 2.0}},
    ]  # fmt: skip


def test_results_as_input_are_made_anew():
    """An error record, mended and given again, is no error; what was known of another point is gone."""
    (failed,) = batch("foo(x) | x=1", status=1)
    (before,) = batch("x^3 | x=1", "--order", "2", "--check", "--nodes")
    mended = [failed | {"expression": "sin(x) | x=1", "tag": 1}, before | {"expression": "x^3 | x=2"}]
    found = batch("\n".join(map(json.dumps, mended)), "--input-format", "jsonl")
    assert found[0] == {"id": 1, "expression": "sin(x) | x=1", "output": "y", "value": math.sin(1),
                        "gradients": {"x": math.cos(1)}, "tag": 1}  # fmt: skip
    assert found[1] == {"id": 1, "expression": "x^3 | x=2", "output": "y", "value": 8.0, "gradients": {"x": 12.0}}


@pytest.mark.parametrize("options", [["--expression", "x*2"], []])
@pytest.mark.parametrize("header", ["expression,x,x", "expression,x_1,x₁"])
def test_two_columns_of_one_name_are_refused(options, header):
    done = run(["chainrule", "batch", "--input-format", "csv", *options], stdin=f"{header}\nx*2,1,5\n")
    assert done.status == 2
    assert "has two columns 'x" in done.err


def test_json_lines():
    lines = [
        {"expression": "x*w", "at": {"x": [1, 2], "w": 3}, "cotangent": [1, 10], "id": "a", "tag": {"k": [1, None]}},
        {"expression": "x*w", "at": {"x": "pi/2", "w": 3}, "wrt": ["x"]},
        {"expression": "x₁*w | w=7, x_1=5", "at": {"x_1": 2}},
        {"expression": "e*x", "at": {"e": 3, "x": "-inf"}, "value": "taken"},
    ]
    found = batch("\n".join(map(json.dumps, lines)), "--input-format", "jsonl")
    assert found[0] == {"id": "a", "expression": "x*w", "output": "y", "value": [3.0, 6.0],
                        "gradients": {"x": [3.0, 30.0], "w": 21.0}, "tag": {"k": [1, None]}}  # fmt: skip
    assert found[1] == {"id": 2, "expression": "x*w", "output": "y", "value": 3 * math.pi / 2, "gradients": {"x": 3.0}}
    assert (found[2]["value"], found[2]["gradients"]) == (14.0, {"x_1": 7.0, "w": 2.0})
    assert found[3] == {"id": 4, "expression": "e*x", "output": "y", "value": "-inf",
                        "gradients": {"e": "-inf", "x": 3.0}}  # fmt: skip


def test_table_of_expressions(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('id,expression,x,w,remark\na,x^2,3,,"two\nlines"\nb,"max(x, w)",1,2,none\nc,pi*x,1,,\n')
    done = run(["chainrule", "batch", str(path)])
    found = [json.loads(line) for line in done.out.splitlines()]
    assert [(r["id"], r["value"], r["gradients"]) for r in found] == [
        ("a", 9.0, {"x": 6.0}), ("b", 2.0, {"x": 0.0, "w": 1.0}), ("c", math.pi, {"x": math.pi}),
    ]  # fmt: skip


@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_one_expression_for_a_table(delimiter):
    rows = "x,w,name\n1,2,a\n3,pi/2,b\n,5,c\nabc,1,d\n1_0,2,e\n7,8\n9,1e400,f\n\n".replace(",", delimiter)
    format_ = "csv" if delimiter == "," else "tsv"
    found = batch(rows, "--input-format", format_, "--expression", "f = x^2*w", status=1)
    assert [r["id"] for r in found] == [2, 3, 4, 5, 6, 7, 8]
    assert found[0] == {"id": 2, "expression": "f = x^2*w", "output": "f", "value": 2.0,
                        "gradients": {"x": 4.0, "w": 1.0}}  # fmt: skip
    assert found[1]["gradients"] == {"x": 3 * math.pi, "w": 9.0}
    assert [r["error"]["kind"] for r in found[2:]] == ["missing", "value", "syntax", "format", "value"]


def test_one_expression_for_lines_of_text():
    lines = ["x=2, w=1", "# a comment", "| x=3, w=pi/2", "x=[1,2][1], w=5", "x=1", "foo", "x=1, x=2, w=1", "w=1, z=3",
             "", "x = 1e3 , w=2", "x=1e999, w=1", "x=, w=2", '{"x": 2}']  # fmt: skip
    found = batch("\n".join(lines), "--expression", "y = x*w", status=1)
    assert [r["id"] for r in found] == [1, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13]
    assert [r.get("value") for r in found] == [
        2.0, 3 * math.pi / 2, 10.0, None, None, None, None, 2000.0, None, None, None
    ]  # fmt: skip
    kinds = [r["error"]["kind"] for r in found if "error" in r]
    assert kinds == ["missing", "value", "name", "name", "value", "value", "format"]
    assert "x=1e999: 1e999 is larger" in found[8]["error"]["message"]
    assert batch("w=5\nw=6", "--expression", "x*w", "--at", "x=2")[1]["value"] == 12.0
    assert [r["gradients"] for r in batch("x=2\nx=3", "--expression", "x^2", "--hessian")] == [{"x": 4.0}, {"x": 6.0}]


def test_values_common_to_all_lines():
    text = "x*w | x=2\nx*w | x=2, w=5\nw = 3; x*w | x=1\nx | x=1"
    found = batch(text, "--at", "w=7", "--at", "unused=1")
    assert [r["value"] for r in found] == [14.0, 10.0, 7.0, 1.0]
    rows = batch("x\n1\n2\n", "--input-format", "csv", "--expression", "x*w + a | w=3, x=9, a=0", "--at", "w=5")
    assert [r["value"] for r in rows] == [5.0, 10.0]
    assert rows[0]["gradients"] == {"x": 5.0, "w": 1.0, "a": 1.0}


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("packed", [False, True])
def test_encodings(tmp_path, bom, end, packed):
    path = tmp_path / ("t.txt.gz" if packed else "t.txt")
    data = bom + end.join("α² | α=3\n\nβ*α₁ | β=2, α₁=5".encode().split(b"\n"))
    path.write_bytes(gzip.compress(data[:5]) + gzip.compress(data[5:]) if packed else data)
    done = run(["chainrule", "batch", str(path), str(path)])
    found = [json.loads(line) for line in done.out.splitlines()]
    assert [(r["id"], r["value"], r["gradients"]) for r in found[:2]] == [
        (1, 9.0, {"α": 6.0}), (3, 10.0, {"β": 5.0, "α_1": 2.0}),
    ]  # fmt: skip
    assert [r["id"] for r in found] == [1, 3, 4, 6]


def test_files_that_cannot_be_read(tmp_path):
    good = tmp_path / "good.txt"
    good.write_text("x | x=1\n")
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(b"x | x=1\n" * 1000)[:-9])
    utf16 = tmp_path / "utf16.txt"
    utf16.write_text("x | x=1", encoding="utf-16")
    for path, message in ((tmp_path / "no.txt", "cannot be read"), (tmp_path, "cannot be read"),
                          (cut, "ends early"), (utf16, "UTF-16")):  # fmt: skip
        done = run(["chainrule", "batch", str(good), str(path)])
        assert done.status == 2
        assert message in done.err
        assert "Traceback" not in done.err


# --- output -----------------------------------------------------------------------------------------------------------


def test_columns_for_each_gradient():
    text = "x,w\n1,2\n3,\n"
    found = table(text, "--input-format", "csv", "--expression", "y = x*sum(w*v)", "--at", "v=[3,4]", "--format", "csv")
    assert found == [
        {"id": "2", "y": "14.0", "dy/dx": "14.0", "dy/dw": "7.0", "dy/dv[0]": "2.0", "dy/dv[1]": "2.0", "error": ""},
        {"id": "3", "y": "", "dy/dx": "", "dy/dw": "", "dy/dv[0]": "", "dy/dv[1]": "",
         "error": "missing: column 11: w has no value (add w=…)"},
    ]  # fmt: skip
    found = table("x*w | x=2, w=3\n2*w | w=5", "--wrt", "x,w", "--format", "tsv", delimiter="\t")
    assert found[0] == {"id": "1", "expression": "x*w | x=2, w=3", "output": "y", "value": "6.0", "d/dx": "3.0",
                        "d/dw": "2.0", "error": ""}  # fmt: skip
    assert (found[1]["d/dx"], found[1]["d/dw"]) == ("", "2.0")


def test_one_column_for_all_gradients():
    found = table('x*w | x=2, w=3\n"', "--format", "csv")
    assert json.loads(found[0]["gradients"]) == {"x": 3.0, "w": 2.0}
    assert found[1]["expression"] == '"'
    assert found[1]["error"].startswith("syntax: column 1: unexpected '\"'")


def test_formats_for_people():
    text = "x,w\n1,2\n-0.123456789,1e9\n"
    words = ["--input-format", "csv", "--expression", "x*w"]
    assert run(["chainrule", "batch", *words, "--format", "table"], stdin=text).out == (
        "id             y  dy/dx      dy/dw  error\n"
        "--  ------------  -----  ---------  -----\n"
        "2              2      2          1\n"
        "3   -1.23457e+08  1e+09  -0.123457\n"
    )
    assert run(["chainrule", "batch", *words, "--format", "markdown", "--digits", "3"], stdin=text).out == (
        "| id | y | dy/dx | dy/dw | error |\n| --- | --- | --- | --- | --- |\n"
        "| 2 | 2 | 2 | 1 |  |\n| 3 | -1.23e+08 | 1e+09 | -0.123 |  |\n"
    )


def test_further_derivatives_nodes_formulas():
    text = "x^3 | x=2"
    (found,) = batch(text, "--order", "2", "--nodes")
    assert found["derivatives"] == {"x,x": 12.0}
    assert [node["name"] for node in found["nodes"]] == ["x", "y"]
    (found,) = batch(text, "--hessian", "--check")
    assert found["hessian"]["matrix"] == [[12.0]]
    assert found["check"]["x,x"]["verdict"] == "agrees"
    (found,) = batch("x^3", "--symbolic")
    assert found["symbolic"] == {"x": "3*x^2"}
    assert found["missing"] == ["x"]
    (found,) = table(text, "--order", "2", "--format", "csv")
    assert json.loads(found["derivatives"]) == {"x,x": 12.0}


def test_inputs_without_gradient():
    found = batch("x*w | x=2, w=3\nv^2 | v=1", "--no-grad", "w")
    assert [r["gradients"] for r in found] == [{"x": 3.0}, {"v": 2.0}]
    line = '{"expression": "x*w", "at": {"x": 2, "w": 3}, "wrt": "w"}'
    found = batch(line, "--no-grad", "w", "--input-format", "jsonl", status=1)
    assert found[0]["error"]["kind"] == "grad"


# --- lines that fail --------------------------------------------------------------------------------------------------

NOISE = [
    (b"sine(x) | x=1", "name", 1),
    (b"x+", "syntax", 2),
    (b"x*w", "missing", 1),
    (b"[1,2]*[1,2,3]", "shape", 1),
    (b"[x, x] | x=1", "grad", 1),
    (b"x\x00", "syntax", 2),
    (b"\xff\xfe", "format", None),
    (b"zeros(100000, 100000)", "limit", 1),
    (b"sum(zeros(1000, 1001)*x) + 0*sum(z) | x=1, z=zeros(1000,1001)", "limit", None),
    (b"(" * 100_000 + b"x", "syntax", 100_000),
    (b"x*" + b"9" * 400, "value", 3),
]


def test_failing_lines_change_nothing_else():
    good = [f"sin({i}*x)*w | x=0.5, w=3" for i in range(len(NOISE) + 1)]
    alone = batch("\n".join(good))
    mixed = b"\n".join(a.encode() + b"\n" + n[0] for a, n in zip(good, NOISE, strict=False)) + b"\n" + good[-1].encode()
    done = run(["chainrule", "batch"], stdin=mixed)
    found = [json.loads(line) for line in done.out.splitlines()]
    assert done.status == 1
    assert done.err == f"{len(NOISE)} of {2 * len(NOISE) + 1} lines failed\n"
    assert [{**r, "id": 0} for r in found[::2]] == [{**r, "id": 0} for r in alone]
    said = [(r["error"]["kind"], r["error"]["column"], r["error"]["line"]) for r in found[1::2]]
    assert said == [(kind, column, 2 * i + 2) for i, (_, kind, column) in enumerate(NOISE)]


BROKEN = [
    ('{"expression": "x"', "format"), ("[1]", "format"), ("7", "format"), ("{}", "format"), ("nonsense", "format"),
    ("[" * 100_000, "format"), ('{"expression": 5}', "format"), ('{"expression": "x", "at": [1]}', "format"),
    ('{"expression": "x", "at": {"x": true}}', "value"), ('{"expression": "x", "at": {"x": null}}', "missing"),
    ('{"expression": "x", "at": {"x": [1, [2]]}}', "value"), ('{"expression": "x", "at": {"x": {}}}', "value"),
    ('{"expression": "x", "at": {"x": [true]}}', "value"), ('{"expression": "x", "at": {"x": "w"}}', "value"),
    ('{"expression": "x", "at": {"x": 1, "w": 2}}', "name"), ('{"expression": "x", "at": {"x y": 1}}', "name"),
    ('{"expression": "x", "at": {"x": 1}, "wrt": "w"}', "name"), ('{"expression": "x", "wrt": 5}', "format"),
    ('{"expression": "x", "at": {"x": 1' + "0" * 400 + "}}", "value"),
    ('{"expression": "x", "at": {"x": 1' + "0" * 5000 + "}}", "format"),
    ('{"expression": "x₁", "at": {"x₁": 1, "x_1": 2}}', "name"),
    ('{"expression": "x", "at": {"x": 1}, "cotangent": [1]}', "shape"),
]  # fmt: skip


def test_numbers_too_large():
    values = ["1e999", "Infinity", '"-inf"', "[1, 1e999]", '["inf", -1e999]', "[NaN, -Infinity]", "NaN"]
    lines = [f'{{"expression": "sum(x)", "at": {{"x": {value}}}}}' for value in values]
    found = batch("\n".join(lines), "--input-format", "jsonl", status=1)
    assert [r.get("value") for r in found] == [None, "inf", "-inf", None, None, "nan", "nan"]
    assert all("largest number" in r["error"]["message"] for r in found if "error" in r)
    rows = ["x", "1", "1e999", "inf", "-Infinity", "-1e400 ", "nan", "2"]
    found = batch("\n".join(rows), "--input-format", "csv", "--expression", "2*x", status=1)
    assert [r.get("value") for r in found] == [2.0, None, "inf", "-inf", None, "nan", 4.0]
    assert "1e999 is larger than the largest number" in found[1]["error"]["message"]


def test_broken_json_lines():
    good = '{"id": "\\ud800", "expression": "1/3"}'
    found = batch("\n".join(f"{line}\n{good}" for line, _ in BROKEN), "--input-format", "jsonl", status=1)
    assert [r["error"]["kind"] for r in found[::2]] == [kind for _, kind in BROKEN]
    assert {(r["id"], r["value"]) for r in found[1::2]} == {("\ud800", 1 / 3)}


def test_long_lines():
    text = "x | x=1\n" + "x + " * 100_000 + "x | x=1\n" + "x*x | x=2"
    found = batch(text, "--max-line", "1000", status=1)
    assert [r["id"] for r in found] == [1, 2, 3]
    assert (found[1]["expression"], found[1]["error"]["kind"]) == (None, "limit")
    assert [found[0]["value"], found[2]["value"]] == [1.0, 4.0]
    found = batch("x + x + x | x=1\n" * 2 + "x | x=1", "--max-line", "10", status=1)
    assert [r.get("value") for r in found] == [None, None, 1.0]
    assert "value" in batch(text, status=0)[1]


def test_quotes_that_do_not_close():
    text = 'x,w\n1,2\n"3,4\n5,"6"\n7,8" pipe\n9,10\n'
    found = batch(text, "--input-format", "csv", "--expression", "x", status=1)
    assert {r["id"]: r.get("value") for r in found}[2] == 1.0
    assert found[-1]["value"] == 9.0
    assert all("value" in r or r["error"]["kind"] == "format" for r in found)


def test_errors_apart(tmp_path):
    out, errors = tmp_path / "out.csv", tmp_path / "errors.jsonl"
    words = ["chainrule", "batch", "--format", "csv", "-o", str(out), "--errors", str(errors)]
    done = run(words, stdin="x | x=1\ny z\nx | x=2\nx\n")
    assert (done.status, done.out) == (1, "")
    assert out.read_text() == 'id,expression,output,value,gradients\n' \
        '1,x | x=1,y,1.0,"{""x"": 1.0}"\n3,x | x=2,y,2.0,"{""x"": 1.0}"\n'  # fmt: skip
    assert [(r["id"], r["error"]["kind"]) for r in map(json.loads, errors.read_text().splitlines())] == [
        (2, "syntax"), (4, "missing"),
    ]  # fmt: skip


def test_fail_fast():
    done = run("chainrule batch --fail-fast", stdin="x | x=1\nx +\nx | x=2\n" * 1000)
    assert [r["id"] for r in map(json.loads, done.out.splitlines())] == [1, 2]
    assert (done.status, done.err) == (1, "1 of 2 lines failed\n")
    assert run("chainrule batch --quiet", stdin="x +").err == ""


@pytest.mark.parametrize(
    ("options", "stdin", "message"),
    [
        (["--expression", "x +"], "", "the expression ends after '+'"),
        (["--expression", "x", "--wrt", "w"], "", "w is no input"),
        (["--input-format", "csv"], "x,w\n1,2\n", "no column 'expression'"),
        (["--input-format", "csv", "--expression", "x*length"], "x,lenght\n1,2\n", "did you mean 'lenght'?"),
        (["--order", "2", "--hessian"], "", "ask for different things"),
        (["-o", "out.jsonl.gz"], "", "out.jsonl.gz would not be compressed"),
        (["--resume"], "", "--resume goes on in the file that -o names"),
        (["--resume", "-o", "x.md", "--format", "markdown"], "", "--resume is not for"),
        (["README.md", "-o", "README.md"], "", "is read and would be written"),
        (["--at", "x"], "", "is no value for a name"),
    ],
)
def test_refused(options, stdin, message):
    done = run(["chainrule", "batch", *options], stdin=stdin)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert "Traceback" not in done.err


def test_nothing_at_all():
    assert batch("") == []
    assert batch("\n# nothing\n") == []
    assert (
        run("chainrule batch --format csv --expression x*w --input-format csv", stdin="").out
        == "id,y,dy/dx,dy/dw,error\n"
    )
    assert run("chainrule batch --format table", stdin="").out.splitlines()[0].split() == [
        "id", "expression", "output", "value", "gradients", "error",
    ]  # fmt: skip


# --- real input -------------------------------------------------------------------------------------------------------

RUBI = ROOT / "tests" / "data" / "rubi_verify.jsonl"


def integrals() -> list[bytes]:
    """Records of Rubi's integrals, each to be differentiated at a point, with the `derivative` there."""
    rows = map(json.loads, RUBI.read_text(encoding="utf-8").splitlines())
    return [
        json.dumps(
            {
                "id": row["id"],
                "expression": row["expression"],
                "at": row["point"],
                "wrt": list(row["claims"]),
                "derivative": row["derivative_at_point"],
            }
        ).encode()
        for row in rows
    ]


def noise(draw: random.Random) -> bytes:
    """A line that is no record: random bytes, a record cut short, an enormous number."""
    record = json.dumps({"expression": "x^2*sin(x)", "at": {"x": 1.5}}).encode()
    kind = draw.randrange(4)
    if kind == 0:
        return bytes(draw.randrange(256) for _ in range(draw.randrange(1, 60))).replace(b"\n", b"").strip() or b"?"
    if kind == 1:
        return record[: draw.randrange(1, len(record))]
    if kind == 2:
        return b'{"expression": "x", "at": {"x": 1' + b"0" * draw.choice([400, 5000]) + b"}}"
    return b'{"expression": "' + b"9" * 400 + b'*x", "at": {"x": 1}}'


def test_formulas_and_integrals_between_noise(tmp_path):
    """All formulas of physics and all integrals of Rubi's tests in one pipe, with noise between them."""
    formulas = [json.loads(line) for line in FEYNMAN.read_text(encoding="utf-8").splitlines()]
    lines = [json.dumps({"id": r["id"], "expression": r["formula"], "at": r["point"]}).encode() for r in formulas]
    lines += integrals()
    draw = random.Random(3)
    mixed = b"\n".join(part for line in lines for part in (noise(draw), line))
    done = run(["chainrule", "batch", "--input-format", "jsonl", "--jobs", "2"], stdin=mixed)
    found = [json.loads(line) for line in done.out.splitlines()]
    assert len(found) == 2 * len(lines)
    assert all("error" in record for record in found[::2])
    formulas_found, integrals_found = found[1 : 2 * len(formulas) : 2], found[2 * len(formulas) + 1 :: 2]
    for row, record in zip(formulas, formulas_found, strict=True):
        assert record["id"] == row["id"]
        assert record["value"] == pytest.approx(row["value"], rel=1e-12)
        assert record["gradients"] == pytest.approx(row["gradients"], rel=1e-9, abs=1e-12)
    assert len(integrals_found) == 888
    for record in integrals_found:
        (gradient,) = record["gradients"].values()
        assert gradient == pytest.approx(record["derivative"], rel=1e-6, abs=1e-9), record["id"]


def checked(lines: list[bytes]) -> None:
    """SymPy's word on each line: it must not differ, and mostly agree."""
    done = run(
        ["chainrule", "batch", "--input-format", "jsonl", "--check", "--jobs", "2"], b"\n".join(lines), timeout=3000
    )
    verdicts = [c["verdict"] for line in done.out.splitlines() for c in json.loads(line)["check"].values()]
    assert done.status == 0, done.err
    assert "differs" not in verdicts
    assert verdicts.count("agrees") >= 0.9 * len(verdicts)


def test_check_of_some():
    checked(integrals()[5:888:110])


@pytest.mark.full
def test_check_of_all():
    formulas = [json.loads(line) for line in FEYNMAN.read_text(encoding="utf-8").splitlines()]
    checked([*integrals(), *(json.dumps({"expression": r["formula"], "at": r["point"]}).encode() for r in formulas)])


# --- anything at all --------------------------------------------------------------------------------------------------

pieces = st.sampled_from(
    ["x", "w", "2", "1e308", "0", "[1,2]",
     "sin(", "sum(", ")", "(", "+", "*", "^", "/", "-", " ", "|", "x=1", "w=[1,2]",
     ",", ";", "=", "#", "\0", '"', "é", "\ud800", "zeros(9,9)", "if", "else", "<", "@", "[0]", "randn(3)", "\t", "\r"]
)  # fmt: skip
texts = st.lists(pieces, max_size=12).map("".join) | st.text(max_size=30)
values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | texts, lambda v: st.lists(v, max_size=3), max_leaves=4
)
objects = st.fixed_dictionaries(
    {},
    optional={
        "expression": texts | values, "at": st.dictionaries(st.sampled_from(["x", "w", "e", "?"]), values) | values,
        "wrt": values, "cotangent": values, "id": values, "value": values,
    },
)  # fmt: skip
lines = {
    "text": texts.map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=40),
    "jsonl": objects.map(lambda made: json.dumps(made).encode()) | st.binary(max_size=40),
    "csv": st.lists(texts, min_size=1, max_size=4).map(lambda cells: ",".join(cells).encode("utf-8", "surrogatepass")),
}


@pytest.mark.parametrize("format_", lines)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_line_gives_a_result_or_an_error_record(format_, data):
    given_lines = data.draw(st.lists(lines[format_], max_size=4))
    block = Block(1, 1, None, format_, b"\n".join(given_lines), header=("expression", "x", "w"))
    for out in ("jsonl", "csv", "markdown"):
        done = Worker(Settings(format=out)).run(block)
        assert len(done.texts) >= len(record_lines(block))
        if out == "jsonl":
            found = [json.loads(text) for text in done.texts]
            assert [i for i, r in enumerate(found) if "error" in r and "value" not in r] == done.failed
            assert all(r["error"]["kind"] != "bug" for r in (found[i] for i in done.failed))
