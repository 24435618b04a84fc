"""SCIP in the OR-Tools build (its LPs are solved by GLOP): linear and mixed-integer programs."""

from __future__ import annotations

from orpipe.solve import Outcome
from orpipe_solvers._ortools import BuilderSolver


class Scip(BuilderSolver):
    name = "scip"
    family = "scip"
    separator = " = "
    smallest = 1e-9  # its epsilon: smaller numbers are zeros
    infinite = 1e20
    node_parameter = "limits/totalnodes"
    settings = {
        "limits/gap": 0,
        "limits/absgap": 0,
        "numerics/feastol": 1e-9,
        # Few cuts at the root, none below, cheap heuristics only.  Measured on mixed small MILPs: a third of the total
        # time, geometric mean 11 ms -> 8 ms; the gain is in the few that take long.
        "separating/maxroundsroot": 5,
        "separating/maxrounds": 0,
        "heuristics/feaspump/freq": -1,
        "heuristics/alns/freq": -1,
        "heuristics/shifting/freq": -1,
        "heuristics/rens/freq": -1,
    }

    def outcome(self, said: Outcome, message: str) -> Outcome:
        # "The model may actually be unbounded: SCIP returned SCIP_STATUS_INFORUNBD" comes with status INFEASIBLE.
        return Outcome.INFEASIBLE_OR_UNBOUNDED if said is Outcome.INFEASIBLE and "INFORUNBD" in message else said


SOLVERS = (Scip(),)
