"""The command line: help, errors as one line, exit codes, views, JSON, pipes, stops, and progress only where someone looks."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from built import ROOT, SLOTS, dataset, environment, recipe, rows, shared, start
from orpipe import __version__, console
from orpipe.algebra.text import model_text
from orpipe.build import run
from orpipe.cli import VIEWS, app
from orpipe.config import read_recipe
from orpipe.families import Rejected, families
from orpipe.instances import draw
from orpipe.mps import read_mps
from orpipe.render.dialects import dialects

__all__ = ["dataset", "recipe", "shared"]  # fixtures
COMMANDS = sorted(get_command(app).commands)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str


Cli = Callable[..., Said]


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """The command line in this process."""
    def called(*arguments: object) -> Said:
        capsys.readouterr()
        monkeypatch.setattr("sys.argv", ["orpipe", *map(str, arguments)])
        code = console.run(app, "orpipe")
        return Said(code, *capsys.readouterr())

    return called


# ---- help


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_an_example_that_names_the_command(cli: Cli, command: str) -> None:
    said = cli(command, "--help")
    assert said.code == 0 and said.err == ""
    assert re.search(rf"Examples?:\s+orpipe {command}", said.out), said.out[-500:]


def test_the_examples_in_the_help_are_valid(cli: Cli) -> None:
    """Every option of an example exists, and its arguments are as many as the command takes."""
    groups = get_command(app).commands.items()  # type: ignore[attr-defined]
    for name, command in [*groups, *((f"{g} {n}", c) for g, group in groups for n, c in getattr(group, "commands", {}).items())]:
        examples = re.findall(r"`orpipe ([^`]+)`", command.epilog or "")
        assert examples, name
        for example in examples:
            assert f"{example} ".startswith(f"{name} ")
            arguments = example.removeprefix(name).split()
            command.make_context(name, arguments, resilient_parsing=True)
            known = {o for p in command.params for o in [*p.opts, *p.secondary_opts]}
            assert {a for a in arguments if a.startswith("--")} <= known, example


def test_bare_and_version(cli: Cli) -> None:
    assert cli("--version") == Said(0, f"orpipe {__version__}\n", "")
    bare = cli()
    assert bare.code == 0 and all(command in bare.out for command in COMMANDS) and bare.err == ""


# ---- misuse


@pytest.mark.parametrize(("arguments", "message"), [
    (["generat"], "no such command 'generat'. Did you mean 'generate'?; see 'orpipe --help'"),
    (["generate", "--sfft", "3"], "no such option: --sfft"),
    (["generate", "--sft", "x"], "see 'orpipe generate --help'"),
    (["generate", "--workers", "0"], "see 'orpipe generate --help'"),
    (["generate", "--sft", "0"], "recipe setting 'sft': must be at least 1 (given 0)"),
    (["generate", "--families", "knapsak"], "no family 'knapsak'; did you mean 'knapsack'?"),
    (["generate", "--families", "tsp,tsp"], "recipe setting 'families': names an entry twice"),
    (["generate", "--levels", "3-1"], "--levels '3-1' is not a list of levels; write for example 1,2 or 1-3"),
    (["generate", "--levels", "one"], "--levels 'one' is not a list of levels"),
    (["generate", "--levels", "99"], "level 99 does not exist; the chosen families have levels 1 to"),
    (["generate", "absent.yaml"], "cannot read recipe 'absent.yaml': No such file or directory"),
    (["generate", "--seed", "-1"], "recipe setting 'seed': must be at least 0 (given -1)"),
    (["families", "knapsak"], "no family 'knapsak'; did you mean 'knapsack'?"),
    (["show"], "see 'orpipe show --help'"),
    (["show", "knapsak"], "no family 'knapsak'; did you mean 'knapsack'?"),
    (["show", "knapsack", "--level", "9"], "family 'knapsack' has levels 1 to 4, not 9"),
    (["show", "knapsack", "--as", "codes"], "no view 'codes'; did you mean 'code'?"),
    (["show", "knapsack", "--dialect", "pulpp"], "no dialect 'pulpp'; did you mean 'pulp'?"),
    (["show", "knapsack", "--register", "briev"], "no register 'briev'; did you mean 'brief'?"),
    (["show", "knapsack", "--formulation", "standart"], "did you mean 'standard'?"),
    (["show", "knapsack", "--scenario", "nowhere"], "no scenario 'nowhere' of 'knapsack'; known: "),
    (["show", "knapsack", "--seed", "-1"], "see 'orpipe show --help'"),
    (["audit", "nowhere"], "'nowhere' is not a dataset of orpipe (no manifest.json); name a folder written by 'orpipe generate'"),
    (["push", "nowhere", "me/data"], "folder 'nowhere' does not exist"),
])
def test_misuse_is_one_line_on_stderr_and_exit_2(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    said = cli(*arguments)
    assert (said.code, said.out) == (2, ""), said
    assert said.err.startswith("orpipe: ") and message in said.err and said.err.count("\n") == 1, said.err
    assert list(tmp_path.iterdir()) == [], "misuse leaves nothing behind"


def test_a_recipe_with_a_misspelt_setting(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text("sft: 5\ndialect: [pulp]\n")
    assert cli("generate", tmp_path / "recipe.yaml") == Said(2, "", "orpipe: no recipe setting 'dialect'; did you mean 'dialects'?\n")


def test_a_draw_that_the_sampler_refuses(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(*_: object) -> Any:
        raise Rejected("nothing fits")

    monkeypatch.setattr(type(families["knapsack"]), "sample", refusing)
    said = cli("show", "knapsack")
    assert (said.code, said.out) == (2, "") and "refuses this draw (nothing fits); try another --index" in said.err
    assert "the sampler refuses 100 draws" in cli("families", "knapsack").err


def test_a_bug_is_not_dressed_up(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orpipe.instances.draw", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        cli("show", "knapsack")


# ---- the environment


@pytest.mark.parametrize("place", ["file/out", "missing"])
def test_a_path_that_cannot_be_written_is_one_line_and_exit_3(cli: Cli, tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    if place == "missing":  # as root everything can be written, so the refusal is played
        def refuse(self: Path, *_: object, **__: object) -> None:
            raise PermissionError(13, "Permission denied", str(self))

        monkeypatch.setattr(Path, "mkdir", refuse)
    said = cli("generate", "--sft", "1", "--out", tmp_path / place)
    assert (said.code, said.out) == (3, "") and said.err.count("\n") == 1
    assert re.fullmatch(r"orpipe: .*: (Not a directory|Permission denied); check the path, its rights and the space left\n", said.err)


def test_no_space_left_is_one_line_and_exit_3(tmp_path: Path) -> None:
    """Files of the worker may not grow beyond a few blocks: writing a chunk fails as on a full disk."""
    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2048, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    process = start("generate", "--sft", 4, "--families", "knapsack", "--levels", 1, "--out", tmp_path / "out", "--workers", 1,
                    env=environment(PYTHONDONTWRITEBYTECODE="1"), preexec_fn=small)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (3, ""), err
    assert re.fullmatch(r"orpipe: (.*[:\]] )?File too large; check the path, its rights and the space left\n", err), err
    assert not (tmp_path / "out").exists()


# ---- views


@pytest.mark.parametrize("family", ["knapsack", "tsp", "staff_scheduling"])
@pytest.mark.parametrize("view", VIEWS)
def test_every_view(cli: Cli, family: str, view: str) -> None:
    said = cli("show", family, "--as", view, "--level", 2, "--seed", 5)
    instance = draw(family, 2, 5, 0)
    assert said.code == 0 and said.err == "" and said.out.strip()
    if view == "data":
        assert json.loads(said.out) == json.loads(json.dumps(instance.data))
    elif view == "mps":
        assert read_mps(said.out).difference(instance.problem) is None
    elif view == "algebra":
        assert said.out.strip() == model_text(instance.linear).strip()
    elif view == "files":
        assert "**data.json**\n```json\n{" in said.out
    elif view == "tables":
        assert "| ---" in said.out or "|---" in said.out
    elif view == "latex":
        assert "\\begin" in said.out


@pytest.mark.parametrize("dialect", sorted(dialects()))
def test_every_dialect(cli: Cli, dialect: str) -> None:
    said = cli("show", "knapsack", "--as", "code", "--dialect", dialect)
    assert said.code == 0 and "optimal_value" in said.out
    compile(said.out, dialect, "exec")


def test_views_follow_scenario_register_and_index(cli: Cli) -> None:
    changes = [[], ["--register", "brief"], ["--scenario", "telescope"], ["--index", "1"], ["--seed", "1"]]
    shown = {cli("show", "knapsack", *change).out for change in changes}
    assert len(shown) == 5 and cli("show", "knapsack").out in shown


def test_families_as_a_table_and_as_json(cli: Cli) -> None:
    table, found = cli("families"), json.loads(cli("families", "--json").out)
    assert [f["name"] for f in found] == families.names() and all(f["name"] in table.out for f in found)
    one = json.loads(cli("families", "tsp", "--json").out)
    assert one == next(f for f in found if f["name"] == "tsp")
    assert [s["variables"] for s in one["sizes"]] == [draw("tsp", k, 0, 0).problem.n_vars for k in range(1, one["levels"] + 1)]
    told = cli("families", "tsp").out
    assert one["source"] in told and one["summary"] in told and "Formulations: " in told


def test_doctor_tells_in_json(cli: Cli) -> None:
    said = cli("doctor", "--json")
    assert said.code in (0, 3) and {"area", "name", "state", "detail", "remedy"} == set(json.loads(said.out)[0])


# ---- generate: what it says


def test_the_closing_table_counts_draws_by_stage(dataset: Path, recipe: Path, cli: Cli) -> None:
    said = cli("generate", recipe, "--out", dataset)
    assert said.code == 0 and said.err == f"orpipe: '{dataset}' already holds this dataset; --overwrite makes it again\n"
    found = json.loads((dataset / "timings.json").read_text())
    for stage in ("sample", "ground", "solve", "render", "gate", "replay"):
        seconds = f"{found['seconds'][stage]:.1f}"
        assert re.search(rf"│ {stage} +│ +{SLOTS} │ +{SLOTS} │ +0 │ +{seconds} │", said.out), said.out
    assert re.search(r"│ sft +│ +\d+ │ +\d+ │ +\d+ │", said.out)
    assert f"{SLOTS} of {SLOTS} draws accepted, {found['replayed']} programs replayed" in said.out


def test_refusals_are_counted_by_reason(capsys: pytest.CaptureFixture[str]) -> None:
    from orpipe.cli import _report

    rejected = {"sample: too easy": 1, "replay: solve: model": 2, "duplicate: instance": 1, "slot: no draw left": 1}
    _report(run.Summary(attempted=10, accepted=6, rejected=rejected, seconds={"sample": 1.25}), "x")
    said = capsys.readouterr().out
    assert "-tight" not in said
    assert re.search(r"│ sample +│ +10 │ +9 │ +1 │ +1.2 │", said) and re.search(r"│ replay +│ +9 │ +7 │ +2 │", said)
    assert re.search(r"│ duplicate +│ +7 │ +6 │ +1 │", said) and re.search(r"│ replay +│ solve: model +│ +2 │", said)


def test_infeasible_variants_are_counted_where_there_are_any(dataset: Path, recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from orpipe.cli import _report

    count = sum(r["id"].endswith("-tight") for r in rows(dataset, "instances"))
    found = run.finished(dataset, read_recipe(recipe))
    assert found is not None and found.tight == count > 1
    for tight, words in ((0, ""), (1, "1 instance, with an id that ends in -tight, is an infeasible variant of another"),
                         (count, f"{count} instances, with an id that ends in -tight, are infeasible variants of another")):
        _report(run.Summary(counts={"instances": {"train": 9}}, tight=tight), "x")
        said = capsys.readouterr().out
        assert words in said and ("-tight" in said) == bool(tight)


def test_a_run_is_told_in_json_and_says_nothing_else(dataset: Path, recipe: Path, cli: Cli) -> None:
    said = json.loads((dataset.parent / "said.json").read_text())
    manifest = json.loads((dataset / "manifest.json").read_text())
    assert said["counts"] == manifest["counts"] and said["attempted"] == said["accepted"] == SLOTS and said["workers"] == 2
    assert json.loads(cli("generate", recipe, "--out", dataset, "--json").out) == said, "the second time it is read back"


def test_another_recipe_does_not_touch_a_dataset(dataset: Path, recipe: Path, cli: Cli) -> None:
    said = cli("generate", recipe, "--out", dataset, "--seed", 4)
    cure = "choose another --out, or --overwrite to replace it"
    assert said == Said(2, "", f"orpipe: '{dataset}' already holds a dataset of another recipe or version; {cure}\n")


@pytest.mark.parametrize(("given", "line"), [
    ({"shortfall": 2}, "2 slots found no acceptable draw"),
    ({"faults": 3}, "3 draws ended in an error of orpipe"),
    ({"shortfall": 1, "faults": 8}, "1 slots found no acceptable draw and 8 draws ended in an error of orpipe"),
])
def test_a_shortfall_is_exit_1(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: dict[str, int], line: str) -> None:
    monkeypatch.setattr(run, "run", lambda *_, **__: run.Summary(**given))
    said = cli("generate", "--sft", 1, "--out", tmp_path / "out")
    assert said.code == 1 and "stage" in said.out
    assert said.err == f"orpipe: {line}; see the config 'rejected' of '{tmp_path / 'out'}'\n"


def test_flags_override_the_recipe_file(monkeypatch: pytest.MonkeyPatch, recipe: Path, cli: Cli, tmp_path: Path) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(run, "run", lambda chosen, *_, **__: seen.append(chosen) or run.Summary())
    assert cli("generate", recipe, "--out", tmp_path / "out", "--sft", 9, "--levels", "1,2-3", "--families", "diet, tsp", "--seed", 8).code == 0
    assert seen == [read_recipe(recipe, sft=9, levels=(1, 2, 3), families=("diet", "tsp"), seed=8).resolved()]


# ---- terminals, pipes, stops


def test_a_closed_pipe_is_no_fuss() -> None:
    for arguments in (["families"], ["families", "--json"], ["show", "knapsack", "--as", "mps"], ["--help"]):
        process = start(*arguments)
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert (process.wait(60), process.stderr.read()) == (0, ""), arguments
        process.stderr.close()


def test_output_through_a_pipe_is_not_folded() -> None:
    process = start("families", env=environment(COLUMNS="40"))
    out, _ = process.communicate(timeout=60)
    assert len({len(line) for line in out.splitlines()[1:]}) == 1 and len(out.splitlines()) == len(families) + 4


def watched(master: int, process: subprocess.Popen[str], until: Callable[[str], bool], seconds: float = 120.0) -> str:
    """What the terminal shows until something is seen or the process ends."""
    shown, end = "", time.monotonic() + seconds
    while not until(shown) and time.monotonic() < end:
        with contextlib.suppress(OSError, BlockingIOError):
            shown += os.read(master, 65536).decode("utf-8", "replace")
        if process.poll() is not None:
            break
        time.sleep(0.02)
    return shown


def plain(text: str) -> str:
    """Without colours and cursor movements."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


