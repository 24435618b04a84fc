"""The static contract, checked when a model is built.  Each refusal names the model and the row.

Checked: every name declared once and used; indices known, bound and over the right set; shifts only along ordered sets;
products linear; units equal on both sides of every row, in every sum and across objective terms; senses and signs not
contradictory (a row that data of the declared signs can never or always satisfy; an objective that nothing holds).
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

from orpipe.algebra import nodes as n
from orpipe.algebra.idioms import lower
from orpipe.algebra.text import condition_text, expr_text
from orpipe.algebra.units import same, unit
from orpipe.errors import ModelError

Sign = Literal["zero", "nonnegative", "nonpositive", "any"]


def check_model(model: n.Model) -> None:
    """Raises ModelError with one line on the first breach."""
    _Check(model).names()
    linear = lower(model)
    check = _Check(linear)
    check.names()
    check.declarations()
    check.rows()
    check.objective()
    check.usage()
    check.senses()


class _Check:
    def __init__(self, model: n.Model):
        self.model = model
        self.used: set[str] = set()

    def fail(self, where: str, message: str) -> ModelError:
        return ModelError(f"model '{self.model.name}', {where}: {message}")

    def names(self) -> None:
        m = self.model
        for kind, names in (
            ("symbol", [d.symbol for d in (*m.sets, *m.params, *m.variables)]),
            ("code name", [d.name for d in (*m.sets, *m.params, *m.variables)]),
            ("row", [r.name for r in m.rows] + [i.name for i in m.idioms]),
            ("objective term", [t.name for t in m.objective.terms]),
        ):
            for name, count in Counter(names).items():
                if count > 1:
                    raise self.fail(f"{kind} '{name}'", "declared twice; rename one")
                if not name.isidentifier():
                    raise self.fail(f"{kind} '{name}'", "must be an identifier (letters, digits, underscores)")

    def declarations(self) -> None:
        m = self.model
        for s in m.sets:
            scope = self.scope(s.over, f"set {s.symbol}")
            if s.where is not None:
                self.condition(s.where, scope, f"set {s.symbol}")
        for p in m.params:
            self.domain(p.indices, p.domain, f"parameter {p.symbol}")
            unit(p.unit, f"model '{m.name}', parameter {p.symbol}")
        for v in m.variables:
            where = f"variable {v.symbol}"
            scope = self.domain(v.indices, v.domain, where)
            for bound in (v.lower, v.upper):
                if bound is not None:
                    self.data_only(bound, where)
                    have = self.units(bound, scope, where)
                    if have is not None and v.kind != "binary" and not same(have, unit(v.unit, where)):
                        raise self.fail(where, f"bound {expr_text(bound)} is in [{have.units}], the variable in [{v.unit}]")
            for d in (v,):
                if not d.meaning:
                    raise self.fail(where, "has no meaning in words")

    def scope(self, indices: tuple[n.Index, ...], where: str, outer: dict[str, str] | None = None) -> dict[str, str]:
        scope = dict(outer or {})
        for k in indices:
            if k.set not in self.model.set_by:
                raise self.fail(where, f"index {k.name} runs over unknown set '{k.set}'")
            if self.model.set_by[k.set].over:
                raise self.fail(where, f"index {k.name} runs over tuple set '{k.set}'; use one index a component and a condition")
            if k.name in scope:
                raise self.fail(where, f"index {k.name} is bound twice; use another letter")
            scope[k.name] = k.set
        return scope

    def domain(self, indices: tuple[n.Index, ...], domain: str | None, where: str) -> dict[str, str]:
        scope = self.scope(indices, where)
        if domain is not None:
            self.used.add(domain)
            over = self.model.set_by[domain].over if domain in self.model.set_by else ()
            if [k.set for k in over] != [k.set for k in indices]:
                raise self.fail(where, f"its indices do not match the components of domain '{domain}'")
        return scope

    def refs(self, refs: tuple[n.Ref, ...], expected: tuple[n.Index, ...], scope: dict[str, str], where: str, what: str) -> None:
        if len(refs) != len(expected):
            raise self.fail(where, f"{what} takes {len(expected)} indices, not {len(refs)}")
        for ref, index in zip(refs, expected, strict=True):
            self.ref(ref, scope, where)
            if scope[ref.index] != index.set:
                raise self.fail(where, f"index {ref.index} of {what} runs over {scope[ref.index]}, but {index.set} is due")

    def ref(self, ref: n.Ref, scope: dict[str, str], where: str) -> None:
        if ref.index not in scope:
            raise self.fail(where, f"free index '{ref.index}'; bind it in forall or in the sum")
        if ref.shift and not self.model.set_by[scope[ref.index]].ordered:
            raise self.fail(where, f"{ref.index}{ref.shift:+d} shifts along {scope[ref.index]}, which is not ordered")

    def condition(self, cond: n.Cond, scope: dict[str, str], where: str) -> None:
        for part in n.conditions(cond):
            match part:
                case n.Compare(left=a, op=op, right=b):
                    self.ref(a, scope, where)
                    self.ref(b, scope, where)
                    if scope[a.index] != scope[b.index]:
                        raise self.fail(where, f"condition {condition_text(part)} compares elements of different sets")
                case n.Edge(ref=ref):
                    self.ref(ref, scope, where)
                    if not self.model.set_by[scope[ref.index]].ordered:
                        raise self.fail(where, f"condition {condition_text(part)} needs an ordered set")
                case n.Member(refs=refs, set=symbol):
                    if symbol not in self.model.set_by or not self.model.set_by[symbol].over:
                        raise self.fail(where, f"condition {condition_text(part)}: '{symbol}' is not a tuple set")
                    self.used.add(symbol)
                    self.refs(refs, self.model.set_by[symbol].over, scope, where, symbol)
                case n.DataCompare(left=a, right=b):
                    self.data_only(a, where)
                    self.data_only(b, where)
                    ua, ub = self.units(a, scope, where), self.units(b, scope, where)
                    if ua is not None and ub is not None and not same(ua, ub):
                        raise self.fail(where, f"condition {condition_text(part)} compares [{ua.units}] with [{ub.units}]")

    def data_only(self, e: n.Expr, where: str) -> None:
        if n.has_variables(e):
            raise self.fail(where, f"{expr_text(e)} holds a variable where data are due")

    def units(self, e: n.Expr, scope: dict[str, str], where: str) -> Any:
        """Quantity of one unit of `e`, or None for a literal zero (fits anything)."""
        match e:
            case n.Num(value=v):
                return None if v == 0 else unit("1")
            case n.Card(set=s):
                if s not in self.model.set_by:
                    raise self.fail(where, f"|{s}| of an unknown set")
                return unit("1")
            case n.ParamRef(param=p, refs=refs):
                if p not in self.model.param_by:
                    raise self.fail(where, f"unknown parameter '{p}'")
                self.used.add(p)
                self.refs(refs, self.model.param_by[p].indices, scope, where, p)
                return unit(self.model.param_by[p].unit, where)
            case n.VarRef(var=v, refs=refs):
                if v not in self.model.var_by:
                    raise self.fail(where, f"unknown variable '{v}'")
                self.used.add(v)
                self.refs(refs, self.model.var_by[v].indices, scope, where, v)
                return unit(self.model.var_by[v].unit, where)
            case n.Neg(arg=a):
                return self.units(a, scope, where)
            case n.Add(terms=terms):
                found = None
                for t in terms:
                    u = self.units(t, scope, where)
                    if found is not None and u is not None and not same(found, u):
                        raise self.fail(where, f"{expr_text(e)} adds [{found.units}] and [{u.units}]")
                    found = found if u is None else u
                return found
            case n.Mul(left=a, right=b):
                if n.has_variables(a) and n.has_variables(b):
                    raise self.fail(where, f"{expr_text(e)} multiplies variables; the model must be linear")
                ua, ub = self.units(a, scope, where), self.units(b, scope, where)
                return None if ua is None or ub is None else ua * ub
            case n.Div(left=a, right=b):
                if n.has_variables(b):
                    raise self.fail(where, f"{expr_text(e)} divides by a variable; the model must be linear")
                ua, ub = self.units(a, scope, where), self.units(b, scope, where)
                if ub is None:
                    raise self.fail(where, f"{expr_text(e)} divides by zero")
                return None if ua is None else ua / ub
            case n.Sum(indices=indices, where=cond, body=body):
                inner = self.scope(indices, where, scope)
                if cond is not None:
                    self.condition(cond, inner, where)
                return self.units(body, inner, where)
        raise AssertionError(e)

    def rows(self) -> None:
        for r in self.model.rows:
            where = f"row {r.name}"
            scope = self.scope(r.forall, where)
            if r.where is not None:
                self.condition(r.where, scope, where)
            left, right = self.units(r.left, scope, where), self.units(r.right, scope, where)
            if left is not None and right is not None and not same(left, right):
                raise self.fail(where, f"left side is in [{left.units}], right side in [{right.units}]")
            if not n.has_variables(r.left) and not n.has_variables(r.right):
                raise self.fail(where, "holds no variable")
            if not r.because:
                raise self.fail(where, "has no meaning in words (because=...)")
            if r.tightened_by and r.tightened_by not in self.model.param_by:
                raise self.fail(where, f"tightened_by names unknown parameter '{r.tightened_by}'")

    def objective(self) -> None:
        found = None
        for t in self.model.objective.terms:
            where = f"objective term {t.name}"
            u = self.units(t.expr, {}, where)
            if found is not None and u is not None and not same(found, u):
                raise self.fail(where, f"is in [{u.units}], the terms before it in [{found.units}]")
            found = found if u is None else u
            if not t.meaning:
                raise self.fail(where, "has no meaning in words")

    def usage(self) -> None:
        for kind, declared in (("parameter", self.model.params), ("variable", self.model.variables)):
            for d in declared:
                if d.symbol not in self.used:
                    raise self.fail(f"{kind} {d.symbol}", "is declared and never used")

    # -- signs
    def sign(self, e: n.Expr) -> Sign:
        match e:
            case n.Num(value=v):
                return "zero" if v == 0 else "nonnegative" if v > 0 else "nonpositive"
            case n.Card():
                return "nonnegative"
            case n.ParamRef(param=p):
                return "any" if self.model.param_by[p].sign == "any" else "nonnegative"
            case n.VarRef(var=v):
                low = self.model.var_by[v].lower
                return "nonnegative" if low is not None and self.sign(low) in ("zero", "nonnegative") else "any"
            case n.Neg(arg=a):
                return {"zero": "zero", "nonnegative": "nonpositive", "nonpositive": "nonnegative", "any": "any"}[self.sign(a)]  # type: ignore[return-value]
            case n.Add(terms=terms):
                signs = {self.sign(t) for t in terms} - {"zero"}
                return signs.pop() if len(signs) == 1 else "any" if signs else "zero"
            case n.Mul(left=a, right=b) | n.Div(left=a, right=b):
                sa, sb = self.sign(a), self.sign(b)
                if "zero" in (sa, sb):
                    return "zero"
                return "any" if "any" in (sa, sb) else "nonnegative" if sa == sb else "nonpositive"
            case n.Sum(body=body):
                return self.sign(body)
        raise AssertionError(e)

    def senses(self) -> None:
        m = self.model
        for r in m.rows:
            left, right = self.sign(r.left), self.sign(r.right)
            if r.relation == "<=" and left in ("nonpositive", "zero") and right in ("nonnegative", "zero"):
                raise self.fail(f"row {r.name}", "always holds (a nonpositive side below a nonnegative one); check the relation")
            if r.relation == ">=" and left in ("nonnegative", "zero") and right in ("nonpositive", "zero"):
                raise self.fail(f"row {r.name}", "always holds (a nonnegative side above a nonpositive one); check the relation")
            low, high = (r.left, r.right) if r.relation == "<=" else (r.right, r.left)
            if r.relation != "=" and isinstance(high, n.Num) and high.value < 0 and self.sign(low) == "nonnegative":
                raise self.fail(f"row {r.name}", "can never hold (a nonnegative side below a negative number)")
        pulls: dict[str, set[int]] = {}
        for t in m.objective.terms:
            self.pull(t.expr, 1 if m.objective.sense == "minimize" else -1, pulls)
        if all(p == {1} for p in pulls.values()) and all(
                self.sign(n.VarRef(v)) == "nonnegative" and _is_zero(m.var_by[v].lower) for v in pulls) and self.zero_is_feasible():
            raise self.fail("objective", "nothing in the rows keeps it above zero: minimised with all quantities at 0; check senses and relations")
        for v in pulls:
            if pulls[v] == {-1} and m.var_by[v].upper is None and not self.held(v):
                raise self.fail("objective", f"'{v}' is rewarded and no row or bound limits it from above; check senses and relations")

    def pull(self, e: n.Expr, direction: int, out: dict[str, set[int]]) -> None:
        """Direction in which each variable worsens the objective: 1 up, -1 down, 0 unknown."""
        match e:
            case n.VarRef(var=v):
                out.setdefault(v, set()).add(direction)
            case n.Neg(arg=a):
                self.pull(a, -direction, out)
            case n.Add(terms=terms):
                for t in terms:
                    self.pull(t, direction, out)
            case n.Sum(body=body):
                self.pull(body, direction, out)
            case n.Mul(left=a, right=b) | n.Div(left=a, right=b):
                data, rest = (a, b) if not n.has_variables(a) else (b, a)
                if n.has_variables(rest):
                    s = self.sign(data)
                    self.pull(rest, direction if s == "nonnegative" else -direction if s == "nonpositive" else 0, out)

    def zero_is_feasible(self) -> bool:
        """True if every row is seen, by signs alone, to hold with all variables at 0."""
        def constant(e: n.Expr) -> Sign:
            return self.sign(n.rebuild(e, lambda x: n.ZERO if isinstance(x, n.VarRef) else x))

        for r in self.model.rows:
            left, right = constant(r.left), constant(r.right)
            ok = (left == "zero" == right) if r.relation == "=" else (
                left in ("zero", "nonpositive") and right in ("zero", "nonnegative") if r.relation == "<="
                else left in ("zero", "nonnegative") and right in ("zero", "nonpositive"))
            if not ok:
                return False
        return all(v.lower is None or self.sign(v.lower) in ("zero", "nonpositive") for v in self.model.variables)

    def held(self, var: str) -> bool:
        """Does any row limit `var` from above (or possibly so)?"""
        for r in self.model.rows:
            if r.relation == "=" and any(isinstance(x, n.VarRef) and x.var == var for side in (r.left, r.right) for x in n.walk(side)):
                return True
            pulls: dict[str, set[int]] = {}
            self.pull(r.left, 1 if r.relation == "<=" else -1, pulls)
            self.pull(r.right, -1 if r.relation == "<=" else 1, pulls)
            if var in pulls and pulls[var] != {-1}:
                return True
        return False


def _is_zero(e: n.Expr | None) -> bool:
    return isinstance(e, n.Num) and e.value == 0
