"""The commands that are struck: how each comes to be called, and how one sees what it did."""

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pygit2

from tests.crash.injector import Fault
from tests.crash.stage import Stage

ASKED, CONFLICT = 21, 23
SCRIPT = "echo more >> readme.txt && mkdir new && echo fresh > new/made.txt"
Words = Sequence[str]
_PARTS_OF_ID = re.compile(r"\d{6}-\d{4}-[a-z0-9]+")


@dataclass(frozen=True)
class Scene:
    """`prepare` makes the stage and returns the command; `atomic`: after a fault all of it is done, or nothing."""

    name: str
    prepare: Callable[[Stage], Words]
    status: int = 0
    atomic: bool = False
    refusals: tuple[int, ...] = ()  # how it ends, besides 1, where the user's own git fails
    settle: Callable[[Stage], None] = lambda _stage: None


def look_at(stage: Stage) -> dict[str, Any]:
    """Return all that a person would count on, without what differs from one time to the next."""
    files = _state_files(stage)
    repository = pygit2.Repository(str(stage.repo))
    try:
        commits = list(repository.walk(repository.head.target, pygit2.enums.SortMode.TOPOLOGICAL))
        return {
            "tasks": sorted(_field(text, "title") for path, text in files.items() if path.startswith("backlog/T")),
            "notes": {path: text for path, text in files.items() if path.startswith("memory/")},
            "policy": files.get("policy.md"),
            "runs": sorted(_field(text, "status") for path, text in files.items() if path.startswith("runs/")),
            "subjects": sorted(_PARTS_OF_ID.sub("ID", commit.message.split("\n")[0]) for commit in commits),
            "tree": str(repository.head.peel(pygit2.Tree).id),
            "changed": stage.git("status", "--porcelain", "--untracked-files=all").splitlines(),
            "queue": [kind for ref in _refs(stage.hub) for kind in ("queue", "claims") if f"/nexus/{kind}/" in ref],
            "published": _files_of(stage.hub) and sorted(
                _field(text, "title") for path, text in _files_of(stage.hub).items() if path.startswith("backlog/T")
            ),
        }  # fmt: skip
    finally:
        repository.free()


def _state_files(stage: Stage) -> dict[str, str]:
    return _files_of(stage.repo)


def _refs(place: Path) -> list[str]:
    if not place.exists():
        return []
    repository = pygit2.Repository(str(place))
    try:
        return list(repository.references)
    finally:
        repository.free()


def _files_of(place: Path) -> dict[str, str]:
    """Return the files on the state ref of a repository that people count on."""
    if not place.exists():
        return {}
    repository = pygit2.Repository(str(place))
    try:
        tip = repository.references.get("refs/nexus/state")
        return {} if tip is None else dict(_walk(tip.peel(pygit2.Tree), ""))
    finally:
        repository.free()


def _walk(tree: pygit2.Tree, prefix: str) -> Iterator[tuple[str, str]]:
    for entry in tree:
        path = f"{prefix}{entry.name}"
        if isinstance(entry, pygit2.Tree):
            if path in ("backlog", "memory", "runs"):
                yield from _walk(entry, f"{path}/")
        elif isinstance(entry, pygit2.Blob):
            yield path, entry.data.decode()


def _field(text: str, name: str) -> str:
    return str(json.loads(text).get(name))


def run_ids(stage: Stage) -> dict[str, str]:
    """Return the status of every run that has a record."""
    return {
        path.removeprefix("runs/").removesuffix(".json"): _field(text, "status")
        for path, text in _state_files(stage).items()
        if path.startswith("runs/")
    }


def _project(stage: Stage) -> None:
    stage.make_repository()
    _begin(stage)


def _begin(stage: Stage) -> None:
    stage.nexus("init", "--name", "crash")
    stage.nexus("task", "add", "acknowledged")
    stage.nexus("memory", "add", "kept", "a note that was acknowledged")


def _begun(stage: Stage) -> str:
    _project(stage)
    return str(stage.json("run", status=ASKED, command=("sh", "-c", SCRIPT))["run"]["id"])


def _approved(stage: Stage) -> str:
    run = _begun(stage)
    stage.nexus("approve", "--unseen", run)
    return run


