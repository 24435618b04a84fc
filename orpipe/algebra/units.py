"""Units of the symbolic language: pint, with the abstract quantities that scenarios name.

A family writes "money/goods"; a scenario prints "EUR/t".  Each abstract unit is a dimension of its own, so adding euros
to tonnes is an error at definition time; so is adding days to hours, since no scale factor is silently applied.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from orpipe.errors import ModelError

# abstract unit -> pint definition.  Scenario vocabularies translate the names on the left; physical units print as they are.
ABSTRACT = {
    "money": "[money]", "goods": "[goods]", "goods2": "[goods2]", "item": "[item]", "batch": "[batch]", "worker": "[worker]", "trip": "[trip]",
    "serving": "[serving]", "period": "[period]", "roll": "[roll]", "piece": "[piece]", "point": "[point]", "energy": "[energy_unit]",
    "resource": "[resource]", "nutrient": "[nutrient]", "task": "[task]", "vehicle": "[vehicle]", "volume": "[volume_unit]",
    "weight": "[weight_unit]", "distance": "[distance_unit]", "land": "[land_unit]", "flow": "[flow_unit]", "person": "[person]",
}


@cache
def registry() -> Any:
    import pint

    ureg = pint.UnitRegistry(None)
    for line in (
        *(f"{name} = {definition}" for name, definition in ABSTRACT.items()),
        "second = [time]", "minute = 60 * second", "hour = 60 * minute", "day = 24 * hour", "week = 7 * day",
        "percent = 0.01 = %", "kilogram = [mass] = kg", "gram = 0.001 * kilogram = g", "tonne = 1000 * kilogram = t",
        "kilometre = [length] = km", "metre = 0.001 * kilometre = m", "centimetre = 0.01 * metre = cm", "millimetre = 0.1 * centimetre = mm",
    ):
        ureg.define(line)
    return ureg


@cache
def unit(text: str, where: str = "") -> Any:
    """A pint Quantity of one `text`.  Raises ModelError naming `where` for an unknown unit."""
    ureg = registry()
    if text in ("", "1"):
        return ureg.Quantity(1, "")
    try:
        return ureg.Quantity(1, text)
    except Exception as error:
        raise ModelError(f"{where}: unknown unit '{text}' ({error}); abstract units are {', '.join(ABSTRACT)}") from None


def same(a: Any, b: Any) -> bool:
    """Same dimension and same scale."""
    a, b = a.to_base_units(), b.to_base_units()
    return a.units == b.units and abs(a.magnitude / b.magnitude - 1) < 1e-12
