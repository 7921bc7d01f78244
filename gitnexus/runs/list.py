"""Lists and counts the runs of a project, and finds those that wait for a person."""

import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from gitnexus.base import clock
from gitnexus.base.errors import NexusError
from gitnexus.base.record import Record
from gitnexus.events.view import RunView
from gitnexus.git.diff_text import LineCounter, line_counter
from gitnexus.git.private import private_git
from gitnexus.runs.background import is_background_driver_alive
from gitnexus.runs.claimed_decisions import claimed_decisions, known_view, said_to_be_over
from gitnexus.runs.cleanup.clean import runs_with_leftovers
from gitnexus.runs.contradictions import is_noted_contradicted
from gitnexus.runs.drive import displayed_status
from gitnexus.runs.foreign_consent import is_agreed
from gitnexus.runs.ids import run_branch_ref
from gitnexus.runs.import_log import import_log_if_missing, last_imported_event
from gitnexus.runs.logs import archived_run_ids
from gitnexus.runs.model import ENDED, OPEN, Run
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.row_cache import RowCache
from gitnexus.runs.steps import denial_to_mend, steps_of
from gitnexus.runs.store import read_all_runs, record_ids
from gitnexus.runs.story import has_claimed_events
from gitnexus.state import State

_OVER = ("landed", "cancelled")
# Limit of waiting runs shown that no known machine signed.
MOST_STRANGERS = 20


class RunRow(Record):
    """One row of the list; `branch` is empty for a run without a branch."""

    id: str
    status: str
    age: str
    agent: str
    branch: str
    lines: str
    waits: str
    title: str
    step: str = ""
    mode: str = ""
    foreign: bool = False
    claimed: bool = False
    status_claimed: bool = False
    disputed: bool = False


def list_runs(state: State, *, everything: bool) -> list[RunRow]:
    """Return the runs, newest first; without `everything` only those that a person can still act on."""
    records = record_ids(state.required())
    cache = RowCache(state, records)
    there = runs_with_leftovers(state.repo, cache.refs)
    gone = set() if everything else archived_run_ids(state.repo, state.objects) - there
    kept = {run: fields for run in records if (fields := cache.row(run)) is not None}
    known = [run for run in read_all_runs(state.required(), without=kept) if run.id not in kept]
    said = frozenset() if everything else said_to_be_over(state, known) | _disputed_runs(cache, state, known)
    rows: list[tuple[str, RunRow]] = []
    for run_id, fields in kept.items():
        is_over = fields["recorded"] in _OVER or run_id in gone
        if everything or not is_over or fields["status_claimed"]:
            rows.append((str(fields["created"]), _row_of_fields(run_id, fields, is_there=run_id in there)))
    with contextlib.ExitStack() as held:
        count_lines = _shared_line_counter(state, cache.refs, held)
        for run in known:
            over = run.status in _OVER or (run.status in ENDED and run.id in gone)
            if everything or not over or run.id in said:
                open_run = OpenRun(state, run)
                fields = _fields_of_run(open_run, count_lines)
                if fields["status"] in ENDED and not fields["waits"] and not fields["disputed"]:
                    elsewhere = fields["foreign"] or open_run.came
                    cache.keep(run.id, fields, from_elsewhere=elsewhere, claimed=fields["status_claimed"])
                rows.append((run.created, _row_of_fields(run.id, fields, is_there=run.id in there)))
    cache.save()
    # Sort by the second: the ids of two runs of the same minute do not tell which is newer.
    return [row for _, row in sorted(rows, key=lambda pair: (pair[0], pair[1].id), reverse=True)]


def _fields_of_run(run: OpenRun, count_lines: Callable[[Run], str]) -> dict[str, Any]:
    """Return all of a row but its age and whether there is still a branch."""
    status, waits, step = _status_and_waits(run)
    end = claimed_decisions(run).end
    return {
        "created": run.record.created,
        "recorded": run.record.status,
        "status": end or status,
        "agent": run.record.agent,
        "branch": "" if run.record.session else run.record.branch,
        "lines": count_lines(run.record),
        "waits": waits,
        "title": run.record.title,
        "step": step,
        "mode": _mode_of_run(run),
        "foreign": run.foreign,
        "claimed": has_claimed_events(run),
        "status_claimed": bool(end),
        "disputed": _is_disputed(run),
    }