def _moved_on(stage: Stage) -> str:
    run = _approved(stage)
    (stage.repo / "other.txt").write_text("meanwhile\n")
    stage.git("add", "other.txt")
    stage.git("commit", "-qm", "meanwhile")
    return run


def _landed(stage: Stage) -> str:
    run = _approved(stage)
    stage.nexus("land", run)
    return run


def _with_hub(stage: Stage) -> None:
    """Make a server, and a clone besides ours that has published a task."""
    stage.make_repository()
    stage.git("clone", "-q", "--bare", str(stage.repo), str(stage.hub), cwd=stage.root)
    stage.git("remote", "add", "origin", str(stage.hub))
    stage.git("fetch", "-q", "origin")
    _begin(stage)
    stage.nexus("sync")


def _two_clones(stage: Stage) -> None:
    _with_hub(stage)
    other = stage.root / "other"
    stage.git("clone", "-q", str(stage.hub), str(other), cwd=stage.root)
    stage.nexus("init", "--name", "other", cwd=other)
    stage.nexus("sync", cwd=other)
    stage.nexus("task", "add", "of the other", cwd=other)
    stage.nexus("sync", cwd=other)


def _init(stage: Stage) -> Words:
    stage.make_repository()
    return "init", "--name", "crash"


def _task_add(stage: Stage) -> Words:
    _project(stage)
    return "task", "add", "new"


def _policy_add(stage: Stage) -> Words:
    _project(stage)
    return "policy", "add", "allow", "--write", "*.txt", "--name", "texts"


def _memory_gc(stage: Stage) -> Words:
    _project(stage)
    same = "The staging deploy needs the migration flag and a warm cache before traffic moves.\n"
    folder = stage.repo / ".nexus" / "memory"
    (folder / "pattern-staging-deploy.md").write_text(same)
    (folder / "pattern-deploy-staging.md").write_text(f"{same}Always.\n")
    stage.nexus("status")
    return "memory", "gc", "--merge", "--yes"


def _run(stage: Stage) -> Words:
    _project(stage)
    return "run", "--", "sh", "-c", SCRIPT


def _resume_all(stage: Stage) -> None:
    for run, status in run_ids(stage).items():
        if status != "waiting":
            stage.nexus("resume", run, status=ASKED)


def _approve(stage: Stage) -> Words:
    return "approve", "--unseen", _begun(stage)


def _deny(stage: Stage) -> Words:
    return "deny", _begun(stage)


def _cancel(stage: Stage) -> Words:
    return "cancel", _begun(stage)


def _resume(stage: Stage) -> Words:
    """Make a run whose driver was killed half-way: its worktree is there, and what it did may or may not be."""
    words = _run(stage)
    half = stage.injector.run(words, stage.repo).changes * 6 // 10
    _run(stage)
    stage.struck(words, Fault.KILL_ALL, half)
    (run,) = run_ids(stage)
    return "resume", run


def _policy_trust(stage: Stage) -> Words:
    _project(stage)
    stage.nexus("policy", "add", "allow", "--write", "*.txt", "--name", "texts")
    content = (stage.repo / ".nexus" / "policy.md").read_bytes()
    return "policy", "trust", "--confirm", f"sha256:{hashlib.sha256(content).hexdigest()}"


def _must_be_signed(stage: Stage) -> None:
    told = stage.nexus("policy", "trust")
    assert "Everything that needs a signature is signed" in told, told


