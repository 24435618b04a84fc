"""The solver adapters that can be imported, found by walking their package."""

from __future__ import annotations

import importlib
import pkgutil
import threading
from typing import TypeVar

from orpipe.registry import Registry

T = TypeVar("T")


class Adapters(Registry[T]):
    """The adapters whose library can be imported; `missing` keeps the error of the others, by module."""

    def __init__(self) -> None:
        super().__init__("solver", "orpipe_solvers")
        self.missing: dict[str, str] = {}
        self._filling = threading.Lock()

    def _load(self) -> dict[str, T]:
        with self._filling:  # labels are asked for from worker threads too
            if not self._loaded:
                self._fill()
                self._loaded = True
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
