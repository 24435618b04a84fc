"""The judges that `orpipe bench verifier` compares ours with: the optimum alone, exactly or generously, and colours alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orpipe.problem import Problem
from orpipe.solve import Outcome, settle, solver

_SECONDS = 20.0


def optimum(problem: Problem) -> tuple[str, float | None]:
    """(status, objective, minimised) by one solver."""
    found = settle(solver("highs"), problem, _SECONDS)
    value = found.objective if found.outcome is Outcome.OPTIMAL else None
    return str(found.outcome), None if value is None else -value if problem.maximize else value


def same_objective(a: Problem, b: Problem) -> bool:
    (s, f), (t, g) = optimum(a), optimum(b)
    return s == t and (f is None or g is None or abs(f - g) <= 1e-6 * max(1.0, abs(f)))


def same_rounded(a: Problem, b: Problem) -> bool:
    (s, f), (t, g) = optimum(a), optimum(b)
    return s == t and (f is None or g is None or abs(round(f) - round(g)) <= 0.05 * abs(round(f)))


def same_colours(a: Problem, b: Problem) -> bool:
    """Colour refinement of the models as they stand; the sense is folded into the costs."""
    return _colours(a) == _colours(b)


def _colours(p: Problem, rounds: int = 6) -> tuple[Any, ...]:
    sign = -1.0 if p.maximize else 1.0
    columns = [hash((round(sign * c, 6), float(lo), float(hi), bool(w)))
               for c, lo, hi, w in zip(p.cost, p.lower, p.upper, p.integer, strict=True)]
    rows = [hash((float(lo), float(hi))) for lo, hi in zip(p.row_lower, p.row_upper, strict=True)]
    matrix = p.matrix.tocoo()
    entries = [(int(i), int(j), round(float(v), 6)) for i, j, v in zip(*matrix.coords, matrix.data, strict=True)]
    for _ in range(rounds):
        at_row: list[list[Any]] = [[] for _ in rows]
        at_column: list[list[Any]] = [[] for _ in columns]
        for i, j, v in entries:
            at_row[i].append((v, columns[j]))
        rows = [hash((c, tuple(sorted(near)))) for c, near in zip(rows, at_row, strict=True)]
        for i, j, v in entries:
            at_column[j].append((v, rows[i]))
        columns = [hash((c, tuple(sorted(near)))) for c, near in zip(columns, at_column, strict=True)]
    return tuple(sorted(columns)), tuple(sorted(rows))


BASELINES: dict[str, Callable[[Problem, Problem], bool]] = {
    "objective only, relative 1e-6": same_objective,
    "objective only, rounded, then 5%": same_rounded,
    "colour refinement": same_colours,
}