def _doctor_fix(stage: Stage) -> Words:
    """Take an object of the state away, whose bytes lie in `.nexus/`, and leave a lock."""
    _project(stage)
    name = stage.git("ls-tree", "--name-only", "refs/nexus/state:schemas").split()[0]
    oid = stage.git("rev-parse", f"refs/nexus/state:schemas/{name}").strip()
    (stage.repo / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    lock = stage.repo / ".git" / "packed-refs.lock"
    lock.write_bytes(b"")
    os.utime(lock, (time.time() - 600,) * 2)
    return "doctor", "--fix"


def _doctor_fix_kept(stage: Stage) -> Words:
    """Leave a task out while the server is away, whose object the server has; the server is back then."""
    _with_hub(stage)
    oid = stage.git("rev-parse", "refs/nexus/state:backlog/T1.json").strip()
    (stage.repo / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    (stage.repo / ".nexus" / "backlog" / "T1.json").unlink()
    away = stage.hub.rename(stage.root / "away.git")
    stage.nexus("doctor", "--fix")
    away.rename(stage.hub)
    return "doctor", "--fix"


def _must_be_back(stage: Stage) -> None:
    kept = stage.git("for-each-ref", "--format=%(refname)", "refs/nexus/lost").strip()
    assert '"title":"acknowledged"' in stage.git("show", f"{kept}:backlog/T1.json")


def _land(*options: str, moved: bool = False) -> Callable[[Stage], Words]:
    return lambda stage: ("land", *options, _moved_on(stage) if moved else _approved(stage))


def _clean(stage: Stage) -> Words:
    _landed(stage)
    return ("clean",)


def _clean_packed(stage: Stage) -> Words:
    _landed(stage)
    stage.git("pack-refs", "--all")
    return ("clean",)


def _clean_many(stage: Stage) -> Words:
    _landed(stage)
    for name in ("one", "two"):
        run = str(stage.json("run", status=ASKED, command=("sh", "-c", f"echo {name} > {name}.txt"))["run"]["id"])
        stage.nexus("approve", "--unseen", run)
        stage.nexus("land", run)
    return ("clean",)


def _sync(stage: Stage) -> Words:
    _two_clones(stage)
    stage.nexus("task", "add", "mine")
    return ("sync",)


def _sync_run(stage: Stage) -> Words:
    _with_hub(stage)
    run = str(stage.json("run", status=ASKED, command=("sh", "-c", SCRIPT))["run"]["id"])
    stage.nexus("approve", "--unseen", run)
    return ("sync",)


def _contradicted(stage: Stage) -> str:
    """Make a run that was approved here and denied in another clone, which has synced since."""
    _with_hub(stage)
    run = str(stage.json("run", status=ASKED, command=("sh", "-c", SCRIPT))["run"]["id"])
    stage.nexus("sync")
    other = stage.root / "other"
    stage.git("clone", "-q", str(stage.hub), str(other), cwd=stage.root)
    stage.nexus("init", "--name", "other", cwd=other)
    stage.nexus("sync", cwd=other)
    stage.nexus("deny", run, cwd=other)
    stage.nexus("sync", cwd=other)
    stage.nexus("approve", "--unseen", run)
    return run


def _sync_contradicted(stage: Stage) -> Words:
    _contradicted(stage)
    return ("sync",)


def _settle(stage: Stage) -> Words:
    run = _contradicted(stage)
    stage.nexus("sync")
    return "approve", run, "a1"


def _queue(stage: Stage) -> Words:
    _with_hub(stage)
    return "run", "--queue", "--", "sh", "-c", SCRIPT


def _worker(stage: Stage) -> Words:
    _queue(stage)
    stage.nexus("run", "--queue", "--", "sh", "-c", SCRIPT)
    return "worker", "--drain", "--lease", "1", "--poll", "0.05"


SCENES = (
    Scene("init", _init),
    Scene("task add", _task_add, atomic=True),
    Scene("policy add", _policy_add, atomic=True),
    Scene("policy trust", _policy_trust, atomic=True, settle=_must_be_signed),
    Scene("memory gc", _memory_gc, atomic=True),
    Scene("doctor fix", _doctor_fix),
    Scene("doctor fix kept", _doctor_fix_kept, settle=_must_be_back),
    Scene("run", _run, status=ASKED, settle=_resume_all),
    Scene("resume", _resume, status=ASKED),
    Scene("approve", _approve),
    Scene("deny", _deny),
    Scene("cancel", _cancel),
    Scene("land", _land(), refusals=(CONFLICT,)),
    Scene("land moved", _land(moved=True), refusals=(CONFLICT,)),
    Scene("land rebase", _land("--rebase"), refusals=(CONFLICT,)),
    Scene("land rebase moved", _land("--rebase", moved=True), refusals=(CONFLICT,)),
    Scene("land squash", _land("--squash"), refusals=(CONFLICT,)),
    Scene("land squash moved", _land("--squash", moved=True), refusals=(CONFLICT,)),
    Scene("clean", _clean),
    Scene("clean packed", _clean_packed),
    Scene("clean many", _clean_many),
    Scene("sync", _sync),
    Scene("sync run", _sync_run),
    Scene("sync contradicted", _sync_contradicted),
    Scene("settle", _settle),
    Scene("queue", _queue),
    Scene("worker", _worker),
)
