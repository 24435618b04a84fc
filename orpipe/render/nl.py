"""Problem texts: templates/nl/<family>/<register>.j2 in three data interfaces; <register>_2.j2 and so on word the same anew.

A register template is prose with three kinds of holes:
    {{ facts() }}                                     the data, in the interface at hand (text: facts.j2 of the family)
    {% states "capacity", "var:x" %}...{% endstates %}  prose that states a row, an objective term or a variable
    {{ w.org }}, {{ I.plural }}, {{ u.goods }}          words, nouns, units (u singular and spelt out, us plural)
facts.j2 states every datum:
    {{ v("B", "money") }}                              a scalar with its unit: 120 EUR
    {{ each("I", "{i} can dispatch {q:goods} a day") }}  one clause an element (or tuple), with any parameters over it
    {{ rows("c", "from {i} it costs", "{c} EUR to {j}", "{c} to {j}") }}   a two-index parameter row by row
    {{ rows("A", "{i} covers", "{j}") }}               a tuple set row by row
What was stated is recorded while rendering; `Problem text` is complete when nothing of the model is missing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace
from typing import Any, Literal, get_args

import jinja2
from jinja2 import nodes as jn
from jinja2.ext import Extension

from orpipe.algebra.nodes import Model, ParamDecl, SetDecl, VarDecl
from orpipe.errors import ModelError, UsageError
from orpipe.ground import Arrays, validate
from orpipe.instances import Instance
from orpipe.render.files import schema_text
from orpipe.render.tables import lookup, tables_text, tuples_of
from orpipe.render.words import approximate, article, count_word, figure, listing, sentence, upper_first, with_articles
from orpipe.resources import templates
from orpipe.scenarios import Scenario

Interface = Literal["text", "tables", "json", "csv"]
INTERFACES: tuple[Interface, ...] = get_args(Interface)
REGISTERS = ("memo", "textbook", "brief")
# units that prose spells out: «3 EUR per tonne», beside the figures «16 t»
_SPOKEN = {"t": "tonne", "hl": "hectolitre", "ML": "megalitre", "m³": "cubic metre"}
# between clauses of a long enumeration, through all the joining of lines: a new line in the finished text
_BREAK = "\ue000"
_LONG = 500
_HOLE = re.compile(r"\{(\w+)(?::(\w+))?\}")


class States(Extension):
    """{% states "row", ... %} prose {% endstates %}"""

    tags = {"states"}

    def parse(self, parser: Any) -> jn.Node:
        line = next(parser.stream).lineno
        names = [parser.parse_expression()]
        while parser.stream.skip_if("comma"):
            names.append(parser.parse_expression())
        body = parser.parse_statements(("name:endstates",), drop_needle=True)
        return jn.CallBlock(self.call_method("_record", [jn.ContextReference(), jn.List(names)]), [], [], body).set_lineno(line)

    def _record(self, context: Any, names: list[str], caller: Any) -> str:
        text = caller()
        if text.strip():
            context["_stated"].update(names)
        return text


@cache
def environment() -> jinja2.Environment:
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(str(templates())), undefined=jinja2.StrictUndefined, extensions=[States],
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=False, autoescape=False,
    )
    env.filters.update(sentence=sentence, first_upper=upper_first, article=article, listing=listing, figure=figure,
                       count_word=count_word, approximate=approximate)
    return env


@dataclass(frozen=True)
class ProblemText:
    """text, and what of the model it states (parameter symbols, row names, `term:` and `var:` names)."""

    text: str
    stated: frozenset[str]
    register: str
    interface: Interface

    def missing(self, model: Model) -> list[str]:
        """What the model holds and the text leaves unsaid."""
        due = [p.symbol for p in model.params] + [r.name for r in model.rows] + [d.name for d in model.idioms]
        due += [f"term:{t.name}" for t in model.objective.terms] + [f"var:{v.symbol}" for v in model.variables if not v.auxiliary]
        return [name for name in due if name not in self.stated]


@dataclass(frozen=True)
class Noun:
    """A set in a template: {{ I.noun }}, {{ I.plural }}, {{ I.count }} (three), {{ I.number }} (3), {{ I.labels }}."""

    noun: str
    plural: str
    number: int
    items: tuple[str, ...]

    @property
    def count(self) -> str:
        return count_word(self.number)

    @property
    def counted(self) -> str:
        return f"{self.count} {self.noun if self.number == 1 else self.plural}"

    @property
    def labels(self) -> str:
        return listing(self.items)

    @property
    def first(self) -> str:
        return self.items[0]

    @property
    def last(self) -> str:
        return self.items[-1]


@dataclass
class Teller:
    """Fills patterns with the labels and numbers of an instance, and records what was stated."""

    model: Model
    data: Mapping[str, Any]
    arrays: Arrays
    scenario: Scenario
    stated: set[str] = field(default_factory=set)

    def values(self, pattern: str, at: Mapping[str, str], key: Mapping[str, tuple]) -> str:
        def fill(match: re.Match) -> str:
            name = match[1]
            if name in at:
                return at[name]
            if name in key:
                self.stated.add(name)
                text = figure(lookup(self.data[name], key[name]))
                return self.scenario.measure(text, match[2]) if match[2] else text
            raise ModelError(f"words of '{self.model.name}': '{{{name}}}' is neither an index nor a parameter over it in {pattern!r}")

        return _HOLE.sub(fill, pattern)

    def v(self, symbol: str, unit: str = "") -> str:
        """A scalar parameter's number, with its unit in words if one is named."""
        if symbol not in self.model.param_by or self.model.param_by[symbol].indices:
            raise ModelError(f"words of '{self.model.name}': v('{symbol}') needs a scalar parameter")
        self.stated.add(symbol)
        text = figure(self.data[symbol])
        return self.scenario.measure(text, unit) if unit else text

    def each(self, set_symbol: str, pattern: str, sep: str = ", ", last: str = " and ", first: str = "") -> str:
        """One clause for each element of a set or tuple set; `first` is the pattern of the first one if it differs."""
        s = self.model.set_by[set_symbol]
        clauses: list[str] = []
        for key in ([(x,) for x in self.arrays.labels[s.symbol]] if not s.over else tuples_of(self.model, self.arrays, s.over, s.symbol)):
            params = {p.symbol: key for p in self.model.params if self._over(p, s)}
            clauses.append(self.values(first if first and not clauses else pattern, self._letters(s, key), params))
        self.stated.add(set_symbol)
        return enumerated(clauses, last, sep)

    def rows(self, symbol: str, head: str, first: str, rest: str = "", sep: str = "; ", last: str = "; ", inner: str = " and ") -> str:
        """A two-index parameter, or a tuple set, row by row: head, then `first` for the first entry and `rest` for the others;
        the clauses may name any parameter over the same indices."""
        decl: ParamDecl | SetDecl = self.model.param_by.get(symbol) or self.model.set_by[symbol]
        domain: str | None
        if isinstance(decl, SetDecl):
            indices, domain, filled = decl.over, symbol, [p.symbol for p in self.model.params if self._over(p, decl)]
        else:
            sets = [k.set for k in decl.indices]
            indices, domain = decl.indices, decl.domain
            filled = [p.symbol for p in self.model.params if p.domain == domain and [k.set for k in p.indices] == sets]
        lines: dict[str, list[str]] = {}
        for key in tuples_of(self.model, self.arrays, indices, domain):
            at = dict(zip((k.name for k in indices), map(str, key), strict=True))
            own = lines.setdefault(self.values(head, at, {}), [])
            own.append(self.values(rest if rest and own else first, at, dict.fromkeys(filled, key)))
        self.stated.update({symbol} & self.model.set_by.keys())
        return enumerated([f"{h} {listing(cells, inner)}" for h, cells in lines.items()], last, sep)

    def keys_like(self, decl: Any, key: tuple) -> dict[str, tuple]:
        """For a variable's label tuple: the label tuples of every parameter over some of its indices, by symbol."""
        at = dict(zip((k.name for k in decl.indices), key, strict=True))
        return {p.symbol: tuple(at[k.name] for k in p.indices) for p in self.model.params if all(k.name in at for k in p.indices)}

    def _over(self, p: Any, s: SetDecl) -> bool:
        return p.domain == s.symbol if s.over else p.domain is None and [k.set for k in p.indices] == [s.symbol]

    def _letters(self, s: SetDecl, key: tuple) -> dict[str, str]:
        if s.over:
            return {k.name: str(x) for k, x in zip(s.over, key, strict=True)}
        decls: list[ParamDecl | VarDecl] = [*self.model.params, *self.model.variables]
        declared = [k for d in decls for k in d.indices] + [k for r in self.model.rows for k in r.forall]
        letters = {k.name: str(key[0]) for k in declared if k.set == s.symbol}
        return letters | {s.symbol.lower(): str(key[0])}


