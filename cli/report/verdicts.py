"""Verdicts as a person reads them, as JSON, and as JUnit's XML."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from chainrule import ChainruleError
from chainrule.errors import Span

from ..diagnostics import error_text
from .grids import Grid, Screen, markdown
from .values import to_json

Results = Mapping[str, Any]  # what `verification.verified` gives for a block
ORDER = ("error", "differs", "undecided", "agrees where", "agrees", "proved")  # from the worst on
GOOD = ("agrees where", "agrees", "proved")
_PLURAL = {"error": "errors", "differs": "differ", "agrees where": "agree where", "agrees": "agree"}
STYLES = {"error": "red", "differs": "red", "undecided": "yellow", **dict.fromkeys(GOOD, "green")}


class Block(NamedTuple):
    """A block that was verified: its number or id, its text, and what `verification.verified` gives for it."""

    id: Any
    source: str
    results: Results

    @property
    def claims(self) -> Sequence[Results]:
        """What there is on each claim, or on the program where that cannot be read."""
        claims: Sequence[Results] = self.results.get("claims", [self.results])
        return claims

    @property
    def verdicts(self) -> list[str]:
        """The verdict on each claim."""
        return [_verdict(claim) for claim in self.claims]

    @property
    def verdict(self) -> str:
        """The worst of them."""
        return min(self.verdicts, key=ORDER.index)

    @property
    def title(self) -> str:
        """The first statement, for a name."""
        lines = [line.partition("#")[0].strip() for line in self.source.splitlines()]
        return next(filter(None, lines), "")

    def passes(self, *, strict: bool) -> bool:
        """Whether all claims are verified; with `strict` all must be proved."""
        return self.verdict in _accepted(strict)


def _accepted(strict: bool) -> tuple[str, ...]:
    return ("proved",) if strict else GOOD


def _verdict(claim: Results) -> str:
    return "error" if "error" in claim else str(claim["verdict"])


# --- for people -------------------------------------------------------------------------------------------------------


def show_block(block: Block, screen: Screen) -> None:
    """One block: its program, a table of its claims, and what is to be said of those that are not right."""
    if "error" in block.results:
        screen.line(error_text(error_of(block.results["error"])), "red")
        return
    said = " ".join(re.sub("#.*", "", block.source).split())
    if said != block.claims[0]["claim"]:
        screen.line(said)
        screen.line()
    grid = _table([block])
    screen.grid(Grid(grid.header[1:], [row[1:] for row in grid.rows], grid.wraps, grid.styles).without_empty())
    for claim in block.claims:
        if lines := details(claim):
            screen.line()
            for line in [f"{claim['claim']}:", *("  " + line for line in lines)]:
                screen.line(line)


def _table(blocks: Iterable[Block]) -> Grid:
    """The claims of blocks in a table."""
    grid = Grid(["id", "claim", "verdict", "where"], wraps=("claim", "where"))
    for block in blocks:
        for claim in block.claims:
            name = _verdict(claim)
            grid.rows.append([str(block.id), claim.get("claim", block.title), name, claim.get("where") or ""])
            grid.styles.append(STYLES[name])
    return grid


def show_line(block: Block, screen: Screen, *, quiet: bool) -> None:
    """One of many blocks: a line for each claim, and below it what is wrong."""
    for claim in block.claims:
        name = _verdict(claim)
        if quiet and name in GOOD:
            continue
        where = f"  (where {claim['where']})" if claim.get("where") else ""
        screen.line(f"{block.id}: {name:<12}  {claim.get('claim', block.title)}{where}", STYLES[name])
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
    counts = [(name, verdicts[name]) for name in reversed(ORDER) if verdicts[name]]
    parts = [f"{count} {name if count == 1 else _PLURAL.get(name, name)}" for name, count in counts]
    return f"{total} {'claim' if total == 1 else 'claims'}: {', '.join(parts)}"


def show_markdown(blocks: Sequence[Block]) -> str:
    """A table of GitHub's Markdown, with what is wrong below."""
    text = markdown(_table(blocks).without_empty())
    for block in blocks:
        for claim in block.claims:
            if lines := details(claim):
                text += f"\n{block.id}: `{claim.get('claim', block.title)}`\n\n"
                text += "".join(f"    {line}\n" for line in lines)
    return text


# --- for programs -----------------------------------------------------------------------------------------------------


def json_line(block: Block) -> str:
    """One block as a line of JSON."""
    record: dict[str, Any] = {"id": block.id, "expression": block.source}
    if "error" in block.results:
        record["error"] = _public(block.results["error"])
    else:
        record["verdict"] = block.verdict
        record["claims"] = [
            {**claim, "error": _public(claim["error"])} if "error" in claim else dict(claim) for claim in block.claims
        ]
    return to_json(record) + "\n"


def _public(error: Mapping[str, Any]) -> dict[str, Any]:
    """An error without what only its display needs."""
    return {key: value for key, value in error.items() if key not in ("source", "spans") and value is not None}


def placed(results: Results, line: int) -> Results:
    """The results of a block that starts on this line of its file, with the places of errors counted in the file."""
    if line == 1:
        return results
    moved = dict(results)
    if "claims" in moved:
        moved["claims"] = [placed(claim, line) if "error" in claim else claim for claim in moved["claims"]]
    if "error" in moved:
        error = moved["error"] = dict(moved["error"])
        if error.get("source") is not None:
            error["line"] = error.get("line", 1) + line - 1
            error["source"] = "\n" * (line - 1) + error["source"]
            error["spans"] = [[place + line - 1 for place in span] for span in error["spans"]]
    return moved


def error_of(record: Mapping[str, Any]) -> ChainruleError:
    """The error that a record tells of."""
    spans = [Span(*span) for span in record.get("spans", [])]
    hint, source = record.get("hint"), record.get("source")
    return ChainruleError(record["kind"], record["message"], spans=spans, hint=hint, source=source)


def junit(blocks: Sequence[Block], *, strict: bool) -> str:
    """JUnit's XML: a test suite of all claims, which systems of continuous integration show."""
    from xml.etree import ElementTree

    suite = ElementTree.Element("testsuite", name="chainrule verify")
    found = Counter[str]()
    for block in blocks:
        for claim in block.claims:
            name = _verdict(claim)
            where, what = _legal(f"{block.id}: {block.title}"), _legal(claim.get("claim", "program"))
            case = ElementTree.SubElement(suite, "testcase", classname=where, name=what)
            kind = "error" if name == "error" else "pass" if name in _accepted(strict) else "failure"
            found[kind] += 1
            if kind != "pass":
                message = claim["error"]["message"] if kind == "error" else name
                ElementTree.SubElement(case, kind, message=_legal(message)).text = _legal("\n".join(details(claim)))
    suite.attrib |= {"tests": str(found.total()), "failures": str(found["failure"]), "errors": str(found["error"])}
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _legal(text: str) -> str:
    """A text without the characters that XML has no place for."""
    return "".join(c if c in "\t\n" or (c >= " " and c not in "\ufffe\uffff") else "�" for c in text)
