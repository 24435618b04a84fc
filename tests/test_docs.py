"""The documentation says what is there: made parts are up to date, names exist, code runs."""

from __future__ import annotations

import re
from pathlib import Path
from types import MappingProxyType

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from orpipe.build.products import diagnose, formulate, implement
from orpipe.build.products.cpt import DOC_TYPES
from orpipe.build.schema import CONFIGS
from orpipe.cli import app
from orpipe.config import TASKS, Recipe
from orpipe.errors import UsageError
from orpipe.testing import bench, docs

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CHANGELOG.md"])
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)


@pytest.mark.parametrize("path", docs.made(), ids=lambda p: p.name)
def test_made_parts_are_up_to_date(path: Path) -> None:
    assert path.read_text("utf-8") == docs.made()[path], "run 'python -m orpipe.testing.docs'"


def test_check_tells_a_stale_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stale = tmp_path / "cli.md"
    monkeypatch.setattr(docs, "made", lambda: MappingProxyType({stale: "new"}))
    stale.write_text("old", "utf-8")
    ran = CliRunner().invoke(docs.app, ["--check"])
    assert ran.exit_code == 1 and "cli.md is out of date" in ran.output and stale.read_text("utf-8") == "old"
    assert CliRunner().invoke(docs.app, []).exit_code == 0 and stale.read_text("utf-8") == "new"
    assert CliRunner().invoke(docs.app, ["--check"]).exit_code == 0


def test_the_readme_has_its_blocks() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert bench.with_block(text, "").count(bench.START) == 0
    with pytest.raises(UsageError, match="holds 2 blocks"):
        bench.with_block(text * 2, "")
    with pytest.raises(UsageError, match="holds 0 blocks"):
        docs.with_example("nothing marked", "")


def test_cli_page_names_every_command_and_flag() -> None:
    text = (ROOT / "docs/cli.md").read_text("utf-8")
    groups = get_command(app).commands.items()  # type: ignore[attr-defined]
    for name, command in ((f"{g} {n}".rstrip(), c) for g, own in groups for n, c in getattr(own, "commands", {"": own}).items()):
        section = text.partition(f"## orpipe {name}\n")[2].partition("\n## ")[0]
        flags = {flag for p in command.params for flag in p.opts if flag.startswith("--") and flag != "--help"}
        assert section and [flag for flag in flags if f"`{flag}" not in section] == []


@each_page
def test_paths_named_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    named = set(re.findall(r"`((?:orpipe|solvers|templates|tests|docs|data/reference)/[\w./]*\w/?)`", text))
    links = {f"{(page.parent / link).resolve().relative_to(ROOT)}" for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", text)}
    missing = [name for name in named | links if not (ROOT / name).exists()]
    assert missing == []


@each_page
def test_commands_named_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    commands = set(get_command(app).commands)  # type: ignore[attr-defined]
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    used = set(re.findall(r"(?:`|\n    (?:\.venv/bin/)?)orpipe ([a-z]+)", text))
    assert used <= commands and set(re.findall(r"(?:`|\n    )make ([a-z-]+)", text)) <= targets
    modules = [m.replace(".", "/") + ".py" for m in re.findall(r"python -m (orpipe[\w.]*)", text)]
    assert [m for m in modules if not (ROOT / m).is_file()] == []


@each_page
def test_flags_named_exist(page: Path) -> None:
    known = (ROOT / "docs/cli.md").read_text("utf-8")
    code = re.findall(r"`[^`\n]+`|^ {4}(?:\S+/)?(?:orpipe|make|python) .*$", page.read_text("utf-8"), re.M)
    assert [flag for span in code for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]+", span) if flag not in known] == []


def test_dataset_page_names_columns_tasks_and_settings() -> None:
    text = (ROOT / "docs/dataset.md").read_text("utf-8")
    for config, schema in CONFIGS.items():
        section = text.partition(f"### {config}\n")[2].partition("\n#")[0]
        cells = set(re.findall(r"`(\w+)`", " ".join(line.split("|")[1] for line in section.splitlines() if line.startswith("| `"))))
        assert cells == set(schema.names), config
    words = [*TASKS, *DOC_TYPES, *diagnose.SUBTASKS, *formulate.SUBTASKS, *implement.SUBTASKS]
    assert [word for word in words if word not in text] == []
    recipe = text.partition("## Recipes")[2]
    assert set(re.findall(r"^    (\w+):", recipe, re.M)) <= set(Recipe.model_fields)


def test_the_readme_code_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8").partition("## As a library")[2], re.S)
    assert len(blocks) == 1
    exec(blocks[0], {})
    printed = capsys.readouterr().out
    assert "pyo.ConcreteModel" in printed and "\noptimal " in printed and printed.endswith("[]\n")
