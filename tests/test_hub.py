"""Pushing: one whole commit whatever the hub does in between, proved by reading back; no secrets in what is printed."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hub_server import Hub
from orpipe.build import hub as module
from orpipe.build.hub import ReadBackError, SplitCount, push
from orpipe.errors import EnvironmentError_, OrpipeError, UsageError

V1 = {"instances": {"train": 3}, "sft": {"train": 5, "validation": 2, "test": 1}, "rejected": {"train": 1}}
LARGE = 6  # Parquet files of V1: sft/train has two shards


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub() as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "out", V1)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits that were asked for; none is waited."""
    from huggingface_hub.utils import _http

    asked: list[float] = []
    clock = SimpleNamespace(sleep=asked.append, time=time.time)
    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(_http, "time", clock)
    return asked


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves out the loading in a fresh process (2 s) where a test is about the way there."""
    monkeypatch.setattr(module._Hub, "prove_splits", lambda self, local, commit: ())


def write(root: Path, counts: dict[str, dict[str, int]], *, columns: tuple[str, ...] = ("id", "text")) -> Path:
    """A dataset folder; every split of more than three rows in two shards."""
    configs = []
    for config, splits in counts.items():
        (root / config).mkdir(parents=True, exist_ok=True)
        for split, rows in splits.items():
            shards = 2 if rows > 3 else 1
            for k in range(shards):
                mine = range(k, rows, shards)
                cells = {c: [f"{config} {split} {c} {i}" for i in mine] for c in columns}
                table = pa.table({c: pa.array(values, pa.string()) for c, values in cells.items()})
                pq.write_table(table, root / config / f"{split}-{k:05}-of-{shards:05}.parquet")
        files = [{"split": s, "path": f"{config}/{s}-*.parquet"} for s in splits]
        configs.append({"config_name": config, "data_files": files})
    (root / "README.md").write_text(f"---\nlicense: cc-by-4.0\nconfigs: {json.dumps(configs)}\n---\n# Data\n", "utf-8")
    (root / "manifest.json").write_text(json.dumps({"counts": counts}), "utf-8")
    return root


def held(root: Path) -> dict[str, bytes]:
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def send(folder: Path, hub: Hub, **options: object) -> module.PushReport:
    return push(folder, "me/data", **{"token": hub.token, "endpoint": hub.url, **options})  # type: ignore[arg-type]


# ---- what arrives


def test_a_push_arrives_whole_and_is_read_back(folder: Path, hub: Hub) -> None:
    (folder / "timings.json").write_text("{}")
    nothing = pa.table({"id": pa.array([], pa.string())})
    pq.write_table(nothing, folder / "rejected" / "test-00000-of-00001.parquet")  # empty, and so not listed
    (folder / ".work").mkdir()
    (folder / ".work" / "shard-0.parquet").write_text("half")
    report = send(folder, hub)
    want = {k: v for k, v in held(folder).items() if k != "timings.json" and not k.startswith(".")}
    assert hub.files("me/data") == want
    assert report.splits == tuple(SplitCount(c, s, n, n) for c, splits in V1.items() for s, n in splits.items())
    assert (report.files, report.bytes) == (len(want), sum(map(len, want.values())))
    assert report.commit == hub.repos["me/data"].commits[-1].sha
    assert report.url == f"{hub.url}/datasets/me/data"
    assert set(report.uploaded) == set(want) and report.deleted == () and report.retries == 0
    assert report.private and hub.repos["me/data"].private


def test_pushing_the_same_again_makes_no_commit(folder: Path, hub: Hub, quick: None) -> None:
    first, again = send(folder, hub), send(folder, hub)
    assert again.commit == first.commit and again.uploaded == ()
    assert len(hub.repos["me/data"].commits) == 2 and hub.uploads == LARGE


def test_a_later_version_leaves_nothing_of_the_earlier_one(folder: Path, tmp_path: Path, hub: Hub) -> None:
    """H2: a column more, a split fewer, other shards."""
    send(folder, hub)
    counts = {"instances": {"train": 3}, "sft": {"train": 2, "test": 2}}
    v2 = write(tmp_path / "v2", counts, columns=("id", "text", "task"))
    report = send(v2, hub)
    assert hub.files("me/data") == held(v2)
    assert len(hub.repos["me/data"].commits) == 3, "one commit a push"
    assert set(report.deleted) == {
        "rejected/train-00000-of-00001.parquet", "sft/train-00000-of-00002.parquet", "sft/train-00001-of-00002.parquet",
        "sft/validation-00000-of-00001.parquet",
    }
    assert {(s.config, s.split): s.remote for s in report.splits} == {
        ("instances", "train"): 3, ("sft", "train"): 2, ("sft", "test"): 2}


# ---- a hub that fails


@pytest.mark.parametrize("skip", range(LARGE))
@pytest.mark.parametrize("status", [429, 500])
def test_a_failing_upload_is_resumed(
    folder: Path, hub: Hub, quick: None, pauses: list[float], skip: int, status: int
) -> None:
    """H1, the k-th file, failing long enough that single-request retries give up."""
    headers = {"Retry-After": "7"} if status == 429 else None
    hub.fail("PUT", "/lfs/", status=status, skip=skip, times=8, headers=headers)
    report = send(folder, hub)
    assert hub.files("me/data") == held(folder)
    assert hub.uploads == LARGE, "what had arrived was sent again"
    assert pauses and (status == 500 or min(pauses) >= 7)
    assert len(hub.repos["me/data"].commits) == 2 and report.commit == hub.repos["me/data"].commits[-1].sha


@pytest.mark.parametrize(
    ("method", "path", "status", "applied"),
    [
        ("POST", "/api/repos/create", 500, False), ("POST", "/api/repos/create", 500, True),
        ("GET", "/tree/", 503, False), ("POST", "/preupload/", 429, False), ("POST", "/objects/batch", 500, False),
        ("POST", "/lfs-verify", 500, False), ("POST", "/commit/", 500, False), ("POST", "/commit/", 429, False),
        ("POST", "/commit/", 500, True), ("POST", "/commit/", 412, False), ("GET", "/revision/", 502, False),
    ],
)
def test_a_failing_request_is_tried_again(
    folder: Path, hub: Hub, quick: None, pauses: list[float], method: str, path: str, status: int, applied: bool
) -> None:
    hub.fail(method, path, status=status, applied=applied)
    report = send(folder, hub)
    assert not any(f.times for f in hub.faults), "the fault was never met"
    assert hub.files("me/data") == held(folder)
    assert len(hub.repos["me/data"].commits) == 2, "a lost answer must not lead to a second commit"
    assert set(report.uploaded) == set(held(folder)) and pauses


def test_a_commit_by_somebody_else_meanwhile_is_planned_around(
    folder: Path, tmp_path: Path, hub: Hub, quick: None, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    send(folder, hub)
    looks: list[str | None] = []

    def head(self: module._Hub, **options: object) -> module._Head:
        found = honest(self, **options)  # type: ignore[arg-type]
        looks.append(found.commit)
        if len(looks) == 2:  # the look that the commit is planned on
            hub.repos["me/data"].add(hub.files("me/data") | {"sft/late.parquet": b"late"})
        return found

    honest = module._Hub.head
    monkeypatch.setattr(module._Hub, "head", head)
    v2 = write(tmp_path / "v2", {"sft": {"train": 2}})
    send(v2, hub)
    assert hub.files("me/data") == held(v2)
    assert len(set(looks)) == 3 and len(pauses) == 1


def test_a_hub_that_stays_down_leaves_the_old_version_and_a_push_to_be_resumed(
    folder: Path, tmp_path: Path, hub: Hub, quick: None, pauses: list[float]
) -> None:
    send(folder, hub)
    before, uploads = hub.files("me/data"), hub.uploads
    v2 = write(tmp_path / "v2", {"sft": {"train": 9, "test": 4}}, columns=("id", "task"))
    hub.fail("PUT", "/lfs/", status=500, skip=3, times=10**6)
    with pytest.raises(EnvironmentError_, match=r"keeps answering 500; push again later"):
        send(v2, hub)
    assert hub.files("me/data") == before and hub.uploads == uploads + 3
    hub.faults.clear()
    send(v2, hub)
    assert hub.files("me/data") == held(v2) and hub.uploads == uploads + 4


def test_a_loading_that_fails_once_is_tried_again(folder: Path, hub: Hub, pauses: list[float]) -> None:
    hub.fail("GET", "/resolve/.*parquet", status=404, times=1)
    report = send(folder, hub)
    assert report.retries == 1 and all(s.local == s.remote for s in report.splits)


# ---- what is read back is not what was sent


@pytest.mark.parametrize("name", ["README.md", "sft/test-00000-of-00001.parquet"])
def test_a_changed_byte_is_seen(
    folder: Path, hub: Hub, quick: None, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def tampered(self: module._Hub, local: module.Folder) -> str:
        commit = honest(self, local)
        files = hub.repos["me/data"].commits[-1].files
        files[name] = files[name][:-1] + b"?"
        return commit

    honest = module._Hub.commit
    monkeypatch.setattr(module._Hub, "commit", tampered)
    with pytest.raises(ReadBackError, match=rf"{name} differs or is absent \(1 in all\)") as caught:
        send(folder, hub)
    assert caught.value.exit_code == 1


@pytest.mark.parametrize(
    ("served", "columns", "message"),
    [
        (V1 | {"instances": {"train": 2}}, ("id", "text"), "'instances', split 'train': 2 rows loaded back, 3 in the"),
        (V1, ("id", "texts"), "columns id, texts loaded back, id, text in the folder"),
        (V1 | {"sft": {"train": 5, "test": 1}}, ("id", "text"), "config 'sft', split 'validation': not there"),
        (V1 | {"more": {"train": 1}}, ("id", "text"), r"has splits that the folder has not: \[\('more', 'train'\)\]"),
    ],
)
def test_other_rows_columns_or_splits_are_seen(
    folder: Path, tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch, served: dict, columns: tuple, message: str
) -> None:
    other = held(write(tmp_path / "other", served, columns=columns))
    monkeypatch.setattr(module._Hub, "prove_files", lambda self, local, commit: hub.repos["me/data"].add(other))
    monkeypatch.setattr(module._Hub, "commit", lambda self, local: hub.repos["me/data"].add(other).sha)
    with pytest.raises(ReadBackError, match=message) as caught:
        send(folder, hub)
    assert caught.value.exit_code == 1


# ---- a dry run


@pytest.mark.parametrize("token", [None, Hub.token])
def test_a_dry_run_of_a_new_repository_changes_nothing(folder: Path, hub: Hub, token: str | None) -> None:
    report = send(folder, hub, dry_run=True, token=token)
    assert set(report.uploaded) == set(held(folder)) and report.deleted == () and report.commit is None
    assert all(s.remote is None for s in report.splits) and len(report.splits) == 5
    assert hub.repos == {} and all(r.startswith("GET ") for r in hub.requests)


def test_a_dry_run_lists_only_the_differences(folder: Path, tmp_path: Path, hub: Hub, quick: None) -> None:
    send(folder, hub)
    (folder / "sft" / "test-00000-of-00001.parquet").unlink()
    write(folder, V1 | {"sft": {"train": 5, "validation": 2}})
    report = send(folder, hub, dry_run=True)
    assert report.uploaded == ("README.md", "manifest.json")
    assert report.deleted == ("sft/test-00000-of-00001.parquet",)
    assert len(hub.repos["me/data"].commits) == 2


# ---- refusals


def no_readme(root: Path) -> None:
    (root / "README.md").unlink()


def no_manifest(root: Path) -> None:
    (root / "manifest.json").unlink()


def no_configs(root: Path) -> None:
    (root / "README.md").write_text("# a page without a head\n")


def odd_configs(root: Path) -> None:
    (root / "README.md").write_text("---\nconfigs:\n- sft\n---\n")


def absent_split(root: Path) -> None:
    (root / "sft" / "test-00000-of-00001.parquet").unlink()


def stray_shard(root: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), root / "stray.parquet")


def cut_shard(root: Path) -> None:
    (root / "sft" / "test-00000-of-00001.parquet").write_bytes(b"PAR1")


def no_rows(root: Path) -> None:
    pq.write_table(pa.table({"id": pa.array([], pa.string())}), root / "rejected" / "train-00000-of-00001.parquet")


def mixed_shards(root: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), root / "sft" / "train-00001-of-00002.parquet")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (no_readme, "is no finished dataset: README.md is missing; let 'orpipe generate"),
        (no_manifest, "is no finished dataset: manifest.json is missing; let 'orpipe generate"),
        (no_configs, "lists no configs in its YAML head"),
        (odd_configs, "lists no configs in its YAML head"),
        (absent_split, r"no file matches sft/test-\*.parquet \(config 'sft', split 'test' in README.md\)"),
        (stray_shard, "stray.parquet' belongs to no config"),
        (cut_shard, "sft/test-00000-of-00001.parquet' is not readable as Parquet"),
        (no_rows, "rejected/train-00000-of-00001.parquet' has no rows and so cannot be loaded; leave its"),
        (mixed_shards, "sft/train-00001-of-00002.parquet' has other columns than 'sft/train-00000-of-00002.parquet'"),
    ],
)
def test_a_folder_that_is_no_dataset_is_refused_before_the_hub_is_asked(folder: Path, hub: Hub, spoil, message) -> None:
    spoil(folder)
    with pytest.raises(UsageError, match=message) as caught:
        send(folder, hub)
    assert "\n" not in str(caught.value) and hub.requests == []


def test_an_absent_folder_is_refused(tmp_path: Path, hub: Hub) -> None:
    with pytest.raises(UsageError, match="does not exist; make a dataset with 'orpipe generate"):
        send(tmp_path / "nothing", hub)


@pytest.mark.parametrize("name", ["data", "a/b/c", "me/", "/data", "me/da ta", "me/-x", "me/a..b", "me/x.git", "", "https://h/me/d"])
def test_a_malformed_name_is_refused(folder: Path, hub: Hub, name: str) -> None:
    with pytest.raises(UsageError, match="is no repository name; use owner/name"):
        push(folder, name, token=hub.token, endpoint=hub.url)
    assert hub.requests == []


def test_no_token(folder: Path, hub: Hub) -> None:
    with pytest.raises(EnvironmentError_, match="no Hugging Face token; set HF_TOKEN or run 'hf auth login'") as caught:
        send(folder, hub, token=None)
    assert caught.value.exit_code == 3 and hub.requests == []


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("hf_wrong", r"does not accept the token \(401\); set HF_TOKEN"),
        (Hub.read_token, r"may not write to 'me/data' \(403\); use one with write access to 'me'"),
    ],
)
def test_a_token_without_the_right(folder: Path, hub: Hub, token: str, message: str) -> None:
    with pytest.raises(EnvironmentError_, match=message) as caught:
        send(folder, hub, token=token)
    assert token not in str(caught.value) and "\n" not in str(caught.value)
    assert hub.repos == {}


def test_a_refusal_in_other_words(folder: Path, hub: Hub) -> None:
    hub.fail("POST", "/commit/", status=413)
    with pytest.raises(UsageError, match=r"the hub refuses 'me/data' \(413\): as asked"):
        send(folder, hub)


def test_no_hub_there(folder: Path, pauses: list[float]) -> None:
    with Hub() as gone:
        pass
    with pytest.raises(EnvironmentError_, match=r"no connection to http://127.0.0.1:\d+ \(.*\); check the network"):
        send(folder, gone)
    assert len(pauses) >= 6
    pauses.clear()
    with pytest.raises(EnvironmentError_, match="no connection to"):  # a dry run has nothing to lose
        send(folder, gone, dry_run=True)
    assert pauses == []


@pytest.mark.parametrize(("private", "message"), [(True, "exists and is public"), (False, "exists and is private")])
def test_the_visibility_is_the_one_asked_for_or_nothing_is_sent(
    folder: Path, hub: Hub, quick: None, private: bool, message: str
) -> None:
    send(folder, hub, private=not private)
    commits = len(hub.repos["me/data"].commits)
    with pytest.raises(UsageError, match=message):
        send(write(folder, V1, columns=("id", "new")), hub, private=private)
    assert len(hub.repos["me/data"].commits) == commits


def test_somebody_elses_dataset_is_not_overwritten(folder: Path, hub: Hub, quick: None) -> None:
    send(folder, hub)
    theirs = {"README.md": b"# mine", "photos.zip": b"..."}
    hub.repos["me/data"].add(theirs)
    with pytest.raises(UsageError, match=r"holds files that orpipe did not push \(photos.zip\); push to another name"):
        send(folder, hub)
    assert hub.files("me/data") == theirs


def test_a_bug_of_ours_is_not_blamed_on_the_hub(folder: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: module._Hub, local: module.Folder) -> str:
        raise KeyError("ours")

    monkeypatch.setattr(module._Hub, "commit", broken)
    with pytest.raises(KeyError, match="ours"):
        send(folder, hub)


# ---- secrets, and the environment as the command line finds it

PROGRAM = """
import logging, sys
from orpipe.build.hub import push
from orpipe.errors import OrpipeError
logging.basicConfig(level=logging.INFO)
try:
    print(push(sys.argv[1], "me/data"))
