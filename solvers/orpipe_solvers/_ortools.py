"""What the OR-Tools adapters share: the sparse model builder, its statuses, and its MPS parser.

OR-Tools' bundled HiGHS is never used: with PuLP imported first it crashes the process.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from ortools.linear_solver.python import model_builder_helper as mb

from orpipe.errors import ParseError
from orpipe.problem import Problem
from orpipe.solve import Answer, Outcome, Solver, out_of_range

_OUTCOMES = {
    mb.SolveStatus.OPTIMAL: Outcome.OPTIMAL,
    mb.SolveStatus.FEASIBLE: Outcome.LIMIT_WITH_INCUMBENT,
    mb.SolveStatus.INFEASIBLE: Outcome.INFEASIBLE,
    mb.SolveStatus.UNBOUNDED: Outcome.UNBOUNDED,
    mb.SolveStatus.NOT_SOLVED: Outcome.LIMIT,
    mb.SolveStatus.CANCELLED_BY_USER: Outcome.LIMIT,
}


class BuilderSolver(Solver):
    """A solver behind ModelSolverHelper; `settings` are its own parameters, written with `separator`."""

    package = "ortools"
    separator: str
    smallest: float
    infinite: float
    node_parameter: str | None = None

    def accepts(self, problem: Problem) -> str | None:
        return out_of_range(problem, smallest=self.smallest, largest=1e15, infinite=self.infinite)

    def run(self, problem: Problem, time_limit: float, nodes: int | None, start: np.ndarray | None) -> Answer:
        model = mb.ModelBuilderHelper()
        p: Any = problem  # its stubs want arrays that are shaped (m, 1) to the type checker
        model.fill_model_from_sparse_data(p.lower, p.upper, p.cost, p.row_lower, p.row_upper, sp.csr_matrix(p.matrix))
        for j in np.flatnonzero(problem.integer).tolist():
            model.set_var_integrality(j, True)
        model.set_maximize(problem.maximize)
        model.set_objective_offset(float(problem.offset))
        for j, v in enumerate([] if start is None else start.tolist()):
            model.add_hint(j, v)
        engine = mb.ModelSolverHelper(self.name)
        engine.enable_output(False)
        settings: dict[str, float | int | str] = dict(self.settings)
        if nodes is not None and self.node_parameter:
            settings[self.node_parameter] = nodes
        engine.set_solver_specific_parameters("\n".join(f"{key}{self.separator}{v}" for key, v in settings.items()))
        engine.set_time_limit_in_seconds(float(time_limit))
        engine.solve(model)
        status, message = engine.status(), engine.status_string()
        outcome = self.outcome(_OUTCOMES.get(status, Outcome.ERROR), message)
        if not engine.has_solution():
            if outcome is Outcome.OPTIMAL:
                outcome, message = Outcome.ERROR, "optimal without a point"
            return Answer(outcome, message=message or ("" if outcome.proof else status.name))
        return Answer(outcome, float(engine.objective_value()), np.array(engine.variable_values()), message)

    def outcome(self, said: Outcome, message: str) -> Outcome:
        """What the solver's status really claims."""
        return said


def parse_mps(text: str) -> Problem:
    """What OR-Tools' own parser makes of an MPS text.  Raises ParseError if it cannot read it."""
    model = mb.ModelBuilderHelper()
    if not model.import_from_mps_string(text):
        raise ParseError("OR-Tools cannot read this MPS text; read it with orpipe.mps.read_mps to see the line")
    n, m = model.num_variables(), model.num_constraints()
    rows = [(model.constraint_var_indices(i), model.constraint_coefficients(i)) for i in range(m)]
    indptr = np.cumsum([0] + [len(indices) for indices, _ in rows])
    matrix = sp.csr_array((np.array([v for _, values in rows for v in values], float),
                           np.array([j for indices, _ in rows for j in indices], np.int32), indptr), shape=(m, n))
    return Problem.from_arrays(
        name=model.name(), maximize=model.maximize(), offset=model.objective_offset(), matrix=matrix,
        cost=[model.var_objective_coefficient(j) for j in range(n)],
        lower=[model.var_lower_bound(j) for j in range(n)], upper=[model.var_upper_bound(j) for j in range(n)],
        row_lower=[model.constraint_lower_bound(i) for i in range(m)],
        row_upper=[model.constraint_upper_bound(i) for i in range(m)],
        integer=[model.var_is_integral(j) for j in range(n)],
        columns=[model.var_name(j) for j in range(n)], rows=[model.constraint_name(i) for i in range(m)],
    )
