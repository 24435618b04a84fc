"""coptpy: the model is read at solve(), then COPT solves it under the licence in its wheel.

That licence takes MIPs of 2000 and LPs of 10000 rows and columns; beyond, solve() raises CoptError "(LICENSE)" with the
model already captured.  COPT itself rewrites max, min, abs, and, or and piecewise constraints as rows, indicators and
special ordered sets when they are added: they are read as these.
"""

from __future__ import annotations

import functools
import math
from types import ModuleType
from typing import Any

import numpy as np

from orpipe.errors import Unsupported
from orpipe.verify.bounds import Linear, sides
from orpipe.verify.capture import Captured, hook, library, recorded, written
from orpipe.verify.logic import Logic

library("coptpy", words=("coptpy",), preload=("coptpy", "scipy.sparse"), rehearsal="""
import coptpy as cp
from coptpy import COPT
m = cp.Envr().createModel("rehearsal")
I, J = ["a", "b", "c"], ["p", "q", "r", "s"]
y = m.addVars(I, vtype=COPT.BINARY, nameprefix="y")
x = m.addVars(I, J, nameprefix="x")
m.setObjective(cp.quicksum(7 * y[i] for i in I) + cp.quicksum(1.5 * x[i, j] for i in I for j in J), COPT.MINIMIZE)
m.addConstrs((cp.quicksum(x[i, j] for i in I) == 4 for j in J), nameprefix="demand")
for i in I:
    m.addConstr(x.sum(i, "*") <= 9.5 * y[i], name=f"capacity[{i}]")
m.solve()
if m.status == COPT.OPTIMAL:
    print("optimal_value =", m.objval, [v.x for v in m.getVars()])
""")

_MODEL_FILES = (".lp", ".mps", ".nl", ".bin")
_NOT_LINEAR = {
    "MultiObjs": "several objectives", "Cones": "second-order cones", "ExpCones": "exponential cones",
    "AffineCones": "affine cones", "PsdCols": "semidefinite variables", "PsdConstrs": "semidefinite constraints",
    "LmiConstrs": "linear matrix inequalities", "NLConstrs": "nonlinear constraints",
    "HasNLObj": "a nonlinear objective", "HasPsdObj": "a semidefinite objective",
}


@hook("coptpy")
def patch(coptpy: ModuleType) -> None:
    model = coptpy.Model
    lazy: set[int] = set()  # models with a callback that adds constraints

    def settle(self: Any, *_: Any, **__: Any) -> None:
        for name, value in (("Threads", 1), ("RelGap", 0.0), ("AbsGap", 0.0)):
            self.setParam(name, value)

    def reading(relaxed: bool) -> Any:
        def read_here(self: Any) -> Captured:
            if id(self) in lazy:
                raise Unsupported("coptpy: a callback adds lazy constraints while the model is solved")
            return read(self, relaxed)

        return read_here

    recorded(model, "solve", "coptpy", reading(relaxed=False), before=settle)
    recorded(model, "solveLP", "coptpy", reading(relaxed=True), before=settle)
    written(model, "write", "coptpy", read, lambda _, filename: str(filename).lower().endswith(_MODEL_FILES))
    for method in ("writeLp", "writeMps", "writeMpsStr", "writeNL", "writeBin"):
        written(model, method, "coptpy", read)

    # Lazy constraints cannot be read back; as ordinary ones they say the same.
    model.addLazyConstr, model.addLazyConstrs = model.addConstr, model.addConstrs
    listen, configure = model.setCallback, coptpy.EnvrConfig.set

    @functools.wraps(listen)
    def listen_here(self: Any, cb: Any, cbctx: Any) -> None:
        codes = [getattr(part, "__code__", None) for part in vars(type(cb)).values()]
        if any(name.startswith("addLazyConstr") for code in codes if code for name in code.co_names):
            lazy.add(id(self))
        listen(self, cb, cbctx)

    @functools.wraps(configure)
    def configure_here(self: Any, name: Any, value: Any) -> None:
        """Licences and servers of the author's are not asked for."""

    model.setCallback, coptpy.EnvrConfig.set = listen_here, configure_here


