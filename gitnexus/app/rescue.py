"""Repairs the state ref and its objects: restores what worktrees or remotes have, and drops the rest file by file.

Objects with the same id are restored from a `.nexus/` that shows them, or from a remote. Only if the newest commit
itself is unusable does the ref go back, and then the files that a worktree's `.nexus/` shows are committed on top.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gitnexus.app.salvage import Salvage
from gitnexus.backlog.store import task_id_at
from gitnexus.backlog.tombstone import Tombstone
from gitnexus.base.clock import format_timestamp, utc_now
from gitnexus.base.errors import NexusError
from gitnexus.base.randomness import random_hex
from gitnexus.git import Objects, Repo, blob_id, open_objects
from gitnexus.git.branches import list_refs
from gitnexus.git.child import run_git
from gitnexus.git.identity import current_author
from gitnexus.git.loose import write_loose
from gitnexus.git.objects import BlobId, Content, commit_object_bytes
from gitnexus.git.refs import read_loose_ref, read_tip
from gitnexus.state import STATE_REF
from gitnexus.state.layout import FORMAT_FILE, belongs_to_state
from gitnexus.state.projection import list_projections
from gitnexus.state.snapshot import Snapshot, blobs_or_none

KEPT_TIPS = "refs/nexus/lost/"
_FETCHED = "refs/nexus-sync/"
_MOST_CANDIDATES = 200


@dataclass(slots=True)
class Mended:
    """The result of a repair: `brought` maps files to the source of their bytes, `kept` is a ref to the old tip.

    `commit` is the new tip. `went_back` is set if the newest commit was unusable. `unasked` are remotes that did not
    answer.
    """

    commit: str = ""
    brought: dict[str, str] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    kept: str = ""
    went_back: bool = False
    unasked: list[str] = field(default_factory=list)


def is_commit_whole(repo: Repo, commit: str) -> bool:
    """Return True if a commit, its trees, blobs and history are complete."""
    kind = run_git("cat-file", "-t", commit, git_dir=repo.common_dir)
    if kind.stdout.strip() != b"commit":
        return False
    return run_git("rev-list", "--objects", "--quiet", commit, "--", git_dir=repo.common_dir).returncode == 0


def is_state(objects: Objects, commit: str) -> bool:
    """Return True if a commit is readable and contains a state, not a project's code."""
    try:
        return objects.find(objects.tree_of(commit), FORMAT_FILE) is not None
    except NexusError:
        return False


def damaged_files(repo: Repo, objects: Objects, files: Mapping[str, str]) -> list[str]:
    """Return the files whose blobs are missing or damaged."""
    raws = blobs_or_none(objects, list(files.values()))
    return sorted(
        path
        for (path, oid), raw in zip(files.items(), raws, strict=True)
        if raw is None or blob_id(raw, repo.object_format) != oid
    )


def incomplete_refs(repo: Repo) -> dict[str, str]:
    """Return the kept tips and the fetched states that lack objects, with their commits; sync cannot merge those."""
    refs = list_refs(repo, KEPT_TIPS, _FETCHED)
    found = {ref: oid for ref, oid in refs.items() if ref.startswith(KEPT_TIPS) or ref.endswith("/state")}
    if not found or _are_whole(repo, list(found.values())):
        return {}
    return {ref: oid for ref, oid in found.items() if not _are_whole(repo, [oid])}


def mend_refs(repo: Repo, refs: Mapping[str, str]) -> dict[str, int]:
    """Fetch from the remotes what the commits of some refs lack; return for each how many objects are back."""
    brought = {}
    with Salvage(repo) as salvage:
        for ref, commit in refs.items():
            before = salvage.brought
            salvage.bring_history(commit)
            brought[ref] = salvage.brought - before
    return brought


def _are_whole(repo: Repo, commits: Sequence[str]) -> bool:
    argv = ("rev-list", "--objects", "--quiet", *commits, "--not", STATE_REF, "--")
    return run_git(*argv, git_dir=repo.common_dir).returncode == 0


def mend_state(repo: Repo) -> Mended | None:
    """Repair the state ref and its objects; None if no state can be read at all."""
    with Salvage(repo) as salvage:
        objects = open_objects(repo)
        try:
            return _mend(repo, objects, salvage)
        finally:
            objects.close()


def _mend(repo: Repo, objects: Objects, salvage: Salvage) -> Mended | None:
    tip = _plain_tip(repo)
    if tip is not None and not salvage.has(tip):
        salvage.fetch(tip)
    shown = _shown_files(repo)
    line = [*([tip] if tip else []), *_candidate_commits(repo)]
    base = next((one for one in line if is_state(objects, one) or _is_shown(objects, salvage, one, shown)), None)
    if base is None:
        return None
    done = Mended(commit=base, went_back=base != tip)
    wanted = dict(_files_of(objects, salvage, base, shown.get(base, {})))
    unread = next((one for one in shown if not salvage.has(one)), None)
    if base != tip and unread is not None:  # newer than all that can be read: what was shown of it goes on top
        wanted = {path: oid for path, oid in wanted.items() if not belongs_to_state(path)} | shown[unread]
    for path in damaged_files(repo, objects, wanted):
        where = salvage.bring(path, wanted[path])
        if where is None:
            done.lost.append(path)
        else:
            done.brought[path] = where
    if FORMAT_FILE in done.lost:
        return None
    salvage.bring_history(base)
    done.unasked = salvage.unasked
    changes = {**{path: BlobId(oid) for path, oid in wanted.items()}, **_without(done.lost)}
    _publish(repo, base, {path: data for path, data in changes.items() if data is not None}, done)
    return done


