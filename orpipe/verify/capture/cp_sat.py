"""CP-SAT (OR-Tools): rows, clauses and the logic that rows over binaries say exactly.  Others are named, not taken.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any

from orpipe.errors import Unsupported
from orpipe.verify.bounds import Linear, Span
from orpipe.verify.capture import Captured, Rows, hook, library, recorded, written
from orpipe.verify.logic import Literal, Logic

_SAT = "ortools.sat.python.cp_model"
library("ortools.cp_sat", words=("cp_model",), preload=(_SAT,), rehearsal="""
from ortools.sat.python import cp_model
m = cp_model.CpModel()
y = {i: m.new_bool_var(f"y[{i}]") for i in "abc"}
x = {(i, j): m.new_int_var(0, 20, f"x[{i},{j}]") for i in "abc" for j in "pqrs"}
for j in "pqrs":
    m.add(sum(x[i, j] for i in "abc") == 4)
for i in "abc":
    m.add(sum(x[i, j] for j in "pqrs") <= 9 * y[i])
m.minimize(sum(7 * v for v in y.values()) + sum(2 * v for v in x.values()))
s = cp_model.CpSolver()
if s.solve(m) == cp_model.OPTIMAL:
    print("optimal_value =", s.objective_value, [s.value(v) for v in x.values()])
""")

_EXACT = 1 << 53  # whole numbers up to here are floats
_ENDLESS = 1 << 61  # CP-SAT writes "no bound" as a number near the end of 64 bits
_MOST_VALUES, _MOST_PAIRS = 64, 2000
_CLAUSES: dict[str, tuple[float, float]] = {
    "bool_or": (1, math.inf), "at_most_one": (-math.inf, 1), "exactly_one": (1, 1)}


@hook(_SAT)
def patch(module: ModuleType) -> None:
    def one_worker(self: Any, *_: Any, **__: Any) -> None:
        if not self.parameters.num_workers:
            self.parameters.num_workers = 1

    for name in ("solve", "Solve"):
        recorded(module.CpSolver, name, "ortools", lambda _, model, *__, **___: read(model.proto), one_worker)
    written(module.CpModel, "export_to_file", "ortools", lambda model: read(model.proto))


def read(proto: Any) -> Captured:
    """Raises Unsupported, with the constraint's kind and name, for what is not expressed here."""
    if len(proto.assumptions):
        raise Unsupported("ortools: the model has assumptions")
    names = [v.name for v in proto.variables]
    domains = [_pieces(v.domain) for v in proto.variables]
    rows, others = Rows(), []
    for row in proto.constraints:
        clause = next((kind for kind in _CLAUSES if getattr(row, f"has_{kind}")()), "")
        if len(row.enforcement_literal) or not (clause or row.has_linear()):
            others.append(row)
        elif clause:
            terms = _count(_literals(getattr(row, clause).literals))
            rows.add(row.name, terms.indices, terms.values, *(side - terms.constant for side in _CLAUSES[clause]))
        elif len(row.linear.domain) != 2:
            others.append(row)
        else:
            terms = _linear(row.linear)
            (piece,) = _pieces(row.linear.domain)
            rows.add(row.name, terms.indices, terms.values, float(piece.lower), float(piece.upper))
    cost, offset, maximize = _objective(proto, len(names))
    base = Captured.of(
        "ortools", "cp_sat", maximize=maximize, offset=offset, columns=names, cost=cost,
        lower=[float(d[0].lower) for d in domains], upper=[float(d[-1].upper) for d in domains],
        integer=[True] * len(names), **rows.arrays())
    if not others and all(len(domain) == 1 for domain in domains):
        return base
    logic = Logic(base)
    for k, domain in enumerate(domains):
        if len(domain) > 1:
            logic.about("domain of the variable", base.columns[k]).within(Linear.column(k), domain)
    for row in others:
        _constraint(logic, row, proto.constraints)
    return logic.captured()


def _objective(proto: Any, n: int) -> tuple[list[float], float, bool]:
    """Coefficients (n,), constant, and whether it is maximised."""
    cost = [0.0] * n
    if proto.has_floating_point_objective():
        target = proto.floating_point_objective
        scale, offset, maximize = 1.0, target.offset, bool(target.maximize)
    elif proto.has_objective():
        target = proto.objective
        if len(target.domain):
            raise Unsupported("ortools: the objective has a domain")
        scale = target.scaling_factor or 1.0
        offset, maximize = scale * target.offset, scale < 0
    else:
        return cost, 0.0, False
    for k, a in zip(target.vars, target.coeffs, strict=True):
        if k < 0:  # "not x" is 1 - x
            offset += scale * a
        cost[k if k >= 0 else -k - 1] += scale * a * (1 if k >= 0 else -1)
    return cost, float(offset), maximize


# ---------------------------------------------------------------------------------------------------------- constraints


