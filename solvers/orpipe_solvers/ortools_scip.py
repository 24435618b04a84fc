"""SCIP in the OR-Tools build (its LPs are solved by GLOP): linear and mixed-integer programs."""

from __future__ import annotations

from orpipe.roles import settings
from orpipe.solve import Outcome
from orpipe_solvers._ortools import BuilderSolver


class Scip(BuilderSolver):
    name = "scip"
    family = "scip"
    separator = " = "
    smallest = 1e-9  # its epsilon: smaller numbers are zeros
    infinite = 1e20
    node_parameter = "limits/totalnodes"
    settings = settings("scip")

    def outcome(self, said: Outcome, message: str) -> Outcome:
        # "The model may actually be unbounded: SCIP returned SCIP_STATUS_INFORUNBD" comes with status INFEASIBLE.
        return Outcome.INFEASIBLE_OR_UNBOUNDED if said is Outcome.INFEASIBLE and "INFORUNBD" in message else said


SOLVERS = (Scip(),)
