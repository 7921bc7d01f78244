"""Syncs the state with a remote: fetches, verifies, merges, pushes without force, and reports what moved."""

import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from gitnexus.base.clock import utc_now
from gitnexus.base.errors import Busy, Conflict, Failed, Invalid, VerificationFailed
from gitnexus.base.randomness import random_fraction
from gitnexus.base.text import one_line
from gitnexus.git import Author, Objects, Repo
from gitnexus.git.ancestry import changed_files_between, is_ancestor, merge_bases, reachable_size
from gitnexus.git.branches import tip_of_ref
from gitnexus.git.child import run_git
from gitnexus.git.exchange import PushOutcome, RefUpdate, fetch_remote_refs, push_ref_updates
from gitnexus.git.locks import change_refs
from gitnexus.git.loose import read_loose
from gitnexus.policy.approvers import Approvers
from gitnexus.policy.pins import read_pin, write_pin
from gitnexus.policy.rolled_back import newer_signed_files
from gitnexus.policy.signed import FILE as SIGNATURES
from gitnexus.policy.trust import settle_trust, signer_for_init
from gitnexus.projects.open_project import registry_row_at
from gitnexus.projects.register import RegisterRequest, register_project
from gitnexus.runs.withheld import LOCAL
from gitnexus.state import STATE_REF, Change, Snapshot, State
from gitnexus.state.format import check_format, project_id_of
from gitnexus.state.home import make_home
from gitnexus.state.join import MergedFiles, Mergers, merge_state_commits
from gitnexus.state.layout import LARGEST_FILE
from gitnexus.sync.remote import USUAL_STATE_BRANCH, Remote, discover_remote_refs, resolve_remote, save_state_branch
from gitnexus.sync.run_refs import RefExchange, plan_log_pushes, pull_logs
from gitnexus.sync.stopped_runs import publish_stopped_runs

# What a server says that took the push and could not write it.
_NOT_STORED = ("unpacker error", "unable to migrate objects", "failed to write", "index-pack abnormal exit")
_TRIES = 12
_TRIES_AT_A_LOCK = 5


@dataclass(slots=True)
class SyncOptions:
    """Options of a sync."""

    pull: bool = True
    push: bool = True
    dry_run: bool = False
    adopt: bool = False
    rewritten: bool = False
    # Explicit option: a state that is gone on the remote is restored.
    restore: bool = False


@dataclass(slots=True)
class SyncResult:
    """What a sync did, or would do."""

    remote: str
    pulled: list[str] = field(default_factory=list)
    pushed: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    held: dict[str, str] = field(default_factory=dict)
    beside: list[str] = field(default_factory=list)
    commit: str = ""
    joined: bool = False
    tries: int = 1
    in_the_way: str = ""


def sync_with_remote(state: State, remote: Remote, options: SyncOptions) -> SyncResult:
    """Sync this clone with a remote. Raises: NexusError; then what was not pulled or pushed is unchanged."""
    done = SyncResult(remote.shown)
    pull, push = options.pull and remote.way in ("both", "pull"), options.push and remote.way in ("both", "push")
    if not pull and not push:
        raise Failed(f"git config remote.{remote.remote}.nexusSync says {remote.way}")
    done.said += publish_stopped_runs(state) if push and not options.dry_run else []
    for attempt in range(1, _TRIES + 1):
        done.tries = attempt
        remote, there = discover_remote_refs(state.repo, remote)
        plan = RefExchange(remote, there)
        done.said += [words for words in _describe_exposed_refs(plan) if words not in done.said]
        if pull:
            _pull_from_remote(state, plan, options, done)
            if options.adopt and not options.dry_run:
                _adopt_project_identity(state, done)
        elif _is_behind_remote(state, plan):
            raise Failed(f"{remote.shown} has what this clone lacks", hint="git nexus sync merges it first")
        if not push or _push_missing_refs(state, plan, options, done):
            done.commit = state.latest().commit or ""
            if not options.dry_run:
                save_state_branch(state.repo, remote)
            return done
        if done.in_the_way and attempt >= _TRIES_AT_A_LOCK:
            break
        time.sleep(random_fraction() * min(2.0, 0.05 * 2**attempt))
    if done.in_the_way:
        raise Busy(f"{remote.shown} accepts nothing now: a lock is in the way", hint=done.in_the_way)
    raise Busy(f"others kept pushing to {remote.shown}", hint="run the command again")


