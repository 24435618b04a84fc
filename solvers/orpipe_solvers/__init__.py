"""Solver adapters, one file each, found by orpipe.adapters; the only package of orpipe that imports a solver library."""

from __future__ import annotations

from orpipe.solve import Result, settle


def solve_mps_text(text: str, time_limit: float = 60.0) -> Result:
    """An MPS text read by OR-Tools' own parser and solved by GLOP (no integer columns), CP-SAT (where it accepts all of
    them) or SCIP: neither our reader nor HiGHS takes part.  Result.point is in the order of the columns in the text.
    Raises ParseError if OR-Tools cannot read it, Unsupported if its numbers are out of the solver's range."""
    from orpipe_solvers import _ortools, ortools_cpsat, ortools_glop, ortools_scip

    problem = _ortools.parse_mps(text)
    if not problem.integer.any():
        return settle(ortools_glop.SOLVERS[0], problem, time_limit)
    # Packing models that take SCIP minutes are a second's work for CP-SAT.
    whole = ortools_cpsat.SOLVERS[0]
    return settle(ortools_scip.SOLVERS[0] if whole.accepts(problem) else whole, problem, time_limit)
