"""What a suite is.  A structure is what `structure_hash` names: a family's symbolic model in one formulation, undressed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any


@dataclass(frozen=True, eq=False)
class DataSet:
    """One hidden data set with its label.  data: by symbol of the undressed model, plain JSON values.  kills: keys of the
    mutants that this one was the first of its suite to kill."""

    data: Mapping[str, Any]
    status: str
    objective_exact: Fraction | None
    certificate: str
    kills: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Suite:
    """survivors: keys of mutants that no data set kills and no proof calls equivalent.  disagreements: of solvers, met while
    the sets were chosen, as `orpipe.build.quarantine.detail` tells them; no part of the suite's rows."""

    structure_hash: str
    family: str
    formulation: str
    sets: tuple[DataSet, ...]
    survivors: tuple[str, ...] = ()
    disagreements: tuple[str, ...] = ()
