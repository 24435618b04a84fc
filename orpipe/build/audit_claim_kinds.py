"""What each kind of claim asserts, checked against an instance and the mis-modelling that an example is about."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from orpipe.algebra.nodes import Model
from orpipe.build import gates
from orpipe.build.audit_instances import models_of
from orpipe.build.audit_records import Known
from orpipe.exact import Exact, fraction
from orpipe.ground import ground
from orpipe.mutate import instance_operators, mutant_at, mutants
from orpipe.problem import Problem
from orpipe.proof import binding, unique
from orpipe.proof.iis import subset
from orpipe.proof.ranging import shifted
from orpipe.solve import Label, label

_NODES = 20_000
_TIES = 2_000
_FAR = Fraction(10**6)  # where a rate without an end is looked at
_NEAR = Fraction(1, 1000)  # and how far beyond an end, relative to it: float solvers disagree on what is infeasible by a millionth


class Wrong(Exception):
    """What is not so."""


class Open(Exception):
    """Why a claim is not decided."""


def need(fact: bool, otherwise: str) -> None:
    if not fact:
        raise Wrong(otherwise)


def labelled(problem: Problem) -> Label:
    found = label(problem, nodes=_NODES)
    if not isinstance(found, Label):
        raise Open(f"no label: {found.reason}")
    return found


@dataclass(frozen=True)
class Truth:
    known: Known
    meta: Mapping[str, Any]
    solved: dict[str, Label] = field(default_factory=dict)

    @cached_property
    def model(self) -> Model:
        row = self.known.row
        found = models_of(row["family"]).get(row["structure_hash"])
        if found is None:
            raise Open("no formulation has the structure hash of the instance")
        return found

    @cached_property
    def right(self) -> Problem:
        return ground(self.model, json.loads(self.known.row["data"]))

    @cached_property
    def best(self) -> Fraction:
        if self.known.optimum is None:
            raise Wrong("the instance has no optimum")
        return self.known.optimum

    @cached_property
    def optimal(self) -> list[Fraction]:
        """The plan of the instance."""
        found = {f"{name}[{labels}]" if labels else name: fraction(v) for name, entries in json.loads(self.known.row["solution"]).items()
                 for labels, v in entries.items()}
        return self.point(self.right, found)

    @cached_property
    def wrong(self) -> Problem:
        """Of the mis-modelling that the metadata name."""
        data = json.loads(self.known.row["data"])
        operator, site = self.meta["operator"], self.meta["site"]
        slips = {op.id: op for op in instance_operators()}
        found = (mutant_at(self.model, data, slips[operator], site) if operator in slips
                 else next((m for m in mutants(self.model) if m.operator.id == operator and str(m.site) == site), None))
        if found is None:
            raise Wrong(f"there is no mis-modelling '{operator}' at '{site}'")
        return ground(found.model, found.given(data))

    @cached_property
    def plan(self) -> list[Fraction]:
        """The optimum of the faulty model that the example is about."""
        if "faulty_plan" not in self.meta:
            raise Wrong("the metadata hold no plan of the faulty model")
        return self.point(self.wrong, {k: fraction(v) for k, v in self.meta["faulty_plan"].items()})

    @property
    def reported(self) -> Fraction:
        value = self.meta["faulty_objective"]
        if value is None:
            raise Wrong("the metadata hold no optimum of the faulty model")
        return Fraction(value)

    @staticmethod
    def point(problem: Problem, values: Mapping[str, Fraction]) -> list[Fraction]:
        try:
            return problem.point(values)
        except KeyError as name:
            raise Wrong(f"a plan names the unknown column {name}") from None

    def of(self, key: str, problem: Problem) -> Label:
        if key not in self.solved:
            self.solved[key] = labelled(problem)
        return self.solved[key]

    def faulty(self) -> None:
        """Status, optimum and plan of the faulty model."""
        found = self.of("wrong", self.wrong)
        need(found.status == self.meta["faulty_status"], f"the faulty model is {found.status}, the metadata say {self.meta['faulty_status']}")
        if found.status == "optimal":
            need(found.objective_exact is not None and gates.near(self.reported, found.objective_exact),
                  f"its optimum is {found.objective_exact}, the metadata say {self.reported}")
            if "faulty_plan" in self.meta:
                need(not self.wrong.violations(self.plan), "the plan is not feasible in the faulty model")
                need(self.wrong.objective(self.plan) == self.reported, "the plan has another objective in the faulty model")


Values = Mapping[str, Fraction | None]


def _is(values: Values, **found: Fraction) -> None:
    for key, value in found.items():
        if key in values and values[key] != value:
            raise Wrong(f"'{key}' is {value}, the claim says {values[key]}")


def _breach(t: Truth, at: Sequence[str], values: Values, more: Mapping[str, Any]) -> None:
    broken = t.right.violations(t.plan)
    first = next((v for v in broken if v.where == at[0]), None)
    if first is None:
        raise Wrong(f"the plan does not break '{at[0]}'")
    p, name = t.right, at[0]
    found = {"reported": t.reported, "further": Fraction(len({v.where for v in broken} - {name})), "amount": first.amount}
    if first.rule == "row":
        i = p.rows.index(name)
        found["have"] = _activity(p, t.plan)[i]
        sides = {_side(p.row_lower, p.row_lower_exact, i), _side(p.row_upper, p.row_upper_exact, i)}
    else:
        j = p.column_index[name]
        found["have"] = t.plan[j]
        sides = {_side(p.lower, p.lower_exact, j), _side(p.upper, p.upper_exact, j)}
    _is(values, **found)
    if "limit" in values:
        need(values["limit"] in sides and abs(found["have"] - values["limit"]) == first.amount, f"'{name}' has no such limit")  # type: ignore[operator]


def _refused(t: Truth, at: Sequence[str], values: Values, more: Mapping[str, Any]) -> None:
    need(at[0] in {v.where for v in t.wrong.violations(t.optimal)}, f"the optimal plan does not break '{at[0]}' of the faulty model")


def _worth(t: Truth, at: Sequence[str], values: Values, more: Mapping[str, Any]) -> None:
    need(not t.right.violations(t.plan), "the plan breaks the right model")
    true = t.right.objective(t.plan)
    _is({"gap": Fraction(0), **values}, reported=t.reported, true=true, gap=abs(true - t.best))
    if at:
        _refused(t, at, values, more)


def _better(t: Truth, at: Sequence[str], values: Values, more: Mapping[str, Any], sign: int = 1) -> None:
    better = t.reported > t.best if t.right.maximize else t.reported < t.best
    need(better == (sign > 0), f"{t.reported} is {'' if better else 'not '}better than {t.best}")


def _worse(t: Truth, at: Sequence[str], values: Values, more: Mapping[str, Any]) -> None:
    _better(t, at, values, more, -1)


def _exists(t: Truth, at: Sequence[str], values: Values, more: Mapping[str, Any]) -> None:
    need(not t.right.violations(t.optimal), "the plan of the instance is not feasible")


def _bounded(t: Truth, at: Sequence[str], values: Values, more: Mapping[str, Any]) -> None:
    need(t.of("right", t.right).objective_exact == t.best, "the right model has another outcome")


def _growth(t: Truth, at: Sequence[str], values: Values, more: Mapping[str, Any]) -> None:
    p = t.wrong
    step = t.point(p, {k: Fraction(v) for k, v in more["step"].items()})
    for moves, lower, upper, names in ((step, p.lower, p.upper, p.columns), (_activity(p, step), p.row_lower, p.row_upper, p.rows)):
        for d, lo, hi, name in zip(moves, lower, upper, names, strict=True):
            need(not (d < 0 and np.isfinite(lo)) and not (d > 0 and np.isfinite(hi)), f"'{name}' stops the growth")
    gain = p.objective(step) - p.offset
    need(gain > 0 if p.maximize else gain < 0, "the growth does not improve the objective")
    moving = [j for j, d in enumerate(step) if d and p.decision[j]]
    need(set(at) <= {p.columns[j] for j in moving}, f"{', '.join(at)} does not grow")
    if "gain" in values:
        need([p.columns[j] for j in moving] == list(at), f"{len(moving)} decisions move")
        _is(values, gain=abs(gain), **{f"step{k}": step[j] for k, j in enumerate(moving)})


def _conflict(t: Truth, at: Sequence[str], values: Values, more: Mapping[str, Any]) -> None:
    irreducible_rows(t.wrong, at)


def irreducible_rows(problem: Problem, names: Sequence[str]) -> None:
    """Wrong unless these rows exclude each other within the bounds of the variables, and no fewer do."""
    index = {name: i for i, name in enumerate(problem.rows)}
    need(set(names) <= set(index), "a conflict names an unknown row")
    blank = replace(problem, cost_exact=Exact(np.zeros(problem.n_vars, np.int64)), offset=Fraction(0))
    rows = [index[name] for name in names]
    need(labelled(subset(blank, rows)).status == "infeasible", "the rows do not exclude each other")
    for k, name in enumerate(names):
        need(labelled(subset(blank, rows[:k] + rows[k + 1:])).status == "optimal", f"the conflict does not need '{name}'")


def _unavoidable(t: Truth, at: Sequence[str], values: Values, more: Mapping[str, Any]) -> None:
    p, j = t.right, t.right.column_index[at[0]]
    high, floats = p.upper_exact.fractions(), p.upper.copy()
    high[j], floats[j] = Fraction(0), 0.0
    need(bool(p.upper[j]), f"'{at[0]}' is 0 anyway")
    _is(values, forced=Fraction(0))
    irreducible_rows(replace(p, upper=floats, upper_exact=Exact.of(np.array(high, dtype=object))), at[1:])


def _conflicting(t: Truth) -> Problem:
    return t.wrong if "operator" in t.meta else t.right


def _adds_up(t: Truth, at: Sequence[str], values: Values, more: Mapping[str, Any]) -> None:
    p = _conflicting(t)
    signs = {p.rows.index(name): int(s) for name, s in more["signs"].items()}
    need({p.rows[i] for i in signs} == set(at), "other rows are added up")
    asked = sum((_finite(p.row_lower, p.row_lower_exact, i) for i, s in signs.items() if s > 0), Fraction(0))
    allowed = sum((_finite(p.row_upper, p.row_upper_exact, i) for i, s in signs.items() if s < 0), Fraction(0))
    total = [Fraction(0)] * p.n_vars
    entries = p.matrix_exact.fractions()
    for i, s in signs.items():
        for k in range(p.matrix.indptr[i], p.matrix.indptr[i + 1]):
            total[p.matrix.indices[k]] += s * entries[k]
    most = sum((a * _finite(*((p.upper, p.upper_exact) if a > 0 else (p.lower, p.lower_exact)), j) for j, a in enumerate(total) if a), Fraction(0))
    need(most < asked - allowed, "the sum is no contradiction")
    _is(values, asked=asked, allowed=allowed, most=most)
    need("most" in values or most == 0, "the sum takes bounds that the sentence leaves out")


def _falls_short(t: Truth, at: Sequence[str], values: Values, more: Mapping[str, Any]) -> None:
    p = _conflicting(t)
    i = p.rows.index(at[0])
    others = subset(p, [p.rows.index(name) for name in at[1:]])
    cost = [Fraction(0)] * p.n_vars
    entries = p.matrix_exact.fractions()
    for k in range(p.matrix.indptr[i], p.matrix.indptr[i + 1]):
        cost[p.matrix.indices[k]] = entries[k]
    up = bool(more["maximize"])
    found = labelled(replace(others, cost_exact=Exact.of(np.array(cost, dtype=object)), offset=Fraction(0), maximize=up)).objective_exact
    due = _side(*((p.row_lower, p.row_lower_exact) if up else (p.row_upper, p.row_upper_exact)), i)
    if found is None or due is None:
        raise Wrong(f"'{at[0]}' has no such limit")
    need(found < due if up else found > due, f"'{at[0]}' can hold")
    _is(values, best=found, due=due, gap=abs(due - found))


def _explained(t: Truth, at: Sequence[str], values: Values, more: Mapping[str, Any]) -> None:
    a, b, i = t.right, t.wrong, t.right.rows.index(at[0])
    priced = json.loads(t.known.row["duals"] or '{"rows": {}}')["rows"]
    shift = _moved(a, b, i)
    price = fraction(priced.get(at[0], 0))
    change = t.reported - t.best
    _is(values, price=price, shift=shift, change=change, due=price * shift)
    rest = [j for j in range(a.n_rows) if j != i and _moved(a, b, j)]
    need(not any(fraction(priced.get(a.rows[j], 0)) for j in rest), "another changed row has a shadow price")
    need((a.matrix != b.matrix).nnz == 0 and bool((a.cost == b.cost).all()), "more than right-hand sides differ")
    if "due" not in values:
        need(price * shift == change, "the shadow price does not account for the difference")
    else:
        need(price * shift != change, "the shadow price accounts for the difference")
        reach = values["reach"]
        assert reach is not None
        _rate(a, t.best, i, price, reach if shift > 0 else -reach)


def _moved(a: Problem, b: Problem, i: int) -> Fraction:
    sides = [((p.row_upper, p.row_upper_exact) if np.isfinite(a.row_upper[i]) else (p.row_lower, p.row_lower_exact)) for p in (a, b)]
    return _finite(*sides[1], i) - _finite(*sides[0], i)


def _price(t: Truth, at: Sequence[str], values: Values, more: Mapping[str, Any]) -> None:
    i, price, step = t.right.rows.index(at[0]), values["price"], values["step"]
    assert price is not None and step is not None
    _is(values, optimum=t.best + price * step)
    for sign, key in ((1, "up"), (-1, "down")):
        end = values[key]
        _rate(t.right, t.best, i, price, None if end is None else sign * end, sign)
        need(sign * step < 0 or end is None or abs(step) <= end, "the step is beyond the range")


def _rate(problem: Problem, best: Fraction, i: int, price: Fraction, end: Fraction | None, sign: int = 1) -> None:
    """The optimum moves at the rate up to the end, and at another one (or not at all) just beyond it."""
    if end is None:
        far = sign * _FAR
        need(labelled(shifted(problem, i, far)).objective_exact == best + price * far, f"the rate does not hold for a step of {far}")
        return
    need(labelled(shifted(problem, i, end)).objective_exact == best + price * end, f"the rate does not hold for a step of {end}")
    beyond = end + (sign if not end else 1 if end > 0 else -1) * max(abs(end), Fraction(1)) * _NEAR
    need(labelled(shifted(problem, i, beyond)).objective_exact != best + price * beyond, f"the rate holds beyond a step of {end}")


def _dual_bound(t: Truth, at: Sequence[str], values: Values, more: Mapping[str, Any]) -> None:
    i, price, step = t.right.rows.index(at[0]), values["price"], values["step"]
    assert price is not None and step is not None
    found = labelled(shifted(t.right, i, step)).objective_exact
    if found is None:
        raise Wrong("no plan is left after the step")
    _is(values, optimum=found, bound=t.best + price * step)
    need(price == fraction(json.loads(t.known.row["duals"])["rows"].get(at[0], 0)), "the instance has another dual")


def _held(t: Truth, at: Sequence[str], values: Values, more: Mapping[str, Any]) -> None:
    p = t.wrong
    A = p.matrix
    alive = {p.rows[i] for i in np.flatnonzero(p.row_lower != p.row_upper) if any(t.plan[j] for j in A.indices[A.indptr[i]:A.indptr[i + 1]].tolist())}
    tight = set(binding(p, t.plan)) & alive
    need(tight == set(at), f"{', '.join(sorted(tight)) or 'none'} binding")
    _is(values, others=Fraction(len(alive) - len(tight)))


def _only(t: Truth, at: Sequence[str], values: Values, more: Mapping[str, Any]) -> None:
    found = unique(t.wrong, _as_label(t), _TIES)
    if found == "unknown":
        raise Open("whether the optimum of the faulty model is the only one")
    need(found == "unique", "the optimum of the faulty model is not the only one")


def _as_label(t: Truth) -> Label:
    return replace(t.of("wrong", t.wrong), point=tuple(t.plan), objective=float(t.reported), objective_exact=t.reported)


def _shared(t: Truth, at: Sequence[str], values: Values, more: Mapping[str, Any]) -> None:
    need(not t.wrong.violations(t.optimal) and t.wrong.objective(t.optimal) == t.reported == t.best, "the right plan is none of the faulty model")


def _ties(t: Truth, at: Sequence[str], values: Values, more: Mapping[str, Any]) -> None:
    """With the decisions that are named at their other values the optimum is the same."""
    p = t.wrong
    low, high, floats = p.lower_exact.fractions(), p.upper_exact.fractions(), (p.lower.copy(), p.upper.copy())
    for k, name in enumerate(at):
        j, new = p.column_index[name], values[f"new{k}"]
        assert new is not None
        _is(values, **{f"old{k}": t.plan[j]})
        need(new != t.plan[j], f"'{name}' does not change")
        low[j] = high[j] = new
        for side in floats:
            side[j] = float(new)
    need(bool(at), "no decision is named")
    exact = [Exact.of(np.array(side, dtype=object)) for side in (low, high)]
    other = replace(p, lower=floats[0], upper=floats[1], lower_exact=exact[0], upper_exact=exact[1])
    found = labelled(other)
    need(found.objective_exact == t.reported, f"with the other plan the faulty model is {found.status} {found.objective_exact}")


def _activity(problem: Problem, point: Sequence[Fraction]) -> list[Fraction]:
    p, entries = problem, problem.matrix_exact.fractions()
    return [sum((entries[k] * point[p.matrix.indices[k]] for k in range(p.matrix.indptr[i], p.matrix.indptr[i + 1])), start=Fraction(0))
            for i in range(p.n_rows)]


def _side(floats: np.ndarray, exact: Exact, k: int) -> Fraction | None:
    return Fraction(int(exact.num[k]), exact.den) if np.isfinite(floats[k]) else None


def _finite(floats: np.ndarray, exact: Exact, k: int) -> Fraction:
    found = _side(floats, exact, k)
    if found is None:
        raise Wrong("a side that the claim takes is infinite")
    return found


CHECKS: Mapping[str, Callable[[Truth, Sequence[str], Values, Mapping[str, Any]], None]] = {
    "breach": _breach, "refused": _refused, "worth": _worth, "better": _better, "worse": _worse, "plan exists": _exists, "bounded": _bounded,
    "growth": _growth, "conflict": _conflict, "adds up": _adds_up, "falls short": _falls_short, "explained": _explained, "price": _price,
    "dual bound": _dual_bound, "held": _held, "only": _only, "ties": _ties, "shared": _shared, "unavoidable": _unavoidable,
}
