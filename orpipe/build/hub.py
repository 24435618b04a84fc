"""Pushes a finished dataset folder to the Hugging Face hub, and proves what arrived.

One commit carries every new, changed and stale file, so the repository never shows half a dataset.  A push that broke
off is resumed by running it again: the hub keeps uploaded files by content and is not sent them twice.  Afterwards the
commit is compared with the folder byte for byte (digests), and loaded as a stranger would load it (counts, columns).
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, get_token
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, RepositoryNotFoundError
from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils import validate_repo_id

from orpipe import __version__
from orpipe.build.folder import Folder
from orpipe.errors import EnvironmentError_, OrpipeError, UsageError

log = logging.getLogger(__name__)
T = TypeVar("T")

_WAITS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)  # seconds between attempts; within each, single requests are retried too
_LONGEST_WAIT = 300.0
_TRANSIENT = {408, 412, 425, 429, 500, 502, 503, 504}  # 412: somebody else committed meanwhile; plan again


class ReadBackError(OrpipeError):
    """The commit was made, and what the hub serves is not (or cannot be shown to be) what the folder holds."""

    exit_code = 1


@dataclass(frozen=True, slots=True)
class SplitCount:
    """Rows of one split: in the folder, and as loaded from the hub (None: not read back, in a dry run)."""

    config: str
    split: str
    local: int
    remote: int | None


@dataclass(frozen=True, slots=True)
class PushReport:
    """What was pushed and what came back; in a dry run `uploaded` and `deleted` are what would be.

    files, bytes: the whole dataset.  uploaded, deleted: paths that differ from the repository's head.  commit: the
    hub's commit that holds the dataset (None in a dry run).  retries: attempts that the hub made necessary.
    """

    repo_id: str
    url: str
    private: bool
    dry_run: bool
    commit: str | None
    files: int
    bytes: int
    uploaded: tuple[str, ...]
    deleted: tuple[str, ...]
    splits: tuple[SplitCount, ...]
    retries: int


def push(
    folder: Path,
    repo_id: str,
    *,
    private: bool = True,
    dry_run: bool = False,
    token: str | None = None,
    endpoint: str | None = None,
) -> PushReport:
    """Makes the dataset repository `repo_id` ("owner/name") hold exactly the files of `folder`, and reads it back.

    Hidden files and timings.json stay at home; files of an earlier push that `folder` lacks are deleted.  `token` and
    `endpoint` default to what huggingface_hub finds (HF_TOKEN or a login; HF_ENDPOINT).  Raises UsageError (folder,
    name, visibility, files that orpipe did not push), EnvironmentError_ (token, rights, network, a hub that keeps
    failing) and ReadBackError (pushed, but not proved).
    """
    local = Folder.read(Path(folder))
    _check_name(repo_id)
    token = token or get_token()
    if token is None and not dry_run:
        raise EnvironmentError_("no Hugging Face token; set HF_TOKEN or run 'hf auth login', then push again")
    api = HfApi(endpoint=endpoint, token=token or False, library_name="orpipe", library_version=__version__)
    hub = _Hub(api, repo_id, token, patient=not dry_run)

    if not dry_run:
        hub.tried(lambda: api.create_repo(repo_id, repo_type="dataset", private=private, exist_ok=True))
    head = hub.tried(lambda: hub.head(may_be_absent=dry_run))
    if head.private is not None and head.private != private:
        is_, want, flag = ("private", "public", "drop") if head.private else ("public", "private", "pass")
        raise UsageError(f"'{repo_id}' exists and is {is_}; make it {want} in its settings, or {flag} --public")
    plan = _Plan.between(local, head, repo_id)
    commit, splits = None, tuple(SplitCount(s.config, s.split, s.rows, None) for s in local.splits)
    if not dry_run:
        commit = hub.tried(lambda: hub.commit(local))
        hub.tried(lambda: hub.prove_files(local, commit))
        splits = hub.prove_splits(local, commit)
    return PushReport(
        repo_id=repo_id, url=f"{api.endpoint}/datasets/{repo_id}", private=private, dry_run=dry_run, commit=commit,
        files=len(local.files), bytes=sum(p.stat().st_size for p in local.files.values()),
        uploaded=plan.upload, deleted=plan.delete, splits=splits, retries=hub.retries,
    )


def _check_name(repo_id: str) -> None:
    try:
        validate_repo_id(repo_id)
        well = repo_id.count("/") == 1
    except HFValidationError:
        well = False
    if not well:
        raise UsageError(f"'{repo_id}' is no repository name; use owner/name with letters, digits, '-', '_' and '.'")


# ------------------------------------------------------------------------------------------------------- the hub


@dataclass(frozen=True, slots=True)
class _Head:
    """The repository as it stands; private is None if there is none (or none that we may see)."""

    commit: str | None = None
    private: bool | None = None
    files: Mapping[str, RepoFile] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Plan:
    upload: tuple[str, ...]
    delete: tuple[str, ...]

    @classmethod
    def between(cls, local: Folder, head: _Head, repo_id: str) -> _Plan:
        """What must change for `head` to equal `local`; the hub's own dot files (.gitattributes) stay."""
        stale = tuple(sorted(n for n in head.files if n not in local.files and not n.startswith(".")))
        strange = [n for n in stale if n != "README.md"]
        if strange and "manifest.json" not in head.files:  # every push brings a manifest: these are somebody's own
            names = ", ".join(strange[:3])
            raise UsageError(f"'{repo_id}' holds files that orpipe did not push ({names}); push to another name")
        changed = (n for n, p in local.files.items() if n not in head.files or not _same(p, head.files[n]))
        return cls(tuple(changed), stale)


