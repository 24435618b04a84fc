"""Products: one file each, from a Case and an Order to an unreplayed Product.  `make` finds them by task name."""

from __future__ import annotations

from collections.abc import Callable

from orpipe.build.case import Case, Product
from orpipe.build.plan import Order
from orpipe.registry import Registry

Maker = Callable[[Case, Order], Product]
makers: Registry[Maker] = Registry("product", "orpipe.build.products")


def product(task: str) -> Callable[[Maker], Maker]:
    return lambda maker: makers.add(task, maker)


def make(case: Case, order: Order) -> Product:
    """Raises Unmade when this case cannot give the product."""
    return makers[order.task](case, order)
