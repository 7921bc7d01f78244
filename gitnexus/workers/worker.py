"""`QueueWorker`: claims runs from a remote's queue, drives each in its own worktree, and publishes the results.

The refs of the remote decide who has a run. A claim that did not move for the length of a lease, by this worker's
clock, belongs to a dead worker and is taken over; the run continues where its published log ends.
"""

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from gitnexus.base.clock import utc_now
from gitnexus.base.errors import ApprovalNeeded, Failed, NexusError
from gitnexus.base.randomness import random_fraction
from gitnexus.base.text import one_line
from gitnexus.events.chain import walk_chain
from gitnexus.events.checkpoint import load_checkpoint
from gitnexus.git.branches import tip_of_ref
from gitnexus.git.child import GitFailed
from gitnexus.git.child import run_git as git_run
from gitnexus.git.exchange import RefUpdate as Push
from gitnexus.git.exchange import RemoteUnreachable
from gitnexus.git.locks import change_refs
from gitnexus.policy.signed import SignedFiles
from gitnexus.runs.archive import LOGS
from gitnexus.runs.background import DRIVER_LOG
from gitnexus.runs.drive import take_over_run
from gitnexus.runs.import_log import LEASED, update_log_from_ref
from gitnexus.runs.model import ENDED, Run
from gitnexus.runs.open_run import OpenRun, notes_folder, parse_definition
from gitnexus.runs.order import CLAIMS, QUEUE, RunOrder
from gitnexus.runs.origin import executed_orders, record_executed_order, write_agreement
from gitnexus.runs.record import refresh_run_record
from gitnexus.runs.spent import why_order_done
from gitnexus.runs.start import create_run
from gitnexus.runs.store import record_path
from gitnexus.state import Change, Snapshot, State
from gitnexus.state.format import project_id_of
from gitnexus.sync.remote import Remote
from gitnexus.sync.remote_refs import fetch_to_tracking, find_remote_refs
from gitnexus.sync.sync import SyncOptions, sync_with_remote
from gitnexus.workers.lease import RunLease
from gitnexus.workers.order_log import OrderProgress, find_order_progress
from gitnexus.workers.queue import read_order

Tell = Callable[[str], None]
_MOST_FAILED = 3
_AT_ONCE = 500
# Rounds in a row in which nothing of the server could be read, after which a worker that is to end ends.
_MOST_UNANSWERED = 10
# Limit of skipped orders remembered: anybody who can push can add any number.
_MOST_TOLD = 50