def _is_shown(objects: Objects, salvage: Salvage, commit: str, shown: Mapping[str, object]) -> bool:
    """Return True for a commit whose tree is missing, if a worktree has a checkout of its files."""
    if commit not in shown or not salvage.has(commit):
        return False
    try:
        return not salvage.has(objects.tree_of(commit))
    except NexusError:
        return False


def _publish(repo: Repo, base: str, files: Mapping[str, Content], done: Mended) -> None:
    """Move the ref to a commit of these files, unless `base` is that already, once its trees are written again."""
    objects = open_objects(repo)  # what was read as missing is there now
    try:
        words = _message(done)
        _, tree = objects.write_commit(parents=[], changes=files, message=words, author=current_author(repo))
        ids = Snapshot(objects, None, tree).ids()
        with contextlib.suppress(NexusError):
            if Snapshot(objects, base).ids() == ids:
                tree = objects.tree_of(base)
        if tree != objects.tree_of(base):
            parents = [one] if (one := _newest_whole(repo, base)) else [base]
            raw = commit_object_bytes(tree, parents, words, current_author(repo))
            done.commit = write_loose(repo.common_dir / "objects", repo.object_format, "commit", raw, durable=True)
        done.kept = _keep_tip(repo, done.commit)
        _put_broken_ref_aside(repo)
        old = objects.tip(STATE_REF)
        if old != done.commit:
            objects.swap(STATE_REF, old, done.commit, words.splitlines()[0])
    finally:
        objects.close()


def _message(done: Mended) -> str:
    lines = [f"lost: {path}" for path in done.lost]
    return "doctor: repair the state\n" + ("\n" + "\n".join(lines) + "\n" if lines else "")


def _without(lost: Sequence[str]) -> dict[str, Content]:
    """Return the replacement for lost files: for a task a tombstone, so that its number is never reused."""
    left: dict[str, Content] = {}
    for path in lost:
        task = task_id_at(path)
        gone = (
            Tombstone(
                id=task, title="(lost: its record could not be read)", deleted_at=format_timestamp(utc_now()), lost=True
            )
            if task
            else None
        )
        left[path] = gone.to_bytes() if gone else None
    return left


def _files_of(objects: Objects, salvage: Salvage, commit: str, shown: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield path and blob id of every file of a commit; for a missing tree, those that a `.nexus/` has of it."""
    pending = [("", objects.tree_of(commit))]
    while pending:
        prefix, tree = pending.pop()
        try:
            if not salvage.has(tree):
                salvage.fetch(tree)
            rows = objects.entries(tree)
        except NexusError:
            yield from ((path, oid) for path, oid in shown.items() if path.startswith(prefix))
            continue
        for name, entry in rows.items():
            if entry.is_folder:
                pending.append((f"{prefix}{name}/", entry.oid))
            elif entry.is_file:
                yield f"{prefix}{name}", entry.oid


def _shown_files(repo: Repo) -> dict[str, dict[str, str]]:
    """Return, by commit, the files that worktrees have of it, with their blob ids."""
    found: dict[str, dict[str, str]] = {}
    for projection in list_projections(repo):
        projection.journal.reload()
        commit = projection.journal.commit
        if commit:
            found.setdefault(commit, {path: known.oid for path, known in projection.journal.files.items()})
    return found


def _plain_tip(repo: Repo) -> str | None:
    """Return the id in the ref; None if it is missing, empty, or a symbolic ref."""
    if read_loose_ref(repo.common_dir, STATE_REF).startswith("ref:"):
        return None
    return read_tip(repo.common_dir, STATE_REF, repo.object_format)


def _newest_whole(repo: Repo, base: str) -> str | None:
    """Return the newest complete ancestor of `base`."""
    told = run_git("rev-list", "--first-parent", base, "--", git_dir=repo.common_dir).stdout.decode().split()
    line = told or [one for one in _candidate_commits(repo) if one != base]
    low, high = 0, len(line)
    while low < high:
        middle = (low + high) // 2
        if is_commit_whole(repo, line[middle]):
            high = middle
        else:
            low = middle + 1
    return line[low] if low < len(line) else None


def _keep_tip(repo: Repo, new: str) -> str:
    """Store the old value of the ref under a second ref, if it names an existing object that the repair drops."""
    old = _plain_tip(repo)
    if old is None or old == new:
        return ""
    ref = f"{KEPT_TIPS}{utc_now():%Y%m%dT%H%M%S}-{old[:12]}"
    made = run_git(
        "update-ref",
        "--no-deref",
        "--create-reflog",
        "-m",
        "doctor: keep the old tip",
        ref,
        old,
        git_dir=repo.common_dir,
    )
    return ref if made.returncode == 0 else ""


def _candidate_commits(repo: Repo) -> list[str]:
    """Return former commits of the ref, newest first."""
    found = []
    try:
        lines = (repo.common_dir / "logs" / STATE_REF).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in reversed(lines):
        found += [word for word in line.split("\t")[0].split(" ")[1::-1] if word.strip("0")]
    return list(dict.fromkeys([*found, *_shown_files(repo)]))[:_MOST_CANDIDATES]


def _put_broken_ref_aside(repo: Repo) -> None:
    """Move a loose ref without an id into the trash (a power cut leaves it empty, a link points elsewhere)."""
    loose = repo.common_dir / STATE_REF
    if not loose.is_file():
        return
    text = loose.read_text(encoding="utf-8", errors="replace").strip()
    if len(text) not in (40, 64) or not set(text) <= set("0123456789abcdef"):
        aside = repo.common_dir / "nexus" / "trash" / f"state-ref-{random_hex(8)}"
        aside.parent.mkdir(parents=True, exist_ok=True)
        loose.rename(aside)