def _row_of_fields(run: str, fields: Mapping[str, Any], *, is_there: bool) -> RunRow:
    said = {name: value for name, value in fields.items() if name not in ("created", "recorded", "branch")}
    return RunRow(id=run, age=_format_age(fields["created"]), branch=fields["branch"] if is_there else "", **said)


def _shared_line_counter(state: State, refs: Mapping[str, str], held: contextlib.ExitStack) -> Callable[[Run], str]:
    """Return a function that says how many lines a run's branch adds and removes; one git child counts for all."""
    counters: list[LineCounter] = []

    def count(run: Run) -> str:
        head = refs.get(run_branch_ref(run.id)) if run.head else None
        if head is None:
            return ""
        if not counters:
            counters.append(held.enter_context(line_counter(held.enter_context(private_git(state.repo)))))
        added, removed = counters[0].count(state.objects.tree_of(run.base), state.objects.tree_of(head))
        return f"+{added} −{removed}" if added or removed else ""

    return count


class RunCounts(NamedTuple):
    """Number of runs by status, how many of them another person began, and which ends are only claimed."""

    all: dict[str, int]
    foreign: dict[str, int]
    claimed: dict[str, int]


def count_runs(state: State) -> RunCounts:
    """Return the number of runs by status; a run whose end is only claimed counts by what waits in it."""
    found = RunCounts({}, {}, {})
    known = read_all_runs(state.required())
    said = said_to_be_over(state, known)
    for run in known:
        if run.status in ENDED and run.id not in said:  # its log holds nothing beyond its record
            found.all[run.status] = found.all.get(run.status, 0) + 1
            continue
        open_run = OpenRun(state, run)
        status, waits, _ = _status_and_waits(open_run)
        end = claimed_decisions(open_run).end
        if end and not waits:
            status = end
            found.claimed[end] = found.claimed.get(end, 0) + 1
        found.all[status] = found.all.get(status, 0) + 1
        if open_run.foreign:
            found.foreign[status] = found.foreign.get(status, 0) + 1
    return found


def runs_over(state: State) -> frozenset[str]:
    """Return the ids of the runs whose end is proved."""
    known = read_all_runs(state.required())
    return frozenset(run.id for run in known if run.status in ENDED) - said_to_be_over(state, known)


class WaitingRuns(NamedTuple):
    """The runs that wait for an answer, and the number of further ones that only unknown machines report."""

    runs: list[OpenRun]
    more: int


def waiting_runs(state: State) -> WaitingRuns:
    """Return the runs that wait for an answer, oldest first, including those of other clones.

    Runs signed by no known machine come last and are limited in number: anybody who can push can create them.
    """
    found: list[OpenRun] = []
    strangers: list[OpenRun] = []
    known = read_all_runs(state.required())
    said = said_to_be_over(state, known)
    for run in known:
        if run.status in ENDED and run.id not in said:
            continue
        open_run = OpenRun(state, run)
        view = known_view(open_run)
        if view is not None and _format_waiting_count(view):
            (strangers if open_run.foreign and has_claimed_events(open_run) else found).append(open_run)
    shown = [open_run for open_run in (*found, *strangers[:MOST_STRANGERS]) if _is_here(open_run)]
    return WaitingRuns(shown, max(0, len(strangers) - MOST_STRANGERS))


def _is_here(run: OpenRun) -> bool:
    """True if the run's log is local; imports the log of a run from another machine."""
    with contextlib.suppress(NexusError):
        if not run.record.session:
            import_log_if_missing(run.repo.common_dir, run.state.objects, run.record, run.head_file)
        return bool(_format_waiting_count(run.view()))
    return False


