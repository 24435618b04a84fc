"""Units of rows and of prices, in the scenario's words."""

from __future__ import annotations

from fractions import Fraction

from orpipe.algebra.nodes import Row
from orpipe.algebra.units import unit_text
from orpipe.build.case import Case
from orpipe.build.phrases import counted, row_of
from orpipe.render.words import approximate


def row_unit(case: Case, row: Row) -> str:
    """Unit of both sides of a row in the scenario's words."""
    symbolic = case.instance.family.symbolic(case.instance.formulation)
    text = unit_text(row.left, symbolic if all(v.symbol in symbolic.var_by for v in case.model.variables) else case.model)
    return case.instance.scenario.unit(text)


def in_row(case: Case, name: str, value: Fraction) -> str:
    """A number in the unit of a grounded row."""
    return counted(approximate(value), row_unit(case, row_of(case.model, name)), case.instance.scenario)


def rate(above: str, below: str, case: Case) -> str:
    """«EUR per t» for EUR/day over t/day."""
    if not below:
        return above
    top, *over = above.split("/")
    bottom, *under = below.split("/")
    if over and over == under:
        return f"{top} per {counted('1', bottom, case.instance.scenario).removeprefix('1 ')}"
    return f"{above} per {counted('1', below, case.instance.scenario).removeprefix('1 ')}"
