"""Logs, archives and branches of runs on their way between clones: forward only, and nobody's log is written over."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from gitnexus.app.acceptlog import accept_log
from gitnexus.app.arrive import LEASED, brought_up, goes_on
from gitnexus.app.recorder import folder_of
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.wire import Wire
from gitnexus.base.clock import now, stamp
from gitnexus.base.errors import Invalid, NexusError
from gitnexus.events.chain import walk
from gitnexus.events.checkpoint import load
from gitnexus.events.log import FILE
from gitnexus.git import Repo
from gitnexus.git.branches import tip
from gitnexus.git.child import must, run
from gitnexus.git.exchange import Order
from gitnexus.git.treediff import is_ancestor, weight
from gitnexus.git.worktrees import worktrees
from gitnexus.runs.archive import ARCHIVE, LOGS, month_of
from gitnexus.runs.archive import union as archive_union
from gitnexus.runs.ids import BRANCHES, is_id
from gitnexus.runs.model import ENDED, Run
from gitnexus.runs.store import changed, read
from gitnexus.state import State

_LARGEST_PIECE = 100 * 2**20
_PREFIXES = {"runs": LOGS, "archive": ARCHIVE, "branches": BRANCHES}


@dataclass(frozen=True)
class Plan:
    """A wire, and what the other end has."""

    wire: Wire
    there: dict[str, str]

    @cached_property
    def theirs(self) -> dict[str, str]:
        """Their logs, archives and branches by our names."""
        found = {self.wire.here(ref): oid for ref, oid in self.there.items()}
        return {ref: oid for ref, oid in found.items() if self._kind(ref) in self.wire.kinds}

    def _kind(self, ref: str) -> str:
        for kind, prefix in _PREFIXES.items():
            if ref.startswith(prefix) and (kind == "archive" or is_id(ref.removeprefix(prefix))):
                return kind
        return ""

    def ours(self, repo: Repo) -> dict[str, str]:
        """Return our own of the same kinds."""
        wanted = [prefix for kind, prefix in _PREFIXES.items() if kind in self.wire.kinds]
        if not wanted:
            return {}
        listed = must("for-each-ref", "--format=%(objectname) %(refname)", *wanted, git_dir=repo.common_dir)
        rows = (line.split(" ", 1) for line in listed.decode("utf-8", "replace").splitlines())
        return {ref: oid for oid, ref in rows if self._kind(ref)}

    def wanted(self, repo: Repo) -> dict[str, str]:
        """Return what to fetch: their name → where it is kept until it was looked at."""
        ours = self.ours(repo)
        news = {ref for ref, oid in self.theirs.items() if ours.get(ref) != oid}
        return {self.wire.there(ref): self.wire.tracking(ref) for ref in sorted(news)}


def pull_logs(state: State, plan: Plan, said: list[str], pulled: list[str], *, dry_run: bool) -> None:
    """Move our refs forward to what was fetched; what went apart stays as it is on both sides. Raises: Invalid."""
    repo, ours = state.repo, plan.ours(state.repo)
    news = {
        ref: found for ref in plan.theirs if (found := tip(repo, plan.wire.tracking(ref))) != ours.get(ref) and found
    }
    _refuse_large(repo, plan.wire, news, ours)
    counts: dict[str, int] = {}
    # Archives before logs, and branches last: a log tells where its branch may stand.
    for ref, theirs in sorted(news.items(), key=lambda row: (row[0].startswith(BRANCHES), row[0].startswith(LOGS))):
        kind = next(kind for kind, prefix in _PREFIXES.items() if ref.startswith(prefix))
        mine = tip(repo, ref)
        why = _why_not(state, ref, mine, theirs)
        if why is None and kind == "runs":
            accepted, claimed = accept_log(state, ref.removeprefix(LOGS), theirs, mine)
            said += [f"{plan.wire.shown}: {claimed}"] if claimed else []
            why = None if accepted else ""
        else:
            accepted = theirs
        if why:
            said.append(why)
        elif why is None and not dry_run and not _went(state, ref, mine, accepted):
            said.append(f"{ref} moved meanwhile")
        elif why is None:
            counts[kind] = counts.get(kind, 0) + 1
            if kind == "runs" and not dry_run:
                _kept_up(state, ref.removeprefix(LOGS))
    pulled += _words(counts)


def _kept_up(state: State, run_id: str) -> None:
    """Let a run that is kept here go on from what was done with it elsewhere."""
    if not (folder_of(state.repo.common_dir, run_id) / FILE).exists():
        return
    with contextlib.suppress(NexusError):  # no record yet, or somebody drives it: the ref has it all
        desk = RunDesk(state, read(state.latest(), run_id))
        with desk.driving():
            brought_up(state.repo.common_dir, state.objects, desk.run, desk.head_file)
            _record(desk)


def _record(desk: RunDesk) -> None:
    """Bring the record of a run to what its log says: what a record that arrives says of a run of ours is a claim."""
    view = desk.view()
    head = tip(desk.repo, desk.branch) or ""

    def change(before: Run) -> Run:
        ended = (before.ended or stamp(now())) if view.status in ENDED else ""
        head_now = head if head != before.base else ""
        return before.changed(status=view.status, head=head_now, ended=ended, landed=view.landed or before.landed)

    changed(desk.state, desk.run.id, change, f"runs: {desk.run.id} is {view.status}")


def _refuse_large(repo: Repo, wire: Wire, news: dict[str, str], ours: dict[str, str]) -> None:
    logs = [oid for ref, oid in news.items() if not ref.startswith(BRANCHES)]
    if logs and weight(repo, logs, list(ours.values())).largest > _LARGEST_PIECE:
        raise Invalid(f"a log on {wire.shown} holds a piece of more than {_LARGEST_PIECE // 2**20} MiB: none was taken")


def _why_not(state: State, ref: str, mine: str | None, theirs: str) -> str | None:
    """Return why a ref does not go to what they have: words, "" where there is nothing to say, None if it does."""
    repo = state.repo
    if mine is not None and is_ancestor(repo, theirs, mine):
        return ""
    if ref.startswith(ARCHIVE):
        return None
    run_id = ref.rpartition("/")[2]
    if ref.startswith(LOGS):
        archived = tip(repo, f"{ARCHIVE}{month_of(run_id)}")
        if archived is not None and is_ancestor(repo, theirs, archived):
            return ""
        if not goes_on(repo.common_dir, state.objects, run_id, theirs):
            return f"the log of {run_id} is kept here, and theirs does not go on from it: it stays"
    elif any(one.head == f"ref: {ref}" and not one.is_run for one in worktrees(repo)):
        return f"{ref.removeprefix('refs/heads/')} is checked out here and stays"
    elif mine is not None and _is_begun_here(state, run_id) and not _is_committed_by(state, run_id, theirs):
        return f"the branch of {run_id} there holds {theirs[:12]}, of which its log does not tell: yours stays"
    if mine is None or is_ancestor(repo, mine, theirs):
        return None
    return f"{ref} went another way there; both stay as they are"


def _is_begun_here(state: State, run_id: str) -> bool:
    try:
        return not RunDesk(state, read(state.latest(), run_id)).foreign
    except NexusError:
        return False


def _is_committed_by(state: State, run_id: str, commit: str) -> bool:
    """True if the log of a run, as it is kept here, tells of a commit."""
    kept = load(state.objects, run_id)
    events = (link.event for link in walk(kept.raw(), run_id)) if kept is not None else ()
    return any(event.kind == "run.committed" and event.body["commit"] == commit for event in events)


def _went(state: State, ref: str, mine: str | None, theirs: str) -> bool:
    """Move one of our refs; where it is a branch in the worktree of its run, the files there follow."""
    place = next((one for one in worktrees(state.repo) if one.head == f"ref: {ref}"), None)
    if place is None:
        return _moved(state, ref, mine, theirs)
    from gitnexus.app.running import refilled  # brings the agents along: only where a run has its worktree here

    try:
        desk = RunDesk(state, read(state.latest(), ref.rpartition("/")[2]))
        with desk.driving():
            went = _moved(state, ref, mine, theirs)
            refilled(desk)
            return went
    except NexusError:
        return False  # somebody drives it


def _moved(state: State, ref: str, mine: str | None, theirs: str) -> bool:
    new = theirs
    if mine is not None and ref.startswith(ARCHIVE) and not is_ancestor(state.repo, mine, theirs):
        new = archive_union(state.repo, mine, theirs, state.author)
    zero = "0" * len(new)
    done = run("update-ref", "--no-deref", "--create-reflog", "-m", "sync", ref, new, mine or zero,
               git_dir=state.repo.common_dir)  # fmt: skip
    return done.returncode == 0


def push_orders(state: State, plan: Plan) -> tuple[list[Order], list[str]]:
    """Return what to push of logs, archives and branches, and that in words. A log that was folded goes there too."""
    repo, counts = state.repo, {"runs": 0, "archive": 0, "branches": 0}
    ours = plan.ours(repo)
    orders = []
    for ref, oid in ours.items():
        if _is_leased(repo, ref):
            continue
        theirs = plan.theirs.get(ref)
        if theirs == oid or (theirs is not None and not is_ancestor(repo, theirs, oid)):
            continue
        kind = next(kind for kind, prefix in _PREFIXES.items() if ref.startswith(prefix))
        counts[kind] += 1
        orders.append(Order(plan.wire.there(ref), oid))
    orders += [Order(plan.wire.there(ref), None, oid) for ref, oid in _folded(repo, plan, ours)]
    return orders, _words(counts)


def _is_leased(repo: Repo, ref: str) -> bool:
    """True for what belongs to a worker's run: only with its lease is that published."""
    return not ref.startswith(ARCHIVE) and (folder_of(repo.common_dir, ref.rpartition("/")[2]) / LEASED).exists()


def _folded(repo: Repo, plan: Plan, ours: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield their logs that lie in an archive of ours by now: the number of refs stays bounded there as well."""
    if "archive" not in plan.wire.kinds:
        return
    for ref, oid in plan.theirs.items():
        if ref.startswith(LOGS) and ref not in ours:
            archived = ours.get(f"{ARCHIVE}{month_of(ref.removeprefix(LOGS))}")
            if archived is not None and is_ancestor(repo, oid, archived):
                yield ref, oid


def _words(counts: dict[str, int]) -> list[str]:
    names = {"runs": "log", "archive": "archive", "branches": "branch"}
    many = {"runs": "logs", "archive": "archives", "branches": "branches"}
    return [f"{count} {names[kind] if count == 1 else many[kind]}" for kind, count in counts.items() if count]
