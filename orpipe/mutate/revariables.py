"""Harmless reformulations by other variables: shifted, mirrored, in other units, split, substituted, expanded; and of the
rows that link amounts to switches."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from orpipe.mutate.harmless import Column, Line, Sheet, reformulation
from orpipe.mutate.reformulations import ONE, pick

if TYPE_CHECKING:
    from orpipe.mutate.harmless import Rng


@reformulation("columns-shifted", "Variables counted from another number", "x = x' + 5 with every number moved along.")
def columns_shifted(sheet: Sheet, rng: Rng) -> bool:
    done = False
    for j, c in enumerate(list(sheet.columns)):
        by = c.low if c.low else Fraction(int(rng.integers(2, 9)))
        if not c.binary and rng.random() < 0.6:
            sheet.replace_column(j, ONE, by, f"{c.name}_above")
            done = True
    return done


@reformulation("binaries-complemented", "Yes asked as no", "y' = 1 - y with every row rewritten.")
def binaries_complemented(sheet: Sheet, rng: Rng) -> bool:
    done = False
    for j, c in enumerate(list(sheet.columns)):
        if c.binary and rng.random() < 0.6:
            sheet.replace_column(j, -ONE, ONE, f"not_{c.name}")
            done = True
    return done


@reformulation("columns-mirrored", "Variables counted down from their bound", "x' = u - x.")
def columns_mirrored(sheet: Sheet, rng: Rng) -> bool:
    found = [j for j, c in enumerate(sheet.columns) if c.high is not None and not c.binary]
    for j in found:
        sheet.replace_column(j, -ONE, sheet.columns[j].high or Fraction(0), f"{sheet.columns[j].name}_left")
    return bool(found)


@reformulation("units-changed", "Amounts in other units", "x tonnes are 1000 x kilogrammes, in every row and in the objective.")
def units_changed(sheet: Sheet, rng: Rng) -> bool:
    found = [j for j, c in enumerate(sheet.columns) if not c.whole]
    by = pick(rng, (Fraction(1, 1000), Fraction(1, 12), Fraction(10)))
    for j in found:
        sheet.replace_column(j, by, Fraction(0), f"{sheet.columns[j].name}_in_units")
    return bool(found)


@reformulation("variable-substituted", "A variable put in where an equality defines it",
               "A stock that equals stock before plus production minus demand need not be a variable.")
def variable_substituted(sheet: Sheet, rng: Rng) -> bool:
    found = [(j, r) for r in sheet.equalities() for j in r.entries if not sheet.columns[j].whole and len(r.entries) > 2]
    if not found:
        return False
    sheet.substitute(*pick(rng, found))
    return True


@reformulation("variable-split", "A variable as the difference of two", "x = p - q with p, q >= 0.")
def variable_split(sheet: Sheet, rng: Rng) -> bool:
    found = [j for j, c in enumerate(sheet.columns) if not c.whole]
    if not found:
        return False
    j = pick(rng, found)
    name = sheet.columns[j].name
    p, q = sheet.add_column(Column(f"{name}_plus", decision=False)), sheet.add_column(Column(f"{name}_minus", decision=False))
    sheet.add_row(f"parts_{name}", {j: ONE, p: -ONE, q: ONE}, Fraction(0), Fraction(0))
    return True


@reformulation("amount-in-two-parts", "An amount bought in two parts", "x = p + q with p, q >= 0 leaves x as it was.")
def amount_in_two_parts(sheet: Sheet, rng: Rng) -> bool:
    found = [j for j, c in enumerate(sheet.columns) if not c.whole and c.low is not None and c.low >= 0]
    if not found:
        return False
    j = pick(rng, found)
    name = sheet.columns[j].name
    p, q = sheet.add_column(Column(f"{name}_first", decision=False)), sheet.add_column(Column(f"{name}_second", decision=False))
    sheet.add_row(f"parts_{name}", {j: ONE, p: -ONE, q: -ONE}, Fraction(0), Fraction(0))
    return True


@reformulation("binary-expansion", "A whole number by binary digits", "x = z0 + 2 z1 + 4 z2, and x at most its bound as before.")
def binary_expansion(sheet: Sheet, rng: Rng) -> bool:
    found = [j for j, c in enumerate(sheet.columns) if c.whole and c.low == 0 and c.high is not None and 1 < c.high < 1000]
    if not found:
        return False
    for j in found:
        c = sheet.columns[j]
        digits = [sheet.add_column(Column(f"{c.name}_bit{k}", high=ONE, whole=True, decision=False))
                  for k in range(int(c.high or 0).bit_length())]
        sheet.add_row(f"digits_{c.name}", {j: -ONE, **{d: Fraction(2**k) for k, d in enumerate(digits)}}, Fraction(0), Fraction(0))
        c.whole = False
    return True


@reformulation("integer-copied", "Whole numbers by a whole copy", "x continuous, x = w with w whole.")
def integer_copied(sheet: Sheet, rng: Rng) -> bool:
    found = [j for j, c in enumerate(sheet.columns) if c.whole]
    if not found:
        return False
    j = pick(rng, found)
    c = sheet.columns[j]
    w = sheet.add_column(Column(f"{c.name}_copy", low=None, whole=True, decision=False))
    sheet.add_row(f"copy_{c.name}", {j: ONE, w: -ONE}, Fraction(0), Fraction(0))
    c.whole = False
    return True


@reformulation("idle-variable", "A variable that nothing depends on", "It stands in no row and costs nothing.")
def idle_variable(sheet: Sheet, rng: Rng) -> bool:
    sheet.add_column(Column("spare", high=Fraction(7), decision=False))
    return True


# -------------------------------------------------------------------------------------------------------------- linking


def _links(sheet: Sheet) -> list[tuple[Line, int, dict[int, Fraction], Fraction]]:
    """(row, binary y, amounts with their positive entries, M) of the rows sum a x <= M y with x >= 0."""
    found = []
    for r in sheet.rows:
        if r.high != 0 or r.low is not None:
            continue
        switches = [j for j, v in r.entries.items() if v < 0 and sheet.columns[j].binary]
        amounts = {j: v for j, v in r.entries.items() if v > 0 and (low := sheet.columns[j].low) is not None and low >= 0}
        if len(switches) == 1 and amounts and len(amounts) + 1 == len(r.entries):
            found.append((r, switches[0], amounts, -r.entries[switches[0]]))
    return found


@reformulation("links-one-by-one", "Linking rows for each amount as well", "x1 + x2 <= M y gives x1 <= M y and x2 <= M y.")
def links_one_by_one(sheet: Sheet, rng: Rng) -> bool:
    done = False
    for r, y, amounts, most in _links(sheet):
        if len(amounts) > 1:
            for j, v in amounts.items():
                sheet.add_row(f"{r.name}_each", {j: v, y: -most}, high=Fraction(0))
            done = True
    return done


@reformulation("link-weakened", "A larger big-M with the limit beside it", "x <= M y says as much as x <= 3 M y together with x <= M.")
def link_weakened(sheet: Sheet, rng: Rng) -> bool:
    found = _links(sheet)
    for r, y, amounts, most in found:
        sheet.add_row(f"{r.name}_limit", dict(amounts), high=most)
        r.entries[y] = -3 * most
    return bool(found)


@reformulation("links-joined", "Linking rows of switches as one", "With 0-1 x, x1 <= y and x2 <= y say the same as x1 + x2 <= 2 y.")
def links_joined(sheet: Sheet, rng: Rng) -> bool:
    groups: dict[int, list[tuple[Line, int]]] = {}
    for r, y, amounts, most in _links(sheet):
        (j, v), *rest = amounts.items()
        if not rest and v == most and sheet.columns[j].binary:
            groups.setdefault(y, []).append((r, j))
    done = False
    for y, members in groups.items():
        if len(members) > 1:
            for r, _ in members:
                sheet.rows.remove(r)
            sheet.add_row("joined", {**{j: ONE for _, j in members}, y: Fraction(-len(members))}, high=Fraction(0))
            done = True
    return done
