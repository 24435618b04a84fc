"""What a comparison reports: the verdict, by what method, the map, the witness, and one plain sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from orpipe.exact import decimal_text
from orpipe.problem import Problem, Violation
from orpipe.verify.equivalence.changes import OBJECTIVE
from orpipe.verify.equivalence.pairing import Map
from orpipe.verify.equivalence.witness import Witness
from orpipe.verify.verdict import Verdict

TOLERANCES: Mapping[str, float] = {
    "numbers are the same (relative)": 1e-9,
    "a row or bound is exceeded (relative to its terms)": 1e-6,
    "optima differ (relative)": 1e-6,
    "objective constants differ (relative to what is added into them)": 1e-12,
}
_MOST_TERMS = 4


@dataclass(frozen=True)
class Matched:
    """x_b = scale * x_a + shift, in the names of the two models."""

    a: str
    b: str
    scale: Fraction = Fraction(1)
    shift: Fraction = Fraction(0)

    def __str__(self) -> str:
        if self.scale == 1 and self.shift == 0:
            return self.a if self.a == self.b else f"{self.a} = {self.b}"
        head = self.a if self.scale == 1 else f"-{self.a}" if self.scale == -1 else f"{number(self.scale)}*{self.a}"
        rest = "" if not self.shift else f" {'+' if self.shift > 0 else '-'} {number(abs(self.shift))}"
        return f"{self.b} = {head}{rest}"


@dataclass(frozen=True)
class Comparison:
    """The outcome of comparing two models; a is the reference.

    method: identical, isomorphic, unit-scaled, substituted, aggregated, containment, projection, probes(k) for
    EQUIVALENT; point, objective, optimum, status, range (the witness, a point of a, is worse than any of b, or the only one: ranges.py) or
    redraw (the optima on other data) otherwise, and "" where nothing was decided.
    evidence "agree_to": EQUIVALENT within this relative tolerance, not number by number.
    map: the columns matched, where one was found.  witness: an exact point, for NOT_EQUIVALENT.  direction: coefficients, in
    the names of the model that forbids the point, of a function that goes further in the other.  evidence: what the
    verdict rests on, as plain values.
    """

    verdict: Verdict
    method: str
    sentence: str
    map: tuple[Matched, ...] = ()
    witness: Witness | None = None
    direction: Mapping[str, float] | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    tolerances: Mapping[str, float] = field(default_factory=lambda: dict(TOLERANCES))

    @property
    def decided(self) -> bool:
        """Equivalent or not; SAME_OPTIMUM and UNDECIDED are neither."""
        return self.verdict in (Verdict.EQUIVALENT, Verdict.NOT_EQUIVALENT, Verdict.WRONG_OPTIMUM)

    def record(self) -> dict[str, Any]:
        """As plain JSON values; exact numbers are strings."""
        witness = None
        if self.witness is not None:
            w = self.witness
            witness = {
                "allowed_by": w.allowed_by, "point": {k: str(v) for k, v in w.point.items() if v},
                "image": {k: str(v) for k, v in w.image.items() if v},
                "broken": [{"where": v.where, "rule": v.rule, "amount": str(v.amount)} for v in w.broken],
                "objective_a": None if w.objective_a is None else str(w.objective_a),
                "objective_b": None if w.objective_b is None else str(w.objective_b),
            }
        return {
            "verdict": str(self.verdict), "method": self.method, "sentence": self.sentence,
            "map": [{"a": m.a, "b": m.b, "scale": str(m.scale), "shift": str(m.shift)} for m in self.map],
            "witness": witness, "direction": self.direction, "evidence": dict(self.evidence),
            "seconds": round(self.seconds, 4), "tolerances": dict(self.tolerances),
        }

    def __str__(self) -> str:
        return f"{self.verdict} ({self.method or 'undecided'}): {self.sentence}"


def matched(by: Map, a: Problem, b: Problem) -> tuple[Matched, ...]:
    return tuple(Matched(a.columns[p.a], b.columns[p.b], p.scale, p.shift) for p in by.pairs
                 if p.a < a.n_vars and p.b < b.n_vars)


def number(value: Fraction | float) -> str:
    """As a person writes it: whole, short decimal, else a fraction, else rounded."""
    exact = value if isinstance(value, Fraction) else Fraction(repr(float(value)))
    text = decimal_text(exact)
    if text is not None and len(text) <= 10:
        return text
    return str(exact) if exact.denominator < 1000 else f"{float(exact):.6g}"


def told_apart(one: Fraction, two: Fraction) -> tuple[str, str]:
    """Two values, with as many digits as show that they differ, if they do."""
    found = number(one), number(two)
    for digits in range(7, 18):
        if found[0] != found[1] or one == two:
            break
        found = f"{float(one):.{digits}g}", f"{float(two):.{digits}g}"
    return found


_SAMENESS = {
    "identical": "the two models say the same, row by row",
    "isomorphic": "they are the same model under another order, scale or naming",
    "unit-scaled": "they are the same model with variables in other units",
    "substituted": "they are the same model once one variable is substituted",
    "aggregated": "they are the same model once parallel variables are merged",
    "containment": "each allows what the other allows, at the same objective",
    "projection": "they allow the same decisions at the same objective; auxiliary variables always complete them",
}


def sameness_sentence(method: str, probes: int = 0, agree_to: float | None = None) -> str:
    """What EQUIVALENT claims.  probes: their number, where it rests on them.  agree_to: relative, where numbers are close and not the same."""
    if probes:
        return f"no difference was found: {probes} extreme points of one could all be completed in the other"
    if agree_to is None:
        return _SAMENESS[method]
    return f"{_SAMENESS[method]}, to a relative {agree_to:g}: some of their numbers differ by less than that"


def difference_sentence(a: Problem, b: Problem, witness: Witness, label: Mapping[str, str]) -> str:
    """What the witness shows.  label: the names of the two models, by "a" and "b"."""
    mine, theirs = (label["a"], label["b"]) if witness.allowed_by == "a" else (label["b"], label["a"])
    judge = b if witness.allowed_by == "a" else a
    if OBJECTIVE in witness.point:
        value = witness.point[OBJECTIVE] * (-1 if (a if witness.allowed_by == "a" else b).maximize else 1)
        decisions = nonzero({k: v for k, v in witness.image.items() if k != OBJECTIVE})
        return f"{mine} allows {point_text(decisions)} at an objective of {number(value)}; {theirs} does not"
    if not witness.broken:
        if witness.objective_a is not None and witness.objective_b is not None:
            opposite = a.maximize != b.maximize
            values = told_apart(witness.objective_a, witness.objective_b)
            said = [f"{value} in {label[key]}" + opposite * f", which {'maximizes' if model.maximize else 'minimizes'} it"
                    for key, model, value in zip("ab", (a, b), values, strict=True)]
            joint = "," if opposite else ""
            return f"both allow {point_text(nonzero(witness.point))}, but its objective is {said[0]}{joint} and {said[1]}"
        return f"{mine} allows {point_text(nonzero(witness.point))}; {theirs} has no point with these decisions"
    return f"{mine} allows what {theirs} forbids: {violation_text(judge, worst(witness), witness.image)}"


def worst(witness: Witness) -> Violation:
    """What to tell of first: a row before a bound, the largest excess."""
    return max(witness.broken, key=lambda v: (v.rule == "row", float(v.amount)))


def direction(judge: Problem, witness: Witness) -> dict[str, float] | None:
    """The function that the witness drives past what `judge` allows: the row, or the column, that it breaks most."""
    if not witness.broken:
        return None
    broken = worst(witness)
    if broken.rule != "row":
        return None if broken.rule == "integer" else {broken.where: 1.0 if broken.rule == "upper" else -1.0}
    if broken.where not in judge.rows:
        return None
    i = judge.rows.index(broken.where)
    span = slice(judge.matrix.indptr[i], judge.matrix.indptr[i + 1])
    entries = {judge.columns[j]: float(v) for v, j in zip(judge.matrix.data[span], judge.matrix.indices[span], strict=True)}
    if not all(name in witness.image for name in entries):
        return None
    total = sum(v * float(witness.image[name]) for name, v in entries.items())
    sign = 1.0 if total > float(judge.row_upper[i]) else -1.0
    return {name: sign * v for name, v in entries.items()}


def violation_text(problem: Problem, broken: Violation, values: Mapping[str, Fraction]) -> str:
    if broken.rule != "row":
        j = problem.column_index[broken.where]
        value = values.get(broken.where)
        now = "" if value is None else f" {number(value)}"
        if broken.rule == "integer":
            return f"{broken.where} ={now}, which is not whole"
        side, exact = ("upper", problem.upper_exact) if broken.rule == "upper" else ("lower", problem.lower_exact)
        bound = number(Fraction(int(exact.num[j]), exact.den))
        return f"{broken.where} ={now}, {'above' if side == 'upper' else 'below'} its {side} bound {bound}"
    if broken.where not in problem.rows:
        return f"{broken.where} cannot be satisfied"
    i = problem.rows.index(broken.where)
    span = slice(problem.matrix.indptr[i], problem.matrix.indptr[i + 1])
    entries = [(Fraction(int(v), problem.matrix_exact.den), problem.columns[j])
               for v, j in zip(problem.matrix_exact.num[span], problem.matrix.indices[span], strict=True)]
    low, high = row_side(problem, i, "lower"), row_side(problem, i, "upper")
    if not all(name in values for _, name in entries):
        return f"row {broken.where} cannot be satisfied with {point_text({n: values[n] for _, n in entries if n in values})}"
    total = sum((v * values[name] for v, name in entries), start=Fraction(0))
    wanted = f"be {number(low)}" if low is not None and low == high else \
        f"be at most {number(high)}" if high is not None and total > high else f"be at least {number(low or Fraction(0))}"
    moved = {name: values[name] for _, name in entries if values[name] or len(entries) <= _MOST_TERMS}
    idle = [name for v, name in entries if not values[name] and v < 0]
    moved |= {name: Fraction(0) for name in idle if len(idle) == 1}  # a switch that is off explains most
    if len(entries) <= _MOST_TERMS:
        expression = " ".join(term_text(v, name, k == 0) for k, (v, name) in enumerate(entries))
        return f"row {broken.where}: {expression} must {wanted}, but is {number(total)} with {point_text(moved)}"
    return f"row {broken.where} must {wanted}, but is {number(total)} with {point_text(moved)}"


def row_side(problem: Problem, i: int, which: str) -> Fraction | None:
    floats = problem.row_lower if which == "lower" else problem.row_upper
    exact = problem.row_lower_exact if which == "lower" else problem.row_upper_exact
    value = float(floats[i])
    return None if value in (float("inf"), float("-inf")) else Fraction(int(exact.num[i]), exact.den)


def term_text(value: Fraction, name: str, first: bool) -> str:
    sign = "-" if value < 0 else "" if first else "+"
    size = "" if abs(value) == 1 else f"{number(abs(value))}*"
    return f"{sign}{'' if first else ' '}{size}{name}"


def nonzero(values: Mapping[str, Fraction]) -> dict[str, Fraction]:
    return {name: v for name, v in values.items() if v}


def point_text(values: Mapping[str, Fraction]) -> str:
    """The first few of many values."""
    shown = [f"{name} = {number(v)}" for name, v in values.items()]
    if not shown:
        return "all variables at 0"
    more = len(shown) - _MOST_TERMS - 2
    return ", ".join(shown) if more <= 0 else ", ".join(shown[:_MOST_TERMS + 2]) + f" and {more} more"
