"""`orpipe.verify.compare`: two models, as Problems or as captured from programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from orpipe.errors import Unsupported
from orpipe.problem import Problem
from orpipe.verify.capture import Captured
from orpipe.verify.equivalence.engine import BUDGET, Naming, compare_problems
from orpipe.verify.equivalence.evidence import Comparison
from orpipe.verify.equivalence.guard import Guard
from orpipe.verify.equivalence.redraw import Redraw
from orpipe.verify.verdict import Verdict

Subject = Problem | Captured | Unsupported


def compare(a: Subject, b: Subject, *, budget: float = BUDGET, names: Naming = "trusted", scale_free: bool = False,
            accept_probes: bool = False, labels: tuple[str, str] = ("A", "B"), guarded: bool = False,
            redraws: Sequence[Redraw] = (), report: Callable[[Comparison], None] | None = None) -> Comparison:
    """Is b the same model as the reference a, on a's decisions?

    budget: seconds; guarded: in a process that is killed when they are over (half a second to start).  names: "trusted"
    (columns of the same name are the same quantity), "hints" or "ignored".  scale_free: b's objective may be a positive
    multiple of a's plus a constant.  accept_probes: call models equivalent that many probes could not tell apart.  redraws: both
    models on other data, which may refute what these data leave open.  report: called with every verdict reached on the way,
    unless guarded.  An Unsupported in place of a model (a quadratic term, say) makes it UNDECIDED.
    """
    models = []
    for subject in (a, b):
        try:
            if isinstance(subject, Unsupported):
                raise subject
            models.append(subject.problem() if isinstance(subject, Captured) else subject)
        except Unsupported as error:
            return Comparison(Verdict.UNDECIDED, "", f"not a linear model that can be compared: {error}", evidence={"unsupported": str(error)})
    first, second = models
    if not guarded:
        return compare_problems(first, second, budget=budget, names=names, scale_free=scale_free, accept_probes=accept_probes,
                                labels=labels, redraws=redraws, report=report)
    with Guard() as guard:
        return guard.compare(first, second, budget=budget, names=names, scale_free=scale_free, accept_probes=accept_probes,
                             labels=labels, redraws=redraws)