def _constraint(logic: Logic, row: Any, rows: Sequence[Any]) -> None:
    kind = next((kind for kind in (*_CLAUSES, "linear", "bool_and", "interval", *_PLAIN, *_UNKNOWN)
                 if getattr(row, f"has_{kind}")()), "unknown")
    logic.about(f"{kind} constraint", row.name)
    when = _literals(row.enforcement_literal)
    if kind in _CLAUSES:
        logic.counted(_literals(getattr(row, kind).literals), *_CLAUSES[kind], when=when)
    elif kind == "linear":
        logic.within(_linear(row.linear), _pieces(row.linear.domain), when)
    elif kind == "bool_and":
        for literal in _literals(row.bool_and.literals):
            logic.counted([literal], 1, 1, when)
    elif kind == "interval":
        start, size, end = (_expression(getattr(row.interval, part)) for part in ("start", "size", "end"))
        logic.enforced(when, _sum(start, size, -end), 0, 0)
        if logic.span(size).lower < 0:
            logic.enforced(when, size, 0, math.inf)
    elif kind == "no_overlap":
        _no_overlap(logic, [rows[k] for k in row.no_overlap.intervals], when)
    elif kind in _PLAIN and not when:
        _PLAIN[kind](logic, getattr(row, kind))
    else:
        raise logic.unsupported("is not linear" + " and holds only under a condition" * bool(when))


def _maximum(logic: Logic, part: Any) -> None:
    logic.maximum(_expression(part.target), [_expression(each) for each in part.exprs])


def _all_different(logic: Logic, part: Any) -> None:
    logic.all_different([_expression(each) for each in part.exprs])


