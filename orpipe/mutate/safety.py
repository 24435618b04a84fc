"""Will a changed piece still ground?  Judged from the symbols alone, so that it holds for all data the model accepts.

Checked: indices bound once and over the right set; linear; a row keeps a variable; a shifted index stays inside its
set, a variable or parameter inside its domain, a divisor away from zero.  The last three are needs: each must follow
from the conditions in force at that place, or have stood in the original model under no stronger conditions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from orpipe.algebra import nodes as n
from orpipe.mutate.part import Piece
from orpipe.mutate.places import addends, minus, rename

_OPPOSITE = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}
_WEAKER = {"<": ("<=", "!="), ">": (">=", "!="), "=": ("<=", ">=")}


@dataclass(frozen=True, slots=True)
class Inside:
    """A shifted index that must not leave its set."""

    ref: n.Ref


@dataclass(frozen=True, slots=True)
class Nonzero:
    divisor: n.Expr


@dataclass(frozen=True, slots=True)
class Need:
    what: n.Member | Inside | Nonzero
    scope: frozenset[n.Index]  # the letters of `what` with their sets
    given: frozenset[n.Cond]


@dataclass
class Survey:
    """The needs of pieces of one model, and what is plainly wrong with them."""

    model: n.Model
    needs: list[Need] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def piece(self, piece: Piece) -> Survey:
        match piece:
            case n.Row(forall=forall, where=where, left=left, right=right):
                scope = self.bind({}, forall)
                given = self.take(where, scope, frozenset())
                for side in (left, right):
                    self.expr(side, scope, given)
                if not keeps_variable(piece):
                    self.faults.append("no variable")
            case n.Term(expr=expr):
                self.expr(expr, {}, frozenset())
            case n.Objective(terms=terms):
                for t in terms:
                    self.expr(t.expr, {}, frozenset())
            case n.VarDecl(indices=indices, domain=domain, lower=low, upper=high):
                scope = self.bind({}, indices)
                member = n.Member(tuple(n.Ref(k.name) for k in indices), domain) if domain else None
                for limit in (low, high):
                    if limit is not None:
                        self.expr(limit, scope, frozenset(n.conditions(member)))
        return self

    def bind(self, scope: dict[str, n.Index], indices: tuple[n.Index, ...]) -> dict[str, n.Index]:
        for k in indices:
            if k.name in scope:
                self.faults.append(f"index {k.name} bound twice")
            scope = scope | {k.name: k}
        return scope

    def refs(self, refs: tuple[n.Ref, ...], scope: dict[str, n.Index], sets: tuple[str, ...]) -> None:
        if [scope[r.index].set if r.index in scope else "" for r in refs] != list(sets):
            self.faults.append("free or misplaced index")

    def take(self, where: n.Cond | None, scope: dict[str, n.Index], given: frozenset[n.Cond]) -> frozenset[n.Cond]:
        """The conditions in force once `where` is added."""
        for cond in n.conditions(where):
            match cond:
                case n.Compare(left=a, right=b):
                    if a.index not in scope or b.index not in scope or scope[a.index].set != scope[b.index].set:
                        self.faults.append("comparison of unlike indices")
                case n.Edge(ref=r):
                    if r.index not in scope or not self.model.set_by[scope[r.index].set].ordered:
                        self.faults.append("edge of an unordered set")
                case n.Member(refs=refs, set=symbol):
                    self.refs(refs, scope, tuple(k.set for k in self.model.set_by[symbol].over))
                case n.DataCompare(left=a, right=b):
                    self.expr(a, scope, given)
                    self.expr(b, scope, given)
            given = given | {cond}
        return given

    def need(self, what: n.Member | Inside | Nonzero, used: set[str], scope: dict[str, n.Index],
             given: frozenset[n.Cond]) -> None:
        self.needs.append(Need(what, frozenset(scope[k] for k in used if k in scope), given))

    def expr(self, e: n.Expr, scope: dict[str, n.Index], given: frozenset[n.Cond]) -> None:
        match e:
            case n.ParamRef(refs=refs) | n.VarRef(refs=refs):
                decl = self.model.param_by[e.param] if isinstance(e, n.ParamRef) else self.model.var_by[e.var]
                self.refs(refs, scope, tuple(k.set for k in decl.indices))
                if decl.domain:
                    self.need(n.Member(refs, decl.domain), {r.index for r in refs}, scope, given)
                for r in refs:
                    if r.shift and r.index in scope and not self.model.set_by[scope[r.index].set].cyclic:
                        self.need(Inside(r), {r.index}, scope, given)
            case n.Sum(indices=indices, where=where, body=body):
                inner = self.bind(scope, indices)
                self.expr(body, inner, self.take(where, inner, given))
            case n.Mul(left=a, right=b) | n.Div(left=a, right=b):
                divides = isinstance(e, n.Div)
                if n.has_variables(b) and (divides or n.has_variables(a)):
                    self.faults.append("not linear")
                if divides:
                    self.need(Nonzero(b), set(), scope, given)
                self.expr(a, scope, given)
                self.expr(b, scope, given)
            case n.Add(terms=terms):
                for t in terms:
                    self.expr(t, scope, given)
            case n.Neg(arg=a):
                self.expr(a, scope, given)


def keeps_variable(row: n.Row) -> bool:
    """Does a variable stay in the row when equal terms with opposite signs are struck out?"""
    count = Counter(addends(row.left))
    for t in (*map(minus, addends(row.right)),):
        count[t] += 1
    for t in list(count):
        opposite = minus(t)
        if opposite in count and opposite != t:
            both = min(count[t], count[opposite])
            count[t] -= both
            count[opposite] -= both
    return any(k and n.has_variables(t) for t, k in count.items())


def survey(model: n.Model) -> Survey:
    """The needs of the whole model."""
    found = Survey(model)
    pieces: tuple[Piece, ...] = (*model.variables, model.objective, *model.rows)
    for piece in pieces:
        found.piece(piece)
    return found


def sound(original: Survey, piece: Piece | None, into: n.Model | None = None) -> bool:
    """True if `piece`, put into the model that `original` surveyed, grounds on all data that model accepts.

    into: the changed model, where `piece` speaks of variables that the original does not have."""
    if piece is None:
        return True
    own = Survey(into or original.model).piece(piece)
    if own.faults:
        return False
    return all(_follows(original.model, need) or any(
        old.what == need.what and old.scope == need.scope and old.given <= need.given for old in original.needs)
        for need in own.needs)


def _follows(model: n.Model, need: Need) -> bool:
    match need.what:
        case Nonzero(divisor=e):
            return _nonzero(model, e)
        case Inside(ref=ref):
            return any(_keeps_inside(c, ref) for c in need.given)
    return _member(model, need.what, facts(model, need.given))


def _nonzero(model: n.Model, e: n.Expr) -> bool:
    match e:
        case n.Num(value=v):
            return v != 0
        case n.Card():
            return True
        case n.ParamRef(param=p):
            return model.param_by[p].sign == "positive"
        case n.Mul(left=a, right=b) | n.Div(left=a, right=b):
            return _nonzero(model, a) and _nonzero(model, b)
    return False


def _keeps_inside(cond: n.Cond, ref: n.Ref) -> bool:
    """t+s > first gives t+k inside for s-1 <= k < 0; s' < t gives t-1 inside; likewise at the end."""
    k = ref.shift
    match cond:
        case n.Edge(ref=r, op=op, end=end) if r.index == ref.index:
            return {(">", "first"): r.shift - 1 <= k < 0, ("<", "last"): 0 < k <= r.shift + 1}.get((op, end), False)
        case n.Compare(left=a, op=op, right=b):
            for low, high, o in ((a, b, op), (b, a, _OPPOSITE[op])):
                if o == "<" and high.index == ref.index and not low.shift and high.shift - 1 <= k < 0:
                    return True
                if o == "<" and low.index == ref.index and not high.shift and 0 < k <= low.shift + 1:
                    return True
    return False


