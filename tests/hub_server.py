"""A dataset hub on the loopback: as much as create_repo, create_commit and load_dataset use, and it fails on request.

    with Hub() as hub:
        hub.fail("PUT", r"/lfs/", status=500, skip=2)           # the third upload, once
        hub.fail("POST", r"/commit/", status=500, applied=True)  # does it, then says it failed
        push(folder, "me/data", token=hub.token, endpoint=hub.url)

Each commit keeps its own tree, so a revision once read stays what it was.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass
class Fault:
    method: str
    path: str
    status: int
    skip: int
    times: int
    applied: bool
    headers: Mapping[str, str]


@dataclass
class Commit:
    sha: str
    files: dict[str, bytes]


@dataclass
class Repo:
    private: bool
    commits: list[Commit] = field(default_factory=list)

    def add(self, files: dict[str, bytes]) -> Commit:
        seed = f"{len(self.commits)}".encode() + b"".join(k.encode() + v for k, v in sorted(files.items()))
        self.commits.append(Commit(hashlib.sha1(seed).hexdigest(), files))
        return self.commits[-1]

    def at(self, revision: str) -> Commit | None:
        return self.commits[-1] if revision == "main" else next((c for c in self.commits if c.sha == revision), None)


class Hub:
    """token may write, read_token may only read; lfs counts an upload for each PUT that was stored."""

    token = "hf_secretwritetoken"
    read_token = "hf_secretreadtoken"

    def __init__(self) -> None:
        self.repos: dict[str, Repo] = {}
        self.lfs: dict[str, bytes] = {}
        self.uploads = 0
        self.requests: list[str] = []
        self.faults: list[Fault] = []
        self.lock = threading.RLock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": self}))
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self) -> Hub:
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def fail(self, method: str, path: str, *, status: int, skip: int = 0, times: int = 1, applied: bool = False,
             headers: Mapping[str, str] | None = None) -> None:
        """Answers `status` to `times` matching requests after letting `skip` pass; applied: does it all the same."""
        self.faults.append(Fault(method, path, status, skip, times, applied, headers or {}))

    def due(self, method: str, path: str) -> Fault | None:
        with self.lock:
            self.requests.append(f"{method} {path}")
            for fault in self.faults:
                if fault.method == method and fault.times and re.search(fault.path, path):
                    if fault.skip:
                        fault.skip -= 1
                    else:
                        fault.times -= 1
                        return fault
            return None

    def files(self, repo_id: str) -> dict[str, bytes]:
        """What a visitor sees at the head, without the hub's own dot files."""
        return {k: v for k, v in self.repos[repo_id].commits[-1].files.items() if not k.startswith(".")}


class _Answer(Exception):
    def __init__(self, status: int, body: Any = None, headers: Mapping[str, str] | None = None) -> None:
        self.status, self.body, self.headers = status, {} if body is None else body, dict(headers or {})


