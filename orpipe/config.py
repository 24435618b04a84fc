"""Recipes: what to generate.  The same recipe and version give the same bytes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from orpipe.errors import NotFound, UsageError

Task = Literal["formulate", "implement", "solve", "diagnose"]
TASKS: tuple[Task, ...] = ("formulate", "implement", "solve", "diagnose")
InterfaceKind = Literal["text", "tables", "files"]
INTERFACE_KINDS: tuple[InterfaceKind, ...] = ("text", "tables", "files")


class Recipe(BaseModel):
    """sft examples in even shares over tasks, interfaces, dialects, families and levels; cpt documents (default: a quarter
    of sft), preference pairs (default none).  Empty lists mean all.  nodes bounds each solver's search, so that labels do not depend on the machine;
    proof_nodes bounds the exact proof of each label (0: none is tried where a search is needed);
    attempts is the number of draws that a slot has; longest bounds the characters of a document or
    example; suites: hidden data sets are built for each structure."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    name: str = Field("orpipe", pattern=r"^[^\n]+$")
    seed: int = Field(0, ge=0)
    sft: int = Field(10_000, ge=1)
    cpt: int | None = Field(None, ge=0)
    preference: int = Field(0, ge=0)
    families: tuple[str, ...] = ()
    levels: tuple[int, ...] = ()
    tasks: tuple[Task, ...] = TASKS
    interfaces: tuple[InterfaceKind, ...] = INTERFACE_KINDS
    dialects: tuple[str, ...] = ()
    validation: float = Field(0.05, ge=0, lt=1)
    test: float = Field(0.05, ge=0, lt=1)
    nodes: int = Field(50_000, ge=1)
    proof_nodes: int = Field(500, ge=0)
    attempts: int = Field(8, ge=1, le=64)
    longest: int = Field(60_000, ge=1)
    suites: bool = True
    license: str = "CC-BY-4.0"

    @field_validator("families", "dialects", "levels", "tasks", "interfaces")
    @classmethod
    def _distinct(cls, value: tuple) -> tuple:
        if len(set(value)) != len(value):
            raise ValueError("names an entry twice")
        return value

    @model_validator(mode="after")
    def _shares(self) -> Recipe:
        if self.validation + self.test >= 1:
            raise ValueError("validation and test must leave something for train")
        if not self.tasks or not self.interfaces:
            raise ValueError("tasks and interfaces must not be empty")
        return self

    def resolved(self) -> Recipe:
        """With every name filled in and checked.  Raises NotFound («did you mean») or UsageError."""
        from orpipe.families import families
        from orpipe.render.dialects import dialects

        names = self.families or tuple(families.names())
        depth = {name: len(families[name].levels) for name in names}  # raises NotFound
        known = sorted(dialects())
        for name in self.dialects:
            if name not in known:
                raise NotFound.among("dialect", name, known)
        deepest = max(depth.values())
        for level in self.levels:
            if not 1 <= level <= deepest:
                raise UsageError(f"level {level} does not exist; the chosen families have levels 1 to {deepest}")
        levels = self.levels or tuple(range(1, deepest + 1))
        for name in names:
            if min(levels) > depth[name]:
                raise UsageError(f"family '{name}' has levels 1 to {depth[name]} and so none of the chosen ones; leave it out or add a level")
        return self.model_copy(update={
            "families": names, "dialects": self.dialects or tuple(known), "levels": levels,
            "cpt": self.sft // 4 if self.cpt is None else self.cpt,
        })


def read_recipe(path: Path | None, **overrides: object) -> Recipe:
    """The recipe of a YAML file (or the default) with command-line overrides.  UsageError: one line, the field named."""
    content: object = {}
    if path is not None:
        try:
            content = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        except OSError as error:
            raise UsageError(f"cannot read recipe '{path}': {error.strerror}") from None
        except UnicodeDecodeError:
            raise UsageError(f"recipe '{path}' is not UTF-8 text; name a YAML file") from None
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            place = f" (line {mark.line + 1})" if mark is not None else ""
            raise UsageError(f"recipe '{path}' is not YAML{place}; check quotes and indentation") from None
    if not isinstance(content, Mapping) or not all(isinstance(key, str) for key in content):
        raise UsageError(f"recipe '{path}' must be a mapping of settings, for example 'sft: 500'")
    given = {**content, **{k: v for k, v in overrides.items() if v is not None}}
    try:
        return Recipe.model_validate(given)
    except ValidationError as error:
        raise _told(error) from None


def _told(error: ValidationError) -> UsageError | NotFound:
    """The first complaint in one line; a misspelt setting or name with «did you mean»."""
    first = error.errors()[0]
    field = ".".join(str(x) for x in first["loc"])
    if first["type"] == "extra_forbidden":
        return NotFound.among("recipe setting", field, Recipe.model_fields)
    if first["type"] == "literal_error":
        known = {"tasks": TASKS, "interfaces": INTERFACE_KINDS}[str(first["loc"][0])]
        return NotFound.among(str(first["loc"][0]).removesuffix("s"), str(first["input"]), known)
    message = _wanted(first["type"], first.get("ctx", {})) or first["msg"].removeprefix("Value error, ").replace("Input should", "must")
    if not field:
        return UsageError(f"recipe: {message}")
    return UsageError(f"recipe setting '{field}': {message} (given {first['input']!r:.60})")


def _wanted(kind: str, limits: Mapping[str, object]) -> str:
    """pydantic's complaint in our words; "" where it speaks plainly."""
    for name, word in (("ge", "at least"), ("gt", "more than"), ("le", "at most"), ("lt", "less than")):
        if name in limits:
            return f"must be {word} {limits[name]:g}" if isinstance(limits[name], int | float) else f"must be {word} {limits[name]}"
    if kind == "string_pattern_mismatch":
        return "must be one line of text"
    words = {"int": "a whole number", "float": "a number", "bool": "true or false", "tuple": "a list such as [a, b]",
             "list": "a list such as [a, b]", "string": "text", "finite": "a finite number"}
    what = words.get(kind.partition("_")[0])
    return f"must be {what}" if what else ""
