"""Moves the logs of finished runs from one ref per run to one archive ref per month, and reads and merges archives."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from gitnexus.base.errors import Busy
from gitnexus.events.checkpoint import continues_log
from gitnexus.git import GitFailed, Objects, Repo
from gitnexus.git.ancestry import is_ancestor, reached_commits
from gitnexus.git.child import git_error_line, is_lock_held, run_git_or_raise
from gitnexus.git.commits import tree_of_commit, write_commit_object, write_own_commit
from gitnexus.git.locks import lock_hint, run_on_refs
from gitnexus.git.objects import Author
from gitnexus.git.private import PrivateGit
from gitnexus.runs.ids import is_run_id

LOGS = "refs/nexus/runs/"
ARCHIVE = "refs/nexus/archive/"
_TRIES = 20


def month_of(run_id: str) -> str:
    """Return the month in which a run began, read from its id."""
    return f"20{run_id[:2]}-{run_id[2:4]}"


class EndedRun(NamedTuple):
    """A run whose log goes into an archive: its last commit, and its branch if that is to be deleted."""

    run: str
    tip: str = ""
    branch: str = ""


def archive_log(repo: Repo, git: PrivateGit, objects: Objects, run_id: str, who: Author, tip: str = "") -> str:
    """Move a run's log into the archive of its month; return the archive ref, "" without a log. See `archive_logs`."""
    return archive_logs(repo, git, objects, [EndedRun(run_id, tip)], who).get(run_id, "")


def archive_logs(
    repo: Repo, git: PrivateGit, objects: Objects, ended: Sequence[EndedRun], who: Author
) -> dict[str, str]:
    """Move the logs of runs into the archives of their months, and delete their branches, in one transaction a month.

    Return the archive ref of each run that had a log. The archive also keeps the last commits of the branches
    reachable, in every clone and on the server. Raises: Busy, GitFailed; then nothing of that month is changed.
    """
    found: dict[str, str] = {}
    for month in sorted({month_of(one.run) for one in ended}):
        found |= _archive_month(repo, git, objects, month, [one for one in ended if month_of(one.run) == month], who)
    return found


def _archive_month(
    repo: Repo, git: PrivateGit, objects: Objects, month: str, ended: Sequence[EndedRun], who: Author
) -> dict[str, str]:
    target = f"{ARCHIVE}{month}"
    what = ended[0].run if len(ended) == 1 else f"{len(ended)} runs"
    for _ in range(_TRIES):
        held = objects.tip(target)
        logs = {one.run: oid for one in ended if (oid := objects.tip(f"{LOGS}{one.run}")) is not None}
        orders = [f"delete {one.branch} {one.tip}" for one in ended if one.branch]
        if logs:
            tips = [one.tip for one in ended if one.tip and one.run in logs]
            commit = _write_archive(repo, git, objects, held, logs, tips, who, f"archive: {what}\n")
            orders.append(f"update {target} {commit} {held or git.zero}")
            orders += [f"delete {LOGS}{run} {oid}" for run, oid in logs.items()]
        if not orders:
            return {}
        order = "\n".join(["start", *orders, "prepare", "commit", ""])
        argv = ("update-ref", "--no-deref", "--create-reflog", "-m", f"archive: {what}", "--stdin")
        done = run_on_refs(*argv, git_dir=repo.common_dir, stdin=order.encode())
        if done.returncode == 0:
            return dict.fromkeys(logs, target)
        if is_lock_held(done.stderr):  # for longer than one waits for it
            raise Busy(f"another process writes {target}", hint=lock_hint(repo.common_dir, done.stderr))
        if objects.tip(target) == held and all(objects.tip(f"{LOGS}{run}") == oid for run, oid in logs.items()):
            raise GitFailed(f"git could not fold the log of {what}: {git_error_line(done.stderr)}")
    raise Busy(f"another process writes {target}", hint="try again")


