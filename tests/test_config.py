"""Recipes: defaults, files, flags, and one clear line for everything that can be wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from orpipe.config import TASKS, Recipe, read_recipe
from orpipe.errors import NotFound, OrpipeError, UsageError
from orpipe.families import families
from orpipe.render.dialects import dialects


def written(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "recipe.yaml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_the_default_names_everything_there_is() -> None:
    recipe = Recipe().resolved()
    assert recipe.families == tuple(families.names()) and recipe.dialects == tuple(sorted(dialects())) and recipe.tasks == TASKS
    assert recipe.levels == tuple(range(1, max(len(f.levels) for f in families) + 1))
    assert (recipe.sft, recipe.cpt) == (10_000, 2_500)


def test_a_file_is_read_and_flags_override_it(tmp_path: Path) -> None:
    path = written(tmp_path, "sft: 12\nseed: 5\nfamilies: [tsp, diet]\nlevels: [2]\ninterfaces: [files]\n")
    recipe = read_recipe(path, seed=7, families=None, cpt=0)
    assert (recipe.sft, recipe.seed, recipe.cpt, recipe.levels, recipe.interfaces) == (12, 7, 0, (2,), ("files",))
    assert recipe.families == ("tsp", "diet") and recipe.resolved().families == ("tsp", "diet")


def test_an_empty_file_is_the_default(tmp_path: Path) -> None:
    assert read_recipe(written(tmp_path, "")) == Recipe() == read_recipe(None)


@pytest.mark.parametrize(("content", "message"), [
    ("sfft: 3", "no recipe setting 'sfft'; did you mean 'sft'?"),
    ("sft: 0", "recipe setting 'sft': must be at least 1 (given 0)"),
    ("sft: many", "recipe setting 'sft': must be a whole number (given 'many')"),
    ("tasks: [solv]", "no task 'solv'; did you mean 'solve'?"),
    ("interfaces: [table]", "no interface 'table'; did you mean 'tables'?"),
    ("tasks: []", "recipe: tasks and interfaces must not be empty"),
    ("families: knapsack", "recipe setting 'families': must be a list such as [a, b] (given 'knapsack')"),
    ("families: [tsp, tsp]", "recipe setting 'families': names an entry twice (given ['tsp', 'tsp'])"),
    ("validation: 0.6\ntest: 0.5", "recipe: validation and test must leave something for train"),
    ("validation: .nan", "recipe setting 'validation': must be a finite number (given nan)"),
    ("attempts: 100", "recipe setting 'attempts': must be at most 64 (given 100)"),
    ("- sft\n- 3", "must be a mapping of settings, for example 'sft: 500'"),
    ("1: 2", "must be a mapping of settings"),
    ("sft: [1", "is not YAML (line 1); check quotes and indentation"),
    ("name: \"a\\nb\"", "recipe setting 'name': must be one line of text"),
])
def test_a_bad_recipe_is_one_line_that_names_the_setting(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(OrpipeError) as error:
        read_recipe(written(tmp_path, content))
    assert message in str(error.value)
    assert "\n" not in str(error.value) and error.value.exit_code == 2


@pytest.mark.parametrize(("path", "message"), [("absent.yaml", "No such file"), (".", "Is a directory")])
def test_a_recipe_that_cannot_be_read(tmp_path: Path, path: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_recipe(tmp_path / path)


def test_a_recipe_that_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not UTF-8 text"):
        read_recipe(written(tmp_path, b"\xff\xfe\x00s"))


@pytest.mark.parametrize(("settings", "message"), [
    ({"families": ("knapsak",)}, "no family 'knapsak'; did you mean 'knapsack'?"),
    ({"dialects": ("pulpp",)}, "no dialect 'pulpp'; did you mean 'pulp'?"),
    ({"levels": (9,)}, "level 9 does not exist; the chosen families have levels 1 to"),
    ({"levels": (0,)}, "level 0 does not exist"),
])
def test_names_are_checked_when_the_recipe_is_resolved(settings: dict, message: str) -> None:
    with pytest.raises((NotFound, UsageError)) as error:
        Recipe(**settings).resolved()
    assert message in str(error.value)


def test_a_family_without_any_chosen_level_is_not_dropped_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(families["tsp"]), "levels", families["tsp"].levels[:2])
    with pytest.raises(UsageError, match="family 'tsp' has levels 1 to 2 and so none of the chosen ones"):
        Recipe(families=("knapsack", "tsp"), levels=(3,)).resolved()
    assert Recipe(families=("knapsack", "tsp"), levels=(2, 3)).resolved().levels == (2, 3)
