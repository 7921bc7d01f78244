"""Pulls and pushes run logs, archives and branches: fast-forward only; no log is overwritten."""

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from gitnexus.base.errors import NexusError
from gitnexus.events.chain import walk_chain
from gitnexus.events.checkpoint import in_tree, load_checkpoint
from gitnexus.events.log import FILE
from gitnexus.gateway.recorder import run_folder
from gitnexus.git import Repo
from gitnexus.git.ancestry import is_ancestor
from gitnexus.git.branches import list_refs, tip_of_ref
from gitnexus.git.child import run_git_or_raise
from gitnexus.git.exchange import RefUpdate
from gitnexus.git.locks import change_refs, delete_refs, run_on_refs
from gitnexus.git.worktrees import list_worktrees
from gitnexus.policy.pins import read_pin
from gitnexus.runs.archive import ARCHIVE, LOGS
from gitnexus.runs.archive import merge_archives as archive_union
from gitnexus.runs.ids import BRANCHES, is_run_id
from gitnexus.runs.import_log import LEASED, extends_local_log, update_log_from_archive, update_log_from_ref
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.record import reset_run_record
from gitnexus.runs.store import read_run
from gitnexus.state import State
from gitnexus.sync.accept_log import accept_archived, accept_log, gives_way_to_ours, refuse_large_logs
from gitnexus.sync.found_runs import record_found_runs
from gitnexus.sync.give_way import why_ours_gives_way
from gitnexus.sync.put_away import archived_runs, held_by_archive, let_go_of_archived, let_go_of_copies
from gitnexus.sync.remote import Remote

_PREFIXES = {"runs": LOGS, "archive": ARCHIVE, "branches": BRANCHES}


@dataclass
class RefExchange:
    """A remote and its refs, and ours, which are listed once until one of them is changed."""

    remote: Remote
    there: dict[str, str]
    _listed: dict[str, str] | None = None

    @cached_property
    def theirs(self) -> dict[str, str]:
        """Their logs, archives and branches by our names."""
        found = {self.remote.here(ref): oid for ref, oid in self.there.items()}
        return {ref: oid for ref, oid in found.items() if self._kind_of_ref(ref) in self.remote.kinds}

    def _kind_of_ref(self, ref: str) -> str:
        for kind, prefix in _PREFIXES.items():
            if ref.startswith(prefix) and (kind == "archive" or is_run_id(ref.removeprefix(prefix))):
                return kind
        return ""

    def ours(self, repo: Repo) -> dict[str, str]:
        """Return our refs of the same kinds."""
        return self.exchanged(self.kept(repo))

    def exchanged(self, kept: Mapping[str, str]) -> dict[str, str]:
        """Return those of our refs that this remote exchanges."""
        return {ref: oid for ref, oid in kept.items() if self._kind_of_ref(ref) in self.remote.kinds}

    def kept(self, repo: Repo) -> dict[str, str]:
        """Return our refs of all kinds: an archived run is archived whatever this remote exchanges."""
        if not self.remote.kinds & _PREFIXES.keys():
            return {}
        if self._listed is None:
            listed = list_refs(repo, *_PREFIXES.values())
            self._listed = {ref: oid for ref, oid in listed.items() if self._kind_of_ref(ref)}
        return self._listed

    def forget_listed(self) -> None:
        """List our refs again at the next request: some were changed."""
        self._listed = None

    def differing(self, ours: Mapping[str, str]) -> list[str]:
        """Return the names of those of their refs that differ from ours, sorted."""
        return sorted(ref for ref, oid in self.theirs.items() if ours.get(ref) != oid)

    def refs_to_fetch(self, repo: Repo) -> dict[str, str]:
        """Return what to fetch: remote name → tracking ref."""
        return {self.remote.there(ref): self.remote.tracking_ref(ref) for ref in self.differing(self.ours(repo))}


def pull_logs(state: State, plan: RefExchange, said: list[str], pulled: list[str], *, dry_run: bool) -> None:
    """Fast-forward our refs to what was fetched; diverged refs stay unchanged on both sides. Raises: Invalid."""
    repo, kept = state.repo, plan.kept(state.repo)
    ours = plan.exchanged(kept)
    # Asked for those that differ alone: what is the same on both sides was not fetched.
    tips = {ref: tip_of_ref(repo, plan.remote.tracking_ref(ref)) for ref in plan.differing(ours)}
    news = {ref: tip for ref, tip in tips.items() if tip and tip != ours.get(ref)}
    refuse_large_logs(repo, plan.remote, [oid for ref, oid in news.items() if not ref.startswith(BRANCHES)], ours)
    counts: dict[str, int] = {}
    # Archives before logs, and branches last: a log tells where its branch may be.
    for ref, theirs in sorted(news.items(), key=lambda row: (row[0].startswith(BRANCHES), row[0].startswith(LOGS))):
        if _pull_ref(state, plan, ref, theirs, said, dry_run=dry_run):
            kind = next(kind for kind, prefix in _PREFIXES.items() if ref.startswith(prefix))
            counts[kind] = counts.get(kind, 0) + 1
    pulled += _describe_counts(counts)
    if not dry_run:
        said += _settle_refs(state, plan, news)