def enumerated(clauses: list[str], last: str, sep: str) -> str:
    """A list in a sentence; one clause a line where it is long."""
    if len(clauses) < 4 or sum(map(len, clauses)) < _LONG:
        return listing(clauses, last, sep)
    return (sep.rstrip() + _BREAK).join(clauses)


def shared_context(instance: Instance, interface: Interface) -> tuple[dict[str, Any], Teller]:
    """What every template of a family may use, and the teller that records."""
    model, data, chosen = instance.model, instance.data, instance.scenario
    arrays = validate(model, data)
    teller = Teller(model, data, arrays, chosen)
    nouns = {
        s.symbol: Noun(s.noun, s.plural, arrays.size(s.symbol), tuple(map(str, arrays.labels.get(s.symbol, ())))) for s in model.sets
    }
    units = {token: chosen.units.get(token, (token, token)) for token in _unit_tokens(instance)}
    return {
        **nouns, "u": SimpleNamespace(**{k: _SPOKEN.get(one, one) for k, (one, _) in units.items()}),
        "us": SimpleNamespace(**{k: many for k, (_, many) in units.items()}), "w": SimpleNamespace(**chosen.words),
        "v": teller.v, "each": teller.each, "rows": teller.rows, "interface": interface, "in_text": interface == "text",
        "_stated": teller.stated,
    }, teller