def _describe_exposed_refs(plan: RefExchange) -> list[str]:
    """Return a warning if the remote has proposals that were withheld because of a secret, as a mirror push leaves."""
    exposed = sorted(ref for ref in plan.there if ref.startswith(LOCAL))
    if not exposed:
        return []
    ref, more = one_line(exposed[0], 200), f" and {len(exposed) - 1} more" if len(exposed) > 1 else ""
    return [
        f"{plan.remote.shown} has {ref}{more}: a proposal that was withheld because of a secret was pushed by hand; "
        f"rotate what it holds, then git push {shlex.quote(plan.remote.shown)} --delete {shlex.quote(ref)}"
    ]


def adopt_remote_state(state: State, remote: str, *, join: bool = False) -> SyncResult | None:
    """Adopt a remote's state where there is none, or with `join` merge the local one into it.

    Returns None if the remote has none or both are the same. Raises: NexusError.
    """
    resolved, there = discover_remote_refs(state.repo, resolve_remote(state, remote))
    found = there.get(resolved.there(STATE_REF))
    mine = state.latest().commit
    if found is None or "state" not in resolved.kinds or (mine is not None and _is_contained(state.repo, found, mine)):
        return None
    fetch_remote_refs(state.repo, resolved.remote, {resolved.there(STATE_REF): resolved.incoming}, most=resolved.most)
    theirs = tip_of_ref(state.repo, resolved.incoming) or ""
    if mine is not None and merge_bases(state.repo, mine, theirs):
        return None
    done, asked = SyncResult(resolved.shown), SyncOptions(adopt=join)
    _refuse_invalid_state(state, resolved, theirs, None, asked)
    _join_state(state, resolved, theirs, asked, done)
    _update_tracking_ref(state.repo, resolved, theirs)
    save_state_branch(state.repo, resolved)
    return done


def _is_behind_remote(state: State, plan: RefExchange) -> bool:
    found = plan.there.get(plan.remote.there(STATE_REF)) if "state" in plan.remote.kinds else None
    mine = state.latest().commit
    return found is not None and mine is not None and found != mine and not _is_contained(state.repo, found, mine)


def _is_contained(repo: Repo, commit: str, mine: str) -> bool:
    return _is_commit(repo, commit) and is_ancestor(repo, commit, mine)


def _pull_from_remote(state: State, plan: RefExchange, options: SyncOptions, result: SyncResult) -> None:
    resolved, repo = plan.remote, state.repo
    theirs = plan.there.get(resolved.there(STATE_REF))
    before = tip_of_ref(repo, resolved.tracking_ref(STATE_REF))
    wanted = plan.refs_to_fetch(repo)
    mine = state.latest().commit
    if "state" not in resolved.kinds:
        theirs = before = None
    takes_state = theirs is not None and not (mine is not None and _is_contained(repo, theirs, mine))
    if takes_state:
        wanted = {resolved.there(STATE_REF): resolved.incoming, **wanted}
    fetch_remote_refs(repo, resolved.remote, wanted, most=resolved.most)
    if takes_state:
        found = tip_of_ref(repo, resolved.incoming) or ""
        _refuse_invalid_state(state, resolved, found, before, options)
        _join_state(state, resolved, found, options, result)
        theirs = found
    if theirs is None and before is not None:
        _handle_missing_state(resolved, options, result)
    if theirs is not None and not options.dry_run:
        _update_tracking_ref(repo, resolved, theirs)
    pull_logs(state, plan, result.said, result.pulled, dry_run=options.dry_run)


def _update_tracking_ref(repo: Repo, remote: Remote, theirs: str) -> None:
    orders = (
        [f"update {remote.tracking_ref(STATE_REF)} {theirs}"]
        if tip_of_ref(repo, remote.tracking_ref(STATE_REF)) != theirs
        else []
    )
    orders += [f"delete {remote.incoming}"] if tip_of_ref(repo, remote.incoming) is not None else []
    if orders:
        change_refs(
            "update-ref",
            "--no-deref",
            "-m",
            "sync",
            "--stdin",
            git_dir=repo.common_dir,
            stdin="".join(f"{order}\n" for order in orders).encode(),
        )


def _handle_missing_state(remote: Remote, options: SyncOptions, result: SyncResult) -> None:
    if options.push and not options.restore:
        raise Conflict(
            f"{remote.shown} had a state when this clone last looked, and has none now: somebody deleted it",
            hint="nothing of yours is lost; git nexus sync --push puts it there again",
            fix=f"git nexus sync --push {remote.remote}",
        )
    result.said.append(f"{remote.shown} had a state and has none now; nothing of yours is lost")


