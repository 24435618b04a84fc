"""Auditing the config `suites`: every data set is ground, labelled and, where it says so, proved again; a sample of the kills
is labelled again; what `instances` says about discrimination must follow from them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from orpipe.algebra.idioms import lower
from orpipe.algebra.nodes import Model
from orpipe.errors import NotFound
from orpipe.exact import fraction
from orpipe.families import families
from orpipe.ground import ground, structure_hash
from orpipe.mutate import Mutant, mutants
from orpipe.proof import Certificate, Refuted, prove
from orpipe.solve import Label, label
from orpipe.suites.kills import Trial

_NODES = 20_000
_SAMPLE = 4  # kills of a data set that are tried again


class Open(NamedTuple):
    """A check without a result here, and why."""

    why: str


class Told(NamedTuple):
    check: str
    finding: str | Open | None


class Stated(NamedTuple):
    """What the rows of one suite say: mutants in all that differ, and those that no data set kills."""

    different: int
    survivors: frozenset[str]


@cache
def _structures(family: str) -> dict[str, Model]:
    try:
        found = families[family]
    except NotFound:
        return {}
    return {structure_hash(m): lower(m) for m in map(found.symbolic, found.formulations)}


@cache
def _mutants(family: str, structure: str) -> dict[str, Mutant]:
    return {str(m): m for m in mutants(_structures(family)[structure])}


def row_checks(row: Mapping[str, Any]) -> Iterator[Told]:
    """Everything that one row claims by itself."""
    linear = _structures(row["family"]).get(row["structure_hash"])
    yield Told("suite of a known structure", None if linear else f"family '{row['family']}' has no formulation of hash {row['structure_hash']}")
    if linear is None:
        return
    formulation = structure_hash(families[row["family"]].symbolic(row["formulation"]))
    yield Told("suite formulation", None if formulation == row["structure_hash"] else f"'{row['formulation']}' has the hash {formulation}")
    data = json.loads(row["data"])
    problem = ground(linear, data)
    found = label(problem, nodes=_NODES)
    if not isinstance(found, Label):
        yield Told("suite label", Open(f"no label: {found.reason}"))
        return
    best = None if row["objective_exact"] is None else fraction(row["objective_exact"])
    same = found.status == row["status"] and found.objective_exact == best
    yield Told("suite label", None if same else f"solved anew: {found.status} {found.objective_exact}, stated: {row['status']} {best}")
    if not same:
        return
    proof = prove(problem, found, float("inf"), _NODES)
    if isinstance(proof, Refuted):
        yield Told("suite certificate", proof.reason)
    elif row["certificate"] == "exact":
        yield Told("suite certificate", None if isinstance(proof, Certificate) else Open(f"not proved again: {proof.reason}"))
    trial, known = Trial(linear, data, problem, found), _mutants(row["family"], row["structure_hash"])
    for key in _sample(json.loads(row["kills"]), row["structure_hash"]):
        yield Told("suite kill", _kill(trial, known.get(key), key))


def _sample(keys: list[str], salt: str) -> list[str]:
    return sorted(keys, key=lambda key: zlib.crc32(f"{salt}/{key}".encode()))[:_SAMPLE]


def _kill(trial: Trial, mutant: Mutant | None, key: str) -> str | Open | None:
    if mutant is None:
        return Open(f"this version of orpipe has no mutant '{key}'")
    faulty = trial.grounded(mutant)
    if faulty is None:
        return f"'{key}' does not ground on these data"
    found = label(faulty, nodes=_NODES)
    if not isinstance(found, Label):
        return Open(f"'{key}' has no label: {found.reason}")
    return None if trial.differs(found) else f"'{key}' has the same answer on these data"


def suite_checks(rows: Sequence[Mapping[str, Any]]) -> Iterator[Told]:
    """What the rows of one structure claim together."""
    order = [row["index"] for row in rows]
    yield Told("suite order", None if order == list(range(len(rows))) else f"indices are {order}")
    kills = [key for row in rows for key in json.loads(row["kills"])]
    twice = len(kills) - len(set(kills))
    yield Told("suite kills once", f"{twice} mutants are killed twice" if twice else None)
    left = {row["survivors"] for row in rows}
    both = set(kills) & set(json.loads(rows[0]["survivors"]))
    yield Told("suite survivors", "the rows name different ones" if len(left) > 1 else f"'{min(both)}' is killed" if both else None)


def stated(rows: Sequence[Mapping[str, Any]]) -> Stated:
    survivors = frozenset(json.loads(rows[0]["survivors"]))
    return Stated(sum(len(json.loads(row["kills"])) for row in rows) + len(survivors), survivors)


def instance_finding(row: Mapping[str, Any], suites: Mapping[str, Stated]) -> str | None:
    """The columns about discrimination, against the suite of the structure (all null in a dataset without suites)."""
    headline, whole, survivors = (row.get(c) for c in ("discrimination_headline", "discrimination_suite", "survivors"))
    suite = suites.get(row["structure_hash"])
    if suite is None:
        return None if headline is None and whole is None and survivors is None else "there is no suite of this structure"
    left = set(json.loads(survivors or "null") or ())
    if survivors is None or left - suite.survivors:
        return f"survivors are {survivors}, the suite leaves {sorted(suite.survivors)}"
    if not suite.different:
        return None if headline is None and whole is None else "shares of no mutant"
    right = 1 - len(left) / suite.different
    if whole is None or abs(whole - right) > 1e-9:
        return f"discrimination_suite is {whole}, the suite and survivors give {right}"
    least = (len(suite.survivors) - len(left)) / suite.different
    fits = headline is not None and least - 1e-9 <= headline <= whole + 1e-9
    return None if fits else f"discrimination_headline is {headline}, not between {least} and {whole}"
