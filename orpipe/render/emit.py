"""Model + data + dialect -> the Python program a person would write: indexed, named after the story, data apart.

    emit(model, data, "pulp")                                  a flat script with the data in it
    emit(model, data, "pyomo", source="json")                  reads data.json as laid out by orpipe.render.files
    emit(model, data, "highspy", style="function")             build_model(data), solve(...), a main guard
    row_code(model, "capacity", "ortools")                     the few lines of one row family

The program builds the Problem that `ground` gives, up to order and the rounding of coefficients computed in floats, and
names columns as there; it solves it and prints «optimal_value = ...» and the decisions that are not zero, or
«status = ...».
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orpipe.algebra import nodes as n
from orpipe.algebra.idioms import lower
from orpipe.errors import NotFound, Unsupported
from orpipe.ground import ground
from orpipe.problem import Problem
from orpipe.render import dialects as registry
from orpipe.render import emit_data
from orpipe.render.emit_layout import BLANK, Statement, code, comment, indented
from orpipe.render.emit_writer import Writer, facts, unit_text

STYLES = ("script", "function")
SOURCES = ("inline", "json", "csv")


@dataclass(frozen=True, slots=True)
class Parts:
    """The sections of a program; `text` is the program."""

    imports: str
    data: str
    model: str
    solve: str

    @property
    def text(self) -> str:
        sections = [s for s in (self.imports, self.data, self.model, self.solve) if s]
        out = sections[0]
        for before, section in itertools.pairwise(sections):
            after_function = before.startswith("def ") and before.rpartition("\n")[2].startswith(" ")
            out += ("\n\n\n" if after_function or section.startswith("def ") else "\n\n") + section
        return out + "\n"


def emit(model: n.Model, data: Mapping[str, Any], dialect: str, *, source: str = "inline", style: str = "script",
         problem: Problem | None = None) -> str:
    """The program as text, ending in a newline.  Idioms get their default reformulation: lower the model to choose.

    source: where the data stand: "inline" in the program, "json" in data.json, "csv" in the tables of
    orpipe.render.files.  problem: the grounded model, if the caller has it already.
    Raises NotFound (dialect, source, style), DataError (data that do not fit), Unsupported."""
    return emit_parts(model, data, dialect, source=source, style=style, problem=problem).text


def emit_parts(model: n.Model, data: Mapping[str, Any], dialect: str, *, source: str = "inline", style: str = "script",
               problem: Problem | None = None) -> Parts:
    """The sections of `emit`, for documents that talk between them."""
    for kind, word, known in (("source", source, SOURCES), ("style", style, STYLES)):
        if word not in known:
            raise NotFound.among(kind, word, known)
    linear = lower(model)
    if not linear.sets and not linear.params:
        source = "inline"  # there is nothing to read
    problem = problem or ground(linear, data)
    _distinct(problem)
    w = Writer(linear, registry.get(dialect), facts(linear, data, problem))
    objective = w.dialect.minimise_or_maximise(w, linear.objective)
    model_body = [*w.dialect.create(w), BLANK, *_variables(w), BLANK, *objective, BLANK, *_rows(w)]
    definitions = emit_data.definitions(w, data, source, style)
    preamble = emit_data.preamble(w, data, source, style)
    imports = _imports({*w.dialect.imports(w), *emit_data.imports(source)})
    solve = [*w.dialect.run(w), *_report(w)]
    if style == "script":
        return Parts(imports, code(preamble + definitions), code(model_body), code(solve))
    reported = [] if w.dialect.on_model else [w.names.variables[v.symbol] for v in linear.variables if not v.auxiliary]
    handles = ", ".join(["model", *reported])
    build = [Statement("def build_model(data):"), *indented([*definitions, BLANK, *model_body]),
             BLANK, Statement(f"return {handles}", 1)]
    main = [Statement('if __name__ == "__main__":'),
            Statement(f"{handles} = build_model({emit_data.loaded(source)})", 1),
            Statement(f"solve({handles})", 1)]
    finish = [Statement(f"def solve({handles}):"), *indented(solve), BLANK, BLANK, *main]
    return Parts(imports, code(preamble), code(build), code(finish))


def row_code(model: n.Model, row: str | n.Row, dialect: str, data: Mapping[str, Any] | None = None) -> str:
    """The lines of one row family as they stand in the script: its comment, loops and constraint.

    Raises NotFound for an unknown row."""
    linear = lower(model)
    w = Writer(linear, registry.get(dialect), facts(linear, data or {}))
    if isinstance(row, str):
        if row not in linear.row_by:
            raise NotFound.among("row", row, linear.row_by)
        row = linear.row_by[row]
    return code([*comment(row.because), *w.dialect.constrain(w, row)])


def objective_code(model: n.Model, dialect: str, data: Mapping[str, Any] | None = None) -> str:
    """The lines that set the objective."""
    linear = lower(model)
    w = Writer(linear, registry.get(dialect), facts(linear, data or {}))
    return code(w.dialect.minimise_or_maximise(w, linear.objective))


def variable_code(model: n.Model, variable: str, dialect: str, data: Mapping[str, Any] | None = None) -> str:
    """The lines that make one variable, by symbol.  Raises NotFound for an unknown variable."""
    linear = lower(model)
    w = Writer(linear, registry.get(dialect), facts(linear, data or {}))
    if variable not in linear.var_by:
        raise NotFound.among("variable", variable, linear.var_by)
    return code(_variable(w, linear.var_by[variable]))


def _imports(lines: set[str]) -> str:
    """The standard library, then the rest."""
    standard = {f"import {name}" for name in ("csv", "json", "math")}
    blocks = (sorted(lines & standard), sorted(lines - standard))
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _variable(w: Writer, v: n.VarDecl) -> list[Statement]:
    return [*comment(v.meaning + unit_text(v.unit)), *w.dialect.declare(w, v)]


def _variables(w: Writer) -> list[Statement]:
    return [s for v in w.model.variables for s in _variable(w, v)]


def _rows(w: Writer) -> list[Statement]:
    """Rows in order; rows made from one idiom share its sentence."""
    out: list[Statement] = []
    said = ""
    for r in w.model.rows:
        fresh = not (r.origin and r.because == said)
        out += [*([BLANK] if out and fresh else []), *(comment(r.because) if fresh else []), *w.dialect.constrain(w, r)]
        said = r.because
    return out


def _report(w: Writer) -> list[Statement]:
    d = w.dialect
    out = [Statement(f"if {d.optimal}:"), *indented(d.load(w)),
           Statement(f'print("optimal_value =", {d.objective_value})', 1)]
    for v in w.model.variables:
        if v.auxiliary:
            continue
        name = w.names.variables[v.symbol]
        letters = ", ".join(w.letter(k) for k in v.indices)
        value = d.value(f"{name}[{letters}]" if letters else name)
        if d.drops_unused and v.symbol in w.facts.unused:
            value = f"({value} or 0)"
        level = 2 if letters else 1
        out += [*([Statement(f"for {letters} in {name}:", 1)] if letters else []),
                Statement(f"if abs({value}) > 1e-6:", level),
                Statement(f"print({w.label(v.name, v.indices, ' =')}, {value})", level + 1)]
    return [*out, Statement("else:"), *indented(d.status(w))]


def _distinct(problem: Problem) -> None:
    """Libraries rewrite names: Unsupported if two columns would share one then."""
    counts = Counter(re.sub(r"[\W_]+", "_", name).strip("_").lower() for name in problem.columns)
    clash = [name for name in problem.columns if counts[re.sub(r"[\W_]+", "_", name).strip("_").lower()] > 1]
    if clash:
        raise Unsupported(f"columns '{clash[0]}' and '{clash[1]}' differ in punctuation only; rename the labels")
