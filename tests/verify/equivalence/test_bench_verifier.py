"""`orpipe bench verifier`: what it counts, what it refuses, what it skips; re-draws in the engine."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from orpipe import cli
from orpipe.console import run
from orpipe.errors import NotFound, UsageError
from orpipe.exact import Exact
from orpipe.ground import ground
from orpipe.instances import draw, stream
from orpipe.mutate import mutants
from orpipe.problem import Problem
from orpipe.testing import bench_verifier as bench
from orpipe.testing import bench_verifier_tables as shown
from orpipe.testing import equivalence_truth as truth
from orpipe.testing.command import ROOT
from orpipe.testing.verifier_corpus import Cell, Pair, disguised, labelled_pairs, pairs, references, scaled
from orpipe.verify import compare
from orpipe.verify.equivalence.redraw import Redraw
from orpipe.verify.verdict import Verdict


def orpipe(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["orpipe", *arguments])
    return run(cli.app, "orpipe")


def test_the_bench_counts_what_it_says(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert orpipe(monkeypatch, "bench", "verifier", "--families", "bin_packing", "--levels", "1", "--workers", "1", "--no-outside",
                  "--naming", "kept", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    rows = {row["method"]: row for row in found["scores"]}
    assert list(rows) == [*bench.BASELINES, "orpipe, names kept"]
    ours = rows["orpipe, names kept"]
    assert found["faults"] == [] and ours["different"] == ours["caught"] > 20
    assert found["truth"]["the same: proved row by row"] >= 1 and sum(found["truth"].values()) >= ours["caught"] + 1
    assert (ours["accepted"], ours["undecided"], ours["wrong"]) == (ours["harmless"], 0, 0) and ours["harmless"] >= 15
    assert rows["colour refinement"]["wrong"] > 0 and rows["objective only, relative 1e-6"]["caught"] < ours["caught"]


def test_misuse_is_told_in_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments, said in ((["--families", "knapsak"], "did you mean 'knapsack'"), (["--levels", "one"], "--levels takes numbers"),
                            (["--naming", "guessed"], "no naming 'guessed'"), (["--update-readme", "--sample", "3"], "the whole corpus")):
        assert orpipe(monkeypatch, "bench", "verifier", *arguments) == 2
        assert said in capsys.readouterr().err
    with pytest.raises(NotFound):
        bench.chosen("knapsak")
    assert bench.chosen("") == bench.chosen(" , ") and "tsp" in bench.chosen("")


def knapsack(size: int = 40) -> list[Pair]:
    return list(pairs(Cell("knapsack", "standard", 1), 5))[:size]


def different(a: Problem, b: Problem) -> Pair:
    return Pair("here", 1, "mutant", "row-dropped", "row capacity", a, b)


def test_a_wrong_verdict_is_a_fault_whatever_the_label_says() -> None:
    """The engine's word is not the truth: an EQUIVALENT about two different models, and a witness that proves nothing."""
    pair = next(p for p in knapsack() if p.kind == "mutant" and p.operator != "weight-invented")
    honest = compare(pair.a, pair.b)
    assert honest.verdict is not Verdict.EQUIVALENT
    tally = bench.Tally()
    assert bench.settle(pair, compare(pair.a, pair.a), tally) is True
    assert len(tally.faults) == 1 and "independent proof: different" in tally.faults[0]
    same = different(pair.a, pair.a)
    tally = bench.Tally()
    assert bench.settle(same, honest, tally) is False
    assert "independent proof: the same" in tally.faults[-1]
    score = bench.Score("x")
    score.count(pair, True, True, bench.Spent(1), "said")
    score.count(pair, True, None, bench.Spent(2), "said")
    score.count(pair, False, False, bench.Spent(3), "said")
    assert (score.caught, score.wrong, score.undecided, len(score.misses)) == (0, 2, 1, 3)
    assert shown.cells(score)[1:5] == ["0.00%", "0.00%", "1 (33.33%)", "2"]


def test_misses_are_told_by_operator_and_family_and_the_words_hold_the_figures() -> None:
    pair = next(p for p in knapsack() if p.kind == "mutant")
    tally = bench.Tally()
    for method in (*bench.BASELINES, *bench.OURS.values()):
        score = tally.score(method)
        for answer in (False, False, None if method == bench.OURS["anonymous"] else False, method in bench.BASELINES):
            score.count(pair, True, answer, bench.Spent(2.0, 1.0), "said")
    anonymous = tally.scores[bench.OURS["anonymous"]]
    assert shown.missed(anonymous) == f"{pair.operator} 1 (knapsack 1)" and shown.missed(tally.scores[bench.OURS["kept"]]) == ""
    assert shown.cells(anonymous)[-2:] == ["2.0 / 2.0", "1.0 / 1.0"]
    text = shown.readme_block(tally, ["knapsack"], [1, 3], 2)
    assert "lets 25.00% of the proved mis-modellings pass" in text and "caught 100% where names are kept, 75.00% without names" in text
    assert f"Not decided or wrong, no names: {pair.operator} 1 (knapsack 1)." in text and "levels 1, 3," in text