@cache
def problem_wordings(family: str, register: str) -> tuple[str, ...]:
    """Template names of one register: memo.j2, memo_2.j2, ..."""
    return tuple(sorted(f"nl/{family}/{p.name}" for p in (templates() / "nl" / family).glob(f"{register}*.j2")))


def render_problem(instance: Instance, register: str, interface: Interface, wording: int = 0) -> ProblemText:
    """The problem as a reader meets it; `wording` picks one of the register's templates.  Raises UsageError for an unknown
    register or interface, ModelError for templates that name what the model does not hold."""
    if interface not in INTERFACES or register not in REGISTERS:
        raise UsageError(f"no text '{register}/{interface}'; registers: {', '.join(REGISTERS)}; interfaces: {', '.join(INTERFACES)}")
    env = environment()
    context, teller = shared_context(instance, interface)

    def facts() -> str:
        if interface == "text":
            return env.get_template(f"nl/{instance.family.name}/facts.j2").render(context).strip()
        teller.stated.update(p.symbol for p in instance.model.params)
        return tables_text(instance.model, instance.data) if interface == "tables" else schema_text(instance.model, instance.data, interface)

    context.update(facts=facts, register=register)
    names = problem_wordings(instance.family.name, register) or (f"nl/{instance.family.name}/{register}.j2",)
    name = f"templates/{names[wording % len(names)]}"
    try:
        text = env.get_template(names[wording % len(names)]).render(context)
    except jinja2.TemplateError as error:
        raise ModelError(f"{name}: {error}") from error
    except AttributeError as error:
        raise ModelError(f"{name}, scenario '{instance.scenario.id}': {error}") from error
    return ProblemText(tidy_text(with_articles(text, nouns_of(instance))), frozenset(teller.stated), register, interface)


def nouns_of(instance: Instance) -> list[str]:
    return [s.noun for s in instance.model.sets]


def _unit_tokens(instance: Instance) -> set[str]:
    symbolic = instance.family.symbolic(instance.formulation)
    texts = [*(p.unit for p in symbolic.params), *(v.unit for v in symbolic.variables)]
    return {token for text in texts for token in re.split(r"[/*\s]+", text) if token and token != "1"} | set(instance.scenario.units)


def tidy_text(text: str) -> str:
    """Paragraphs of single-spaced prose; tables, lists and indented lines keep their line breaks."""
    blocks = []
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = [line.rstrip() for line in block.splitlines()]
        if any(line.lstrip().startswith(("|", "- ", "* ", "#", "```")) or re.match(r"\s*\d+\. ", line) for line in lines):
            blocks.append("\n".join(re.sub(r"(?<=\S)[ \t]+", " ", line) for line in lines if line.strip()))
        else:
            blocks.append(re.sub(r"\s+([.,;:?])(?=\s|$)", r"\1", " ".join(" ".join(lines).split())))
    return re.sub(rf" *{_BREAK} *", "\n", "\n\n".join(blocks)) + "\n"
