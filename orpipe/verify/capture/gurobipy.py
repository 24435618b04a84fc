"""gurobipy: the model is read at optimize() after update(), then Gurobi solves it under the licence in its wheel.

That licence takes 2000 columns and 2000 rows; beyond, optimize() raises GurobiError (errno 10010) with the model
already captured.  Environments that ask for another licence (WLS, cloud, a server) are opened without asking.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from orpipe.errors import Unsupported
from orpipe.verify.bounds import Linear, exact, sides
from orpipe.verify.capture import Captured, hook, library, recorded, written
from orpipe.verify.logic import Logic

library("gurobipy", words=("gurobipy",), preload=("gurobipy", "scipy.sparse"), rehearsal="""
import gurobipy as gp
from gurobipy import GRB
m = gp.Model("rehearsal")
I, J = ["a", "b", "c"], ["p", "q", "r", "s"]
y = m.addVars(I, vtype=GRB.BINARY, name="y")
x = m.addVars(I, J, name="x")
m.setObjective(gp.quicksum(7 * y[i] for i in I) + gp.quicksum(1.5 * x[i, j] for i in I for j in J), GRB.MINIMIZE)
m.addConstrs((gp.quicksum(x[i, j] for i in I) == 4 for j in J), name="demand")
for i in I:
    m.addConstr(x.sum(i, "*") <= 9.5 * y[i], name=f"capacity[{i}]")
m.optimize()
if m.status == GRB.OPTIMAL:
    print("optimal_value =", m.ObjVal, [v.X for v in m.getVars()])