except OrpipeError as error:
    print(error)
    sys.exit(error.exit_code)
"""


@pytest.mark.parametrize(("status", "code"), [(None, 0), (403, 3), (413, 2)])
def test_the_token_is_never_printed(folder: Path, tmp_path: Path, hub: Hub, status: int | None, code: int) -> None:
    """In a process that takes endpoint and token from its environment, with the libraries' own logs switched on."""
    if status:
        hub.fail("POST", "/commit/", status=status, headers={"X-Error-Message": f"no: {hub.token}"})
    env = os.environ | {"HF_ENDPOINT": hub.url, "HF_TOKEN": hub.token, "HF_HOME": str(tmp_path), "HF_DEBUG": "0",
                        "PYTHONPATH": str(Path(module.__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(folder)], env=env, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert hub.token not in done.stdout + done.stderr
    assert ("SplitCount" in done.stdout) == (code == 0)


def test_the_token_is_cut_out_of_warnings(
    folder: Path, hub: Hub, quick: None, pauses: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    hub.fail("POST", "/commit/", status=500, headers={"X-Error-Message": f"busy with {hub.token}"})
    with caplog.at_level(logging.WARNING, logger="orpipe"):
        send(folder, hub)
    assert "busy with <token>" in caplog.text and hub.token not in caplog.text


def test_every_refusal_is_an_orpipe_error() -> None:
    assert issubclass(ReadBackError, OrpipeError)
