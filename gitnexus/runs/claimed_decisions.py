"""Finds decisions and ends of a run that its log only claims: no known machine signed them and no fact proves them.

A claim stops nothing and hides nothing: the action still waits, and the claim is shown beside it.
"""

import contextlib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from gitnexus.base.errors import NexusError
from gitnexus.base.files import make_private_folder, replace_file
from gitnexus.events.chain import walk_chain
from gitnexus.events.fold import fold
from gitnexus.events.inforce import ENDS, in_force
from gitnexus.events.log import FILE
from gitnexus.events.model import Event
from gitnexus.events.view import ActionView, RunView
from gitnexus.gateway.recorder import run_folder
from gitnexus.git.branches import read_raw_commit
from gitnexus.git.child import run_git as git_run
from gitnexus.policy.commit_message import parse_trailers as trailers_of
from gitnexus.policy.repo_key import repository_key
from gitnexus.runs.ids import BRANCHES
from gitnexus.runs.import_log import last_imported_event
from gitnexus.runs.log_signatures import is_claimed_event, stretches_of
from gitnexus.runs.logs import kept_log
from gitnexus.runs.model import ENDED, Run
from gitnexus.runs.open_run import OpenRun, claimed_stretches, notes_folder
from gitnexus.runs.origin import is_foreign, origin_file, signs_log
from gitnexus.runs.story import read_events, read_raw_log
from gitnexus.state import State

_DECIDES = ("permission.granted", "permission.denied", "tool.executed")
_COMMIT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
# Cache in the user's home of ends that were proved. A failed run may be resumed, so its end is not cached.
_PROVED = "over"


class ClaimedDecisions(NamedTuple):
    """The claimed outcome of each action, and the claimed end of the run."""

    actions: Mapping[str, ActionView]
    end: str = ""


def claimed_decisions(run: OpenRun) -> ClaimedDecisions:
    """Return the decisions of a run that are only claimed.

    If its log cannot be checked, those that its record states.
    """
    if not run.came:
        return ClaimedDecisions({})
    try:
        events, stretches = list(read_events(run)), run.stretches(read_raw_log(run))
        said = fold(events).actions
    except NexusError:
        return ClaimedDecisions({}, end_only_said(run))
    claimed: dict[str, bool] = {}
    end = False
    for event in events:
        if _is_decision(event):
            claimed[event.body["action"]] = is_claimed_event(stretches, event)
        elif event.kind in ENDS:
            end = is_claimed_event(stretches, event)
    actions = {name: said[name] for name, is_claimed in claimed.items() if is_claimed and name in said}
    # An end signed by a known machine in another person's name counts, but is reported as claimed.
    return ClaimedDecisions(actions, end_only_said(run) or (fold(events).status if end else ""))


def known_view(run: OpenRun) -> RunView | None:
    """Return the run's view from the events that count, read locally, from its ref or an archive.

    None without a log.
    """
    try:
        if run.log.path.exists():
            return run.view()
        raw = read_raw_log(run)
        events = [link.event for link in walk_chain(raw, run.record.id)]
        return fold(in_force(events, claimed_stretches(run, raw, len(events))))
    except NexusError:
        return None


def end_only_said(run: OpenRun) -> str:
    """Return the status at which another person's run is claimed to have ended without proof; "" otherwise.

    A signed log is proof; for a landed run, so is its work on a branch of the user.
    """
    if not run.came or not run.foreign:
        return ""
    view = known_view(run)
    if view is None:
        return run.record.status if run.record.status in ENDED else ""
    said = run.record.status
    if said not in ENDED:
        with contextlib.suppress(NexusError):
            said = fold(read_events(run)).status
    if said not in ENDED or said == view.status or (said == "landed" and is_landed(run, view)):
        return ""
    return said


def run_as_known(run: OpenRun) -> Run:
    """Return the run's record; where its status is only claimed, a copy with the status that counts here."""
    said = end_only_said(run)
    view = known_view(run) if said else None
    if view is None or (said in ("completed", "landed") and view.status not in ENDED and not _is_open(view)):
        return run.record  # the approval tokens of its commits prove what landing it would bring in
    return run.record.changed(status=view.status)


def is_landed(run: OpenRun, view: RunView) -> bool:
    """True if the commit that landed the run is on a local branch and contains this run's work."""
    commit = run.record.landed
    if not _COMMIT.fullmatch(commit) or not view.commits or _is_open(view):
        return False
    try:
        found = trailers_of(read_raw_commit(run.repo, commit).partition(b"\n\n")[2].decode("utf-8", "replace"))
    except NexusError:
        return False
    holding = git_run(
        "for-each-ref", "--contains", commit, "--format=%(refname)", "refs/heads", git_dir=run.repo.common_dir
    )
    ours = [name for name in holding.stdout.decode("utf-8", "replace").split() if not name.startswith(BRANCHES)]
    if holding.returncode != 0 or not ours:
        return False
    if found is not None and found.run == run.record.id:
        return True
    within = git_run("merge-base", "--is-ancestor", view.commits[-1], commit, git_dir=run.repo.common_dir)
    return within.returncode == 0


def said_to_be_over(state: State, runs: Iterable[Run]) -> frozenset[str]:
    """Return the runs whose records claim an end that nothing proves, among those with a known log.

    A proven end is cached in the user's home, so that a long list stays fast.
    """
    ended = [run for run in runs if run.status in ENDED]
    if not ended:
        return frozenset()
    notes, here = notes_folder(state), repository_key(state.repo.common_dir)
    begun = set(os.listdir(notes)) if notes.is_dir() else set()
    others = (run for run in ended if origin_file(notes, run.id).name not in begun)
    return frozenset(
        run.id for run in others if is_foreign(notes, run.id, here) and _is_only_said(notes, OpenRun(state, run))
    )


def _is_only_said(notes: Path, run: OpenRun) -> bool:
    note, status = notes / f"{run.record.id}.{_PROVED}", run.record.status
    with contextlib.suppress(OSError):
        if note.read_text(encoding="ascii", errors="replace").strip() == status:
            return False
    if known_view(run) is None:
        return False
    if end_only_said(run):
        return True
    if status != "failed":
        make_private_folder(notes)
        replace_file(note, f"{status}\n".encode(), 0o600)
    return False


def claimed_events(state: State, run: str, raw: bytes) -> frozenset[int]:
    """Return the sequence numbers of the events that are only claimed, wherever the log is stored."""
    folder = run_folder(state.repo.common_dir, run)
    is_here, arrived = (folder / FILE).exists(), last_imported_event(folder)[0]
    if is_here and not arrived:
        return frozenset()
    try:
        kept = kept_log(state.objects, run)
        if kept is None:
            return frozenset()
        notes = notes_folder(state)
        ours = not is_foreign(notes, run, repository_key(state.repo.common_dir)) and not signs_log(notes, run)
        stretches = stretches_of(
            state,
            run,
            raw,
            kept.authors(),
            on_ref=kept.head.seq,
            arrived=arrived if is_here else kept.head.seq,
            unsigned="before" if ours else "claimed",
        )
        return frozenset(one.event.seq for one in walk_chain(raw, run) if is_claimed_event(stretches, one.event))
    except NexusError:
        return frozenset(range(1, raw.count(b"\n") + 2))


def _is_open(view: RunView) -> bool:
    waits = any(one.status in ("waiting", "unknown", "proposed") for one in view.actions.values())
    return waits or bool(view.questions)


def _is_decision(event: Event) -> bool:
    return event.kind in _DECIDES or (event.kind == "action.judged" and event.body["verdict"] == "deny")
