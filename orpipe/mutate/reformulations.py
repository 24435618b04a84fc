"""Harmless reformulations of rows, columns and objective: each changes how a model is written and not what it says."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING, TypeVar

from orpipe.mutate.harmless import Column, Line, Sheet, add, reformulation

if TYPE_CHECKING:
    from orpipe.mutate.harmless import Rng

T = TypeVar("T")
ONE = Fraction(1)
FACTORS = tuple(map(Fraction, ("2", "3", "0.5", "10", "0.001", "1/3", "7", "1000")))


def pick(rng: Rng, items: Sequence[T]) -> T:
    return items[int(rng.integers(len(items)))]


# ---------------------------------------------------------------------------------------------------------------- order


@reformulation("columns-permuted", "Variables in another order", "The order of declarations means nothing.")
def columns_permuted(sheet: Sheet, rng: Rng) -> bool:
    order = rng.permutation(len(sheet.columns)).tolist()
    place = {old: new for new, old in enumerate(order)}
    sheet.columns = [sheet.columns[k] for k in order]
    for r in sheet.rows:
        r.entries = {place[j]: v for j, v in r.entries.items()}
    return order != sorted(order)


@reformulation("rows-permuted", "Rows in another order", "All rows hold at once, in whatever order they stand.")
def rows_permuted(sheet: Sheet, rng: Rng) -> bool:
    sheet.rows = [sheet.rows[k] for k in rng.permutation(len(sheet.rows)).tolist()]
    return len(sheet.rows) > 1


@reformulation("rows-renamed", "Rows under other names", "Names of rows are labels.")
def rows_renamed(sheet: Sheet, rng: Rng) -> bool:
    for k, r in enumerate(sheet.rows):
        r.name = f"limit_{k}"
    return bool(sheet.rows)


# ----------------------------------------------------------------------------------------------------------------- rows


@reformulation("rows-scaled", "Rows multiplied by positive numbers", "Both sides of a row times the same positive number.")
def rows_scaled(sheet: Sheet, rng: Rng) -> bool:
    sheet.rows = [r.scaled(pick(rng, FACTORS)) for r in sheet.rows]
    return bool(sheet.rows)


@reformulation("rows-negated", "Rows turned round", "a x <= b is -a x >= -b.")
def rows_negated(sheet: Sheet, rng: Rng) -> bool:
    sheet.rows = [r.scaled(-ONE) if rng.random() < 0.7 else r for r in sheet.rows]
    return bool(sheet.rows)


@reformulation("row-doubled", "A row written twice", "Saying the same twice asks for nothing more.")
def row_doubled(sheet: Sheet, rng: Rng) -> bool:
    if not sheet.rows:
        return False
    r = pick(rng, sheet.rows)
    twin = r.scaled(pick(rng, (ONE, -ONE, Fraction(2))))
    sheet.add_row(r.name + "_again", twin.entries, twin.low, twin.high)
    return True


@reformulation("equality-split", "An equality as two inequalities", "= b is <= b and >= b.")
def equality_split(sheet: Sheet, rng: Rng) -> bool:
    found = list(sheet.equalities())
    for r in found:
        sheet.add_row(r.name + "_least", dict(r.entries), low=r.low)
        r.low = None
    return bool(found)


@reformulation("looser-row", "A weaker copy of a row", "A row with more room follows from the row itself.")
def looser_row(sheet: Sheet, rng: Rng) -> bool:
    found = [r for r in sheet.rows if r.high is not None]
    if not found:
        return False
    r = pick(rng, found)
    sheet.add_row(r.name + "_loose", dict(r.entries), high=(r.high or Fraction(0)) + 1 + abs(r.high or Fraction(0)) / 5)
    return True


@reformulation("rows-added-up", "The sum of two rows as one more", "What follows from two rows may stand beside them.")
def rows_added_up(sheet: Sheet, rng: Rng) -> bool:
    found = [r if r.high is not None else r.scaled(-ONE) for r in sheet.rows]
    if len(found) < 2:
        return False
    one, two = (found[k] for k in rng.choice(len(found), 2, replace=False).tolist())
    entries = dict(one.entries)
    add(entries, two.entries)
    if len(entries) < 2:
        return False
    sheet.add_row("sum_of_two", entries, high=(one.high or Fraction(0)) + (two.high or Fraction(0)))
    return True


@reformulation("equality-into-inequality", "A multiple of an equality added to an inequality",
               "What is added is equal on both sides at every feasible point.")
def equality_into_inequality(sheet: Sheet, rng: Rng) -> bool:
    equal, others = list(sheet.equalities()), list(sheet.inequalities())
    if not equal or not others:
        return False
    e, r = pick(rng, equal), pick(rng, others)
    return _add_equality(r, e, Fraction(int(rng.integers(1, 4))))


@reformulation("equalities-combined", "One equality replaced by its sum with another", "Either pair follows from the other.")
def equalities_combined(sheet: Sheet, rng: Rng) -> bool:
    found = list(sheet.equalities())
    if len(found) < 2:
        return False
    one, two = (found[k] for k in rng.choice(len(found), 2, replace=False).tolist())
    return _add_equality(one, two, Fraction(int(rng.integers(1, 4))))


def _add_equality(row: Line, equality: Line, factor: Fraction) -> bool:
    entries = dict(row.entries)
    add(entries, equality.entries, factor)
    if len(entries) < 2:
        return False
    moved = factor * (equality.low or Fraction(0))
    row.entries = entries
    row.low, row.high = (None if v is None else v + moved for v in (row.low, row.high))
    return True


@reformulation("slack-added", "Inequalities as equalities with slack", "a x <= b is a x + s = b with s >= 0.")
def slack_added(sheet: Sheet, rng: Rng) -> bool:
    found = [r for r in sheet.inequalities() if rng.random() < 0.7]
    for r in found:
        s = sheet.add_column(Column(f"slack_{r.name}", decision=False))
        r.entries[s] = ONE if r.low is None else -ONE
        r.low = r.high = r.high if r.low is None else r.low
    return bool(found)


@reformulation("total-named", "A sum with a name of its own", "t = a x, and t <= b in place of a x <= b.")
def total_named(sheet: Sheet, rng: Rng) -> bool:
    found = [r for r in sheet.rows if len(r.entries) > 1]
    if not found:
        return False
    r = pick(rng, found)
    t = sheet.add_column(Column(f"total_{r.name}", low=None, decision=False))
    sheet.add_row(f"define_total_{r.name}", {**r.entries, t: -ONE}, Fraction(0), Fraction(0))
    r.entries = {t: ONE}
    return True


@reformulation("integer-side-with-slack", "A right-hand side between two whole numbers",
               "A sum of whole numbers that is at most 5 is at most 5.5, and the other way round.")
def integer_side(sheet: Sheet, rng: Rng) -> bool:
    done = False
    for r in sheet.inequalities():
        if _whole_row(sheet, r):
            r.low = None if r.low is None else r.low - Fraction(2, 5)
            r.high = None if r.high is None else r.high + Fraction(2, 5)
            done = True
    return done


def _whole_row(sheet: Sheet, r: Line) -> bool:
    """Whole columns, whole entries and whole sides."""
    numbers = [*r.entries.values(), *(v for v in (r.low, r.high) if v is not None)]
    return all(v.denominator == 1 for v in numbers) and all(sheet.columns[j].whole for j in r.entries)


@reformulation("rounding-cut", "A cut by rounding", "With whole x >= 0, a x <= b gives floor(a/k) x <= floor(b/k).")
def rounding_cut(sheet: Sheet, rng: Rng) -> bool:
    found = [
        r for r in sheet.rows
        if r.high is not None and all(sheet.columns[j].whole and (sheet.columns[j].low or 0) >= 0 and
                                      sheet.columns[j].low is not None for j in r.entries)]
    if not found:
        return False
    r = pick(rng, found)
    k = Fraction(int(rng.integers(2, 5)))
    entries = {j: Fraction(floor(v / k)) for j, v in r.entries.items() if floor(v / k)}
    if len(entries) < 2:
        return False
    sheet.add_row(f"cut_{r.name}", entries, high=Fraction(floor((r.high or Fraction(0)) / k)))
    return True


# --------------------------------------------------------------------------------------------------------------- bounds


@reformulation("bound-as-row", "Bounds written as rows", "x <= 5 is a row with one entry.")
def bound_as_row(sheet: Sheet, rng: Rng) -> bool:
    done = False
    for j, c in enumerate(sheet.columns):
        if c.high is not None and not c.binary and rng.random() < 0.7:
            factor = pick(rng, FACTORS)
            sheet.add_row(f"limit_{c.name}", {j: factor}, high=c.high * factor)
            c.high, done = None, True
        if c.low is not None and c.low != 0 and rng.random() < 0.7:
            sheet.add_row(f"least_{c.name}", {j: -ONE}, high=-c.low)
            c.low, done = None if not c.whole else Fraction(min(0, floor(c.low))), True
    return done


@reformulation("implied-bound", "Bounds that rows imply", "With x, y >= 0, x + y <= 10 gives x <= 10.")
def implied_bound(sheet: Sheet, rng: Rng) -> bool:
    done = False
    for r in sheet.rows:
        if r.high is None or any(v < 0 or (c := sheet.columns[j]).low is None or c.low < 0 for j, v in r.entries.items()):
            continue
        for j, v in r.entries.items():
            c, most = sheet.columns[j], r.high / v
            if c.high is None or c.high > most:
                c.high, done = max(most, c.low or Fraction(0)), True
    return done


@reformulation("loose-bound", "A bound between two whole numbers", "A whole number that is at most 3.7 is at most 3.")
def loose_bound(sheet: Sheet, rng: Rng) -> bool:
    found = [c for c in sheet.columns if c.whole and c.high is not None and c.high.denominator == 1]
    for c in found:
        c.high = (c.high or Fraction(0)) + Fraction(1, 2)
    return bool(found)


# ------------------------------------------------------------------------------------------------------------ objective


@reformulation("objective-negated", "max f as min -f", "The largest f is where -f is smallest.")
def objective_negated(sheet: Sheet, rng: Rng) -> bool:
    sheet.maximize, sheet.offset = not sheet.maximize, -sheet.offset
    for c in sheet.columns:
        c.cost = -c.cost
    return True


@reformulation("constant-moved", "The objective's constant on a fixed variable", "A variable fixed at 1 carries the constant.")
def constant_moved(sheet: Sheet, rng: Rng) -> bool:
    extra = Fraction(int(rng.integers(5, 90)))
    sheet.add_column(Column("one", ONE, ONE, sheet.offset + extra, decision=False))
    sheet.add_column(Column("other_one", ONE, ONE, -extra, decision=False))
    sheet.offset = Fraction(0)
    return True


@reformulation("objective-epigraph", "The objective as a bound to be minimised", "minimise z with z >= f.")
def objective_epigraph(sheet: Sheet, rng: Rng) -> bool:
    return _objective_column(sheet, "bound_on_objective", equal=False)


@reformulation("objective-defined", "The objective as a variable of its own", "z = f, and z in place of f.")
def objective_defined(sheet: Sheet, rng: Rng) -> bool:
    return _objective_column(sheet, "total_objective", equal=True)


def _objective_column(sheet: Sheet, name: str, equal: bool) -> bool:
    cost = {j: c.cost for j, c in enumerate(sheet.columns) if c.cost}
    if not cost:
        return False
    for c in sheet.columns:
        c.cost = Fraction(0)
    z = sheet.add_column(Column(name, low=None, cost=ONE, decision=False))
    entries, side = {**cost, z: -ONE}, -sheet.offset
    low = side if equal or sheet.maximize else None
    high = side if equal or not sheet.maximize else None
    sheet.add_row("objective_row", entries, low, high)
    sheet.offset = Fraction(0)
    return True


@reformulation("equality-into-objective", "A multiple of an equality added to the objective", "What is added is always 0.")
def equality_into_objective(sheet: Sheet, rng: Rng) -> bool:
    found = list(sheet.equalities())
    if not found:
        return False
    e = pick(rng, found)
    k = Fraction(int(rng.integers(1, 6)))
    for j, v in e.entries.items():
        sheet.columns[j].cost += k * v
    sheet.offset -= k * (e.low or Fraction(0))
    return True
