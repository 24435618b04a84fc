"""What is known of signs from declarations alone: of expressions, of rows, of the pull of the objective.

A sign is the set of values out of -1, 0, 1 that an expression may take for some data and some point within the bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from orpipe.algebra import nodes as n

Sign = frozenset[int]
ANY: Sign = frozenset({-1, 0, 1})
_PARAM: dict[str, Sign] = {"nonnegative": frozenset({0, 1}), "positive": frozenset({1}), "any": ANY}


class Signs:
    """Signs under the declarations of one linear model."""

    def __init__(self, model: n.Model):
        self.model = model

    def of(self, e: n.Expr) -> Sign:
        match e:
            case n.Num(value=v):
                return frozenset({(v > 0) - (v < 0)})
            case n.Card():
                return frozenset({1})
            case n.ParamRef(param=p):
                return _PARAM[self.model.param_by[p].sign]
            case n.VarRef(var=v):
                decl = self.model.var_by[v]
                low = ANY if decl.lower is None else self.of(decl.lower)
                high = ANY if decl.upper is None else self.of(decl.upper)
                return frozenset(s for s in ANY if min(low) <= s <= max(high))
            case n.Neg(arg=a):
                return frozenset(-s for s in self.of(a))
            case n.Add(terms=terms):
                total = self.of(terms[0])
                for t in terms[1:]:
                    total = _added(total, self.of(t))
                return total
            case n.Mul(left=a, right=b):
                return frozenset(s * t for s in self.of(a) for t in self.of(b))
            case n.Div(left=a, right=b):
                return frozenset(s * t for s in self.of(a) for t in self.of(b) - {0}) or ANY
            case n.Sum(body=body):  # may be empty
                return _added(self.of(body), self.of(body)) | {0}
        raise AssertionError(e)

    def at_zero(self, e: n.Expr) -> Sign:
        """The sign with every variable at 0."""
        return self.of(n.rebuild(e, lambda x: n.ZERO if isinstance(x, n.VarRef) else x))

    # -- rows
    def always(self, r: n.Row) -> bool:
        return _surely(self.of(r.left), r.relation, self.of(r.right))

    def never(self, r: n.Row) -> bool:
        left, right = self.of(r.left), self.of(r.right)
        above, below = min(left) > max(right), max(left) < min(right)
        return above if r.relation == "<=" else below if r.relation == ">=" else above or below

    def zero_is_feasible(self) -> bool:
        """True if all rows and bounds are seen to hold with all variables at 0."""
        rows = all(_surely(self.at_zero(r.left), r.relation, self.at_zero(r.right)) for r in self.model.rows)
        bounds = all((v.lower is None or max(self.of(v.lower)) <= 0) and (v.upper is None or min(self.of(v.upper)) >= 0)
                     for v in self.model.variables)
        return rows and bounds

    # -- pulls
    def pulls(self, e: n.Expr, direction: int) -> Iterator[tuple[str, int]]:
        """(variable, s) for each place of a variable in `e`: s is `direction` where `e` rises with it, the opposite
        where it falls, 0 where the data decide."""
        match e:
            case n.VarRef(var=v):
                yield v, direction
            case n.Neg(arg=a):
                yield from self.pulls(a, -direction)
            case n.Add(terms=terms):
                for t in terms:
                    yield from self.pulls(t, direction)
            case n.Sum(body=body):
                yield from self.pulls(body, direction)
            case n.Mul(left=a, right=b) if n.has_variables(b):
                yield from self.pulls(b, direction * self._factor(a))
            case n.Mul(left=a, right=b) | n.Div(left=a, right=b) if n.has_variables(a):
                yield from self.pulls(a, direction * self._factor(b))

    def _factor(self, data: n.Expr) -> int:
        s = self.of(data)
        return 1 if min(s) >= 0 else -1 if max(s) <= 0 else 0

    def worse(self) -> dict[str, set[int]]:
        """Variable -> directions in which it worsens the objective: 1 growing, -1 falling, 0 the data decide."""
        sense = 1 if self.model.objective.sense == "minimize" else -1
        return _gather(p for t in self.model.objective.terms for p in self.pulls(t.expr, sense))

    def held(self, var: str, direction: int) -> bool:
        """May any row keep `var` from growing (1) or falling (-1)?"""
        for r in self.model.rows:
            sign = -1 if r.relation == ">=" else 1
            found = _gather([*self.pulls(r.left, sign), *self.pulls(r.right, -sign)]).get(var)
            if found and (r.relation == "=" or found != {-direction}):
                return True
        return False


def _added(a: Sign, b: Sign) -> Sign:
    return frozenset(r for s in a for t in b for r in (ANY if s * t < 0 else (max(s, t) if s + t > 0 else min(s, t),)))


def _surely(left: Sign, relation: n.Relation, right: Sign) -> bool:
    """Does the relation hold whatever the values?  Only 0 separates: -2 <= -1 is not told by signs."""
    if relation == "=":
        return left == right == {0}
    low, high = (left, right) if relation == "<=" else (right, left)
    return max(low) <= 0 <= min(high)


def _gather(pairs: Iterable[tuple[str, int]]) -> dict[str, set[int]]:
    out: dict[str, set[int]] = {}
    for var, direction in pairs:
        out.setdefault(var, set()).add(direction)
    return out