def _missing(code: str) -> _Answer:
    return _Answer(404, {"error": code}, {"X-Error-Code": code})


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Silent: tests read hub.requests."""

    def answer(self) -> None:
        url, body = urlsplit(self.path), self.body()
        path, query = unquote(url.path), parse_qs(url.query)
        fault = self.hub.due(self.command, path)
        if fault is None or fault.applied:
            try:
                with self.hub.lock:
                    self.route(path, query, body)
                answer = _missing("RepoNotFound")
            except _Answer as given:
                answer = given
        if fault is not None:
            answer = _Answer(fault.status, {"error": "as asked"}, fault.headers)
        data = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        self.send_response(answer.status)
        for name, value in {"Content-Length": str(len(data)), **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = answer

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().strip(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    # ---- routes; each raises its _Answer

    def route(self, path: str, query: dict[str, list[str]], body: bytes) -> None:
        hub = self.hub
        if path.startswith("/lfs/"):
            hub.lfs[path.removeprefix("/lfs/")] = body
            hub.uploads += 1
            raise _Answer(200, headers={"ETag": '"stored"'})
        if path == "/lfs-verify":
            oid = json.loads(body)["oid"]
            raise _Answer(200 if hashlib.sha256(hub.lfs[oid]).hexdigest() == oid else 422)
        bearer = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if bearer and bearer not in (hub.token, hub.read_token):
            raise _Answer(401, {"error": "Invalid"}, {"X-Error-Message": "Invalid credentials in Authorization header"})
        if path == "/api/validate-yaml":
            raise _Answer(200, {"errors": [], "warnings": []})
        if path == "/api/repos/create":
            self.create(json.loads(body), bearer)
        if found := re.fullmatch(r"/(?:api/)?datasets/([\w.-]+/[\w.-]+?)(?:\.git)?(?:/(.*))?", path):
            repo = hub.repos.get(found[1])
            if repo is None or (repo.private and not bearer):
                raise _missing("RepoNotFound") if bearer else _Answer(401, {"error": "Repository not found"})
            self.repository(found[1], repo, found[2] or "", query, body, bearer)

    def create(self, asked: dict[str, Any], bearer: str) -> None:
        name = "/".join(filter(None, [asked.get("organization") or "me", asked["name"]]))
        self.must_write(bearer)
        known = name in self.hub.repos
        if not known:
            private = asked.get("private", asked.get("visibility") == "private")
            self.hub.repos[name] = Repo(bool(private))
            self.hub.repos[name].add({".gitattributes": b"*.parquet filter=lfs diff=lfs merge=lfs -text\n"})
        raise _Answer(409 if known else 200, {"url": f"{self.hub.url}/datasets/{name}", "name": name})

    def must_write(self, bearer: str) -> None:
        if bearer != self.hub.token:
            raise _Answer(403 if bearer else 401, {"error": "You don't have the rights to do this"})

    def repository(
        self, name: str, repo: Repo, rest: str, query: dict[str, list[str]], body: bytes, bearer: str
    ) -> None:
        verb, _, tail = rest.partition("/")
        if verb == "preupload":
            files = [{"path": f["path"], "uploadMode": "lfs" if f["path"].endswith(".parquet") else "regular",
                      "shouldIgnore": False, "oid": None} for f in json.loads(body)["files"]]
            raise _Answer(200, {"files": files, "commitOid": repo.commits[-1].sha})
        if rest == "info/lfs/objects/batch":
            self.must_write(bearer)
            objects = [self.lfs_object(o) for o in json.loads(body)["objects"]]
            raise _Answer(200, {"transfer": "basic", "objects": objects})
        if verb == "commit":
            self.must_write(bearer)
            self.commit(name, repo, [json.loads(line) for line in body.decode().splitlines()])
        if verb in ("", "revision"):
            commit = self.revision(repo, tail or "main")
            raise _Answer(200, {"_id": "x", "id": name, "sha": commit.sha, "private": repo.private, "tags": [],
                                "siblings": [{"rfilename": k} for k in commit.files]})
        if verb == "tree":
            revision, _, folder = tail.partition("/")
            self.tree(self.revision(repo, revision), folder, query.get("recursive", ["false"])[0].lower() == "true")
        if verb == "paths-info":
            asked = parse_qs(body.decode()).get("paths", []) if body[:1] != b"{" else json.loads(body)["paths"]
            commit = self.revision(repo, tail)
            raise _Answer(200, [_entry(k, commit.files[k]) for k in asked if k in commit.files])
        if verb == "resolve":
            revision, _, file = tail.partition("/")
            self.resolve(self.revision(repo, revision), file)

    def revision(self, repo: Repo, name: str) -> Commit:
        commit = repo.at(name)
        if commit is None:
            raise _missing("RevisionNotFound")
        return commit

    def lfs_object(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Upload instructions, or none if the content is known: that is what makes a push resumable."""
        oid, url = asked["oid"], self.hub.url
        actions = {"upload": {"href": f"{url}/lfs/{oid}"}, "verify": {"href": f"{url}/lfs-verify"}}
        return {"oid": oid, "size": asked["size"]} | ({} if oid in self.hub.lfs else {"actions": actions})

    def commit(self, name: str, repo: Repo, lines: list[dict[str, Any]]) -> None:
        files = dict(repo.commits[-1].files)
        for line in lines:
            value = line["value"]
            match line["key"]:
                case "header":
                    if value.get("parentCommit") not in (None, repo.commits[-1].sha):
                        raise _Answer(412, {"error": "A commit has happened since"})
                case "file":
                    files[value["path"]] = base64.b64decode(value["content"])
                case "lfsFile":
                    files[value["path"]] = self.hub.lfs[value["oid"]]
                case "deletedFile":
                    if files.pop(value["path"], None) is None:
                        raise _missing("EntryNotFound")
        sha = repo.add(files).sha
        url = f"{self.hub.url}/datasets/{name}/commit/{sha}"
        raise _Answer(200, {"success": True, "commitOid": sha, "commitUrl": url, "hookOutput": ""})

    def tree(self, commit: Commit, folder: str, recursive: bool) -> None:
        prefix, entries = f"{folder}/" if folder else "", {}
        for path, data in commit.files.items():
            if not path.startswith(prefix):
                continue
            parts = path.removeprefix(prefix).split("/")
            for depth in range(1, len(parts) if recursive else min(2, len(parts))):
                parent = prefix + "/".join(parts[:depth])
                entries[parent] = {"type": "directory", "path": parent, "oid": "d" * 40, "size": 0}
            if recursive or len(parts) == 1:
                entries[path] = _entry(path, data)
        if folder and not entries:
            raise _missing("EntryNotFound")
        raise _Answer(200, list(entries.values()))

    def resolve(self, commit: Commit, file: str) -> None:
        if file not in commit.files:
            raise _missing("EntryNotFound")
        data = commit.files[file]
        headers = {"ETag": f'"{hashlib.sha1(data).hexdigest()}"', "X-Repo-Commit": commit.sha, "Accept-Ranges": "bytes"}
        if span := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
            first, last = int(span[1]), min(int(span[2] or len(data)), len(data) - 1)
            raise _Answer(206, data[first : last + 1], headers | {"Content-Range": f"bytes {first}-{last}/{len(data)}"})
        raise _Answer(200, data, headers)


def _entry(path: str, data: bytes) -> dict[str, Any]:
    """A file as the tree lists it: git's blob id, and the sha256 of what is kept as a large file."""
    entry = {"type": "file", "path": path, "size": len(data)}
    if path.endswith(".parquet"):
        large = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 128}
        return entry | {"oid": "b" * 40, "lfs": large}
    return entry | {"oid": hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()}
