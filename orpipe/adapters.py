"""The adapters: found in the package orpipe_solvers, by name, and the bridges to what Pyomo and PuLP reach.  Imports no vendor itself.

    solvers()           every adapter whose library can be imported; unavailable() says what is missing
    solver(name)        one of them, or a bridge
"""

from __future__ import annotations

import importlib
import pkgutil
import threading
from functools import cache
from typing import TYPE_CHECKING

from orpipe.errors import EnvironmentError_, NotFound, ParseError
from orpipe.registry import Registry
from orpipe.roles import roles, unfit

if TYPE_CHECKING:
    from orpipe.solve import Solver

BRIDGES = ("pulp", "pyomo")


class _Adapters(Registry["Solver"]):
    """The adapters whose library can be imported; `missing` keeps the error of the others, by module.  ParseError at any use if
    the roles in solvers.yaml name what there is not."""

    def __init__(self) -> None:
        super().__init__("solver", "orpipe_solvers")
        self.missing: dict[str, str] = {}
        self._unfit: str | None = None
        self._filling = threading.Lock()

    def _load(self) -> dict[str, Solver]:
        with self._filling:  # labels are asked for from worker threads too
            if not self._loaded:
                self._fill()
                families = {name: adapter.family if adapter.witness else None for name, adapter in self._units.items()}
                self._unfit = unfit(roles(), families, BRIDGES, whole=not self.missing)
                self._loaded = True
        if self._unfit:
            raise ParseError(self._unfit)
        return self._units

    def _fill(self) -> None:
        for module in pkgutil.iter_modules(importlib.import_module(self.package).__path__):
            if module.name.startswith("_"):
                continue
            try:
                adapters = importlib.import_module(f"{self.package}.{module.name}").SOLVERS
            except ImportError as error:
                self.missing[module.name] = str(error)
                continue
            for adapter in adapters:
                self.add(adapter.name, adapter)


_ADAPTERS = _Adapters()


def solvers() -> dict[str, Solver]:
    """Every adapter whose library can be imported, by name."""
    return {adapter.name: adapter for adapter in _ADAPTERS}


def unavailable() -> dict[str, str]:
    """Adapter modules that could not be imported, with the error."""
    len(_ADAPTERS)
    return dict(_ADAPTERS.missing)


def solver(name: str) -> Solver:
    """One adapter, or a bridge: "pyomo:cbc" and "pulp:CBC" reach what Pyomo and PuLP reach.  NotFound with "did you mean" if
    there is none, EnvironmentError_ if a bridge's solver is not installed."""
    return _bridge(name) if ":" in name else _ADAPTERS[name]


@cache
def _bridge(name: str) -> Solver:
    library, _, rest = name.partition(":")
    if library not in BRIDGES:
        raise NotFound.among("bridge", library, BRIDGES)
    try:
        module = importlib.import_module(f"orpipe_solvers._{library}")
    except ImportError as error:
        raise EnvironmentError_(f"{name} needs {library}: {error}; install it") from None
    found: Solver = module.bridge(rest)
    return found
