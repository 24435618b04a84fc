"""preference: one problem text with two answers in the same form, the verified one and one whose model is a mis-modelling.

The rejected answer is what `solve` would say of the faulty model: its program is replayed, builds that model and finds the optimum it states,
which differs from the true one on this instance (both labelled by two solver families).
"""

from __future__ import annotations

from dataclasses import replace

from orpipe.build.case import Case, Product, Unmade, ask, exact_text
from orpipe.build.plan import Order
from orpipe.build.products import product
from orpipe.build.products.diagnose import faulty
from orpipe.build.products.solve import solved
from orpipe.errors import DataError, Unsupported


@product("preference")
def preference(case: Case, order: Order) -> Product:
    asked = ask(case.instance, order)
    chosen = solved(case, order, asked)
    for fault in faulty(case, order):
        if fault.label.objective_exact is None or fault.label.point is None:
            continue  # an answer states an optimum
        wrong = Case(replace(case.instance, model=fault.mutant.model), fault.label)
        try:
            rejected = solved(wrong, order, asked)
        except (Unmade, Unsupported, DataError):
            continue  # a mutant with variables of its own may have no words in the scenario
        account = fault.mutant.account(case.model)
        reason = f"{account.fault} {account.why}"
        return replace(
            chosen, task="preference", subtask="optimum", rejected=rejected.messages[-1:], programs=(*chosen.programs, *rejected.programs),
            metadata={**chosen.metadata, "site": str(fault.mutant.site), "operator": fault.mutant.operator.id, "reason": reason,
                      "rejected_status": fault.label.status, "rejected_objective_exact": exact_text(fault.label.objective_exact)})
    raise Unmade("no mis-modelling changes the optimum here")