@dataclass(slots=True)
class QueueWorker:
    """A worker: its name, labels and timeouts in seconds."""

    state: State
    remote: Remote
    name: str
    labels: frozenset[str]
    tell: Tell
    lease: float = 60.0
    poll: float = 5.0
    drain: bool = False
    once: bool = False
    done: list[str] = field(default_factory=list)
    # The runs that this machine could not carry out, with the reason; they stay in the queue.
    given_up: dict[str, str] = field(default_factory=dict)
    _seen: dict[str, tuple[str, float]] = field(default_factory=dict)
    _refused: dict[str, str] = field(default_factory=dict)
    _left: int = 0
    _failed: dict[str, int] = field(default_factory=dict)
    _unanswered: int = 0

    def work(self) -> None:
        """Execute runs until the queue is empty, if requested, else forever. Raises: NexusError."""
        while True:
            known = self._unanswered
            there = self._list_queue_refs()
            if there is not None:
                found = self._claim_next_run(there)
                if found is not None:
                    self._execute_order(*found)
                    if self.once:
                        return
                    continue
                if self.drain and not any(ref.removeprefix(QUEUE) in self._eligible_runs(there) for ref in there):
                    return
                if self.once and not self.drain:
                    return
            self._unanswered = self._unanswered if self._unanswered > known else 0
            time.sleep(self.poll * (0.5 + random_fraction()))

    def _count_unanswered(self, exc: RemoteUnreachable) -> None:
        """Tell why nothing was read. Raises: it, if this worker is to end and waits in vain; others wait for ever."""
        self.tell(exc.message)
        self._unanswered += 1
        if (self.drain or self.once) and self._unanswered >= _MOST_UNANSWERED:
            raise exc

    def _list_queue_refs(self) -> dict[str, str] | None:
        try:
            return find_remote_refs(self.state.repo, self.remote, [QUEUE, CLAIMS])
        except RemoteUnreachable as exc:
            self._count_unanswered(exc)
            return None

    def _eligible_runs(self, there: dict[str, str]) -> set[str]:
        """Return the queued runs that this worker has not ruled out."""
        runs = {ref.removeprefix(QUEUE): oid for ref, oid in there.items() if ref.startswith(QUEUE)}
        return {run for run, oid in runs.items() if self._refused.get(run) != oid}

    def _claim_next_run(self, there: dict[str, str]) -> tuple[RunLease, RunOrder, str] | None:
        """Claim a run; return its lease, order and order commit, None if there is none for us now."""
        at = time.monotonic()
        wanted = sorted(self._eligible_runs(there))
        self._bring_at_once(wanted, there)
        for run in self._shuffled_oldest_first(wanted):
            claim = there.get(f"{CLAIMS}{run}", "")
            seen, since = self._seen.get(run, ("", at))
            if claim and (seen != claim or at - since < self.lease):
                self._seen[run] = (claim, since if seen == claim else at)
                continue
            try:
                order = self._read_fitting_order(run, there[f"{QUEUE}{run}"], is_claimed=bool(claim))
                if order is None:
                    continue
                lease = RunLease(self.state, self.remote, run, self.name)
                if lease.claimed(claim):
                    self.tell(f"{run}: {'taken over' if claim else 'taken'}: {order.title}")
                    return lease, order, there[f"{QUEUE}{run}"]
            except RemoteUnreachable as exc:
                self._count_unanswered(exc)
        return None

    def _bring_at_once(self, runs: list[str], there: dict[str, str]) -> None:
        """Fetch many orders in few steps: thousands of unsigned ones must not delay a signed one."""
        repo, remote = self.state.repo, self.remote
        refs = [f"{QUEUE}{run}" for run in runs]
        new = [ref for ref in refs if tip_of_ref(repo, remote.tracking_ref(ref)) != there[ref]]
        for at in range(0, len(new) if len(new) > 1 else 0, _AT_ONCE):
            with contextlib.suppress(NexusError):  # one is too large or gone: fetch each by itself
                fetch_to_tracking(repo, remote, new[at : at + _AT_ONCE])

    def _shuffled_oldest_first(self, runs: list[str]) -> Iterator[str]:
        """Yield the oldest few in random order, so that workers do not all claim the same."""
        while runs:
            yield runs.pop(int(random_fraction() * (min(len(runs), 8) - 0.001)))

    def _read_fitting_order(self, run: str, oid: str, *, is_claimed: bool) -> RunOrder | None:
        """Fetch the queued order; return it if its labels match this worker and an approver signed it, else None."""
        ref = f"{QUEUE}{run}"
        if tip_of_ref(self.state.repo, self.remote.tracking_ref(ref)) != oid:
            fetch_to_tracking(self.state.repo, self.remote, [ref])
        try:
            order = read_order(self.state, self.remote.tracking_ref(ref))
            if not set(order.labels) <= self.labels:
                self._refused[run] = oid
                return None
            snapshot = self.state.latest()
            order.check(
                project_id_of(snapshot) or "",
                SignedFiles(snapshot, self.state.repo.common_dir).approvers_with_consent(),
                utc_now(),
            )
            self._refuse_done(order, snapshot, is_claimed=is_claimed)
        except RemoteUnreachable:
            raise
        except NexusError as exc:
            self._refused[run] = oid
            self._left += 1
            if self._left <= _MOST_TOLD:
                self.tell(f"{run} is left in the queue: {exc.message}")
            elif self._left == _MOST_TOLD + 1:
                self.tell("more orders are left in the queue: git nexus queue lists them")
            return None
        return order

    def _refuse_done(self, order: RunOrder, snapshot: Snapshot, *, is_claimed: bool) -> None:
        """Raise an error for an order that was executed, or whose progress is unknown. Raises: Failed.

        A worker that takes over a dead worker's claim checks again then, and completes the order.
        """
        found = find_order_progress(self.state, self.remote, order)
        if found.ours:
            return
        raw = snapshot.read(record_path(order.id))
        ended = raw is not None and Run.from_bytes(raw, record_path(order.id)).status in ENDED
        if ended or order.digest() in executed_orders(notes_folder(self.state), order.id):
            raise Failed("it was carried out already")
        why = _why_not_startable(order, found) or _why_nothing_to_drive(order, found)
        if why and not is_claimed:
            raise Failed(why)

    def _execute_order(self, lease: RunLease, order: RunOrder, queued: str) -> None:
        try:
            found = find_order_progress(self.state, self.remote, order)
            if why := _why_not_startable(order, found):
                self.tell(f"{order.id} is left in the queue: {why}")
                self._refused[order.id] = queued
                lease.publish([])
                return
            if self._drive_and_publish(lease, order, queued, found):
                return
        except NexusError as exc:
            # An orphan of ours may still work on it, or the server is gone: the claim expires and another worker takes
            # it.
            self.tell(f"{order.id}: {exc.message}")
            if isinstance(exc, (Failed, GitFailed)) and not isinstance(exc, RemoteUnreachable):
                self._count_failed(
                    order.id, queued, exc.message
                )  # server or disk refuse it: retrying for ever is useless
            return
        self.tell(f"{order.id}: the lease is lost; another worker has it, and nothing was published")

    def _drive_and_publish(self, lease: RunLease, order: RunOrder, queued: str, found: OrderProgress) -> bool:
        """Drive a run and publish it, or give it back; False if the lease was lost. Raises: NexusError."""
        run = self._open_ordered_run(order, found)
        mark = run.folder / LEASED
        mark.write_text(self.name + "\n", encoding="utf-8")
        if why := _why_nothing_to_drive(order, found):
            self.tell(f"{order.id}: {why}")  # the previous worker died after finishing it: only publish
            refresh_run_record(run)
        elif (ended := self._drive_in_subprocess(run, lease, order)) is None:
            return False
        else:
            status = run.view().status
            if status not in ENDED and not (ended == ApprovalNeeded.code and status != "running"):
                self._release_run(run, lease, queued)
                return True
        if not self._publish_result(run, lease, queued):
            return False
        record_executed_order(run.noted, order.id, order.digest())
        mark.unlink(missing_ok=True)
        self.done.append(order.id)
        self.tell(f"{order.id}: published, {run.view().status}")
        self._sync_state()
        return True

    def _release_run(self, open_run: OpenRun, lease: RunLease, queued: str) -> None:
        """Release a run whose driver ended before the run did; after three times it is left to other workers."""
        run = open_run.record.id
        text = (open_run.folder / DRIVER_LOG).read_text(encoding="utf-8", errors="replace")
        self.tell(f"{run}: given back, since git nexus resume ended before the run did: {last_error_lines(text)}")
        lease.beat(self._progress_pushes(open_run))
        lease.publish([])
        self._count_failed(run, queued, last_error_lines(text))

    def _count_failed(self, run: str, queued: str, why: str) -> None:
        self._failed[run] = self._failed.get(run, 0) + 1
        if self._failed[run] >= _MOST_FAILED or self.once:
            self._refused[run] = queued
            self.given_up[run] = why
            self.tell(f"{run} stays in the queue: it failed here{'' if self.once else f' {_MOST_FAILED} times'}")

    def _open_ordered_run(self, order: RunOrder, found: OrderProgress | None = None) -> OpenRun:
        """Return the run, started here or continued from its log. Raises: NexusError."""
        repo, run = self.state.repo, order.run()
        found = found or find_order_progress(self.state, self.remote, order)
        open_run = OpenRun(self.state, run)
        write_agreement(open_run.noted, run.id, run.definition, "order")  # its signature was checked
        if not found.events:
            return create_run(self.state, run, parse_definition(order.workflow))
        self._record_run(order)
        if found.commit:
            argv = ("update-ref", "--no-deref", "--create-reflog", "-m", "worker", f"{LOGS}{run.id}", found.commit)
            change_refs(*argv, git_dir=repo.common_dir)
            if update_log_from_ref(repo.common_dir, self.state.objects, run, open_run.head_file):
                take_over_run(open_run)
        return open_run

    def _record_run(self, order: RunOrder) -> None:
        path = record_path(order.id)

        def decide(snapshot: Snapshot) -> Change[None]:
            known = snapshot.read(path) is not None
            return Change({} if known else {path: order.run().to_bytes()}, f"runs: begin {order.id}", None)

        self.state.transact(decide)

    def _drive_in_subprocess(self, run: OpenRun, lease: RunLease, order: RunOrder) -> int | None:
        """Drive the run in a subprocess with heartbeats; return its exit status, None if the lease was lost."""
        argv = [sys.executable, "-m", "gitnexus", "-C", str(run.repo.folder), "resume", run.record.id, "--unattended"]
        argv += ["--network", order.network] if order.network else []
        if lease.beat(self._progress_pushes(run)) == "lost":  # publish the start before anything is done
            return None
        with (run.folder / DRIVER_LOG).open("wb") as log:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/")
        try:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    return child.wait(self.lease / 4)
                if lease.beat(self._progress_pushes(run)) == "lost":
                    return None
        finally:
            if child.poll() is None:
                child.terminate()
                child.wait()

    def _progress_pushes(self, run: OpenRun) -> list[Push]:
        """Return the refs to push for the run's progress: its log, and the branch at the commit in that log."""
        with contextlib.suppress(NexusError):  # the driver may be writing: next time
            run.write_checkpoint()
        kept = load_checkpoint(self.state.objects, run.record.id)
        if kept is None:
            return []
        events = [link.event for link in walk_chain(kept.raw(), run.record.id)]
        made = [str(event.body["commit"]) for event in events if event.kind == "run.committed"]
        return [Push(f"{LOGS}{run.record.id}", kept.commit), Push(run.branch, made[-1] if made else run.record.base)]

    def _publish_result(self, run: OpenRun, lease: RunLease, queued: str) -> bool:
        result = [*self._progress_pushes(run), Push(f"{QUEUE}{run.record.id}", None, queued)]
        while (held := lease.publish(result)) == "unreachable":
            self.tell(f"{run.record.id}: {self.remote.shown} does not answer; its result is kept")
            time.sleep(self.poll * (0.5 + random_fraction()))
        return held == "held"

    def _sync_state(self) -> None:
        """Sync the state: publish the run's record, and receive policy, approvers and answers."""
        remote = replace(self.remote, kinds=frozenset({"state"}), way="both")
        try:
            sync_with_remote(self.state, remote, SyncOptions())
        except NexusError as exc:
            self.tell(f"the state is not synced yet: {exc.message}")
        # Every fetch leaves a pack, and on a machine with only a worker nothing else repacks them.
        git_run("maintenance", "run", "--auto", "--quiet", git_dir=self.state.repo.common_dir)


def last_error_lines(text: str) -> str:
    """Return the last error of a command with its hint, else its last line."""
    lines = [line for line in text.splitlines() if line.strip()]
    at = max((number for number, line in enumerate(lines) if line.startswith("error: ")), default=len(lines) - 1)
    said = [line.removeprefix("error: ").removeprefix("hint: ") for line in lines[max(at, 0) :][:2]]
    return one_line("; ".join(said), 600) or "it printed nothing"


def _why_not_startable(order: RunOrder, found: OrderProgress) -> str:
    """Return why a run can neither be started nor continued."""
    if found.why or found.events or not order.after:
        return found.why
    missing = f"it continues after event {order.after} of a log that is not on the server"
    return f"{missing}: run git nexus sync in the clone that has it"


def _why_nothing_to_drive(order: RunOrder, found: OrderProgress) -> str:
    """Return why nothing is left to drive for an order, "" if something is. Raises: Failed."""
    # An answer on this machine while we hold the run does not use up the order.
    return why_order_done(order.changed(after=None) if found.ours else order, found.events) if found.events else ""