def _refuse_invalid_state(state: State, remote: Remote, theirs: str, before: str | None, options: SyncOptions) -> None:
    """Raise an error for a state that no honest clone sends. Raises: Conflict, Failed, Invalid, VerificationFailed."""
    repo, mine = state.repo, state.latest()
    size = reachable_size(repo, [theirs], [one for one in (mine.commit, before) if one and _is_commit(repo, one)])
    if size.largest > LARGEST_FILE:
        raise Invalid(
            f"the state of {remote.shown} holds a file of {size.largest // 2**20} MiB; git nexus keeps none above "
            f"{LARGEST_FILE // 2**20} MiB, so nothing was changed",
            hint=f"git log --stat {remote.incoming} shows who put it there",
        )
    other = Snapshot(state.objects, theirs)
    check_format(other)
    if mine.commit is not None and not options.adopt and project_id_of(other) != project_id_of(mine):
        related = merge_bases(repo, mine.commit, theirs)
        raise (VerificationFailed if related else Conflict)(
            f"the state of {remote.shown} is of another project ({project_id_of(other)}), "
            f"not of this one ({project_id_of(mine)})",
            hint="git nexus sync --adopt makes theirs the project and brings yours into it",
        )
    if before is not None and not options.rewritten and not is_ancestor(repo, before, theirs):
        raise Conflict(
            f"the history of the state of {remote.shown} was rewritten: it no longer holds {before[:12]}",
            hint="nothing was changed, and nothing of yours is lost; look at it with git log "
            f"{remote.incoming}; git nexus sync --rewritten joins it with yours",
        )


def _is_commit(repo: Repo, oid: str) -> bool:
    loose = read_loose(repo.common_dir / "objects", oid)
    if loose is not None:
        return loose[0] == "commit"
    return run_git("cat-file", "-e", f"{oid}^{{commit}}", git_dir=repo.common_dir).returncode == 0


def _join_state(state: State, remote: Remote, theirs: str, options: SyncOptions, result: SyncResult) -> None:
    """Fast-forward to their state or merge it with ours, in one transaction."""
    from gitnexus.sync.merge_table import describe_changed_files, merger_table

    resigned: list[Approvers] = []
    _unshallow_state(state, remote, theirs)

    def decide(snapshot: Snapshot) -> Change[MergedFiles]:
        resigned.clear()
        table = merger_table(state.repo, utc_now(), resigned.append, adopt=options.adopt)
        return merge_states(
            state.repo, state.objects, state.author, (snapshot.commit, theirs), table, remote.shown, options.adopt
        )

    mine = state.latest().commit
    shared = merge_bases(state.repo, mine, theirs) if mine is not None else []
    paths = list(changed_files_between(state.repo, shared[0] if shared else None, theirs))
    if options.dry_run:
        found = decide(state.latest()).value
    else:
        found = state.transact(decide)
        _pin_resigned_approvers(state, resigned)
        result.joined = result.joined or state.snapshot.commit != theirs
    result.pulled += describe_changed_files(paths)
    result.said += found.said
    result.held |= found.held
    result.beside += found.beside


def merge_states(
    repo: Repo, objects: Objects, author: Author, sides: tuple[str | None, str], table: Mergers, name: str, adopt: bool
) -> Change[MergedFiles]:
    """Return the merge of two states: unchanged, a fast-forward or a merge commit. Raises: Conflict."""
    mine, theirs = sides
    if mine is None:
        return Change({}, f"sync: take over the state of {name}", MergedFiles(), onto=theirs)
    shared = merge_bases(repo, mine, theirs)
    if shared == [theirs]:
        return Change({}, "", MergedFiles())
    found = merge_state_commits(repo, objects, (shared, mine, theirs), table, author, adopt=adopt)
    if not adopt:
        _keep_newer_signed_files(repo, objects, (mine, theirs), found, name)
    if shared == [mine]:
        _, tree = objects.write_commit(parents=[mine], changes=found.files, message="x\n", author=author)
        if tree == objects.tree_of(theirs):
            return Change({}, f"sync: forward to {name}", found, onto=theirs)
    return Change(found.files, f"sync: join with {name}", found, joins=theirs)


