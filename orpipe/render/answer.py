"""What an optimum means in the story: templates/nl/<family>/answer.j2, told from the exact optimal point.

    {{ picked("y", "{i}") }}                              labels of binaries at 1; left_out("y", "{i}") those at 0
    {{ amounts("x", "{i} sends {x:goods} to {j}") }}       one clause a nonzero entry
    {{ value("z", "hour") }}                               a scalar variable with its unit
    {{ grouped("x", "i", "{i} sends", "{x:goods} to {j}") }}   nonzero entries gathered by an index
    {{ tour("x") }}                                        the order of a round trip; legs("x", "{i} to {j}") one clause a leg, in that order
    {{ timetable("s", "j", "{j} on", "{k} at {s}") }}       all entries of a time variable, by an index, in time order
    {{ each(...) }}, {{ v(...) }}, {{ rows(...) }}          data, as in problem texts
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import jinja2

from orpipe.errors import ModelError
from orpipe.ground import validate
from orpipe.instances import Instance
from orpipe.render.nl import _HOLE, Teller, environment, nouns_of, shared_context, tidy_text
from orpipe.render.tables import tuples_of
from orpipe.render.words import about, listing, with_articles


@dataclass(frozen=True)
class Solution:
    """values[symbol][labels] of every variable at an exact point, in column order."""

    values: Mapping[str, Mapping[tuple, Fraction]]

    @classmethod
    def of(cls, instance: Instance, point: Sequence[Fraction]) -> Solution:
        arrays, values, k = validate(instance.linear, instance.data), {}, 0
        for v in instance.linear.variables:
            keys = tuples_of(instance.linear, arrays, v.indices, v.domain)
            values[v.symbol] = {key: point[k + n] for n, key in enumerate(keys)}
            k += len(keys)
        return cls(values)


@dataclass
class _Solved:
    teller: Teller
    instance: Instance
    solution: Solution

    def clauses(self, symbol: str, pattern: str, keep) -> list[str]:
        decl = self.instance.linear.var_by.get(symbol)
        if decl is None:
            raise ModelError(f"answer of '{self.instance.family.name}' names unknown variable '{symbol}'")
        out = []
        for key, value in self.solution.values[symbol].items():
            if keep(value):
                at = dict(zip((k.name for k in decl.indices), map(str, key), strict=True))

                def fill(match, at=at, value=value, key=key):
                    if match[1] == symbol:
                        text = about(value)
                        return self.teller.scenario.measure(text, match[2]) if match[2] else text
                    if match[1] in at:
                        return at[match[1]]
                    return self.teller.values("{" + match[0].strip("{}") + "}", at, self.teller.keys_like(decl, key))

                out.append(_HOLE.sub(fill, pattern))
        return out

    def picked(self, symbol: str, pattern: str, none: str = "none", sep: str = ", ", last: str = " and ") -> str:
        return listing(self.clauses(symbol, pattern, lambda v: v == 1), last, sep) or none

    def left_out(self, symbol: str, pattern: str, none: str = "none", sep: str = ", ", last: str = " and ") -> str:
        return listing(self.clauses(symbol, pattern, lambda v: v == 0), last, sep) or none

    def amounts(self, symbol: str, pattern: str, none: str = "nothing", sep: str = ", ", last: str = " and ") -> str:
        return listing(self.clauses(symbol, pattern, lambda v: v != 0), last, sep) or none

    def value(self, symbol: str, unit: str = "") -> str:
        text = about(self.solution.values[symbol][()])
        return self.teller.scenario.measure(text, unit) if unit else text

    def grouped(self, symbol: str, by: str, head: str, item: str, sep: str = "; ", last: str = "; ", none: str = "nothing") -> str:
        """Nonzero entries gathered by one index: «North sends 5 t to Alder and 4 t to Cedar; South sends ...»."""
        decl = self.instance.linear.var_by[symbol]
        letters = [k.name for k in decl.indices]
        heads = self.clauses(symbol, head, lambda v: v != 0)
        items = self.clauses(symbol, item, lambda v: v != 0)
        keys = [key[letters.index(by)] for key, v in self.solution.values[symbol].items() if v != 0]
        table: dict[object, tuple[str, list[str]]] = {}
        for key, h, text in zip(keys, heads, items, strict=True):
            table.setdefault(key, (h, []))[1].append(text)
        places = {label: k for k, label in enumerate(dict.fromkeys(key[letters.index(by)] for key in self.solution.values[symbol]))}
        ordered = [table[label] for label in sorted(table, key=lambda x: places[x])]
        return listing([f"{h} {listing(texts)}" for h, texts in ordered], last, sep) or none

    def tour(self, symbol: str, step: str = " - ") -> str:
        """The places of a round trip in order, from the first element of the set back to it."""
        return step.join(str(x) for x in self._trip(symbol))

    def legs(self, symbol: str, pattern: str) -> str:
        """One clause for each leg of a round trip, in the order of the trip."""
        on = [key for key, v in self.solution.values[symbol].items() if v == 1]
        clauses = dict(zip(on, self.clauses(symbol, pattern, lambda v: v == 1), strict=True))
        trip = self._trip(symbol)
        return listing([clauses[leg] for leg in pairwise(trip)])

    def _trip(self, symbol: str) -> list:
        follows = {key[0]: key[1] for key, v in self.solution.values[symbol].items() if v == 1}
        start = next(iter(self.solution.values[symbol]))[0]
        places = [start]
        while (here := follows[places[-1]]) != start:
            places.append(here)
        return [*places, start]

    def timetable(self, symbol: str, by: str, head: str, item: str) -> str:
        """All entries of a time variable gathered by one index and sorted by time within it."""
        decl = self.instance.linear.var_by[symbol]
        at = [k.name for k in decl.indices].index(by)
        heads, items = (self.clauses(symbol, pattern, lambda v: True) for pattern in (head, item))
        table: dict[object, tuple[str, list[tuple[Fraction, str]]]] = {}
        for (key, time), h, text in zip(self.solution.values[symbol].items(), heads, items, strict=True):
            table.setdefault(key[at], (h, []))[1].append((time, text))
        return listing([f"{h} {listing([text for _, text in sorted(entries)])}" for h, entries in table.values()], "; ", "; ")


def render_answer(instance: Instance, solution: Solution) -> str:
    """A paragraph that says the optimal decisions in the story's words (no objective value; the product states it)."""
    context, teller = shared_context(instance, "text")
    told = _Solved(teller, instance, solution)
    context.update(picked=told.picked, left_out=told.left_out, amounts=told.amounts, value=told.value, grouped=told.grouped,
                   timetable=told.timetable, tour=told.tour, legs=told.legs)
    try:
        text = environment().get_template(f"nl/{instance.family.name}/answer.j2").render(context)
    except (jinja2.TemplateError, AttributeError) as error:
        raise ModelError(f"templates/nl/{instance.family.name}/answer.j2: {error}") from error
    return tidy_text(with_articles(text, nouns_of(instance))).strip()
