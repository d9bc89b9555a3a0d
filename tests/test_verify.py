"""Verdicts on claims: right ones, wrong ones, right ones with a domain; counterexamples and what went wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chainrule.cases import Case
from chainrule.claims import read_block
from chainrule.regions import Region
from chainrule.verification import Verifier
from chainrule.verify import judge

Verify = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def verify() -> Iterator[Verify]:
    """The result on one claim, by a process that stays warm."""
    verifier = Verifier()

    def ask(program: str, claim: Any, *items: str, timeout: float = 5) -> dict[str, Any]:
        claims = claim if isinstance(claim, dict) else [claim]
        found = verifier.verify({"source": program, "claims": claims, "items": items, "timeout": timeout})
        assert "error" not in found, found
        (result,) = found["claims"]
        return result

    yield ask
    verifier.close()


# --- right claims -----------------------------------------------------------------------------------------------------

TRUE = [
    ("y = x^2*sin(x)", "dy/dx = 2x*sin(x) + x^2*cos(x)"),
    ("1", "d(1)/dx = 0"),
    ("y = 3", "dy/dx = 0"),
    ("y = x^3", "d3y/dx3 = 6"),
    ("z = x^2*w^3", "d2z/dxdw = 6*x*w^2"),
    ("z = x^2*w^3", "d3z/dx2dw = 6*w^2"),
    ("z = x^2*w", "grad z = [2*x*w, x^2]"),
    ("z = x^2*w", "hess z = [[2w, 2x], [2x, 0]]"),
    ("z = [x*w, x + w]", "jac z = [[w, x], [1, 1]]"),
    ("z = x^2*w", "D_[1, 2] z = 2*x*w + 2*x^2"),
    ("a = x^2; y = sin(a)", "da/dx = 2x"),
    ("a = x^2; y = sin(a)", "dy/da = cos(a)"),
    ("f(x) = x^3", "f'(2) = 12"),
    ("f(x, w) = x^3*w", "df/dw = x^3"),
    ("e*x", "dy/de = x"),
    # equal in ways that take some algebra
    ("y = sin(x)^2", "dy/dx = sin(2x)"),
    ("y = tan(x)", "dy/dx = 1 + tan(x)^2"),
    ("y = tan(x)", "dy/dx = sec(x)^2"),
    ("y = sin(x + pi/4)", "dy/dx = (cos(x) - sin(x))/sqrt(2)"),
    ("y = atan(x)/(1 - 2x)^(1/6)", "dy/dx = ((1 - 2x)^(1/6)/(1 + x^2) + atan(x)*(1 - 2x)^(-5/6)/3)/(1 - 2x)^(1/3)"),
    ("y = x*sqrt(2x/10 + 1)", "dy/dx = sqrt((2x + 10)/10) + x/(10*sqrt((2x + 10)/10))"),
    ("y = x*(2pi)^0.5", "dy/dx = sqrt(2pi)"),
    ("y = 0.1*(2.0*s^2 + 3.0*s)/s", "dy/ds = 0.2"),
    ("y = 0.3*x", "dy/dx = 0.1 + 0.2"),
    ("y = (x - a)^6000", "dy/dx = 6000*(x - a)^5999"),
    # the table's functions
    ("y = asin(x)", "dy/dx = 1/sqrt(1 - x^2)"),
    ("y = atan2(u, x)", "dy/dx = -u/(x^2 + u^2)"),
    ("y = x^x", "dy/dx = x^x*(ln(x) + 1)"),
    ("y = log(x, b)", "dy/dx = 1/(x*ln(b))"),
    ("y = erf(x)", "dy/dx = 2/sqrt(pi)*exp(-x^2)"),
    ("y = asinh(x)", "dy/dx = 1/sqrt(x^2 + 1)"),
    ("y = acosh(x)", "dy/dx = 1/sqrt(x^2 - 1)"),
    ("y = atanh(x)", "dy/dx = 1/(1 - x^2)"),
    ("y = gamma(x)", "dy/dx = gamma(x)*digamma(x)"),
    ("y = hypot(x, w)", "dy/dx = x/hypot(x, w)"),
    ("y = max(x, w)", "dy/dx = 1 if x > w else 0"),
    ("y = sigmoid(x)", "dy/dx = sigmoid(x)*(1 - sigmoid(x))"),
]


@pytest.mark.parametrize(("program", "claim"), TRUE)
def test_true(verify, program, claim):
    found = verify(program, claim)
    assert found["verdict"] in ("proved", "agrees")
    assert found["counterexample"] is None
    assert found["points"] >= 1


ARRAYS = [
    ("y = x@A@x", "dy/dx = (A + A.T)@x", "x: 3", "A: 3x3"),
    ("y = A@x", "dy/dx = A", "x: 3", "A: 2x3"),
    ("y = sum(sin(x)*w)", "dy/dw = sin(x)", "x: 3", "w: 3"),
    ("y = det(A)", "dy/dA = det(A)*inv(A).T", "A: 2x2"),
    ("y = norm(x)", "dy/dx = x/norm(x)", "x: 3"),
    ("y = sum(x*x)", "hess y = 2*eye(3)", "x: 3"),
    ("y = x[0]*x[1]", "grad y = [x[1], x[0]]", "x: 2"),
    ("y = x*x", "D_[1, 0] y = [2*x[0], 0]", "x: 2"),
    ("y = sum((x - [1, 2])*x)", "dy/dx = 2*x - [1, 2]"),
]


@pytest.mark.parametrize("case", ARRAYS, ids=lambda case: case[1])
def test_true_of_arrays(verify, case):
    items = case[2:] or ("x: 2",)
    assert verify(case[0], case[1], *items)["verdict"] == "proved"


@pytest.mark.parametrize(
    ("program", "claim", "where"),
    [
        ("y = sqrt(6x)", "dy/dx = 6/(2*sqrt(6x))", "x > 0"),
        ("y = log(x)", "dy/dx = 1/x", "x > 0"),
        ("y = log(abs(x))", "dy/dx = 1/x", "x != 0"),
        ("y = abs(x)", "dy/dx = x/abs(x)", "x != 0"),
        ("y = abs(x)", "dy/dx = sign(x)", "x != 0"),
        ("y = floor(x)", "dy/dx = 0", "x not an integer"),
        ("y = x + 1 if x > 0 else x", "dy/dx = 1", "x != 0"),
        ("y = sqrt(a + x)", "dy/dx = 1/(2*sqrt(a + x))", "a + x > 0"),
        ("y = asin(2x)", "dy/dx = 2/sqrt(1 - 4x^2)", "-0.5 < x < 0.5"),
        ("y = acosh(x)", "dy/dx = 1/sqrt(x^2 - 1)", "x > 1"),
        ("y = 1/(x - 3)", "dy/dx = -1/(x - 3)^2", "x != 3"),
        ("y = atan2(u, x)", "dy/dx = -u/(x^2 + u^2)", "x and u not both 0"),
        ("y = cbrt(x)", "dy/dx = x^(-2/3)/3", "x > 0"),
        ("y = x^2", "dy/dx = 2*sqrt(x)^2", "x > 0"),
    ],
)
def test_where(verify, program, claim, where):
    found = verify(program, claim)
    assert found["verdict"] in ("proved", "agrees", "agrees where")
    assert found["where"] == where


def test_a_claim_that_exists_on_a_part_of_the_domain_agrees_where(verify):
    assert verify("y = x^2", "dy/dx = 2*sqrt(x)^2")["verdict"] == "agrees where"


@pytest.mark.parametrize(
    ("program", "claim", "assumption", "where"),
    [
        ("y = log(x)", "dy/dx = 1/x", "x > 0", None),
        ("y = log(x)", "dy/dx = 1/x", "x > 1", None),
        ("y = log(x)", "dy/dx = 1/x", "x > -1", "x > 0"),
        ("y = abs(x)", "dy/dx = -1", "x < 0", None),
        ("y = sqrt(x^2)", "dy/dx = 1", "x > 0", None),
        ("y = sqrt(1 - x)", "dy/dx = -1/(2*sqrt(1 - x))", "0 < x < 1", None),
    ],
)
def test_assumptions(verify, program, claim, assumption, where):
    found = verify(program, claim, assumption)
    assert found["verdict"] in ("proved", "agrees")
    assert found["where"] == where


# --- wrong claims -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "claim", "at", "derivative", "claimed"),
    [
        ("y = x^2/2", "dy/dx = abs(x)", {"x": "-1"}, "-1", "1"),
        ("y = x - abs(x)", "dy/dx = 0", {"x": "-1"}, "2", "0"),
        ("y = n*x^n", "dy/dx = n*x^(n - 1)", {"n": "2", "x": "1"}, "4", "2"),
        ("y = x^3", "dy/dx = 3*x", {"x": "2"}, "12", "6"),
        ("f(x) = x^2", "f'(3) = 7", {"x": "3"}, "6", "7"),
        ("y = a*x", "dy/dx = a + 1", {"a": "1", "x": "1"}, "1", "2"),
        ("y = 1 + exp(-1000)*x", "dy/dx = 0", {"x": "1"}, "5.075958898e-435", "0"),
        ("y = x + 1e-30*x^2", "dy/dx = 1", {"x": "1"}, "1.0", "1"),
    ],
)
def test_counterexample(verify, program, claim, at, derivative, claimed):
    found = verify(program, claim)
    assert found["verdict"] == "differs"
    shown = found["counterexample"]
    assert shown["at"] == at
    assert float(shown["derivative"]) == float(derivative)
    assert float(shown["claimed"]) == float(claimed)
    assert shown["element"] == []


def test_counterexample_of_an_array_names_the_element(verify):
    shown = verify("y = x*x", "grad y = [[2*x[0], 0], [0, x[1]]]", "x: 2")["counterexample"]
    assert shown["element"] == [1, 1]
    assert float(shown["ratio"]) == 0.5
    assert float(shown["difference"]) == float(shown["claimed"]) - float(shown["derivative"])


def test_values_that_are_given_stay(verify):
    shown = verify("y = a*x^2", "dy/dx = 2*x", "a = 5")["counterexample"]
    assert shown["at"] == {"a": "5", "x": "1"}
    assert verify("y = a*x^2", "dy/dx = 2*x", "a = 1")["verdict"] == "proved"


HINTS = [
    # sign, constant factor, the wrong operation
    ("y = cos(x)", "dy/dx = sin(x)", "the sign is wrong"),
    ("y = x^3", "dy/dx = x^2", "a constant factor is wrong: multiplied by 3 it is right"),
    ("y = log10(x)", "dy/dx = 1/x", "multiplied by 1/ln(10) it is right"),
    ("y = x^3", "dy/dx = x^4/4", "integrated instead of differentiated"),
    ("y = x^2 + 1", "dy/dx = x^2 + 1", "this is the function itself"),
    ("y = x^4", "dy/dx = 12*x^2", "this is the second derivative"),
    ("y = x^4", "d2y/dx2 = 4*x^3", "this is the derivative of order 1"),
    ("y = floor(x)", "dy/dx = 1", "the derivative is 0"),
    ("y = sin(pi*x/180)", "dy/dx = cos(pi*x/180)", "degrees and radians are mixed"),
    # the chain rule
    ("y = sin(3x)", "dy/dx = cos(3x)", "the inner derivative is missing: the factor (3*x)'"),
    ("y = (x^2 + 1)^5", "dy/dx = 5(x^2 + 1)^4", "the inner derivative is missing: the factor (x^2 + 1)'"),
    ("y = exp(sin(x))", "dy/dx = exp(sin(x))*cos(x)^2", "the factor sin(x)' is one too many"),
    # products, quotients, sums
    ("y = x^2*sin(x)", "dy/dx = 2x*cos(x)", "this is the product of the derivatives"),
    ("y = x^2*sin(x)", "dy/dx = 2x*sin(x)", "the term (x^2)*sin(x)' is missing"),
    ("y = x^2*sin(x)", "dy/dx = 2x*sin(x) - x^2*cos(x)", "the sign of the term (x^2)*sin(x)' is wrong"),
    ("y = x^2 + sin(x)", "dy/dx = 2x", "the term sin(x)' is missing"),
    ("y = x^2 + sin(x)", "dy/dx = x + cos(x)", "the term (x^2)' has a wrong factor: multiplied by 2 it is right"),
    ("y = x^2 + 3x + 5", "dy/dx = 2x + 3 + 5", "the derivative of the constant 5 is 0"),
    ("y = (x^2 + 1)/(x - 1)", "dy/dx = 2x", "this is the quotient of the derivatives"),
    ("y = x/(x + 2)", "dy/dx = -2/x^2", "numerator and denominator are swapped"),
    ("y = x/(x^2 + 1)", "dy/dx = (1 - x^2)/(x^2 + 1)", "the denominator must be squared: (x^2 + 1)^2"),
    ("y = x/(x^2 + 1)", "dy/dx = 1 - x^2", "the denominator (x^2 + 1)^2 is missing"),
    # powers and exponentials
    ("y = x^3", "dy/dx = 3x^3", "the exponent of x must be 1 lower"),
    ("y = 1/x^2", "dy/dx = -2/x^2", "the exponent of x must be 1 lower"),
    ("y = 2^x", "dy/dx = 2^x", "the factor ln(2) is missing"),
    ("y = 2^x", "dy/dx = x*2^(x - 1)", "the power rule does not hold for a variable exponent"),
    ("y = x^x", "dy/dx = x*x^(x - 1)", "the power rule does not hold for a variable exponent"),
    ("y = n*x^n", "dy/dx = n*x^(n - 1)", "the factor n is missing"),
    # the wrong variable
    ("y = a*x^2 + b*x", "dy/da = 2*a*x + b", "this is the derivative by x"),
    ("y = u^2 + v^3", "dy/du = 2*v", "it is right with u and v exchanged"),
    # domains
    ("y = sqrt(x^2)", "dy/dx = 1", "it is right where x > 0"),
    ("y = abs(x - 2)", "dy/dx = 1", "it is right where x - 2 > 0"),
]


@pytest.mark.parametrize(("program", "claim", "hint"), HINTS)
def test_hint(verify, program, claim, hint):
    found = verify(program, claim)
    assert found["verdict"] == "differs"
    assert hint in found["hint"]


@pytest.mark.parametrize(
    ("program", "claim", "hint"),
    [
        ("y = x@A@x", "dy/dx = 2*A@x", "it is right for a symmetric A only"),
        ("y = x@A@x", "dy/dx = A@x", "half of it is missing: the same with A.T in place of A"),
        ("y = A@x", "dy/dx = A.T", "it is transposed: its transpose is right"),
        ("y = A.T@x", "dy/dx = A", "transposed"),
        ("y = sum(log(x))", "dy/dx = -1/x", "the sign is wrong"),
        ("y = sum(x*x)", "dy/dx = x", "multiplied by 2 it is right"),
    ],
)
def test_hint_for_arrays(verify, program, claim, hint):
    found = verify(program, claim, "x: 3", *(["A: 3x3"] if "A" in program else []))
    assert found["verdict"] == "differs"
    assert hint in found["hint"]


def test_nothing_is_guessed_from_one_point(verify):
    assert verify("f(x) = x^2", "f'(2) = 4", timeout=0)["verdict"] == "agrees"
    assert verify("f(x) = x^2", "f'(3) = 9")["hint"] is None


# --- undecided --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "claim", "items", "reason", "hint"),
    [
        ("y = sqrt(-1 - x^2)", "dy/dx = 1", [], "no real point was found", "give an assumption"),
        ("y = x^2", "dy/dx = sqrt(-1 - x^2)", [], "the claim has no real value", None),
        ("y = x", "dy/dx = 1", ["x > 0", "x < 0"], "the assumptions hold", "contradict"),
        ("y = log(x)", "dy/dx = 1/x", ["x = -1"], "no real point was found", "a value"),
    ],
)
def test_undecided(verify, program, claim, items, reason, hint):
    found = verify(program, claim, *items)
    assert found["verdict"] == "undecided"
    assert reason in found["reason"]
    assert hint is None or hint in found["hint"]


# --- proofs -----------------------------------------------------------------------------------------------------------


def test_without_time_nothing_is_proved_and_the_rest_stays(verify):
    found = verify("y = x^2", "dy/dx = 2*x", timeout=0)
    assert (found["verdict"], found["timed_out"]) == ("agrees", None)
    assert verify("y = x^2", "dy/dx = 2*x") == {**found, "verdict": "proved", "timed_out": False}


SLOW = ("y = (x + sin(x) + exp(x) + sqrt(x) + 1)^40", "dy/dx = 40*(x + sin(x) + exp(x) + sqrt(x) + 1)^39*"
        "(1 + cos(x) + exp(x) + 1/(2*sqrt(x)))")  # fmt: skip


def test_a_proof_that_takes_too_long_is_stopped_and_the_others_go_on():
    verifier = Verifier()
    request = {"source": SLOW[0], "claims": [SLOW[1], "dy/dx = 0", "d(x^2)/dx = 2*x"], "timeout": 1}
    try:
        found = verifier.verify(request)["claims"]
    finally:
        verifier.close()
    assert [claim["verdict"] for claim in found] == ["agrees", "differs", "proved"]
    assert [claim["timed_out"] for claim in found] == [True, None, False]


@pytest.mark.parametrize("moment", ["before", "within"])
def test_a_process_that_dies_takes_nothing_with_it(monkeypatch, moment):
    verifier = Verifier()
    verifier.child.start()
    if moment == "before":
        verifier.child.process.kill()
        verifier.child.process.wait()
    else:
        written = verifier.child.process.stdin.write

        class Broken:
            def __init__(self, stream):
                self.stream = stream

            def write(self, data):
                done = written(data)
                self.stream.flush()
                verifier.child.process.kill()
                return done

            def flush(self):
                pass

            def close(self):
                self.stream.close()

        verifier.child.process.stdin = Broken(verifier.child.process.stdin)
    question = {"source": "y = x^2", "claims": ["dy/dx = 2*x"], "timeout": 5}
    try:
        first, second = verifier.verify(question), verifier.verify(question)
    finally:
        verifier.close()
    if moment == "before":
        assert first == second
    else:
        assert first == {"error": {"kind": "limit", "message": "the process that verifies ended early"}}
    assert second["claims"][0]["verdict"] == "proved"


# --- one answer -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("y = a*x^2 + sin(x)", "dy/dx = 2*a*x - cos(x)"), ("z = p*t^2 + sin(t)", "dz/dt = 2*p*t - cos(t)")),
        (("y = log(x) + w", "dy/dx = 1/x"), ("y = w + log(x)", "dy/dx = 1/x")),
        (("a = x^2; b = x^3; y = a + b", "dy/dx = 2x"), ("b = x^3; a = x^2; y = b + a", "dy/dx = 2x")),
    ],
)
def test_neither_names_nor_order_decide(verify, first, second):
    results = [verify(*first), verify(*second)]
    for result in results:
        result.pop("claim")
        result.pop("wrt")
        shown = result.pop("counterexample")
        result["shown"] = shown and {key: value for key, value in shown.items() if key != "at"}
        result["hint"] = (result["hint"] or "").split(":")[0].split("'")[0][:10]
    assert results[0] == results[1]


def test_the_same_question_has_the_same_answer(verify):
    question = ("y = a*x^3*sin(b*x)", "dy/dx = 3*a*x^2*sin(b*x) + a*x^3*cos(b*x)")
    assert verify(*question) == verify(*question)


def test_rounded_numbers_are_right_to_their_digits():
    right, wrong = (judged("y = x*pi^2", f"dy/dx = {n}") for n in ("9.86960440108936", "9.86960440208936"))
    assert (right.verdict, right.hint) == ("agrees", "its numbers are rounded: it is right to 11 digits")
    assert wrong.verdict == "differs"


def judged(source, text):
    (claim,) = read_block(source, claims=[text]).claims
    case = Case(claim)
    return judge(case, Region(case))