def _settle_refs(state: State, plan: RefExchange, news: Mapping[str, str]) -> list[str]:
    """Make records of runs known by their logs, and delete refs that a pull made needless; return what to say."""
    if news:
        plan.forget_listed()
    kept = plan.kept(state.repo)
    recorded = record_found_runs(state, _runs_in(kept, LOGS), _runs_in(news, LOGS))
    if let_go_of_archived(state, kept, _archives(kept)):
        plan.forget_listed()
    let_go_of_copies(state, plan.remote.remote, plan.theirs, _archives(kept))
    _forget_fetched(state.repo, plan, bool(news))
    words = "is known from its log: the process that carried it out was stopped before the record was written"
    return [f"{run_id} {words}" for run_id in recorded]


def _pull_ref(state: State, plan: RefExchange, ref: str, theirs: str, said: list[str], *, dry_run: bool) -> bool:
    """Move our ref to theirs as far as it is accepted, and what depends on it; True if it moved, or would."""
    mine = tip_of_ref(state.repo, ref)
    if ref.startswith(LOGS) and mine and not dry_run and (why := _why_given_up(state, _run_of(ref), theirs)):
        said.append(why)
        _update_ref(state, ref, mine, theirs)
        _update_local_log(state, _run_of(ref), replace=True)
        return True
    stays = None if dry_run else _note_contradiction(state, ref, mine, theirs)
    stays = _why_not_moved(state, ref, mine, theirs) if stays is None else stays
    if stays is not None:
        said += [stays] if stays and stays not in said else []  # a log and its branch may say the same
        return False
    given_up: list[str] = []
    accepted = _accepted_tip(state, plan.remote, ref, mine, theirs, said, given_up, dry_run=dry_run)
    if accepted is None or accepted == mine:
        return False
    if not dry_run and not _move_ref(state, ref, mine, accepted):
        said.append(f"{ref} moved meanwhile")
        return False
    if ref.startswith(LOGS) and not dry_run:
        _update_local_log(state, _run_of(ref))
    elif ref.startswith(ARCHIVE) and not dry_run:
        for run_id in _changed_entries(state, mine, tip_of_ref(state.repo, ref)):
            _update_local_log(state, run_id, from_archive=True, replace=run_id in given_up)
        _delete_logs(state, given_up)
    return True


def _delete_logs(state: State, runs: Iterable[str]) -> None:
    """Delete our refs of logs that gave way to those in an archive."""
    tips = {f"{LOGS}{run}": tip_of_ref(state.repo, f"{LOGS}{run}") for run in runs}
    delete_refs(state.repo.common_dir, {ref: tip for ref, tip in tips.items() if tip})


def _why_given_up(state: State, run_id: str, theirs: str, tree: str = "") -> str:
    """Return why our log of a run gives way to a signed one, at the commit `theirs` or in a tree of it; "" if not."""
    try:
        found = in_tree(state.objects, run_id, theirs, tree or state.objects.tree_of(theirs))
    except NexusError:
        return ""
    why = why_ours_gives_way(state, run_id, found)
    return why and f"the log of {run_id} here {why}; the signed one there takes its place"


def _accepted_tip(
    state: State,
    remote: Remote,
    ref: str,
    mine: str | None,
    theirs: str,
    said: list[str],
    given_up: list[str],
    *,
    dry_run: bool,
) -> str | None:
    """Return the commit that our ref moves to, `mine` if it stays; adds to `said` what is refused of theirs.

    Adds to `given_up` the runs whose logs here give way to those in an archive.
    """
    if ref.startswith(LOGS):
        accepted, claimed = accept_log(state, ref.removeprefix(LOGS), theirs, mine)
        said += [f"{remote.shown}: {claimed}"] if claimed else []
        return accepted or mine
    if ref.startswith(ARCHIVE) and not dry_run:
        return _joined(state, ref, mine, theirs, said, given_up)
    return theirs