def _write_archive(
    repo: Repo,
    git: PrivateGit,
    objects: Objects,
    held: str | None,
    logs: Mapping[str, str],
    tips: Sequence[str],
    who: Author,
    message: str,
) -> str:
    """Write the commit of an archive with some more logs, on top of `held`, and return it."""
    listed = git.must("ls-tree", "-z", "--full-tree", held).split(b"\0")[:-1] if held else []
    rows = {row.partition(b"\t")[2]: row for row in listed}
    for run, log in logs.items():
        tree = tree_of_commit(git, log)
        entry = objects.find(objects.tree_of(held), run) if held and run.encode() in rows else None
        if entry is not None and entry.is_folder and continues_log(objects, run, entry.oid, tree):
            tree = entry.oid  # another clone went on with the run, and archived it
        rows[run.encode()] = f"040000 tree {tree}\t{run}".encode()
    made = git.must("mktree", "-z", stdin=b"".join(row + b"\0" for row in rows.values())).decode("ascii").strip()
    git.keep_object(made)
    parents = [*([held] if held else []), *logs.values()]  # the logs' own commits stay readable
    return write_commit_object(git, made, [*parents, *_loose_ends(repo, git, tips, parents)], message, who)


def _loose_ends(repo: Repo, git: PrivateGit, commits: Sequence[str], holders: Sequence[str]) -> list[str]:
    """Return those of `commits` that exist here and that none of `holders` reaches."""
    if not commits:
        return []
    stdin = "".join(f"{one}\n" for one in commits).encode()
    kinds = git.must("cat-file", "--batch-check=%(objecttype)", stdin=stdin).splitlines()
    there = {one for one, kind in zip(commits, kinds, strict=True) if kind == b"commit"}
    return sorted(there - reached_commits(repo, there, holders))


def merge_archives(
    repo: Repo,
    month: str,
    mine: str | None,
    theirs: str,
    who: Author,
    objects: Objects,
    taken: Callable[[str, str], bool],
    replaced: Callable[[str, str], bool],
) -> str:
    """Return a commit with the logs of both archives of a month. Raises: GitFailed.

    Takes from `theirs` only the logs for which `taken(run, tree)` returns True, because the history of an archive
    proves nothing about its content. Where both have a run, a log that goes on from the other wins; ours stays if
    neither does, and is given to them only if `replaced(run, tree)` returns True for theirs: two clones that keep
    different logs of a run would otherwise exchange them for ever. Returns `theirs` unchanged if it is already that
    result and descends from ours, and `mine` if nothing is to be taken or given. Both histories stay reachable.
    """
    ours = _logs_in(repo, mine) if mine is not None else {}
    there = _logs_in(repo, theirs)
    news = {
        run: tree
        for run, tree in there.items()
        if month_of(run) == month
        and (run not in ours or (tree != ours[run] and continues_log(objects, run, tree, ours[run])))
        and taken(run, tree)
    }
    differing = {run for run, tree in ours.items() if run in there and there[run] != tree and run not in news}
    gives = not ours.keys() <= there.keys() or any(
        continues_log(objects, run, ours[run], there[run]) or replaced(run, there[run]) for run in differing
    )
    if mine is not None and not news and not gives:
        return mine
    rows = {**ours, **news}
    text = b"".join(f"040000 tree {tree}\t{run}\0".encode("ascii") for run, tree in rows.items())
    made = run_git_or_raise("mktree", "-z", git_dir=repo.common_dir, stdin=text).decode("ascii").strip()
    goes_on = mine is None or is_ancestor(repo, mine, theirs)
    if (
        goes_on
        and run_git_or_raise("rev-parse", f"{theirs}^{{tree}}", git_dir=repo.common_dir).decode("ascii").strip() == made
    ):
        return theirs
    return write_own_commit(repo, made, [*([mine] if mine is not None else []), theirs], "archive: join\n", who)


def _logs_in(repo: Repo, commit: str) -> dict[str, str]:
    """Return the log trees in an archive, by run id."""
    found = {}
    for row in run_git_or_raise("ls-tree", "-z", "--full-tree", commit, git_dir=repo.common_dir).split(b"\0")[:-1]:
        head, _, name = row.partition(b"\t")
        run_id = name.decode("ascii", "replace")
        if head.startswith(b"040000 tree ") and is_run_id(run_id):
            found[run_id] = head.split()[2].decode("ascii")
    return found
