"""Claims from real life, all true: none may be called wrong; and with a mistake planted, all must be."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import mpmath
import pytest
from planted import claimed, derivative, planted
from truth import recorded

from chainrule.verification import Verifier

GOOD = ("proved", "agrees", "agrees where")


def from_cas(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a CAS's tests or of a table as a block; its head declares the inputs that it does not use."""
    words = re.findall(r"\b[a-zA-Z]\w*\b(?!\()", row["f"] + " " + row["df_claimed"])
    names = dict.fromkeys(w for w in [row["var"], *words] if w not in ("pi", "e"))
    claims = {",".join([row["var"]] * row.get("order", 1)): row["df_claimed"]}
    return {"id": row["id"], "expression": f"whole({', '.join(names)}) = {row['f']}", "claims": claims}


def by_hand(row: dict[str, Any]) -> dict[str, Any]:
    claims = dict(zip(row["vars"], row["grad_formulas_source"], strict=True))
    return {"id": row["id"], "expression": row["formula"], "claims": claims}


def matrix(row: dict[str, Any]) -> dict[str, Any]:
    """A derivative of a matrix expression as a block; what must be symmetric is made so."""
    program = row["expression"]
    shapes = {name: "x".join(map(str, shape)) for name, shape in row["shapes"].items()}
    for name in row.get("symmetric", ()):
        program = f"{name} = half_{name} + half_{name}.T; {program}"
        shapes[f"half_{name}"] = shapes.pop(name)
    return {"id": row["source"], "expression": program, "claims": {row["wrt"]: row["gradient"]}, "shapes": shapes}


RUBI = recorded("rubi_verify.jsonl")
TABLES = [
    from_cas(row) for name in ("polynomials", "derivative_table", "cas_unit_tests") for row in recorded(f"{name}.jsonl")
]
FUNCTIONS = [by_hand(row) for row in recorded("test_functions.jsonl") if "grad_formulas_source" in row]
MATRICES = [matrix(row) for row in recorded("matrix_identities.jsonl")]


@pytest.fixture(scope="module")
def verifier() -> Iterator[Verifier]:
    made = Verifier()
    yield made
    made.close()


def verified(verifier: Verifier, row: dict[str, Any], timeout: float = 5) -> list[dict[str, Any]]:
    items = [f"{name}: {shape}" for name, shape in row.get("shapes", {}).items()]
    asked = {"source": row["expression"], "claims": row["claims"], "items": items, "timeout": timeout}
    results = verifier.verify(asked)
    assert "error" not in results, (row["id"], results)
    return results["claims"]


def count(verifier: Verifier, rows: list[dict[str, Any]]) -> Counter[str]:
    """The verdicts; of a claim that is not verified the whole row is shown."""
    found = Counter[str]()
    for row in rows:
        for claim in verified(verifier, row):
            assert claim.get("verdict") in GOOD, (row["id"], claim)
            found[claim["verdict"]] += 1
    return found


def check_planted(verifier: Verifier, row: dict[str, Any], seed: int) -> Counter[str]:
    """Plant a mistake of each kind in each claim: its verdict must be `differs`, with a true counterexample."""
    found = Counter[str]()
    for by, right in row["claims"].items():
        if "," in by:
            continue
        for kind, wrong in planted(right, seed):
            (claim,) = verified(verifier, {**row, "claims": {by: wrong}}, timeout=0)
            told = (row["id"], kind, wrong, claim)
            if claim["verdict"] == "differs":
                shown = claim["counterexample"]
                there, here = derivative(row["expression"], by, shown["at"]), claimed(wrong, shown["at"])
                assert mpmath.almosteq(there, mpmath.mpf(shown["derivative"]), 1e-8), told
                assert mpmath.almosteq(here, mpmath.mpf(shown["claimed"]), 1e-8), told
                assert not mpmath.almosteq(there, here, 1e-15), told
            else:
                nowhere = "no real value" in (claim["reason"] or "")  # where the derivative has one
                assert nowhere or equal(right, wrong) or apart(row["expression"], by, wrong), told
            found[claim["verdict"]] += 1
    return found


def points(text: str) -> list[dict[str, str]]:
    names = dict.fromkeys(re.findall(r"\b[a-zA-Z]\w*\b(?!\()", text))
    starts = ("0.37", "1.81", "-0.73", "2.9", "-3.3", "14.7")
    return [{name: str(mpmath.mpf(start) + k * mpmath.mpf("0.61")) for k, name in enumerate(names)} for start in starts]


def equal(right: str, wrong: str) -> bool:
    """Whether what was planted is no mistake: 1 - 0 for 1 + 0."""
    pairs = [(claimed(right, point), claimed(wrong, point)) for point in points(f"{right} + {wrong}")]
    return all(mpmath.almosteq(a, b, 1e-30) for a, b in pairs if mpmath.isfinite(a) or mpmath.isfinite(b))


def apart(expression: str, by: str, wrong: str) -> bool:
    """Whether the wrong claim has no real value where the derivative exists: sqrt(-16 - x^2)."""
    values = [(claimed(wrong, point), derivative(expression, by, point)) for point in points(f"{expression} + {wrong}")]
    return not any(mpmath.isfinite(a) and mpmath.isfinite(b) for a, b in values)


# --- a fixed sample ---------------------------------------------------------------------------------------------------


def test_integrals(verifier):
    found = count(verifier, RUBI[::12])
    assert found["proved"] >= 0.97 * found.total()


def test_tables(verifier):
    found = count(verifier, TABLES[::3])
    assert found["proved"] >= 0.97 * found.total()


def test_matrices(verifier):
    found = count(verifier, MATRICES[::4])
    assert found["proved"] >= 0.7 * found.total()


@pytest.mark.parametrize("row", [row for row in FUNCTIONS if len(row["expression"]) < 300], ids=lambda row: row["id"])
def test_hand_derived_gradient(verifier, row):
    count(verifier, [row])


@pytest.mark.parametrize(("rows", "step"), [(RUBI, 30), (TABLES, 10)], ids=["integrals", "tables"])
def test_planted_mistakes(verifier, rows, step):
    found = Counter[str]()
    for row in rows[7::step]:
        found += check_planted(verifier, row, seed=1)
    assert found["differs"] >= 0.9 * found.total() > 0


# --- all --------------------------------------------------------------------------------------------------------------


@pytest.mark.full
def test_all_integrals(verifier):
    found = count(verifier, RUBI)
    assert found["proved"] >= 0.97 * found.total()


@pytest.mark.full
def test_all_tables(verifier):
    found = count(verifier, TABLES)
    assert found["proved"] >= 0.97 * found.total()


@pytest.mark.full
def test_all_matrices(verifier):
    found = count(verifier, MATRICES)
    assert found["proved"] >= 0.7 * found.total()


@pytest.mark.full
@pytest.mark.parametrize("row", [row for row in FUNCTIONS if len(row["expression"]) >= 300], ids=lambda row: row["id"])
def test_long_hand_derived_gradient(verifier, row):
    count(verifier, [row])


@pytest.mark.full
@pytest.mark.parametrize("rows", [RUBI, TABLES], ids=["integrals", "tables"])
@pytest.mark.parametrize("seed", [1, 2])
def test_all_planted_mistakes(verifier, rows, seed):
    found = Counter[str]()
    for row in rows:
        found += check_planted(verifier, row, seed)
    assert found["differs"] >= 0.95 * found.total()