def _runs_in(refs: Iterable[str], above: str) -> set[str]:
    return {ref.removeprefix(above) for ref in refs if ref.startswith(above)}


def _archives(refs: dict[str, str]) -> dict[str, str]:
    return {ref: oid for ref, oid in refs.items() if ref.startswith(ARCHIVE)}


def _forget_fetched(repo: Repo, plan: RefExchange, fetched: bool) -> None:
    """Delete the tracking refs after the check: one per run would grow without bound."""
    if not fetched:
        return
    above = [plan.remote.tracking_ref(prefix) for prefix in _PREFIXES.values()]
    listed = run_git_or_raise(
        "for-each-ref", "--format=delete %(refname) %(objectname)", *above, git_dir=repo.common_dir
    )
    if listed:
        change_refs("update-ref", "--no-deref", "--stdin", git_dir=repo.common_dir, stdin=listed)


def _changed_entries(state: State, before: str | None, after: str | None) -> list[str]:
    """Return the runs whose logs differ between two commits of an archive."""
    objects = state.objects
    old, new = (objects.entries(objects.tree_of(commit)) if commit is not None else {} for commit in (before, after))
    return sorted(run_id for run_id, entry in new.items() if is_run_id(run_id) and old.get(run_id) != entry)


def _update_local_log(state: State, run_id: str, *, from_archive: bool = False, replace: bool = False) -> None:
    """Update a local run's log after another machine continued it, and its record."""
    if not (run_folder(state.repo.common_dir, run_id) / FILE).exists():
        return
    with contextlib.suppress(NexusError):  # no record yet, or it is being driven: the ref has everything
        run = OpenRun(state, read_run(state.latest(), run_id))
        place = (state.repo.common_dir, state.objects, run.record, run.head_file)
        with run.undriven():
            update = update_log_from_archive if from_archive else update_log_from_ref
            went_on = update(*place, replace=replace)
            if went_on or not from_archive:
                reset_run_record(run)


def _note_contradiction(state: State, ref: str, mine: str | None, theirs: str) -> str | None:
    """Log a contradicting decision about a local run and return a description; None if there was none.

    Then theirs is not taken.
    """
    run_id = _run_of(ref)
    if mine == theirs or not (run_folder(state.repo.common_dir, run_id) / FILE).exists():
        return None
    if mine is not None and is_ancestor(state.repo, theirs, mine):
        return None
    from gitnexus.runs.contradictions import note_other_branch, note_other_log  # a quarter of what an idle sync loads

    if ref.startswith(LOGS) and not extends_local_log(state.repo.common_dir, state.objects, run_id, theirs):
        return note_other_log(state, run_id, theirs)
    if ref.startswith(BRANCHES) and not _is_committed_by(state, run_id, theirs):
        return note_other_branch(state, run_id, theirs) or None
    return None


def _why_not_moved(state: State, ref: str, mine: str | None, theirs: str) -> str | None:
    """Return why a ref does not move to theirs: a message, "" without one, None if it moves."""
    repo = state.repo
    if mine is not None and is_ancestor(repo, theirs, mine):
        return ""
    if ref.startswith(ARCHIVE):
        return None
    run_id = ref.rpartition("/")[2]
    if held_by_archive(state, {ref: theirs}):
        return ""
    if ref.startswith(LOGS):
        if not extends_local_log(repo.common_dir, state.objects, run_id, theirs):
            pin = read_pin(repo.common_dir)
            way_out = "" if pin and pin.consent else "; with git nexus approver trust, what its approvers signed counts"
            return f"the log of {run_id} is kept here, and theirs does not continue it: it stays{way_out}"
    elif any(one.head == f"ref: {ref}" and not one.is_run for one in list_worktrees(repo)):
        return f"{ref.removeprefix('refs/heads/')} is checked out here and stays"
    elif (
        mine is not None
        and _is_begun_here(state, run_id)
        and not _is_committed_by(state, run_id, theirs)
        and not _is_settled(state, run_id, theirs)
    ):
        return f"the branch of {run_id} there holds {theirs[:12]}, which its log does not mention: yours stays"
    if mine is None or is_ancestor(repo, mine, theirs):
        return None
    return f"{ref} diverged there; both stay unchanged"


def _is_settled(state: State, run_id: str, commit: str) -> bool:
    from gitnexus.runs.contradictions import is_settled_commit

    return is_settled_commit(state, run_id, commit)


def _is_begun_here(state: State, run_id: str) -> bool:
    try:
        return not OpenRun(state, read_run(state.latest(), run_id)).foreign
    except NexusError:
        return False


