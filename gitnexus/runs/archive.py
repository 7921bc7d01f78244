"""Moves the logs of finished runs from one ref per run to one archive ref per month, and reads and merges archives."""

from collections.abc import Callable

from gitnexus.base.errors import Busy
from gitnexus.events.checkpoint import continues_log
from gitnexus.git import GitFailed, Objects, Repo
from gitnexus.git.ancestry import is_ancestor
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


def archive_log(repo: Repo, git: PrivateGit, objects: Objects, run_id: str, who: Author, tip: str = "") -> str:
    """Move a run's log into the archive of its month in one ref transaction; return the archive ref, "" without a log.

    The archive also keeps the commit `tip` of the run's branch reachable, in every clone and on the server. Raises:
    Busy, GitFailed.
    """
    source, target = f"{LOGS}{run_id}", f"{ARCHIVE}{month_of(run_id)}"
    for _ in range(_TRIES):
        log, held = objects.tip(source), objects.tip(target)
        if log is None:
            return ""
        rows = git.must("ls-tree", "-z", "--full-tree", held).split(b"\0")[:-1] if held else []
        rows = [row for row in rows if row.partition(b"\t")[2] != run_id.encode()]
        tree = tree_of_commit(git, log)
        entry = objects.find(objects.tree_of(held), run_id) if held else None
        if entry is not None and entry.is_folder and continues_log(objects, run_id, entry.oid, tree):
            tree = entry.oid  # another clone went on with the run, and archived it
        rows.append(f"040000 tree {tree}\t{run_id}".encode())
        made = git.must("mktree", "-z", stdin=b"".join(row + b"\0" for row in rows)).decode("ascii").strip()
        git.keep_object(made)
        parents = [*([held] if held else []), log]  # the log's own commits stay readable
        parents += [tip] if tip and _is_loose_end(repo, git, tip, parents) else []
        commit = write_commit_object(git, made, parents, f"archive: {run_id}\n", who)
        zero = git.zero
        order = f"start\nupdate {target} {commit} {held or zero}\ndelete {source} {log}\nprepare\ncommit\n"
        argv = ("update-ref", "--no-deref", "--create-reflog", "-m", f"archive: {run_id}", "--stdin")
        done = run_on_refs(*argv, git_dir=repo.common_dir, stdin=order.encode())
        if done.returncode == 0:
            return target
        if is_lock_held(done.stderr):  # for longer than one waits for it
            raise Busy(f"another process writes {target}", hint=lock_hint(repo.common_dir, done.stderr))
        if (objects.tip(source), objects.tip(target)) == (log, held):
            raise GitFailed(f"git could not fold the log of {run_id}: {git_error_line(done.stderr)}")
    raise Busy(f"another process writes {target}", hint="try again")


def _is_loose_end(repo: Repo, git: PrivateGit, commit: str, holders: list[str]) -> bool:
    """True if the commit exists here and no ref of `holders` reaches it."""
    there = git.run("cat-file", "-e", f"{commit}^{{commit}}").returncode == 0
    return there and not any(is_ancestor(repo, commit, one) for one in holders)


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
