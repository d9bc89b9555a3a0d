"""Verdicts as a person reads them, as JSON, and as JUnit's XML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from chainrule import ChainruleError
from chainrule.errors import Span

from ..diagnostics import error_text
from .grids import Grid, Screen, markdown
from .values import to_json

Results = Mapping[str, Any]  # what `verification.verified` gives for a block
ORDER = ("error", "differs", "undecided", "agrees where", "agrees", "proved")  # from the worst on
GOOD = ("agrees where", "agrees", "proved")
STYLES = {"error": "red", "differs": "red", "undecided": "yellow", **dict.fromkeys(GOOD, "green")}


def verdict(results: Results) -> str:
    """The worst verdict of a block."""
    if "error" in results:
        return "error"
    return min((_verdict(claim) for claim in results["claims"]), key=ORDER.index)


def _verdict(claim: Mapping[str, Any]) -> str:
    return "error" if "error" in claim else str(claim["verdict"])


def passes(results: Results, *, strict: bool) -> bool:
    """Whether all claims of a block are verified; with `strict` all must be proved."""
    return verdict(results) in (("proved",) if strict else GOOD)


def each_verdict(results: Results) -> list[str]:
    """The verdicts of a block's claims."""
    return ["error"] if "error" in results else [_verdict(claim) for claim in results["claims"]]


# --- for people -------------------------------------------------------------------------------------------------------


def show_block(results: Results, expression: str, screen: Screen) -> None:
    """One block: its program, a table of its claims, and what is to be said of those that are not right."""
    if "error" in results:
        screen.line(error_text(error_of(results["error"])), "red")
        return
    if expression.strip() != results["claims"][0]["claim"]:
        screen.line(" ".join(expression.split()))
        screen.line()
    grid = table([("", results)])
    grid.styles = [STYLES[name] for name in each_verdict(results)]
    screen.grid(grid.without_empty())
    for claim in results["claims"]:
        if lines := details(claim):
            screen.line()
            for line in [f"{claim['claim']}:", *("  " + line for line in lines)]:
                screen.line(line)


def table(blocks: Iterable[tuple[Any, Results]]) -> Grid:
    """The claims of blocks in a table."""
    grid = Grid(["id", "claim", "verdict", "where"], wraps=("claim", "where"))
    for id_, results in blocks:
        for claim in results.get("claims", [results]):
            name = _verdict(claim)
            grid.rows.append([str(id_), claim.get("claim", ""), name, claim.get("where") or ""])
    return grid


def show_line(id_: Any, results: Results, screen: Screen, *, quiet: bool) -> None:
    """One of many blocks: a line for each claim, and below it what is wrong."""
    if "error" in results:
        screen.line(f"{id_}: error", "red")
        for line in error_text(error_of(results["error"])).splitlines():
            screen.line("    " + line)
        return
    for claim in results["claims"]:
        name = _verdict(claim)
        if quiet and name in GOOD:
            continue
        where = f"  (where {claim['where']})" if claim.get("where") else ""
        screen.line(f"{id_}: {name:<12}  {claim['claim']}{where}", STYLES[name])
        for line in details(claim):
            screen.line("    " + line)


def details(claim: Mapping[str, Any]) -> list[str]:
    """What there is to say of a claim that is not simply right."""
    if "error" in claim:
        return error_text(error_of(claim["error"])).splitlines()
    lines = []
    found = claim.get("counterexample")
    if found:
        lines.append(counterexample_text(found))
    if claim.get("reason"):
        lines.append(f"reason: {claim['reason']}")
    if claim.get("hint"):
        lines.append(f"hint: {claim['hint']}")
    if claim.get("timed_out") and not claim.get("reason"):
        lines.append("note: SymPy's proof was stopped at the time limit (--timeout)")
    return lines


def counterexample_text(found: Mapping[str, Any]) -> str:
    """A counterexample in one line."""
    at = ", ".join(f"{name} = {value}" for name, value in found["at"].items())
    element = f"element [{', '.join(map(str, found['element']))}] of " if found["element"] else ""
    place = f"at {at}: " if at else ""
    ratio = found["ratio"]
    compared = f"off by {found['difference']}" + (f", {ratio} times as much" if ratio not in (None, "0") else "")
    return f"{place}{element}the derivative is {found['derivative']}, claimed is {found['claimed']} ({compared})"


def summary(verdicts: Counter[str]) -> str:
    """The last line: 12 claims: 10 proved, 2 differ."""
    total = sum(verdicts.values())
    parts = [f"{verdicts[name]} {name}" for name in reversed(ORDER) if verdicts[name]]
    return f"{total} {'claim' if total == 1 else 'claims'}: {', '.join(parts)}" if total else "no claims"


def show_markdown(blocks: Iterable[tuple[Any, Results]]) -> str:
    """A table of GitHub's Markdown, with what is wrong below."""
    kept = list(blocks)
    text = markdown(table(kept).without_empty())
    for id_, results in kept:
        for claim in results.get("claims", [results]):
            if lines := details(claim):
                head = f"{id_}: `{claim.get('claim', '')}`"
                text += f"\n{head}\n\n" + "".join(f"    {line}\n" for line in lines)
    return text


# --- for programs -----------------------------------------------------------------------------------------------------


def json_line(id_: Any, expression: str, results: Results, line: int) -> str:
    """One block as a line of JSON."""
    record: dict[str, Any] = {"id": id_, "expression": expression}
    if "error" in results:
        record["error"] = _public(results["error"], line)
    else:
        record["verdict"] = verdict(results)
        record["claims"] = [
            {**claim, "error": _public(claim["error"], line)} if "error" in claim else dict(claim)
            for claim in results["claims"]
        ]
    return to_json(record) + "\n"


def _public(error: Mapping[str, Any], line: int) -> dict[str, Any]:
    """An error without what only its display needs; its line counted in the file."""
    shown = {key: value for key, value in error.items() if key not in ("source", "spans") and value is not None}
    if "line" in shown:
        shown["line"] += line - 1
    return shown


def error_of(record: Mapping[str, Any]) -> ChainruleError:
    """The error that a record tells of."""
    spans = [Span(*span) for span in record.get("spans", [])]
    hint, source = record.get("hint"), record.get("source")
    return ChainruleError(record["kind"], record["message"], spans=spans, hint=hint, source=source)


def junit(blocks: Sequence[tuple[Any, str, Results]], *, strict: bool) -> str:
    """JUnit's XML: a test suite of all claims, which systems of continuous integration show."""
    from xml.etree import ElementTree

    suite = ElementTree.Element("testsuite", name="chainrule verify")
    failures = errors = count = 0
    for id_, expression, results in blocks:
        for claim in results.get("claims", [results]):
            count += 1
            name = _verdict(claim)
            case = ElementTree.SubElement(
                suite, "testcase", classname=_legal(f"{id_}: {expression}"), name=_legal(claim.get("claim", "program"))
            )
            said = "\n".join(details(claim))
            if name == "error":
                errors += 1
                ElementTree.SubElement(case, "error", message=_legal(claim["error"]["message"])).text = _legal(said)
            elif name not in (("proved",) if strict else GOOD):
                failures += 1
                ElementTree.SubElement(case, "failure", message=name).text = _legal(said)
    suite.attrib |= {"tests": str(count), "failures": str(failures), "errors": str(errors)}
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _legal(text: str) -> str:
    """A text without the characters that XML has no place for."""
    return "".join(c if c in "\t\n" or (c >= " " and c not in "\ufffe\uffff") else "�" for c in text)
