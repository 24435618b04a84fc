"""An answer without a program whose algebra is judged against a reference model."""

from __future__ import annotations

import json
from collections.abc import Mapping

from orpipe.errors import DataError, ParseError, Unsupported
from orpipe.problem import Problem
from orpipe.verify.taxonomy import Failure
from orpipe.verify.verdict import Judgement, Verdict

_BUDGET = 8.0


def judged_algebra(text: str | None, reference: str | Problem, data: Mapping[str, str] | None = None, budget: float = _BUDGET) -> Judgement | None:
    """The judgement on the formulation that a text holds; None where it holds none, or there is no reference to compare with.

    reference: a Problem, or the text of an LP or MPS file.  data: file name -> text; data.json (or the only JSON file) gives
    sets and parameters by symbol.  What cannot be read for certain is UNDECIDED with its line.  Names of variables are hints
    only: a formulation may call its variables what it likes.
    """
    from orpipe.algebra.answer import algebra_answer, holds_formulation
    from orpipe.verify.equivalence import compare

    if not text or not reference or not holds_formulation(text):
        return None
    try:
        known = reference if isinstance(reference, Problem) else _model(reference)
        problem = algebra_answer(text, _values(data or {}))
    except (Unsupported, ParseError, DataError) as error:
        return Judgement(Verdict.UNDECIDED, f"the answer's algebra is not understood: {error}", Failure.UNSUPPORTED, "algebra")
    found = compare(known, problem, budget=budget, names="hints", guarded=True)
    return Judgement(
        found.verdict,
        f"the answer's algebra, without a program: {found.sentence}",
        Failure.NONE,
        f"algebra, {found.method}".rstrip(", "),
        found.evidence,
    )


def _model(text: str) -> Problem:
    from orpipe.lp import read_lp
    from orpipe.mps import read_mps

    lines = [x for x in text.splitlines() if x.strip() and not x.startswith("*")]
    return read_mps(text) if lines and lines[0].split()[0] in ("NAME", "ROWS", "OBJSENSE") else read_lp(text)


def _values(data: Mapping[str, str]) -> Mapping[str, object] | None:
    files = [k for k in data if k.endswith(".json")]
    name = "data.json" if "data.json" in data else files[0] if len(files) == 1 else ""
    if not name:
        return None
    try:
        found = json.loads(data[name])
    except ValueError as error:
        raise DataError(f"'{name}' is no JSON ({error})") from None
    if not isinstance(found, dict):
        raise DataError(f"'{name}' holds no object of sets and parameters")
    return found