""")

_MODEL_FILES = (".lp", ".mps", ".rew", ".rlp")
# Parameters that point to a licence or a machine of the author's.
_ELSEWHERE = frozenset({
    "cloudaccessid", "cloudhost", "cloudpool", "cloudsecretkey", "computeserver", "csapiaccessid", "csapisecret",
    "csappname", "csauthtoken", "csmanager", "csrouter", "licenseid", "password", "serverpassword", "tokenserver",
    "tsport", "username", "wlsaccessid", "wlsproxy", "wlssecret", "wlstoken", "workerpassword", "workerpool",
})


@hook("gurobipy")
def patch(gurobipy: ModuleType) -> None:
    model, env = gurobipy.Model, gurobipy.Env

    def settle(self: Any, *_: Any, **__: Any) -> None:
        # One thread of several is no faster here; its default gap, 1e-4, stops short of the optimum.
        for name, value in (("Threads", 1), ("MIPGap", 0.0)):
            self.setParam(name, value)

    recorded(model, "optimize", "gurobipy", read, before=settle)
    recorded(model, "optimizeAsync", "gurobipy", read, before=settle)
    written(model, "write", "gurobipy", read, lambda _, filename: is_model_file(filename))

    start, set_parameter = env.__init__, env.setParam

    @functools.wraps(start)
    def start_here(self: Any, logfilename: Any = "", empty: bool = False, params: Any = None, **kwargs: Any) -> None:
        kept = {name: value for name, value in (params or {}).items() if str(name).lower() not in _ELSEWHERE}
        start(self, logfilename, empty, kept or None, **kwargs)

    @functools.wraps(set_parameter)
    def set_here(self: Any, paramname: Any, newvalue: Any) -> None:
        if str(paramname).lower() not in _ELSEWHERE:
            set_parameter(self, paramname, newvalue)

    env.__init__, env.setParam = start_here, set_here


def is_model_file(path: Any) -> bool:
    name = str(path).lower()
    for packed in (".gz", ".bz2", ".zip", ".7z"):
        name = name.removesuffix(packed)
    return name.endswith(_MODEL_FILES)


def read(model: Any, callback: Any = None, *_: Any, **__: Any) -> Captured:
    """Raises Unsupported for what no rows and binaries can say."""
    model.update()
    if callback is not None and model.Params.LazyConstraints:
        raise Unsupported("gurobipy: a callback adds lazy constraints while the model is solved")
    if model.IsMultiObj:
        raise Unsupported("gurobipy: the model has several objectives (setObjectiveN)")
    if model.NumScenarios:
        raise Unsupported("gurobipy: the model has several scenarios")
    columns = model.getVars()
    kinds = model.getAttr("VType", columns)
    lower, upper = sides(model.getAttr("LB", columns)), sides(model.getAttr("UB", columns))
    cost = np.array(model.getAttr("Obj", columns), float)
    binary = np.array([kind == "B" for kind in kinds], bool)
    lower[binary], upper[binary] = np.maximum(lower[binary], 0), np.minimum(upper[binary], 1)
    parted = np.array([kind in "SN" for kind in kinds], bool)
    low, high = lower[parted], upper[parted]
    lower[parted], upper[parted] = np.minimum(low, 0), np.maximum(high, 0)
    rows = model.getConstrs()
    right, senses = np.array(model.getAttr("RHS", rows), float), np.array(model.getAttr("Sense", rows), str)
    matrix = model.getA().tocsr()
    # A piecewise-linear objective stands in place of the column's coefficient.
    pieces = [v for v in columns if model.getPWLObj(v)] if model.NumPWLObjVars else []
    cost[[v.index for v in pieces]] = 0.0
    base = Captured.of(
        "gurobipy", "gurobipy", maximize=model.ModelSense < 0, offset=model.ObjCon,
        columns=model.getAttr("VarName", columns), rows=model.getAttr("ConstrName", rows), cost=cost, lower=lower,
        upper=upper, integer=[kind in "BIN" for kind in kinds], row_lower=np.where(senses == "<", -np.inf, right),
        row_upper=np.where(senses == ">", np.inf, right), indptr=matrix.indptr, indices=matrix.indices,
        data=matrix.data,
    )
    if not (parted.any() or pieces or model.NumGenConstrs or model.NumSOS or model.IsQP or model.IsQCP):
        return _ranges_as_rows(base)
    logic = Logic(base)
    _general(model, logic)
    for k, lo, hi in zip(np.flatnonzero(parted).tolist(), low.tolist(), high.tolist(), strict=True):
        logic.about("semi-continuous variable", base.columns[k]).semicontinuous(k, lo, hi)
    for v in pieces:
        logic.about("piecewise-linear objective", v.VarName)
        if parted[v.index]:  # Gurobi values 0 by the pieces between the bounds
            raise logic.unsupported("is on a semi-continuous variable")
        value = logic.column("objective", -math.inf, math.inf, cost=1.0)
        logic.piecewise(v.index, Linear.column(value), model.getPWLObj(v))
    _quadratic(model, logic)
    return _ranges_as_rows(logic.captured())


def _ranges_as_rows(model: Captured) -> Captured:
    """addRange makes an equation with a slack column "Rg" + its name, within 0..width: back into a row with two
    sides.
    """
    import scipy.sparse as sp

    slacks = {name: k for k, name in enumerate(model.columns) if name.startswith("Rg")}
    if not slacks:
        return model
    matrix = sp.csr_array((model.data, model.indices, model.indptr), shape=(len(model.rows), len(model.columns)))
    count = np.bincount(model.indices, minlength=len(model.columns))
    lower, upper, gone = model.row_lower.copy(), model.row_upper.copy(), []
    for i, name in enumerate(model.rows):
        k = slacks.get(f"Rg{name}", -1)
        if k >= 0 and count[k] == 1 and matrix[i, k] == 1 and lower[i] == upper[i] and not (
                model.cost[k] or model.integer[k] or model.lower[k]):
            lower[i] = float(exact(upper[i]) - exact(model.upper[k])) if model.upper[k] < math.inf else -math.inf
            gone.append(k)
    kept = np.setdiff1d(np.arange(len(model.columns)), gone)
    matrix = matrix[:, kept]
    return Captured.of(
        model.library, model.interface, maximize=model.maximize, offset=model.offset,
        columns=[model.columns[k] for k in kept], rows=model.rows, cost=model.cost[kept], lower=model.lower[kept],
        upper=model.upper[kept], integer=model.integer[kept], row_lower=lower, row_upper=upper, indptr=matrix.indptr,
        indices=matrix.indices, data=matrix.data)


def _general(model: Any, logic: Logic) -> None:
    """Indicators first: what they say about bounds serves the others."""
    from gurobipy import GRB

    types = {getattr(GRB, name): name.removeprefix("GENCONSTR_") for name in dir(GRB) if name.startswith("GENCONSTR_")}
    found = [(types.get(c.GenConstrType, "general constraint"), c) for c in model.getGenConstrs()]
    for kind, c in sorted(found, key=lambda each: each[0] != "INDICATOR"):
        logic.about(f"{kind} constraint", c.GenConstrName)
        if kind == "INDICATOR":
            binary, value, terms, sense, side = model.getGenConstrIndicator(c)
            logic.enforced([logic.literal(binary.index, bool(value))], _linear(terms),
                           -math.inf if sense == "<" else side, math.inf if sense == ">" else side)
        elif kind in ("MAX", "MIN"):
            result, arguments, constant = (model.getGenConstrMax if kind == "MAX" else model.getGenConstrMin)(c)
            terms = [Linear.column(v.index) for v in arguments]
            if abs(constant) < 1e30:  # there is one
                terms.append(Linear(constant=constant))
            (logic.maximum if kind == "MAX" else logic.minimum)(Linear.column(result.index), terms)
        elif kind == "ABS":
            result, argument = model.getGenConstrAbs(c)
            logic.absolute(Linear.column(result.index), Linear.column(argument.index))
        elif kind in ("AND", "OR"):
            result, arguments = (model.getGenConstrAnd if kind == "AND" else model.getGenConstrOr)(c)
            literals = [logic.literal(v.index) for v in (result, *arguments)]
            (logic.conjunction if kind == "AND" else logic.disjunction)(literals[0], literals[1:])
        elif kind == "NORM":
            result, arguments, order = model.getGenConstrNorm(c)
            _norm(logic, result, arguments, order)
        elif kind == "PWL":
            x, y, xs, ys = model.getGenConstrPWL(c)
            logic.piecewise(x.index, Linear.column(y.index), list(zip(xs, ys, strict=True)))
        else:
            raise logic.unsupported("is not linear")
    for each in model.getSOSs():
        kind, columns, weights = model.getSOS(each)
        order = sorted(range(len(columns)), key=weights.__getitem__)
        logic.about(f"special ordered set of type {kind}").ordered_set(kind, [columns[k].index for k in order])


def _norm(logic: Logic, result: Any, arguments: Sequence[Any], order: float) -> None:
    columns = [Linear.column(v.index) for v in arguments]
    if order == 1:
        sizes = [logic.column(f"abs{k}", 0, math.inf) for k in range(len(columns))]
        for size, each in zip(sizes, columns, strict=True):
            logic.absolute(Linear.column(size), each)
        logic.row(Linear((result.index, *sizes), (1.0, *(-1.0 for _ in sizes))), 0, 0)
    elif order > 2:  # infinity: Gurobi knows 0, 1, 2 and this
        logic.maximum(Linear.column(result.index), [*columns, *(-each for each in columns)])
    else:
        raise logic.unsupported(f"of order {order:g} is not linear")


def _quadratic(model: Any, logic: Logic) -> None:
    """Products with a binary variable; others are not linear."""
    logic.about("quadratic objective")
    matrix = model.getQ().tocoo()
    for j, k, a in zip(matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist(), strict=True):
        logic.charge(logic.product(j, k), a)
    for row in model.getQConstrs():
        logic.about("quadratic constraint", row.QCName)
        terms = model.getQCRow(row)
        products = [logic.product(terms.getVar1(p).index, terms.getVar2(p).index) for p in range(terms.size())]
        plain = _linear(terms.getLinExpr())
        whole = Linear((*plain.indices, *(each.indices[0] for each in products)),
                       (*plain.values, *(terms.getCoeff(p) for p in range(terms.size()))), plain.constant)
        logic.row(whole, -math.inf if row.QCSense == "<" else row.QCRHS, math.inf if row.QCSense == ">" else row.QCRHS)


def _linear(terms: Any) -> Linear:
    places = range(terms.size())
    return Linear(tuple(terms.getVar(p).index for p in places), tuple(terms.getCoeff(p) for p in places),
                  terms.getConstant())