def test_progress_is_told_with_an_estimate() -> None:
    lines: list[str] = []
    tally = bench.measured(["knapsack"], [1, 2], sample=1, budget=4.0, regimes=["kept"], outside=False, say=lines.append)
    assert len(lines) == 3 and "knapsack level 2, part 1 of 2; 37%, about" in lines[0] and "100%, about 0.0 min left" in lines[-1]
    kept = tally.scores[bench.OURS["kept"]]
    # the parts of a cell are all of its pairs, once
    assert kept.harmless + kept.different == sum(len(list(pairs(Cell("knapsack", "standard", level), 1))) for level in (1, 2))


def test_truth_is_settled_within_its_seconds_whatever_the_model() -> None:
    """A subset-sum row (one unit less of capacity) takes solvers minutes to prove; a point that uses the unit is found at once."""
    a = next(p for p in pairs(Cell("knapsack", "standard", 3), 1)).a
    tight = replace(a, row_upper=a.row_upper - 1, row_upper_exact=a.row_upper_exact - Exact.of([1.0]))
    began = time.perf_counter()
    assert truth.equal(a, tight) is False
    assert truth.equal(a, a) is True
    assert truth.equal(a, tight, seconds=0.0) in (False, None)
    assert time.perf_counter() - began < 20


def test_a_difference_in_worth_is_checked_on_its_own() -> None:
    """limit-as-penalty: the witness names an objective that one model reaches and the other does not."""
    instance = draw("diet", 1, 0, 0)
    b = ground(next(m for m in mutants(instance.linear) if m.operator.id == "limit-as-penalty").model, instance.data)
    found = compare(instance.problem, b)
    assert found.verdict is Verdict.NOT_EQUIVALENT and found.witness is not None
    assert truth.holds(instance.problem, b, found) is True
    assert truth.holds(b, b, found) is False  # the other model reaches it as well
    cheaper = {**found.witness.point, "objective value": found.witness.point["objective value"] - 10**6}
    lied = replace(found, witness=replace(found.witness, point=cheaper))
    assert truth.holds(instance.problem, b, lied) is False  # nor does the first


def test_tilted_objectives_tell_models_apart_and_never_one_from_itself() -> None:
    a = draw("facility_location_capacitated", 1, 0, 0).problem
    instance = draw("facility_location_capacitated", 1, 0, 0)
    b = ground(next(m for m in mutants(instance.linear) if m.operator.id == "max-for-sum").model, instance.data)
    assert truth.apart(a, b) is True
    assert truth.apart(a, a) is None
    assert truth.equal(a, b) is None  # its columns differ


def test_re_draws_refute_what_one_data_set_cannot() -> None:
    """Without names the optimum alone is known; a mutant that agrees here differs on other data, and agreement proves nothing."""
    cell = Cell("facility_location_capacitated", "standard", 1)
    found = next(p for p in pairs(cell) if p.operator == "max-for-sum" and "carriage (i)" in p.site)
    a, stranger = found.a, disguised(found.b, "anonymous", stream(0, "names"))
    alone = compare(a, stranger, budget=60.0)
    assert alone.verdict is Verdict.SAME_OPTIMUM
    redraws = found.redraws()
    refuted = compare(a, stranger, budget=60.0, redraws=redraws)
    assert (refuted.verdict, refuted.method) == (Verdict.NOT_EQUIVALENT, "redraw")
    assert refuted.evidence["redraw"] >= 1 and "on other data" in refuted.sentence
    same = [Redraw(r.reference, r.reference) for r in redraws[:3]]
    agreed = compare(a, stranger, budget=60.0, redraws=same)
    assert agreed.verdict is Verdict.SAME_OPTIMUM and agreed.evidence["redraws"] == 3
    # where names settle it, nothing is re-drawn
    assert "redraws" not in compare(a, a, redraws=same).evidence


def test_stress_keeps_the_shape_of_the_data() -> None:
    data = {"I": ["a", "b"], "w": {"a": 4, "b": 5}, "W": 10}
    assert scaled(data, {"w": (0.5, 1)}) == {"I": ["a", "b"], "w": {"a": 2.0, "b": 5.0}, "W": 10}
    assert scaled(data, {"W": (0.25,)}, whole=True)["W"] == 2


def test_absent_files_are_skipped_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert labelled_pairs(tmp_path) == [] and references(tmp_path) == ([], [])
    monkeypatch.setattr(bench, "SHARED", tmp_path)
    monkeypatch.setattr(bench, "_judge_outside", lambda budget: bench.Tally())
    tally = bench.measured([], [1])
    assert len(tally.skipped) == 2 and "formulation_pairs: not beside the checkout" in tally.skipped[0]
    text = shown.readme_block(tally, [], [1], 1)
    assert text.startswith(shown.START) and "Skipped: bench4opt_sample" in text


def test_the_readme_has_one_block_for_the_table() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert shown.with_block(readme, "TABLE").count("TABLE") == 1
    with pytest.raises(UsageError, match="holds 0 blocks"):
        shown.with_block("nothing", "TABLE")


def test_shares_are_never_rounded_up_to_all() -> None:
    shares: Sequence[tuple[int, int, str]] = ((0, 0, "-"), (5, 5, "100%"), (99999, 100000, "99.99%"), (1, 3, "33.33%"))
    assert [shown.share(a, b) for a, b, _ in shares] == [text for _, _, text in shares]
