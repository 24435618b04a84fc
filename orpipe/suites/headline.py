"""How much one instance's own data tell: the share of the structure's mis-modellings that change its answer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache

from orpipe.algebra.idioms import lower
from orpipe.families import families
from orpipe.instances import Instance
from orpipe.mutate import Mutant, mutants
from orpipe.solve import Label
from orpipe.suites.kills import Fate, Trial
from orpipe.suites.suite import Suite

NODES = 60  # of one solver for each mutant; what that leaves open is not counted


@dataclass(frozen=True)
class Discrimination:
    """Shares of the structure's truly different mutants (those that some data set kills, and the survivors): killed by the
    instance's own data; killed by these or the suite.  None where there is no such mutant.  survivors: killed by neither."""

    headline: float | None
    suite: float | None
    survivors: tuple[str, ...]


def discrimination(instance: Instance, found: Label, suite: Suite, nodes: int = NODES, iis: str | None = None) -> Discrimination:
    """A kill on the instance's data is an exact argument or one solver's proof; limits count against it.  iis: as in the column,
    of an infeasible instance."""
    linear = lower(instance.family.symbolic(suite.formulation))
    told = fates(Trial(linear, instance.data, instance.problem, found, () if iis is None else tuple(json.loads(iis))), suite, nodes)
    if not told:
        return Discrimination(None, None, ())
    own = {key for key, fate in told.items() if fate == "killed"}
    left = tuple(key for key in suite.survivors if key not in own)
    return Discrimination(len(own) / len(told), 1 - len(left) / len(told), left)


def fates(trial: Trial, suite: Suite, nodes: int = NODES) -> dict[str, Fate]:
    """Of each truly different mutant on the trial's data, by key.  Every limit counts work, so that versions and data decide it."""
    by_key = _mutants(suite.family, suite.formulation)
    killed = [key for one in suite.sets for key in one.kills]
    return {key: trial.fate(by_key[key], nodes, sure=False) for key in (*killed, *suite.survivors) if key in by_key}


@lru_cache(maxsize=64)
def _mutants(family: str, formulation: str) -> dict[str, Mutant]:
    return {str(m): m for m in mutants(lower(families[family].symbolic(formulation)))}