class _Hub:
    """One repository, spoken to with patience; without it (nothing is at stake) a hub that is out of reach is told at once."""

    def __init__(self, api: HfApi, repo_id: str, token: str | None, patient: bool = True) -> None:
        self.api, self.repo_id, self.token, self.patient, self.retries = api, repo_id, token, patient, 0

    def tried(self, action: Callable[[], T]) -> T:
        """action(), again after a pause while the hub fails in ways that pass; else one clear OrpipeError."""
        for wait in (*_WAITS, None):
            try:
                return action()
            except OrpipeError:
                raise
            except Exception as error:
                fault = _fault(error)
                if fault is None:
                    raise
                if not fault.passing or wait is None or (fault.status is None and not self.patient):
                    raise self.explained(fault) from None
                pause = min(max(wait, fault.retry_after), _LONGEST_WAIT)
                log.warning("hub: %s; trying again in %g s", self._clean(fault.text), pause)
                self.retries += 1
                time.sleep(pause)
        raise AssertionError("unreachable")

    def head(self, *, may_be_absent: bool = False, commit: str | None = None) -> _Head:
        try:
            info = self.api.dataset_info(self.repo_id, revision=commit)
        except HfHubHTTPError as error:  # to a stranger the hub says 401 of what is private and of what is not there
            barred = not self.token and error.response.status_code == 401
            if may_be_absent and (barred or isinstance(error, RepositoryNotFoundError)):
                return _Head()
            raise
        tree = self.api.list_repo_tree(self.repo_id, repo_type="dataset", revision=info.sha, recursive=True)
        return _Head(info.sha, bool(info.private), {f.path: f for f in tree if isinstance(f, RepoFile)})

    def commit(self, local: Folder) -> str:
        """The commit that holds the folder, made now unless the head holds it already."""
        head = self.head()  # planned anew in each attempt: an answer may have been lost after the commit was made
        plan = _Plan.between(local, head, self.repo_id)
        if not plan.upload and not plan.delete:
            return str(head.commit)
        operations: list[CommitOperationAdd | CommitOperationDelete] = [
            CommitOperationDelete(path_in_repo=name) for name in plan.delete]
        operations += [CommitOperationAdd(path_in_repo=n, path_or_fileobj=str(local.files[n])) for n in plan.upload]
        done = self.api.create_commit(
            self.repo_id, operations, commit_message=f"orpipe {__version__}: dataset of {len(local.files)} files",
            repo_type="dataset", parent_commit=head.commit,
        )
        return str(done.oid)

    def prove_files(self, local: Folder, commit: str | None) -> None:
        """ReadBackError unless the commit holds the folder's files, byte for byte, and no others."""
        plan = _Plan.between(local, self.head(commit=commit), self.repo_id)
        wrong = [f"{n} differs or is absent" for n in plan.upload] + [f"{n} should be gone" for n in plan.delete]
        if wrong:
            what = f"{wrong[0]} ({len(wrong)} in all)"
            raise ReadBackError(f"commit {commit} of '{self.repo_id}' is not the folder: {what}; push again")

    def prove_splits(self, local: Folder, commit: str | None) -> tuple[SplitCount, ...]:
        """Rows by split as loaded; ReadBackError unless configs, splits, rows and columns are the folder's."""
        loaded = {(s["config"], s["split"]): s for s in self._loaded(str(commit))}
        counts = []
        for want in local.splits:
            got = loaded.pop((want.config, want.split), None)
            place = f"'{self.repo_id}' at {commit}, config '{want.config}', split '{want.split}'"
            if got is None:
                raise ReadBackError(f"{place}: not there when loaded back; push again")
            if got["rows"] != want.rows:
                raise ReadBackError(f"{place}: {got['rows']} rows loaded back, {want.rows} in the folder; push again")
            if tuple(got["columns"]) != want.columns:
                there, here = ", ".join(got["columns"]), ", ".join(want.columns)
                raise ReadBackError(f"{place}: columns {there} loaded back, {here} in the folder; push again")
            counts.append(SplitCount(want.config, want.split, want.rows, got["rows"]))
        if loaded:
            raise ReadBackError(f"'{self.repo_id}' at {commit} has splits that the folder has not: {sorted(loaded)}")
        return tuple(counts)

    def _loaded(self, commit: str) -> list[dict]:
        kept = {k: v for k, v in os.environ.items() if not (k.startswith("HF_") and k.endswith(("_CACHE", "_OFFLINE")))}
        kept |= {"HF_ENDPOINT": self.api.endpoint, "HF_TOKEN": self.token or "", "HF_HUB_DISABLE_TELEMETRY": "1"}
        program = [sys.executable, "-P", str(Path(__file__).with_name("readback.py")), self.repo_id, commit]
        for wait in (*_WAITS[:2], None):
            with tempfile.TemporaryDirectory(prefix="orpipe-readback-") as home:
                done = subprocess.run(program, env=kept | {"HF_HOME": home}, capture_output=True, text=True)
            if done.returncode == 0:
                return json.loads(done.stdout)
            if wait is not None:
                self.retries += 1
                time.sleep(wait)
        why = self._clean(_line(done.stderr.strip().rsplit("\n", 1)[-1]))
        raise ReadBackError(f"'{self.repo_id}' was pushed as {commit}, but loading it back fails: {why}; push again")

    def explained(self, fault: _Fault) -> OrpipeError:
        repo_id, status, text = self.repo_id, fault.status, self._clean(fault.text)
        if status is None and fault.passing:
            cure = "check the network and HF_ENDPOINT"
            return EnvironmentError_(f"no connection to {self.api.endpoint} ({text}); {cure}")
        if fault.passing:
            cure = "push again later: what has been uploaded is not sent twice"
            return EnvironmentError_(f"the hub keeps answering {status}; {cure}")
        if status == 401:
            cure = "set HF_TOKEN to a valid one or run 'hf auth login'"
            return EnvironmentError_(f"the hub does not accept the token (401); {cure}")
        if status == 403:
            cure = f"use one with write access to '{repo_id.split('/')[0]}'"
            return EnvironmentError_(f"the token may not write to '{repo_id}' (403); {cure}")
        return UsageError(f"the hub refuses '{repo_id}' ({status or 'content'}): {text}")

    def _clean(self, text: str) -> str:
        return text.replace(self.token, "<token>") if self.token else text


