"""Discovery: a unit is one file and one decorator; folders are walked, nothing is listed by hand."""

from __future__ import annotations

import importlib
import pkgutil
import threading
from collections.abc import Iterator
from typing import Generic, TypeVar

from orpipe.errors import NotFound, OrpipeError

T = TypeVar("T")


class Registry(Generic[T]):
    """Units by name, filled by importing every module below `package` on first use.  Duplicates raise."""

    def __init__(self, kind: str, package: str):
        self.kind, self.package = kind, package
        self._units: dict[str, T] = {}
        self._loaded = False
        self._lock = threading.RLock()

    def add(self, name: str, unit: T) -> T:
        if name in self._units:
            raise OrpipeError(f"two units claim the {self.kind} name '{name}'; rename one")
        self._units[name] = unit
        return unit

    def _load(self) -> dict[str, T]:
        if not self._loaded:
            with self._lock:
                root = importlib.import_module(self.package)
                for module in pkgutil.walk_packages(root.__path__, root.__name__ + "."):
                    importlib.import_module(module.name)
                self._loaded = True
        return self._units

    def names(self) -> list[str]:
        return sorted(self._load())

    def __getitem__(self, name: str) -> T:
        units = self._load()
        if name not in units:
            raise NotFound.among(self.kind, name, units)
        return units[name]

    def __iter__(self) -> Iterator[T]:
        units = self._load()
        return (units[name] for name in sorted(units))

    def __len__(self) -> int:
        return len(self._load())