MOVED = r"[1-9]\d*/100 "


def test_bars_on_a_terminal_and_a_stop_that_can_be_gone_on_with(tmp_path: Path) -> None:
    out, work = tmp_path / "out", tmp_path / "out.work"
    master, slave = pty.openpty()
    os.set_blocking(master, False)
    process = start("generate", "--sft", 400, "--families", "knapsack", "--levels", 1, "--out", out, "--workers", 2, "--seed", 1,
                    stderr=slave, start_new_session=True, env=environment(TERM="xterm"))
    os.close(slave)
    shown = watched(master, process, lambda text: bool(re.search(MOVED, plain(text))) and bool(list(work.glob("*/chunk-*.gz"))))
    os.killpg(process.pid, signal.SIGINT)
    assert process.stdout is not None
    shown += watched(master, process, lambda _: False, 60)
    with contextlib.suppress(OSError):
        shown += os.read(master, 65536).decode("utf-8", "replace")
    os.close(master)
    assert process.wait(60) == 130 and process.stdout.read() == ""
    process.stdout.close()
    shown = plain(shown)
    for name in ("solve   instances", "render  examples", "render  documents", "replay  programs"):
        assert name in shown
    assert re.search(MOVED, shown)
    assert shown.rstrip().endswith("orpipe: stopped; run the same command again to go on where it was") and "Traceback" not in shown
    assert list(work.glob("*/chunk-*.gz")) and not out.exists()
    for _ in range(200):  # they are told to end when their parent does
        left = [p for p in Path("/proc").glob("[0-9]*/stat") if session(p) == process.pid]
        if not left:
            break
        time.sleep(0.1)
    assert left == [], "workers are gone"


def session(stat: Path) -> int | None:
    try:
        state, _, _, found = stat.read_text().rpartition(")")[2].split()[:4]
    except OSError:
        return None
    return None if state == "Z" else int(found)


def test_the_module_and_the_script_are_the_same_command(tmp_path: Path) -> None:
    code = "import sys; sys.argv = ['anything', 'show', 'nope']; from orpipe.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.startswith("orpipe: no family 'nope'; ")
    assert (ROOT / "pyproject.toml").read_text().count('orpipe = "orpipe.cli:main"') == 1


def test_progress_without_a_terminal_is_a_line_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr(console, "_EVERY", 0.0)
    with console.bars({"render  examples": 4, "replay  programs": None}) as advance:
        advance("render  examples", 3)
    assert capsys.readouterr().err == "render examples 3/4, replay programs 0\n"
    monkeypatch.setattr(console, "_EVERY", 60.0)
    with console.bars({"render  examples": 4}) as advance:
        advance("render  examples", 3)
    assert capsys.readouterr().err == ""
