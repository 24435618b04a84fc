"""CP-SAT in exact integer arithmetic: bounded integer programs whose numbers scale to integers; nothing is rounded.

The model is written as a CpModelProto through cp_model_helper, the compiled half of cp_model: importing cp_model itself
brings in pandas and takes four times as long.
"""

from __future__ import annotations

import numpy as np
from ortools.sat.python import cp_model_helper as cp

from orpipe.problem import Problem
from orpipe.roles import settings
from orpipe.solve import Answer, Outcome, Solver

_ROOM = 2**61  # activities must stay inside int64
_OUTCOMES = {
    cp.OPTIMAL: Outcome.OPTIMAL,
    cp.FEASIBLE: Outcome.LIMIT_WITH_INCUMBENT,
    cp.INFEASIBLE: Outcome.INFEASIBLE,
    cp.UNKNOWN: Outcome.LIMIT,
}


class CpSat(Solver):
    name = "cpsat"
    family = "cpsat"
    package = "ortools"
    settings = settings("cpsat")

    def accepts(self, problem: Problem) -> str | None:
        if not problem.integer.all():
            return "continuous columns"
        if not (np.isfinite(problem.lower).all() and np.isfinite(problem.upper).all()):
            return "unbounded columns"
        low, high = _whole(problem)
        reach = np.maximum(np.maximum(np.abs(low), np.abs(high)), 1).astype(float)
        rows = np.repeat(np.arange(problem.n_rows), np.diff(problem.matrix.indptr))
        entries = np.abs(problem.matrix_exact.num.astype(float)) * reach[problem.matrix.indices]
        cost = float(np.abs(problem.cost_exact.num.astype(float)) @ reach)
        largest = max([cost, *reach.tolist(), *np.bincount(rows, entries).tolist()])
        return f"numbers up to {largest:.3g} once scaled to integers" if largest > _ROOM else None

    def run(self, problem: Problem, time_limit: float, nodes: int | None, start: np.ndarray | None) -> Answer:
        low, high = _whole(problem)
        if (low > high).any():
            return Answer(Outcome.INFEASIBLE, message="no whole number between the bounds of a column")
        model = cp.CpModelProto()
        for a, b in zip(low.tolist(), high.tolist(), strict=True):
            model.variables.add().domain.extend([a, b])
        _add_rows(model, problem)
        used = np.flatnonzero(problem.cost_exact.num)
        sign = -1 if problem.maximize else 1
        model.objective.vars.extend(used.tolist())
        model.objective.coeffs.extend([sign * int(v) for v in problem.cost_exact.num[used]])
        if start is not None:
            model.solution_hint.vars.extend(list(range(problem.n_vars)))
            model.solution_hint.values.extend([round(v) for v in start.tolist()])
        parameters = cp.SatParameters()
        given: dict[str, float | int | str] = {**self.settings, "max_time_in_seconds": float(time_limit)}
        if nodes is not None:
            given["max_number_of_conflicts"] = nodes
        parameters.merge_text_format(" ".join(f"{key}: {value}" for key, value in given.items()))
        engine = cp.SolveWrapper()
        engine.set_parameters(parameters)
        response = engine.solve(model)
        outcome = _OUTCOMES.get(response.status, Outcome.ERROR)
        if outcome not in (Outcome.OPTIMAL, Outcome.LIMIT_WITH_INCUMBENT):
            return Answer(outcome, message="" if outcome.proof else response.solution_info or response.status.name)
        point = [int(v) for v in response.solution]
        exact = problem.objective(problem.point(dict(zip(problem.columns, point, strict=True))))
        return Answer(outcome, float(exact), np.array(point, dtype=float))


def _whole(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """The whole numbers nearest to the bounds, inside them."""
    low, high = problem.lower_exact, problem.upper_exact
    return -(-low.num // low.den), high.num // high.den


def _add_rows(model: cp.CpModelProto, problem: Problem) -> None:
    """lo <= sum a x <= hi with a = num/den becomes ceil(lo den) <= sum num x <= floor(hi den): same whole points."""
    A, den = problem.matrix, problem.matrix_exact.den
    low, high = problem.row_lower_exact, problem.row_upper_exact
    starts, indices, entries = A.indptr.tolist(), A.indices.tolist(), problem.matrix_exact.num.tolist()
    sides = zip(low.num.tolist(), high.num.tolist(), np.isfinite(problem.row_lower).tolist(),
                np.isfinite(problem.row_upper).tolist(), strict=True)
    for i, (a, b, has_low, has_high) in enumerate(sides):
        least = max(-(-a * den // low.den), -_ROOM) if has_low else -_ROOM
        most = min(b * den // high.den, _ROOM) if has_high else _ROOM
        row = model.constraints.add().linear
        row.vars.extend(indices[starts[i]:starts[i + 1]])
        row.coeffs.extend(entries[starts[i]:starts[i + 1]])
        # An empty domain says what least > most says: infeasible.
        row.domain.extend([least, most] if least <= most else [])


SOLVERS = (CpSat(),)