def facts(model: n.Model, given: Iterable[n.Cond]) -> frozenset[n.Cond]:
    """The conditions with what plainly follows: either way round, weaker comparisons, the definition of derived sets,
    and that what stands before another element is not the last."""
    found: set[n.Cond] = set()
    todo = list(given)
    while todo:
        cond = todo.pop()
        if cond in found:
            continue
        found.add(cond)
        match cond:
            case n.Compare(left=a, op=op, right=b):
                todo.append(n.Compare(b, _OPPOSITE[op], a))  # type: ignore[arg-type]
                todo += [n.Compare(a, o, b) for o in _WEAKER.get(op, ())]  # type: ignore[arg-type]
                if op == "<" and not a.shift and not b.shift:
                    todo += [n.Edge(a, "<", "last"), n.Edge(b, ">", "first")]
            case n.Member(negated=False):
                todo += _definition(model, cond)
    return frozenset(found)


def _definition(model: n.Model, member: n.Member) -> list[n.Cond]:
    decl = model.set_by[member.set]
    if decl.where is None:
        return []
    letter = {k.name: r for k, r in zip(decl.over, member.refs, strict=True)}
    return [rename(c, letter) for c in n.conditions(decl.where)]


def _member(model: n.Model, goal: n.Cond, facts: frozenset[n.Cond]) -> bool:
    if goal in facts:
        return True
    if not isinstance(goal, n.Member) or goal.negated:
        return False
    parts = _definition(model, goal)
    return bool(parts) and all(_member(model, c, facts) for c in parts)
