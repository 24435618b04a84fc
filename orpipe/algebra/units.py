"""Units of the symbolic language: pint, with the abstract quantities that scenarios name.

A family writes "money/goods"; a scenario prints "EUR/t".  Each abstract unit is a dimension of its own, so adding euros
to tonnes is an error at definition time; so is adding days to hours, since no scale factor is silently applied.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from functools import cache
from typing import Any

from orpipe.algebra import nodes as n
from orpipe.errors import ModelError

# abstract unit -> pint definition.  Scenario vocabularies translate the names on the left; physical units print as they are.
ABSTRACT = {
    "money": "[money]", "goods": "[goods]", "goods2": "[goods2]", "item": "[item]", "batch": "[batch]", "worker": "[worker]", "trip": "[trip]",
    "serving": "[serving]", "period": "[period]", "roll": "[roll]", "piece": "[piece]", "point": "[point]", "energy": "[energy_unit]",
    "resource": "[resource]", "nutrient": "[nutrient]", "task": "[task]", "vehicle": "[vehicle]", "volume": "[volume_unit]",
    "weight": "[weight_unit]", "distance": "[distance_unit]", "land": "[land_unit]", "flow": "[flow_unit]", "person": "[person]",
}


_making = threading.Lock()


def _after_fork() -> None:
    global _making
    _making = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def registry() -> Any:
    """The one registry of this process, whichever thread asks first: units of two registries cannot be compared."""
    with _making:
        return _registry()


@cache
def _registry() -> Any:
    import pint

    ureg: Any = pint.UnitRegistry(None)
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


def unit_text(expr: n.Expr, model: n.Model) -> str:
    """The unit of an expression, cancelled by name: money/goods * goods/day -> «money/day»; dimensionless -> «1»."""
    powers = _powers(expr, model) or Counter()
    above = "*".join(token for token, k in powers.items() for _ in range(k))
    below = "".join(f"/{token}" for token, k in powers.items() for _ in range(-k))
    return (above or "1") + below if above or below else "1"


def _parse(text: str) -> Counter[str]:
    first, *rest = text.replace(" ", "").split("/")
    found = Counter(t for t in first.split("*") if t not in ("", "1"))
    found.subtract(t for part in rest for t in part.split("*") if t not in ("", "1"))
    return found


def _powers(e: n.Expr, model: n.Model) -> Counter[str] | None:
    match e:
        case n.Num(value=v):
            return None if v == 0 else Counter()
        case n.Card():
            return Counter()
        case n.ParamRef(param=symbol):
            return _parse(model.param_by[symbol].unit)
        case n.VarRef(var=symbol):
            return _parse(model.var_by[symbol].unit)
        case n.Neg(arg=a) | n.Sum(body=a):
            return _powers(a, model)
        case n.Add(terms=terms):
            return next((p for t in terms if (p := _powers(t, model)) is not None), None)
        case n.Mul(left=a, right=b) | n.Div(left=a, right=b):
            pa, pb = _powers(a, model), _powers(b, model)
            if pa is None or pb is None:
                return None
            out = Counter(pa)
            if isinstance(e, n.Mul):
                out.update(pb)
            else:
                out.subtract(pb)
            return Counter({t: k for t, k in out.items() if k})
    raise AssertionError(e)