def can_end(run: OpenRun) -> bool:
    """True if all steps of a run ended, nothing waits and no process drives it."""
    view = run.view()
    through = {name for name, node in view.nodes.items() if node.status in ("completed", "failed")}
    steps = steps_of(run, run.definition())
    wanted = {node.id for node in steps}
    if any(denial_to_mend(run, node) for node in steps):
        return False  # its agent is told so, and tries again
    return view.status not in ENDED and wanted <= through and not _format_waiting_count(view) and not run.is_driven()


def goes_on_by_itself(run: OpenRun) -> bool:
    """True for a workflow that no process drives and whose remaining nodes need neither a program nor a model."""
    definition = run.workflow() if not run.record.session else None
    if definition is None or not is_agreed(run):
        return False
    view = run.view()
    left = [one for one in definition.nodes if one.id not in view.nodes or view.nodes[one.id].status != "completed"]
    plain = all(one.type != "command" and one.adapter in ("", "embedded") for one in left) and not definition.handoffs
    return plain and view.status not in ENDED and not run.is_driven()


def may_go_on(run: OpenRun) -> bool:
    """True for a run with work left for a program or a model: one of this clone, agreed to, and driven by nobody.

    Of a workflow one part may go on while another waits for a person.
    """
    view = run.view()
    if run.record.session or view.status in ENDED or run.came or run.is_driven() or not is_agreed(run):
        return False
    waits = bool(view.questions) or any(one.status in OPEN for one in view.actions.values())
    return not waits or run.workflow() is not None


def _status_and_waits(run: OpenRun) -> tuple[str, str, str]:
    """Return the status of a run, what waits in it, and the agent that took it over last."""
    try:
        view = run.view()
    except NexusError:
        # From another machine or damaged: use the record, and the imported log for what waits.
        known = known_view(run)
        waits = _format_waiting_count(known) if known is not None and known.status not in ENDED else ""
        return "waiting" if waits and run.record.status == "running" else run.record.status, waits, ""
    driven = run.is_driven() or is_background_driver_alive(run)
    status = displayed_status(view, driven=driven, in_order=run.left_in_order())
    if run.record.status == "landed" and (not run.foreign or status in ENDED):
        status = "landed"
    if status == "stopped" and run.foreign and last_imported_event(run.folder)[0] >= view.seq:
        status = "running"  # as far as this machine knows: nobody continued it here
    return status, _format_waiting_count(view), _last_step(view)


def _disputed_runs(cache: RowCache, state: State, runs: Iterable[Run]) -> frozenset[str]:
    """Return those of `runs` about which two clones decided differently, among those noted as such."""
    noted = (run for run in runs if is_noted_contradicted(cache.notes, run.id))
    return frozenset(run.id for run in noted if _is_disputed(OpenRun(state, run)))


def _is_disputed(run: OpenRun) -> bool:
    """True if two clones decided differently about an action; only a log that says so is folded."""
    with contextlib.suppress(NexusError):
        return b'"decision.contradicted"' in run.log.raw() and bool(run.view().disputed)
    return False


def _mode_of_run(run: OpenRun) -> str:
    """Return the mode in which a run was started; "" if its definition is missing here or was changed."""
    with contextlib.suppress(NexusError):
        return run.mode or ""
    return ""


def _format_waiting_count(view: RunView) -> str:
    count = sum(one.status in ("waiting", "unknown", "proposed") for one in view.actions.values())
    count += len(view.questions)
    return f"{count} waiting" if count else ""


def _last_step(view: RunView) -> str:
    """Return the agent that took over last through a handoff, "" if none did."""
    name, node = next(reversed(view.nodes.items()), ("", None))
    return f"{node.agent} ({name})" if node is not None and len(view.nodes) > 1 else ""


def _format_age(created: str) -> str:
    begun = clock.parse_timestamp(created)
    if begun is None:
        return "?"
    seconds = int((clock.utc_now() - begun).total_seconds())
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{max(seconds, 0)} s"
