"""The static contract, checked when a model is built.  Each refusal names the model and the row.

Checked: every name an identifier, declared once and used; words for everything; indices known, bound and over the right
set; shifts only along ordered sets; products linear; units equal on both sides of every row, in every sum and across
the objective; senses and signs not contradictory (a row that data of the declared signs can never or always satisfy, an
objective that nothing holds).  Idioms are checked in each of their reformulations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from keyword import iskeyword
from typing import Any

from orpipe.algebra import nodes as n
from orpipe.algebra.idioms import available, lower
from orpipe.algebra.signs import Signs
from orpipe.algebra.text import RESERVED, condition_text, expr_text
from orpipe.algebra.units import same, unit
from orpipe.errors import ModelError


def check_model(model: n.Model) -> None:
    """Raises ModelError with one line on the first breach."""
    _Check(model).names()
    check = _Check(lower(model))
    check.structure()
    check.usage()
    check.senses()
    for idiom in model.idioms:
        for other in available(idiom):
            if other != idiom.default:
                _Check(lower(model, {idiom.name: other})).structure()


class _Check:
    def __init__(self, model: n.Model):
        self.model = model
        self.used: set[str] = set()

    def fail(self, where: str, message: str) -> ModelError:
        return ModelError(f"model '{self.model.name}', {where}: {message}")

    def names(self) -> None:
        m = self.model
        declared: list[Any] = [*m.sets, *m.params, *m.variables]
        for kind, names in (
            ("symbol", [d.symbol for d in declared]),
            ("code name", [d.name for d in declared]),
            ("row", [r.name for r in m.rows] + [i.name for i in m.idioms]),
            ("objective term", [t.name for t in m.objective.terms]),
        ):
            for name, count in Counter(names).items():
                if count > 1:
                    raise self.fail(f"{kind} '{name}'", "declared twice; rename one")
                if not name.isidentifier() or iskeyword(name):
                    raise self.fail(f"{kind} '{name}'", "must be an identifier, and no word of Python")
                if kind == "symbol" and name in RESERVED:
                    raise self.fail(f"{kind} '{name}'", "is a word of the plain-text form; choose another")
        taken = {x for d in declared for x in (d.symbol, d.name)} | RESERVED
        for where, k in self.indices():
            if k.name in taken or not k.name.isidentifier() or iskeyword(k.name):
                raise self.fail(where, f"index '{k.name}' is a name in use or no identifier; use another letter")

    def indices(self) -> Iterator[tuple[str, n.Index]]:
        """Every binding of an index, with its place."""
        m = self.model
        for kind, declared in (("set", m.sets), ("parameter", m.params), ("variable", m.variables)):
            for d in declared:
                yield from ((f"{kind} {d.symbol}", k) for k in (d.over if isinstance(d, n.SetDecl) else d.indices))
        places: list[tuple[str, n.Expr | n.Cond | None]] = [(f"set {s.symbol}", s.where) for s in m.sets]
        places += [(f"objective term {t.name}", t.expr) for t in m.objective.terms]
        for r in m.rows:
            yield from ((f"row {r.name}", k) for k in r.forall)
            places += [(f"row {r.name}", e) for e in (r.where, r.left, r.right)]
        for where, e in places:
            yield from ((where, k) for node in n.walk(e) if isinstance(node, n.Sum) for k in node.indices)

    def structure(self) -> None:
        self.names()
        self.declarations()
        self.rows()
        self.objective()

    def words(self, where: str, text: str, what: str = "meaning") -> None:
        if not text.strip():
            raise self.fail(where, f"has no {what} in words")
        if text != " ".join(text.split()):
            raise self.fail(where, f"its {what} must be one line without spare spaces")

    def declarations(self) -> None:
        m = self.model
        for s in m.sets:
            where = f"set {s.symbol}"
            self.words(where, s.noun, "noun")
            self.words(where, s.plural, "plural")
            scope = self.scope(s.over, where)
            if s.where is not None:
                self.condition(s.where, scope, where)
                self.order(s, where)
        for p in m.params:
            where = f"parameter {p.symbol}"
            self.domain(p.indices, p.domain, where)
            unit(p.unit, f"model '{m.name}', {where}")
            self.words(where, p.meaning)
        for v in m.variables:
            where = f"variable {v.symbol}"
            scope = self.domain(v.indices, v.domain, where)
            for bound in (v.lower, v.upper):
                if bound is not None:
                    self.data_only(bound, where)
                    have = self.units(bound, scope, where)
                    if have is not None and v.kind != "binary" and not same(have, unit(v.unit, where)):
                        raise self.fail(where, f"bound {expr_text(bound)} is in [{have.units}], not in [{v.unit}]")
            unit(v.unit, f"model '{m.name}', {where}")
            self.words(where, v.meaning)

    def order(self, s: n.SetDecl, where: str) -> None:
        """A set by condition stands on data, and on sets by condition declared before it."""
        symbols = [d.symbol for d in self.model.sets]
        for node in n.walk(s.where):
            is_param = isinstance(node, n.ParamRef)
            used = self.model.param_by[node.param].domain if is_param else getattr(node, "set", None)  # type: ignore[union-attr]
            domain = self.model.set_by.get(used or "")
            if domain and domain.derived and symbols.index(domain.symbol) >= symbols.index(s.symbol):
                raise self.fail(where, f"its condition stands on '{used}', which must be declared before it")

    def scope(self, indices: tuple[n.Index, ...], where: str, outer: dict[str, str] | None = None) -> dict[str, str]:
        scope = dict(outer or {})
        for k in indices:
            self.used.add(k.set)
            if k.set not in self.model.set_by:
                raise self.fail(where, f"index {k.name} runs over unknown set '{k.set}'")
            if self.model.set_by[k.set].over:
                raise self.fail(where, f"index {k.name} runs over tuple set '{k.set}'; use an index for each component "
                                       "and a condition")
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

    def refs(self, refs: tuple[n.Ref, ...], expected: tuple[n.Index, ...], scope: dict[str, str], where: str,
             what: str) -> None:
        if len(refs) != len(expected):
            raise self.fail(where, f"{what} takes {len(expected)} indices, not {len(refs)}")
        for ref, index in zip(refs, expected, strict=True):
            self.ref(ref, scope, where)
            if scope[ref.index] != index.set:
                over = scope[ref.index]
                raise self.fail(where, f"index {ref.index} of {what} runs over {over}, but {index.set} is due")

    def ref(self, ref: n.Ref, scope: dict[str, str], where: str) -> None:
        if ref.index not in scope:
            raise self.fail(where, f"free index '{ref.index}'; bind it in forall or in the sum")
        if ref.shift and not self.model.set_by[scope[ref.index]].ordered:
            raise self.fail(where, f"{ref.index}{ref.shift:+d} shifts along {scope[ref.index]}, which is not ordered")

    def condition(self, cond: n.Cond, scope: dict[str, str], where: str) -> None:
        for part in n.conditions(cond):
            match part:
                case n.Compare(left=a, right=b):
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
                        units = f"[{ua.units}] with [{ub.units}]"
                        raise self.fail(where, f"condition {condition_text(part)} compares {units}")

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
                self.used.add(s)
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
                if not indices:
                    raise self.fail(where, f"{expr_text(e)} sums over no index")
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
                if not r.forall:
                    raise self.fail(where, "has a condition but no index; state it for all indices it is meant for")
                self.condition(r.where, scope, where)
            left, right = self.units(r.left, scope, where), self.units(r.right, scope, where)
            if left is not None and right is not None and not same(left, right):
                raise self.fail(where, f"left side is in [{left.units}], right side in [{right.units}]")
            if not n.has_variables(r.left) and not n.has_variables(r.right):
                raise self.fail(where, "holds no variable")
            self.words(where, r.because, "reason (because=...)")
            if r.tightened_by and r.tightened_by not in self.model.param_by and r.tightened_by not in self.model.set_by:
                raise self.fail(where, f"tightened_by names unknown parameter or set '{r.tightened_by}'")

    def objective(self) -> None:
        found = None
        for t in self.model.objective.terms:
            where = f"objective term {t.name}"
            u = self.units(t.expr, {}, where)
            if found is not None and u is not None and not same(found, u):
                raise self.fail(where, f"is in [{u.units}], the terms before it in [{found.units}]")
            found = found if u is None else u
            self.words(where, t.meaning)
        if not any(n.has_variables(t.expr) for t in self.model.objective.terms):
            raise self.fail("objective", "holds no variable")

    def usage(self) -> None:
        m = self.model
        for kind, declared in (("parameter", m.params), ("variable", m.variables), ("set", m.sets)):
            for d in declared:
                if d.symbol not in self.used:
                    raise self.fail(f"{kind} {d.symbol}", "is declared and never used")

    def senses(self) -> None:
        m, signs, check = self.model, Signs(self.model), "check senses and relations"
        for r in m.rows:
            if signs.always(r):
                raise self.fail(f"row {r.name}", "always holds, by the signs of its sides; check the relation")
            if signs.never(r):
                raise self.fail(f"row {r.name}", "can never hold, by the signs of its sides; check the relation")
        worse = signs.worse()
        at_zero = all(d == {1} and m.var_by[v].lower == n.ZERO for v, d in worse.items())
        if at_zero and signs.zero_is_feasible():
            raise self.fail("objective", f"is best with all quantities at 0, which no row forbids; {check}")
        for v, found in worse.items():
            if found == {-1} and m.var_by[v].upper is None and not signs.held(v, 1):
                raise self.fail("objective", f"'{v}' is rewarded and no row or bound limits it from above; {check}")
            if found == {1} and m.var_by[v].lower is None and not signs.held(v, -1):
                raise self.fail("objective", f"'{v}' is charged and no row or bound limits it from below; {check}")