def _keep_newer_signed_files(
    repo: Repo, objects: Objects, sides: tuple[str, str], found: MergedFiles, name: str
) -> None:
    """Put back into `found` the files that the fetched history signed later than in its last commit."""
    here = Snapshot(objects, sides[0])

    def read(path: str) -> bytes | None:
        if path not in found.files:
            return here.read(path)
        content = found.files[path]
        return content if content is None or isinstance(content, bytes) else objects.blob(str(content))

    newer = newer_signed_files(repo, objects, sides, read, project_id_of(here) or "")
    for path in newer:
        if path != SIGNATURES:
            found.said.append(f"{name} has an older version of {path} on top of a newer one: the newer one is kept")
    found.files |= newer


def _unshallow_state(state: State, remote: Remote, theirs: str) -> None:
    """Fetch the history that a shallow clone lacks, without which two states seem unrelated."""
    mine = state.latest().commit
    if mine is None or not (state.repo.common_dir / "shallow").exists() or merge_bases(state.repo, mine, theirs):
        return
    fetch_remote_refs(
        state.repo, remote.remote, {remote.there(STATE_REF): remote.incoming}, most=remote.most, whole=True
    )


def _adopt_project_identity(state: State, result: SyncResult) -> None:
    """Pin the approvers and the id of the project that this state has joined."""
    changes, notes = settle_trust(state, signer_for_init(state.repo)[0], fresh=True)
    result.said += [*changes, *notes]
    known = registry_row_at(state.repo)
    if known is not None:
        home = make_home()
        try:
            register_project(home, RegisterRequest(known.path, None, (), project_id_of(state.snapshot)), utc_now())
        finally:
            home.close()


def _pin_resigned_approvers(state: State, resigned: Sequence[Approvers]) -> None:
    """Advance this machine's pin to the approver list that was signed again."""
    held = read_pin(state.repo.common_dir) if resigned else None
    if held is not None:
        write_pin(state.repo.common_dir, resigned[-1], consent=held.consent)


def _push_missing_refs(state: State, plan: RefExchange, options: SyncOptions, result: SyncResult) -> bool:
    """Push what the remote lacks; False to retry, because another clone was first. Raises: Failed."""
    repo, resolved = state.repo, plan.remote
    mine = state.latest().commit or ""
    there = plan.there.get(resolved.there(STATE_REF))
    orders = [RefUpdate(resolved.there(STATE_REF), mine)] if there != mine and "state" in resolved.kinds else []
    words = _describe_own_changes(repo, there, mine) if orders else []
    logs, gone, told = plan_log_pushes(state, plan)
    if not options.dry_run and (orders or logs):
        outcome = push_ref_updates(repo, resolved.remote, [*orders, *logs])
        result.in_the_way = next(
            (one.why for one in outcome.values() if one.kind == "behind" and ".lock " in one.why), ""
        )
        if any(one.kind == "behind" for one in outcome.values()):
            return False
        _raise_refused_pushes(resolved, outcome)
        if orders:
            _update_tracking_ref(repo, resolved, mine)
    if not options.dry_run and gone:
        # Only now that their archive holds it. A ref that moved meanwhile is kept.
        refused = [one.why for one in push_ref_updates(repo, resolved.remote, gone).values() if one.kind == "refused"]
        result.said += (
            [f"{resolved.shown} keeps the refs of runs that were cleaned up: {refused[0]}"] if refused else []
        )
    result.pushed += [*words, *told]
    return True


def _describe_own_changes(repo: Repo, there: str | None, mine: str) -> list[str]:
    from gitnexus.sync.merge_table import describe_changed_files

    shared = merge_bases(repo, there, mine) if there is not None and _is_commit(repo, there) else []
    return describe_changed_files(list(changed_files_between(repo, shared[0] if shared else None, mine)))


def _raise_refused_pushes(remote: Remote, outcome: dict[str, PushOutcome]) -> None:
    refused = {ref: one.why for ref, one in outcome.items() if one.kind == "refused"}
    if not refused:
        return
    ref, why = next(iter(refused.items()))
    disk = next((one.disk for one in outcome.values() if one.disk), "")
    if disk or any(words in why for words in _NOT_STORED):
        raise Failed(
            f"{remote.shown} could not store {ref}: {disk or why}",
            hint="nothing of yours is lost; the disk of the server may be full: when it has room, git nexus sync again",
            context={"refused": refused},
        )
    ours = ref.startswith("refs/nexus/") and not remote.state_branch
    hint = "this host may accept only branches: git nexus sync --probe finds out" if ours else None
    raise Failed(
        f"{remote.shown} refuses {ref}: {why}",
        hint=hint,
        fix=f"git config remote.{remote.remote}.nexusWireRef {USUAL_STATE_BRANCH}" if ours else None,
        context={"refused": refused},
    )
