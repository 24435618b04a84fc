"""Scenarios: the vocabulary that dresses a symbolic model as a story.

data/reference/scenarios/<family>.yaml lists scenarios; each names its sets (noun, plural, labels), its units and free words:

    - id: bakeries
      sets:
        I: {noun: depot, labels: depots}                    # a pool of data/reference/pools.yaml, a list, or a pattern "D{n}"
        J: {noun: bakery, plural: bakeries, labels: [Alder, Birch, Cedar]}
      units: {money: EUR, goods: [pallet, pallets]}       # singular and plural where they differ
      words: {org: a flour mill, goods: flour}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import yaml

from orpipe.algebra import nodes as n
from orpipe.errors import ModelError, NotFound
from orpipe.render.words import with_articles
from orpipe.resources import reference


@dataclass(frozen=True)
class Scenario:
    """units: abstract unit -> (singular, plural)."""

    id: str
    sets: Mapping[str, Mapping[str, Any]]
    units: Mapping[str, tuple[str, str]]
    words: Mapping[str, str]

    def unit(self, text: str) -> str:
        """«goods/day» -> «pallets/day», «money/goods» -> «EUR/pallet», «1» -> «»."""
        if text in ("", "1"):
            return ""
        above, *below = text.replace(" ", "").replace("**2", "²").split("/")
        top = "*".join(self.units.get(part, (part, part))[1] for part in above.split("*"))
        return "/".join([top, *(self.units.get(part, (part, part))[0] for part in below)])

    def measure(self, number: str, token: str) -> str:
        """«1 pallet», «24 pallets», «16 t»."""
        one, many = self.units.get(token, (token, token))
        return f"{number} {one if number == '1' else many}"


@cache
def _pools() -> Mapping[str, list[str]]:
    return yaml.safe_load((reference() / "pools.yaml").read_text(encoding="utf-8"))


@cache
def scenarios(family: str) -> tuple[Scenario, ...]:
    """The scenarios of a family, in file order.  ModelError (one line) when the file is missing or malformed."""
    path = reference() / "scenarios" / f"{family}.yaml"
    if not path.is_file():
        raise ModelError(f"family '{family}' has no scenarios; write data/reference/scenarios/{family}.yaml")
    found = []
    for item in yaml.safe_load(path.read_text(encoding="utf-8")):
        unknown = set(item) - {"id", "sets", "units", "words"}
        if unknown or "id" not in item:
            raise ModelError(f"{path.name}: scenario {item.get('id', '?')} has unknown or missing keys {sorted(unknown) or ['id']}")
        units = {k: (u, u) if isinstance(u, str) else (u[0], u[1]) for k, u in item.get("units", {}).items()}
        found.append(Scenario(item["id"], item.get("sets", {}), units, item.get("words", {})))
    return tuple(found)


def scenario(family: str, name: str) -> Scenario:
    known = {s.id: s for s in scenarios(family)}
    if name not in known:
        raise NotFound.among("scenario", name, known, f"of '{family}'")
    return known[name]


class Labels:
    """Draws labels for sets: distinct, in the scenario's vocabulary, falling back on «Bakery 17» when a pool is short."""

    def __init__(self, chosen: Scenario, model: n.Model, rng: np.random.Generator):
        self.scenario, self.model, self.rng = chosen, model, rng
        self.taken: set[str] = set()

    def __call__(self, symbol: str, count: int) -> list[str]:
        entry = self.scenario.sets.get(symbol, {})
        source = entry.get("labels")
        noun = entry.get("noun", self.model.set_by[symbol].noun)
        fixed = bool(entry.get("fixed")) or self.model.set_by[symbol].ordered
        if isinstance(source, str) and "{n}" in source:
            return [source.format(n=k + 1) for k in range(count)]
        pool = list(_pools()[source] if isinstance(source, str) else source or [])
        pool = [p for p in pool if p not in self.taken]
        if len(pool) < count:
            return [f"{noun.split()[-1].capitalize()} {k + 1}" for k in range(count)]
        chosen = pool[:count] if fixed else [pool[k] for k in self.rng.permutation(len(pool))[:count]]
        self.taken.update(chosen)
        return chosen


class _Words(dict):
    def __missing__(self, key: str) -> str:
        raise ModelError(f"words name '{{{key}}}', which is neither a set nor a word of the scenario")


def vocabulary(model: n.Model, chosen: Scenario) -> dict[str, str]:
    """Everything that braces may name: {I}, {I_s}, {goods}, and units as {unit_money}."""
    table: dict[str, str] = dict(chosen.words)
    for s in model.sets:
        entry = chosen.sets.get(s.symbol, {})
        noun = entry.get("noun", s.noun)
        table[s.symbol] = noun
        table[s.symbol + "_s"] = entry.get("plural", noun + "s" if "noun" in entry else s.plural)
    for s in model.sets:  # nouns of tuple sets may name the sets that they pair
        for key in (s.symbol, s.symbol + "_s"):
            table[key] = table[key].format_map(_Words(table))
    table.update({f"unit_{k}": v[0] for k, v in chosen.units.items()})
    return table


def dress(model: n.Model, chosen: Scenario) -> n.Model:
    """The model in the scenario's words: set nouns and code names, meanings, reasons and units.  Structure is untouched."""
    table = _Words(vocabulary(model, chosen))

    nouns = [table[s.symbol] for s in model.sets]

    def say(text: str) -> str:
        return with_articles(text.format_map(table), nouns)

    def named(s: n.SetDecl) -> n.SetDecl:
        plural = table[s.symbol + "_s"]
        renamed = "noun" in chosen.sets.get(s.symbol, {})
        code = "".join(c if c.isalnum() else "_" for c in plural.lower()) if renamed else s.name
        return replace(s, noun=table[s.symbol], plural=plural, name=code)

    return replace(
        model,
        sets=tuple(named(s) for s in model.sets),
        params=tuple(replace(p, meaning=say(p.meaning), unit=chosen.unit(p.unit)) for p in model.params),
        variables=tuple(replace(v, meaning=say(v.meaning), unit=chosen.unit(v.unit)) for v in model.variables),
        objective=replace(model.objective, terms=tuple(replace(t, meaning=say(t.meaning)) for t in model.objective.terms)),
        rows=tuple(replace(r, because=say(r.because)) for r in model.rows),
        idioms=tuple(replace(
            d, because=say(d.because),
            parts=tuple((k, say(v) if k == "meaning" else chosen.unit(v) if k == "unit" else v) for k, v in d.parts),  # type: ignore[arg-type]
        ) for d in model.idioms),
    )