def read(model: Any, relaxed: bool = False) -> Captured:
    """Raises Unsupported for what no rows and binaries can say."""
    for attribute, what in _NOT_LINEAR.items():
        if model.getAttr(attribute):
            raise Unsupported(f"coptpy: the model has {what}")
    columns, rows = _items(model.getVars()), _items(model.getConstrs())
    kinds = [v.getType() for v in columns]
    lower, upper = (sides(model.getInfo(name, columns) if columns else []) for name in ("LB", "UB"))
    binary = np.array([kind == "B" for kind in kinds], bool)
    lower[binary], upper[binary] = np.maximum(lower[binary], 0), np.minimum(upper[binary], 1)
    row_lower, row_upper = (sides(model.getInfo(name, rows) if rows else []) for name in ("LB", "UB"))
    matrix = model.getA().tocsr() if rows else None
    objective = model.getObjective()
    quadratic = bool(model.getAttr("HasQObj"))
    base = Captured.of(
        "coptpy", "coptpy", maximize=model.getAttr("ObjSense") < 0, offset=model.getAttr("ObjConst"),
        columns=[v.getName() for v in columns], rows=[c.getName() for c in rows],
        cost=model.getInfo("Obj", columns) if columns else [], lower=lower, upper=upper,
        integer=[kind in "BI" and not relaxed for kind in kinds], row_lower=row_lower, row_upper=row_upper,
        indptr=[0] if matrix is None else matrix.indptr, indices=[] if matrix is None else matrix.indices,
        data=[] if matrix is None else matrix.data,
    )
    if not (quadratic or any(model.getAttr(name) for name in ("Indicators", "Soss", "QConstrs"))):
        return base
    if relaxed:
        raise Unsupported("coptpy: the relaxation of a model with indicators, ordered sets or products is solved")
    logic = Logic(base)
    _conditions(model, logic)
    if quadratic:
        logic.about("quadratic objective")
        for j, k, a in _products(objective):
            logic.charge(logic.product(j, k), a)
    for row in _items(model.getQConstrs()) if model.getAttr("QConstrs") else ():
        logic.about("quadratic constraint", row.getName())
        builder = model.getQConstrBuilders(row)
        terms = builder.getQuadExpr()
        plain = _linear(terms.getLinExpr())
        products = [(logic.product(j, k).indices[0], a) for j, k, a in _products(terms)]
        whole = Linear((*plain.indices, *(k for k, _ in products)), (*plain.values, *(a for _, a in products)),
                       plain.constant)
        logic.row(whole, *_within(builder.getSense()))
    return logic.captured()


def _conditions(model: Any, logic: Logic) -> None:
    from coptpy import COPT

    for each in _items(model.getGenConstrs()) if model.getAttr("Indicators") else ():
        logic.about("indicator constraint", each.getName())
        builder = model.getGenConstrIndicator(each)
        literal = logic.literal(builder.getBinVar().getIdx(), bool(builder.getBinVal()))
        terms, kind = _linear(builder.getExpr()), builder.getIndType()
        ends = _within(builder.getSense())
        if kind in (COPT.INDICATOR_IF, COPT.INDICATOR_IFANDONLYIF):
            logic.enforced([literal], terms, *ends)
        if kind in (COPT.INDICATOR_ONLYIF, COPT.INDICATOR_IFANDONLYIF):
            logic.otherwise([~literal], terms, *ends)
    for each in _items(model.getSOSs()) if model.getAttr("Soss") else ():
        builder = model.getSOS(each)
        kind, columns, weights = builder.getType(), _items(builder.getVars()), builder.getWeights()
        order = sorted(range(len(columns)), key=weights.__getitem__)
        logic.about(f"special ordered set of type {kind}").ordered_set(kind, [columns[k].getIdx() for k in order])


def _within(sense: str) -> tuple[float, float]:
    """The sides of a row whose right-hand side stands, negated, in its constant."""
    if sense not in "LGE":
        raise Unsupported(f"coptpy: a conditional or quadratic constraint has the sense '{sense}'")
    return (-math.inf if sense == "L" else 0.0), (math.inf if sense == "G" else 0.0)


def _items(array: Any) -> list[Any]:
    return [array[k] for k in range(array.getSize())]


def _linear(terms: Any) -> Linear:
    places = range(terms.getSize())
    return Linear(tuple(terms.getVar(p).getIdx() for p in places), tuple(terms.getCoeff(p) for p in places),
                  terms.getConstant())


def _products(terms: Any) -> list[tuple[int, int, float]]:
    """Column, column and coefficient of each product."""
    return [(terms.getVar1(p).getIdx(), terms.getVar2(p).getIdx(), terms.getCoeff(p)) for p in range(terms.getSize())]
