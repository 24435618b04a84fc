"""An answer without a program whose algebra is judged against a reference model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from orpipe.errors import DataError, ParseError, Unsupported
from orpipe.model_files import read_text
from orpipe.problem import Problem
from orpipe.verify.taxonomy import Failure
from orpipe.verify.verdict import Judgement, Verdict

if TYPE_CHECKING:
    from orpipe.verify.equivalence import Comparison

_BUDGET = 8.0


def judged_algebra(
    text: str | None, reference: str | Problem, data: Mapping[str, str] | None = None, budget: float = _BUDGET,
    instance: Mapping[str, Any] | None = None, guarded: bool = True, report: Callable[[Judgement], None] | None = None,
) -> Judgement | None:
    """The judgement on the formulation that a text holds; None where it holds none, or there is no reference to compare with.

    reference: a Problem, or the text of an LP or MPS file.  data: file name -> text; data.json (or the only JSON file) gives
    sets and parameters by symbol.  instance: the row of an instance of ours (orpipe.verify.own), whose data and declared
    auxiliaries are then used, wherever its question told them.  What cannot be read for certain is UNDECIDED with its line.
    Names of variables are hints only: a formulation may call its variables what it likes.  guarded: compared in a process of
    its own (orpipe.verify.equivalence.compare).  report: called with what is reached on the way (unless guarded).
    """
    from orpipe.algebra.answer import algebra_answer, holds_formulation
    from orpipe.verify.equivalence import compare

    if not text or not reference:
        return None
    try:
        if not holds_formulation(text):
            return None
        known = reference if isinstance(reference, Problem) else read_text(reference)
        if instance and isinstance(reference, str):
            from orpipe.verify.subjects import with_auxiliaries

            known = with_auxiliaries(known, instance)
        problem = algebra_answer(text, json.loads(instance["data"]) if instance else _values(data or {}))
    except (Unsupported, ParseError, DataError) as error:
        return Judgement(Verdict.UNDECIDED, f"the answer's algebra is not understood: {error}", Failure.UNSUPPORTED, "algebra")
    except RecursionError:
        return Judgement(Verdict.UNDECIDED, "the answer's algebra is nested too deeply", Failure.UNSUPPORTED, "algebra")
    told = None if report is None else lambda found: report(_judgement(found))
    return _judgement(compare(known, problem, budget=budget, names="hints", guarded=guarded, report=told))


def _judgement(found: Comparison) -> Judgement:
    return Judgement(
        found.verdict,
        f"the answer's algebra, without a program: {found.sentence}",
        Failure.NONE,
        f"algebra, {found.method}".rstrip(", "),
        found.evidence,
    )


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
