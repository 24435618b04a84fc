"""A judged answer as a verdict file holds it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib import metadata
from typing import Any

from orpipe import __version__
from orpipe.verify.isolation import FULL
from orpipe.verify.outcome import Run
from orpipe.verify.taxonomy import Failure
from orpipe.verify.truth import Truth
from orpipe.verify.verdict import Verdict

_DISTRIBUTIONS = {"pulp": "PuLP", "mip": "mip"}


@dataclass(frozen=True)
class VerdictRow:
    """One judged answer, as it is written to a verdict file (`record`).

    status, objective: of the captured model, by our own solve; "" and None if there is none.  truth: the label as
    understood.  extraction: where the code was found.  solves: how often the program solved or wrote a model; the last
    state was judged.  seconds: in all; run_seconds in the sandbox, solve_seconds in our solve.  isolation: "full", "without
    ..." or "" (nothing was run).  optimum: the verdict of the optimum alone.  redraw: "redraw(k)" where hidden data were
    tried and none differed, "differs", or why none were; "" if none were asked for.  rules: right or wrong under published
    rules; empty where undecided.
    """

    index: int | str
    sample: int
    verdict: Verdict
    reason: str
    failure: Failure = Failure.NONE
    exception: str = ""
    objective: float | None = None
    status: str = ""
    label: Any = None
    truth: str = ""
    library: str = ""
    interface: str = ""
    n_vars: int | None = None
    n_int: int | None = None
    n_rows: int | None = None
    extraction: str = ""
    solves: int = 0
    method: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    rules: Mapping[str, bool] = field(default_factory=dict)
    tolerance: str = ""
    seconds: float = 0.0
    run_seconds: float = 0.0
    solve_seconds: float = 0.0
    isolation: str = ""
    optimum: str = ""
    redraw: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    benchmark: str = ""
    family: str = ""
    level: str = ""
    position: int = 0

    @property
    def passed(self) -> bool:
        return self.verdict.passed

    def record(self) -> dict[str, Any]:
        """JSON-ready, in the order above; durations to the millisecond, infinities as text."""
        found = asdict(self)
        for name in ("seconds", "run_seconds", "solve_seconds"):
            found[name] = round(found[name], 4)
        if found["objective"] is not None and not math.isfinite(found["objective"]):
            found["objective"] = str(found["objective"])
        return found

    def line(self) -> str:
        return json.dumps(self.record(), ensure_ascii=True, allow_nan=False) + "\n"


def plain(label: Any) -> Any:
    """A label as JSON can hold it."""
    if isinstance(label, Truth):
        label = label.raw
    try:
        return json.loads(json.dumps(label, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        pass
    try:
        return str(label)
    except Exception:
        return f"a {type(label).__name__} that cannot be shown"


def isolation_said(run: Run | None) -> str:
    if run is None or not run.layers:
        return ""
    missing = sorted(FULL - set(run.layers))
    return f"without {', '.join(missing)}" if missing else "full"


@cache
def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


@cache
def versions(library: str) -> Mapping[str, str]:
    found = {"orpipe": __version__, "highspy": _version("highspy"), "ortools": _version("ortools")}
    own = _version(_DISTRIBUTIONS.get(library, library)) if library else ""
    return {**found, library: own} if own else found
