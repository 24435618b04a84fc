"""Python names for the words of a model: sets, parameters, variables, index letters, objective terms, helpers.

A name that would hide a keyword, a builtin, an alias of the library or another name gets a trailing underscore.  The
names of columns and rows in the built model are never changed by this.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from orpipe.algebra import nodes as n

# every name that some program of ours binds for itself, whatever the dialect and style
_OURS = ("data", "record", "row", "file", "json", "csv", "math", "model", "solver", "result", "status", "build_model",
         "solve", "load_data", "read_table", "scalars", "parameters", "DATA")
_RESERVED = frozenset((*keyword.kwlist, *keyword.softkwlist, *dir(builtins), *_OURS)) - {"_"}


def identifier(words: str) -> str:
    """«price segment» -> price_segment"""
    text = re.sub(r"\W+", "_", words.strip()).strip("_")
    return text if text and not text[0].isdigit() else "_" + text


def unused(name: str, taken: Iterable[str]) -> str:
    while name in taken:
        name += "_"
    return name


class Names:
    """Names in one model for one dialect: the same whichever part of the program is written.

    on_model: the variables are attributes of the model object (`model.ship`), where `attributes` are not free."""

    def __init__(self, model: n.Model, reserved: frozenset[str], on_model: bool, attributes: frozenset[str]):
        self._taken = set(_RESERVED | reserved)
        self.letters = {letter: self._take(letter) for letter in sorted({k.name for k in _indices(model)})}
        self.sets = {s.symbol: self._take(s.name) for s in model.sets}
        self.params = {p.symbol: self._take(p.name) for p in model.params}
        self._attributes = set(attributes | {"objective"} | frozenset(keyword.kwlist))
        self.variables = {
            v.symbol: "model." + self._attribute(v.name) if on_model else self._take(v.name) for v in model.variables}
        self.rows = {r.name: self._attribute(r.name, "_row") for r in model.rows}
        self.terms = {t.name: self._take(t.name, "_total") for t in model.objective.terms}
        stems = {s.symbol: identifier(s.noun) for s in model.sets}
        shared = Counter(stems.values())
        self._stems = {s.symbol: stems[s.symbol] if shared[stems[s.symbol]] == 1 else s.name for s in model.sets}

    def _take(self, name: str, suffix: str = "_") -> str:
        while name in self._taken:
            name += suffix
        self._taken.add(name)
        return name

    def _attribute(self, name: str, suffix: str = "_") -> str:
        while name in self._attributes:
            name += suffix
        self._attributes.add(name)
        return name

    def position(self, set_symbol: str) -> str:
        """day_position: label -> place in the set, from 0."""
        return unused(f"{self._stems[set_symbol]}_position", self._taken)

    def shifted(self, set_symbol: str, shift: int) -> str:
        """previous_day, next_day: label -> the label `shift` places on."""
        word = {-1: "previous_{}", 1: "next_{}"}.get(shift, f"{{}}_{abs(shift)}_{'earlier' if shift < 0 else 'later'}")
        return unused(word.format(self._stems[set_symbol]), self._taken)

    def element(self, set_symbol: str) -> str:
        """A loop variable for the labels of a set, in a comprehension of its own."""
        return unused(self._stems[set_symbol], {*self._taken, "k"})

    def table(self, name: str) -> str:
        """depots_table: the rows of a csv file."""
        return unused(f"{identifier(name)}_table", self._taken)


def _indices(model: n.Model) -> Iterator[n.Index]:
    for s in model.sets:
        yield from s.over
    for p in model.params:
        yield from p.indices
    for v in model.variables:
        yield from v.indices
    for r in model.rows:
        yield from r.forall
    for root in expressions(model):
        for node in n.walk(root):
            if isinstance(node, n.Sum):
                yield from node.indices


def expressions(model: n.Model) -> Iterator[n.Expr | n.Cond | None]:
    """Every expression and condition of a linear model, in order."""
    yield from (s.where for s in model.sets)
    for v in model.variables:
        yield from (v.lower, v.upper)
    yield from (t.expr for t in model.objective.terms)
    for r in model.rows:
        yield from (r.where, r.left, r.right)
