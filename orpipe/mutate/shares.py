"""Mistakes about shares: a part is measured against the total of its own group, or against that of everything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from orpipe.algebra import nodes as n
from orpipe.mutate.catalogue import Operator, operator
from orpipe.mutate.part import Part
from orpipe.mutate.places import Spot, fresh, is_data, letters, mentions, other, relabel, rename, row_spots, variables, without
from orpipe.mutate.words import Account, Words


@dataclass(frozen=True, slots=True)
class Share:
    """A multiple of a total in a row, with a part of that total elsewhere in the row: x[i,k] >= a[i]*sum{i2} x[i2,k]."""

    row: n.Row
    spot: Spot  # of the sum
    total: n.Sum

    def group(self) -> Iterator[n.Index]:
        """Indices of the row that the total keeps, and the part has too."""
        here = letters(self.total.body) - {k.name for k in self.total.indices}
        for k in self.row.forall:
            if k.name in here and any(k.name in letters(x) for x in self.parts()):
                yield k

    def parts(self) -> list[n.VarRef]:
        """Uses outside the total of a variable that it adds up."""
        added = variables(self.total)
        sides = (getattr(self.row, other(self.spot.side)), *_beside(getattr(self.row, self.spot.side), self.spot.place.path))
        return [x for e in sides for x in n.walk(e) if isinstance(x, n.VarRef) and x.var in added]


def _beside(e: n.Expr, path: tuple[int, ...]) -> tuple[n.Expr, ...]:
    """The terms of a side that do not hold the node at `path`."""
    return tuple(t for k, t in enumerate(e.terms) if k != path[0]) if isinstance(e, n.Add) and path else ()


def shares(model: n.Model) -> Iterator[Share]:
    for row in model.rows:
        for spot in row_spots(row):
            match spot.node:
                case n.Mul(left=n.Sum() as total, right=factor) | n.Mul(left=factor, right=n.Sum() as total) if is_data(factor):
                    at = 0 if spot.node.left is total else 1  # type: ignore[union-attr]
                    inner = replace(spot, place=replace(spot.place, path=(*spot.place.path, at), node=total))
                    if (found := Share(row, inner, total)).parts():
                        yield found


@operator(
    "share-of-global-total", "A share of its own total is taken of the total of everything", "rows",
    "\"At least a third of it\" depends on what \"it\" is: the blend of this customer, or all that is blended. Where a text says \"of the "
    "total\", the total of the group it speaks of is meant; summed over all groups, the share is of another whole.")
class ShareOfGlobalTotal(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for s in shares(model):
            for k in s.group():
                moved = fresh((k,), letters(s.row.left) | letters(s.row.right) | {x.name for x in s.row.forall})
                own = [c for c in n.conditions(s.row.where) if mentions(c, k.name)]
                where = n.conjunction(*(rename(c, moved) for c in (*n.conditions(s.total.where), *own)))
                wider = n.Sum((*s.total.indices, *relabel((k,), moved)), where, rename(s.total.body, moved))
                yield s.spot.part(wider, k.name, k, wider)

    def tell(self, w: Words, part: Part) -> Account:
        k = part.old
        return Account.of(
            f"the constraint `{part.name}` takes the share of the total over all {w.plural(k.set)}, where each {w.noun(k.set)} has a total of "
            f"its own: it reads {w.formula(part.faulty)}",
            f"the larger whole makes the share of one {w.noun(k.set)} depend on what the other {w.plural(k.set)} do, so the same fraction "
            "asks for too much or allows too much",
            w.says(part))


@operator(
    "share-of-own-total", "A share of the total of everything is taken of its own total", "rows",
    "\"No supplier has more than a fifth of the market\" is about the market as a whole. Written with the total of one group, it asks something "
    "else of each of them.")
class ShareOfOwnTotal(Operator):
    def parts(self, model: n.Model) -> Iterator[Part]:
        for s in shares(model):
            for k in s.total.indices:
                for own in s.row.forall:
                    if own.set == k.set and own.name not in letters(s.total) and self.stands_alike(s, k, own):
                        ref = {k.name: n.Ref(own.name)}
                        rest = tuple(x for x in s.total.indices if x != k)
                        where = rename(s.total.where, ref)
                        for c in n.conditions(s.row.where):
                            where = without(where, c)  # holds already
                        body = rename(s.total.body, ref)
                        if rest:
                            yield s.spot.part(n.Sum(rest, where, body), own.name, own)

    @staticmethod
    def stands_alike(s: Share, k: n.Index, own: n.Index) -> bool:
        """Has the part the row's index where the total has the summed one?"""
        added = [x for x in n.walk(s.total.body) if isinstance(x, n.VarRef)]
        return any(a.index == k.name and b.index == own.name for x in added for y in s.parts() if x.var == y.var
                   for a, b in zip(x.refs, y.refs, strict=True))

    def tell(self, w: Words, part: Part) -> Account:
        k = part.old
        return Account.of(
            f"the constraint `{part.name}` takes the share of the total of one {w.noun(k.set)}, where the total over all {w.plural(k.set)} is "
            f"meant: it reads {w.formula(part.faulty)}",
            f"a share of the total of everything lets one {w.noun(k.set)} make up for another, which a share of each total does not",
            w.says(part))
