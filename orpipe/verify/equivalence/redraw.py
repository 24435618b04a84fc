"""Two models on other data: a difference there is a difference between them, agreement proves nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from orpipe.errors import OrpipeError
from orpipe.problem import Problem
from orpipe.verify.equivalence import optimum
from orpipe.verify.equivalence.evidence import Comparison
from orpipe.verify.equivalence.normalise import snapped
from orpipe.verify.equivalence.reach import Clock, OutOfTime
from orpipe.verify.verdict import Verdict


class Redraw(NamedTuple):
    """Both models grounded on one other data set."""

    candidate: Problem
    reference: Problem


def redrawn(found: Comparison, redraws: Sequence[Redraw], clock: Clock, labels: tuple[str, str]) -> Comparison:
    """`found`, or NOT_EQUIVALENT by the first re-draw on which status or optimum differ, both proved by two solver families or
    exactly.  Evidence "redraw" numbers it from 1; "redraws" is how many agreed."""
    agreed = 0
    try:
        for k, pair in enumerate(redraws, 1):
            optima = optimum.both(snapped(pair.reference), snapped(pair.candidate), clock.share(0.5))
            if optima.reason:
                continue
            if not optima.same_status or not optima.same_value:
                sentence = f"on other data (re-draw {k}) {optima.sentence({'a': labels[0], 'b': labels[1]})}"
                evidence = {**found.evidence, **optima.record(), "redraw": k, "before": f"{found.verdict} {found.method}".strip()}
                return Comparison(Verdict.NOT_EQUIVALENT, "redraw", sentence, evidence=evidence, seconds=clock.elapsed, tolerances=found.tolerances)
            agreed += 1
    except (OutOfTime, OrpipeError):
        pass  # what was reached stands
    return replace(found, evidence={**found.evidence, "redraws": agreed}, seconds=clock.elapsed)