def _is_committed_by(state: State, run_id: str, commit: str) -> bool:
    """True if the local log of a run records a commit."""
    kept = load_checkpoint(state.objects, run_id)
    events = (link.event for link in walk_chain(kept.raw(), run_id)) if kept is not None else ()
    return any(event.kind == "run.committed" and event.body["commit"] == commit for event in events)


def _move_ref(state: State, ref: str, mine: str | None, theirs: str) -> bool:
    """Move one of our refs; for a run's branch the worktree files follow."""
    place = next((one for one in list_worktrees(state.repo) if one.head == f"ref: {ref}"), None)
    if place is None:
        return _update_ref(state, ref, mine, theirs)
    from gitnexus.runs.worktree import reset_worktree_to_branch

    try:
        run = OpenRun(state, read_run(state.latest(), ref.rpartition("/")[2]))
        with run.undriven():
            went = _update_ref(state, ref, mine, theirs)
            reset_worktree_to_branch(run)
            return went
    except NexusError:
        return False


def _joined(state: State, ref: str, mine: str | None, theirs: str, said: list[str], given_up: list[str]) -> str:
    """Return the archive of a month with the accepted logs of theirs; adds to `said` and `given_up`."""

    def taken(run_id: str, tree: str) -> bool:
        if tip_of_ref(state.repo, f"{LOGS}{run_id}") and (why := _why_given_up(state, run_id, theirs, tree)):
            said.append(why)
            given_up.append(run_id)
            return True
        why = accept_archived(state, run_id, theirs, tree)
        said.extend([why] if why else [])
        return not why

    def replaced(run_id: str, tree: str) -> bool:
        return gives_way_to_ours(state, run_id, theirs, tree)

    month = ref.removeprefix(ARCHIVE)
    return archive_union(state.repo, month, mine, theirs, state.author, state.objects, taken, replaced)


def _update_ref(state: State, ref: str, mine: str | None, theirs: str) -> bool:
    zero = "0" * len(theirs)
    done = run_on_refs(
        "update-ref",
        "--no-deref",
        "--create-reflog",
        "-m",
        "sync",
        ref,
        theirs,
        mine or zero,
        git_dir=state.repo.common_dir,
    )
    return done.returncode == 0


def plan_log_pushes(state: State, plan: RefExchange) -> tuple[list[RefUpdate], list[RefUpdate], list[str]]:
    """Return the log, archive and branch updates to push, the deletions to do afterwards, and a description."""
    repo, counts = state.repo, {"runs": 0, "archive": 0, "branches": 0}
    kept = plan.kept(repo)
    ours = plan.exchanged(kept)
    runs = archived_runs(state, _archives(kept))
    away = held_by_archive(state, {ref: oid for ref, oid in ours.items() if _run_of(ref) in runs})
    orders = []
    for ref, oid in ours.items():
        theirs = plan.theirs.get(ref)
        if theirs == oid or ref in away or _is_held_by_worker(repo, ref):
            continue
        if theirs is not None and not is_ancestor(repo, theirs, oid):
            continue
        kind = next(kind for kind, prefix in _PREFIXES.items() if ref.startswith(prefix))
        counts[kind] += 1
        orders.append(RefUpdate(plan.remote.there(ref), oid))
    gone = _archived_remote_logs(state, plan, ours, runs) if "archive" in plan.remote.kinds else {}
    return orders, [RefUpdate(plan.remote.there(ref), None, oid) for ref, oid in gone.items()], _describe_counts(counts)


def _is_held_by_worker(repo: Repo, ref: str) -> bool:
    """True for refs of a worker's run, which only the holder of its lease publishes."""
    return not ref.startswith(ARCHIVE) and (run_folder(repo.common_dir, _run_of(ref)) / LEASED).exists()


def _run_of(ref: str) -> str:
    return ref.rpartition("/")[2]


def _archived_remote_logs(state: State, plan: RefExchange, ours: dict[str, str], runs: set[str]) -> dict[str, str]:
    """Return their logs and branches that our archive now holds, so that they can be deleted there."""
    theirs = {ref: oid for ref, oid in plan.theirs.items() if ref not in ours and _run_of(ref) in runs}
    return held_by_archive(state, theirs)


def _describe_counts(counts: dict[str, int]) -> list[str]:
    names = {"runs": "log", "archive": "archive", "branches": "branch"}
    many = {"runs": "logs", "archive": "archives", "branches": "branches"}
    return [f"{count} {names[kind] if count == 1 else many[kind]}" for kind, count in counts.items() if count]