@dataclass(frozen=True, slots=True)
class _Fault:
    """A failure that the hub or the way to it is answerable for; status None: no answer, or the content was refused."""

    text: str
    passing: bool
    status: int | None = None
    retry_after: float = 0.0


def _fault(error: BaseException) -> _Fault | None:
    """What the chain of causes tells of the hub (upload threads wrap theirs), or None: a bug, to be seen as such."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, HfHubHTTPError):
            status, after = cause.response.status_code, cause.response.headers.get("Retry-After", "")
            text = _line(cause.server_message or cause)
            return _Fault(text, status in _TRANSIENT, status, float(after) if after.isdigit() else 0.0)
        # by name: huggingface_hub has changed its HTTP library between versions, and both call it this
        if any(c.__name__ == "TransportError" for c in type(cause).__mro__):
            return _Fault(_line(cause) or type(cause).__name__, True)
        if isinstance(cause, ValueError) and str(cause).startswith(("Invalid metadata", "LFS batch API")):
            return _Fault(_line(cause, 3), False)
        cause = cause.__cause__
    return None


def _line(text: object, lines: int = 1) -> str:
    kept = [line.strip() for line in str(text).splitlines() if line.strip()]
    return " ".join(kept[:lines])[:300]


def _same(path: Path, remote: RepoFile) -> bool:
    """Equal bytes, by the digest that the hub keeps: sha256 of large files, git's blob id of small ones."""
    if path.stat().st_size != remote.size:
        return False
    if remote.lfs is not None:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == remote.lfs.sha256
    data = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest() == remote.blob_id
