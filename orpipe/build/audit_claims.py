"""Auditing the claims of `solve` and `diagnose` examples: each is worked out again from the row and its instance alone.

The right model is the family's, grounded on the instance's data; the faulty one is made again from the operator and site that the
metadata name.  Plans are checked by exact arithmetic, optima by new labels.  And a sentence says what its facts say: it stands in
the example, its numbers are those of the facts, and it names no other row or column.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from orpipe.build.audit_claim_kinds import CHECKS, Open, Truth, Wrong, irreducible_rows, labelled, need
from orpipe.build.audit_records import Check, Finding, Known, Undecided
from orpipe.data import with_entry
from orpipe.ground import ground
from orpipe.render.words import about, approximate

_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:/\d+)?")


def claim_checks(row: Mapping[str, Any], known: Known) -> Iterator[Check]:
    """One check a claim, one for the faulty model behind it."""
    meta = json.loads(row["metadata"])
    stated = meta.get("claims", [])
    if not stated and not meta.keys() & {"faulty_status", "conflict"}:
        return
    truth = Truth(known, meta)
    if "faulty_status" in meta:
        yield Check("faulty model is what is stated", _tried(truth.faulty))
    texts = "\n".join(m["content"] for name in ("messages", "prompt", "chosen") for m in row.get(name) or [])
    for claim in stated:
        yield Check("claim in the text", _tried(partial(_worded, truth, claim, texts)))
        yield Check("claim holds", _tried(partial(_holds, truth, claim)))
    if "conflict" in meta:
        yield Check("claim holds", _tried(partial(_conflict, truth, texts)))


def _tried(check: Callable[[], None]) -> Finding:
    try:
        check()
    except Wrong as wrong:
        return str(wrong)
    except Open as unknown:
        return Undecided(str(unknown))
    return None


# ---- the words


def _worded(truth: Truth, claim: Mapping[str, Any], texts: str) -> None:
    text = claim["text"]
    need(text in texts, f"the example does not say «{text}»")
    names = {*truth.right.rows, *truth.right.columns}
    if "operator" in truth.meta:
        names |= {*truth.wrong.rows, *truth.wrong.columns}
    other = sorted((set(re.findall(r"`([^`]+)`", text)) & names) - set(claim["at"]))
    need(not other, f"the sentence names {', '.join(other)}, its facts do not")
    plain = re.sub(r"`[^`]*`", " ", text)
    data = json.loads(truth.known.row["data"])
    for name in sorted(_labels(data), key=len, reverse=True):
        if re.search(r"\d", name):
            plain = re.sub(rf"(?<![\w.]){re.escape(name)}(?![\w.])", " ", plain) if not name.isdigit() else plain
    values = {v for v in map(_value, claim["values"].values()) if v is not None}
    said = {text for v in values for side in (v, abs(v)) for text in (about(side).removeprefix("about "), approximate(side))} | {"0 or 1"}
    plain = plain.replace("0 or 1", " ")
    spare = {name for name in _labels(data) if name.isdigit()} | set(_NUMBER.findall(" ".join(r.because for r in truth.model.rows)))
    for number in _NUMBER.findall(plain):
        need(number in said or number in spare, f"the sentence says {number}, its facts {', '.join(sorted(map(str, values)))}")


def _labels(data: Any) -> set[str]:
    """Every label of the data's sets: list entries and keys."""
    if isinstance(data, Mapping):
        return set(map(str, data)) | {x for v in data.values() for x in _labels(v)}
    if isinstance(data, list):
        return {x for v in data for x in ({str(v)} if isinstance(v, (str, int)) else _labels(v))}
    return set()


def _value(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)


# ---- the facts


def _holds(truth: Truth, claim: Mapping[str, Any]) -> None:
    check = CHECKS.get(claim["claim"])
    if check is None:
        raise Wrong(f"nothing is known of claims «{claim['claim']}»")
    check(truth, claim["at"], {k: _value(v) for k, v in claim["values"].items()}, claim.get("more", {}))


def _conflict(truth: Truth, texts: str) -> None:
    """Of infeasible data: the rows exclude each other, and the entry at its nearest value leaves a plan."""
    meta = truth.meta
    irreducible_rows(truth.right, meta["conflict"])
    for name in meta["conflict"]:
        need(f"`{name}`" in texts or f"`{name}: " in texts, f"the example does not name '{name}' of the conflict")
    if meta["least"] is not None:
        symbol, *keys = meta["entry"]
        least = with_entry(json.loads(truth.known.row["data"]), symbol, tuple(keys), Fraction(meta["least"]))
        need(labelled(ground(truth.model, least)).status == "optimal", f"with {meta['least']} for {symbol} there is still no plan")
