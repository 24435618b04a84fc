"""Auditing `discrimination_headline`: on a fixed sample of the instances every mutant is tried again on the instance's own data.

Every limit of that trial counts work and none the clock, so the same versions find the same share; it is compared exactly, not as a
range.  The trial starts from the row's own solution and duals, as the one that made the row did (both are checked elsewhere).
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from orpipe import __version__
from orpipe.build.audit_facts import stated_duals
from orpipe.build.audit_instances import models_of, solution
from orpipe.build.audit_records import Finding, Undecided
from orpipe.ground import ground
from orpipe.problem import Problem
from orpipe.solve import Label
from orpipe.suites.headline import fates
from orpipe.suites.kills import Trial
from orpipe.suites.suite import Suite

EVERY = 20  # one instance in so many, besides the first of each structure


def sampled(row: Mapping[str, Any], met: set[str]) -> bool:
    """Is this one tried again?  By its id alone, or as the first of its structure in the dataset; met: structures so far."""
    first = row["structure_hash"] not in met
    met.add(row["structure_hash"])
    return first or zlib.crc32(str(row["id"]).encode()) % EVERY == 0


def recounted(row: Mapping[str, Any], suite: Suite) -> Finding:
    """What is wrong with the headline share; Undecided for a row of another version of orpipe or of a label that is at fault itself."""
    if row["generator_version"] != __version__:
        return Undecided(f"made by version {row['generator_version']}, whose mutants and limits may be others")
    linear = models_of(row["family"]).get(row["structure_hash"])
    if linear is None:
        return Undecided("the structure is not known here")
    data = json.loads(row["data"])
    problem = ground(linear, data)
    found = _label(row, problem)
    if isinstance(found, str):
        return Undecided(f"its solution {found}")
    conflict = () if row["iis"] is None else tuple(json.loads(row["iis"]))
    told = fates(Trial(linear, data, problem, found, conflict), suite)
    if not told:
        return None if row["discrimination_headline"] is None else f"discrimination_headline is {row['discrimination_headline']}, of no mutant"
    killed = sum(fate == "killed" for fate in told.values())
    if row["discrimination_headline"] is None or abs(row["discrimination_headline"] * len(told) - killed) > 1e-6:
        return f"discrimination_headline is {row['discrimination_headline']}, tried again {killed} of {len(told)} mutants differ on its data"
    left = [key for key in suite.survivors if told.get(key) != "killed"]
    return None if sorted(json.loads(row["survivors"])) == sorted(left) else f"survivors are {row['survivors']}, tried again {json.dumps(left)}"


def _label(row: Mapping[str, Any], problem: Problem) -> Label | str:
    if row["status"] != "optimal":
        return Label(row["status"], None, None, None, "agreement", ())
    point = solution(row, problem)
    if isinstance(point, str):
        return point
    duals = None if row["duals"] is None else stated_duals(problem, json.loads(row["duals"]))
    best = Fraction(row["objective_exact"])
    return Label("optimal", float(best), best, tuple(point), "agreement", (), duals=duals)
