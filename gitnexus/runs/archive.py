"""Finished runs' logs, folded month by month: the number of refs stays bounded, and every log can still be read."""

from gitnexus.base.errors import Busy
from gitnexus.git import GitFailed, Objects, Repo
from gitnexus.git.child import must, reason, run
from gitnexus.git.commits import rooted, tree_of, write
from gitnexus.git.objects import Author
from gitnexus.git.private import PrivateGit
from gitnexus.runs.ids import is_id

LOGS = "refs/nexus/runs/"
ARCHIVE = "refs/nexus/archive/"
_TRIES = 20


def month_of(run_id: str) -> str:
    """Return the month that a run began in, from its id."""
    return f"20{run_id[:2]}-{run_id[2:4]}"


def fold(repo: Repo, git: PrivateGit, objects: Objects, run_id: str, who: Author) -> str:
    """Put a run's log into the archive of its month, both refs at once; return the archive's ref, empty without a log.

    Raises: Busy, GitFailed.
    """
    source, target = f"{LOGS}{run_id}", f"{ARCHIVE}{month_of(run_id)}"
    for _ in range(_TRIES):
        log, held = objects.tip(source), objects.tip(target)
        if log is None:
            return ""
        rows = git.must("ls-tree", "-z", "--full-tree", held).split(b"\0")[:-1] if held else []
        rows = [row for row in rows if row.partition(b"\t")[2] != run_id.encode()]
        rows.append(f"040000 tree {tree_of(git, log)}\t{run_id}".encode())
        made = git.must("mktree", "-z", stdin=b"".join(row + b"\0" for row in rows)).decode("ascii").strip()
        git.keep_one(made)
        parents = [*([held] if held else []), log]  # the log's own commits stay readable
        commit = write(git, made, parents, f"archive: {run_id}\n", who)
        zero = git.zero
        order = f"start\nupdate {target} {commit} {held or zero}\ndelete {source} {log}\nprepare\ncommit\n"
        done = run("update-ref", "--no-deref", "--create-reflog", "-m", f"archive: {run_id}", "--stdin",
                   git_dir=repo.common_dir, stdin=order.encode())  # fmt: skip
        if done.returncode == 0:
            return target
        if (objects.tip(source), objects.tip(target)) == (log, held) and b".lock" not in done.stderr:
            raise GitFailed(f"git could not fold the log of {run_id}: {reason(done.stderr)}")
    raise Busy(f"somebody else writes {target}", hint="try again")


def union(repo: Repo, mine: str, theirs: str, who: Author) -> str:
    """Return a commit of all logs that either archive of a month has; of one that both have, ours. Raises: GitFailed.

    Both lines of history stay readable from it.
    """
    rows: dict[bytes, bytes] = {}
    for commit in (theirs, mine):
        for row in must("ls-tree", "-z", "--full-tree", commit, git_dir=repo.common_dir).split(b"\0")[:-1]:
            head, _, name = row.partition(b"\t")
            if head.startswith(b"040000 tree ") and is_id(name.decode("ascii", "replace")):
                rows[name] = row
    made = must("mktree", "-z", git_dir=repo.common_dir, stdin=b"".join(row + b"\0" for row in rows.values()))
    return rooted(repo, made.decode("ascii").strip(), [mine, theirs], "archive: join\n", who)