def _exclusive_or(logic: Logic, part: Any) -> None:
    """An odd number of true literals."""
    literals = _literals(part.literals)
    half = logic.column("half", 0, (len(literals) - 1) // 2, integer=True)
    logic.row(_sum(_count(literals), Linear((half,), (-2.0,))), 1, 1)


def _product(logic: Logic, part: Any) -> None:
    """Two factors, one of few values: for each value, the other times it."""
    factors = sorted((_expression(each) for each in part.exprs), key=lambda each: _width(logic, each))
    if len(factors) != 2 or _width(logic, factors[0]) > _MOST_VALUES:
        raise logic.unsupported("multiplies variables of many values")
    target = _expression(part.target)
    for value, literal in _values(logic, factors[0]).items():
        scaled = Linear(factors[1].indices, tuple(a * value for a in factors[1].values), factors[1].constant * value)
        logic.enforced([literal], target - scaled, 0, 0)


def _division(logic: Logic, part: Any) -> None:
    """target = floor(numerator / divisor) where the numerator is not negative and the divisor a number."""
    numerator, divisor = (_expression(each) for each in part.exprs)
    target = _expression(part.target)
    _positive(logic, numerator, divisor)
    logic.row(_sum(numerator, _times(target, -divisor.constant)), 0, divisor.constant - 1)


def _remainder(logic: Logic, part: Any) -> None:
    numerator, divisor = (_expression(each) for each in part.exprs)
    target = _expression(part.target)
    _positive(logic, numerator, divisor)
    quotient = logic.column("quotient", 0, float(logic.finite(numerator).upper // int(divisor.constant)), integer=True)
    logic.row(_sum(numerator, -target, Linear((quotient,), (-divisor.constant,))), 0, 0)
    logic.row(target, 0, divisor.constant - 1)


def _positive(logic: Logic, numerator: Linear, divisor: Linear) -> None:
    if divisor.indices or divisor.constant <= 0 or logic.span(numerator).lower < 0:
        raise logic.unsupported("divides by a variable or divides negative numbers")


def _element(logic: Logic, part: Any) -> None:
    """target = the expression at the index."""
    index, target = _expression(part.linear_index), _expression(part.linear_target)
    chosen = [logic.binary(f"is{k}") for k in range(len(part.exprs))]
    logic.counted(chosen, 1, 1)
    logic.row(index - Linear(tuple(z.column for z in chosen), tuple(float(k) for k in range(len(chosen)))), 0, 0)
    for literal, each in zip(chosen, part.exprs, strict=True):
        logic.enforced([literal], target - _expression(each), 0, 0)


def _table(logic: Logic, part: Any) -> None:
    """One of the lines is taken."""
    if part.negated:
        raise logic.unsupported("forbids lines")
    terms = [_expression(each) for each in part.exprs]
    numbers = list(part.values)
    lines = [numbers[p:p + len(terms)] for p in range(0, len(numbers), len(terms))]
    chosen = [logic.binary(f"is{k}") for k in range(len(lines))]
    logic.counted(chosen, 1, 1)
    for p, each in enumerate(terms):
        logic.row(each - Linear(tuple(z.column for z in chosen), tuple(float(line[p]) for line in lines)), 0, 0)


def _circuit(logic: Logic, part: Any) -> None:
    """One round trip by the arcs whose literals are true; a node with a loop may be left out.

    Order numbers (Miller, Tucker and Zemlin) from a node that cannot be left out rule out other circles.
    """
    arcs = list(zip(part.tails, part.heads, _literals(part.literals), strict=True))
    nodes = sorted({node for tail, head, _ in arcs for node in (tail, head)})
    loops = {tail for tail, head, _ in arcs if tail == head}
    root = next((node for node in nodes if node not in loops), None)
    if root is None:
        raise logic.unsupported("may be empty")
    order = {node: logic.column(f"order{node}", 1, len(nodes) - 1, integer=True) for node in nodes if node != root}
    for node in nodes:
        logic.counted([z for tail, _, z in arcs if tail == node], 1, 1)
        logic.counted([z for _, head, z in arcs if head == node], 1, 1)
    for tail, head, literal in arcs:
        if root not in (tail, head) and tail != head:
            logic.enforced([literal], Linear((order[head], order[tail]), (1.0, -1.0)), 1, math.inf)


def _no_overlap(logic: Logic, intervals: Sequence[Any], conditions: Sequence[Literal]) -> None:
    parts = [(_expression(each.interval.start), _expression(each.interval.end), _literals(each.enforcement_literal))
             for each in intervals]
    if any(logic.span(_expression(each.interval.size)).lower < 1 for each in intervals):
        raise logic.unsupported("has intervals that may be empty")
    if math.comb(len(parts), 2) > _MOST_PAIRS:
        raise logic.unsupported(f"has more than {_MOST_PAIRS} pairs of intervals")
    for k, (first, second) in enumerate(itertools.combinations(parts, 2)):
        before = logic.binary(f"before{k}")
        when = [*conditions, *first[2], *second[2]]
        logic.enforced([*when, before], second[0] - first[1], 0, math.inf)
        logic.enforced([*when, ~before], first[0] - second[1], 0, math.inf)


_PLAIN: dict[str, Callable[[Logic, Any], None]] = {  # without conditions only
    "lin_max": _maximum, "all_diff": _all_different, "bool_xor": _exclusive_or, "int_prod": _product,
    "int_div": _division, "int_mod": _remainder, "element": _element, "table": _table, "circuit": _circuit,
}
_UNKNOWN = ("no_overlap", "no_overlap_2d", "cumulative", "reservoir", "automaton", "inverse", "routes")


# ---------------------------------------------------------------------------------------------------------------- parts


def _width(logic: Logic, terms: Linear) -> float:
    span = logic.span(terms)
    return float(span.upper - span.lower)


def _values(logic: Logic, terms: Linear) -> dict[int, Literal]:
    """A literal for each value that the terms may take."""
    span = logic.finite(terms)
    if terms.values == (1.0,) and terms.constant == 0 and span == Span(0, 1):
        only = logic.literal(terms.indices[0])
        return {0: ~only, 1: only}
    found = {v: logic.binary(f"is{v}") for v in range(math.ceil(span.lower), math.floor(span.upper) + 1)}
    logic.counted(found.values(), 1, 1)
    logic.row(terms - Linear(tuple(z.column for z in found.values()), tuple(map(float, found))), 0, 0)
    return found


def _literals(numbers: Iterable[int]) -> list[Literal]:
    """The number -k-1 is "not k"."""
    return [Literal(k) if k >= 0 else Literal(-k - 1, False) for k in numbers]


def _count(literals: Sequence[Literal]) -> Linear:
    return Linear(tuple(z.column for z in literals), tuple(1.0 if z.positive else -1.0 for z in literals),
                  float(sum(not z.positive for z in literals)))


def _expression(part: Any) -> Linear:
    terms = _linear(part)
    return Linear(terms.indices, terms.values, _float(part.offset))


def _linear(part: Any) -> Linear:
    """Without its constant; a negated literal is written out."""
    indices, values, constant = [], [], 0.0
    for k, a in zip(part.vars, part.coeffs, strict=True):
        indices.append(k if k >= 0 else -k - 1)
        values.append(_float(a if k >= 0 else -a))
        constant += 0.0 if k >= 0 else _float(a)
    if constant:
        raise Unsupported("ortools: a row has a negated literal")
    return Linear(tuple(indices), tuple(values))


def _sum(*parts: Linear) -> Linear:
    return Linear(tuple(k for each in parts for k in each.indices), tuple(a for each in parts for a in each.values),
                  sum(each.constant for each in parts))


def _times(terms: Linear, factor: float) -> Linear:
    return Linear(terms.indices, tuple(a * factor for a in terms.values), terms.constant * factor)


def _pieces(domain: Iterable[int]) -> list[Span]:
    ends = [_wide(end) for end in domain]
    return [Span(low, high) for low, high in zip(ends[::2], ends[1::2], strict=True)]


def _wide(bound: int) -> float:
    return math.inf if bound >= _ENDLESS else -math.inf if bound <= -_ENDLESS else _float(bound)


def _float(value: int) -> float:
    if abs(value) > _EXACT:
        raise Unsupported(f"ortools: the number {value} is too large to be taken exactly")
    return float(value)
