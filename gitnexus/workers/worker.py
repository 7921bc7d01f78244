"""A worker: takes runs from a server's queue, carries each out in its own worktree, and publishes what came of it.

The server's own refs decide who has a run. A claim that did not move for the length of a lease, by this worker's own
clock, belongs to a dead one and is taken over; the run goes on where its published log ends.
"""

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from gitnexus.app.across import brought, known
from gitnexus.app.arrive import LEASED, brought_up
from gitnexus.app.lease import Lease
from gitnexus.app.orderlog import Progress, progress_of
from gitnexus.app.origin import keep_agreement, keep_order_done, orders_done
from gitnexus.app.queue import order_at
from gitnexus.app.rundesk import RunDesk, definition_in, notes_folder
from gitnexus.app.running import began, recorded, taken_over
from gitnexus.app.sync import Asked, synced
from gitnexus.app.wire import Wire
from gitnexus.base.chance import fraction
from gitnexus.base.clock import now
from gitnexus.base.errors import ApprovalNeeded, Failed, NexusError
from gitnexus.base.text import one_line
from gitnexus.events.chain import walk
from gitnexus.events.checkpoint import load
from gitnexus.git.branches import tip
from gitnexus.git.child import run as git_run
from gitnexus.git.exchange import Order as Push
from gitnexus.git.exchange import Unreachable
from gitnexus.policy.signed import Signed
from gitnexus.runs.archive import LOGS
from gitnexus.runs.model import ENDED, Run
from gitnexus.runs.order import CLAIMS, QUEUE, Order
from gitnexus.runs.spent import why_spent
from gitnexus.runs.store import path_of
from gitnexus.state import Change, Snapshot, State
from gitnexus.state.format import id_of

Tell = Callable[[str], None]
DRIVER_LOG = "driver.log"
_MOST_FAILED = 3


@dataclass(slots=True)
class Worker:
    """Who works: its name, what it has, and how patient it is, in seconds."""

    state: State
    wire: Wire
    name: str
    labels: frozenset[str]
    tell: Tell
    lease: float = 60.0
    poll: float = 5.0
    drain: bool = False
    once: bool = False
    done: list[str] = field(default_factory=list)
    _seen: dict[str, tuple[str, float]] = field(default_factory=dict)
    _refused: dict[str, str] = field(default_factory=dict)
    _failed: dict[str, int] = field(default_factory=dict)

    def work(self) -> None:
        """Carry runs out until there are none, if that was asked for, else for ever. Raises: NexusError."""
        while True:
            there = self._listed()
            if there is not None:
                found = self._taken(there)
                if found is not None:
                    self._carried_out(*found)
                    if self.once:
                        return
                    continue
                if self.drain and not any(ref.removeprefix(QUEUE) in self._wanted(there) for ref in there):
                    return
                if self.once and not self.drain:
                    return
            time.sleep(self.poll * (0.5 + fraction()))

    def _listed(self) -> dict[str, str] | None:
        try:
            return known(self.state.repo, self.wire, [QUEUE, CLAIMS])
        except Unreachable as exc:
            self.tell(exc.message)
            return None

    def _wanted(self, there: dict[str, str]) -> set[str]:
        """Return the runs in the queue that are not known to be none of ours."""
        runs = {ref.removeprefix(QUEUE): oid for ref, oid in there.items() if ref.startswith(QUEUE)}
        return {run for run, oid in runs.items() if self._refused.get(run) != oid}

    def _taken(self, there: dict[str, str]) -> tuple[Lease, Order, str] | None:
        """Return the first run that we get, with the commit of its order; None if there is none for us now."""
        at = time.monotonic()
        for run in self._in_turn(sorted(self._wanted(there))):
            claim = there.get(f"{CLAIMS}{run}", "")
            seen, since = self._seen.get(run, ("", at))
            if claim and (seen != claim or at - since < self.lease):
                self._seen[run] = (claim, since if seen == claim else at)
                continue
            with contextlib.suppress(Unreachable):
                order = self._fitting(run, there[f"{QUEUE}{run}"], is_claimed=bool(claim))
                if order is None:
                    continue
                lease = Lease(self.state, self.wire, run, self.name)
                if lease.claimed(claim):
                    self.tell(f"{run}: {'taken over' if claim else 'taken'}: {order.title}")
                    return lease, order, there[f"{QUEUE}{run}"]
        return None

    def _in_turn(self, runs: list[str]) -> Iterator[str]:
        """Yield the oldest few in any order, so that many workers do not all reach for the same."""
        while runs:
            yield runs.pop(int(fraction() * (min(len(runs), 8) - 0.001)))

    def _fitting(self, run: str, oid: str, *, is_claimed: bool) -> Order | None:
        """Return an order that is for us, signed by who may. Raises: Unreachable."""
        ref = f"{QUEUE}{run}"
        if tip(self.state.repo, self.wire.tracking(ref)) != oid:
            brought(self.state.repo, self.wire, [ref])
        try:
            order = order_at(self.state, self.wire.tracking(ref))
            if not set(order.labels) <= self.labels:
                self._refused[run] = oid
                return None
            snapshot = self.state.latest()
            order.check(id_of(snapshot) or "", Signed(snapshot, self.state.repo.common_dir).consented(), now())
            self._refuse_done(order, snapshot, is_claimed=is_claimed)
        except Unreachable:
            raise
        except NexusError as exc:
            self.tell(f"{run} is left in the queue: {exc.message}")
            self._refused[run] = oid
            return None
        return order

    def _refuse_done(self, order: Order, snapshot: Snapshot, *, is_claimed: bool) -> None:
        """Refuse an order that was carried out, or of which nobody can tell how far it is. Raises: Failed.

        Whoever takes over the claim of a dead worker looks again then, and brings the order to its end.
        """
        found = progress_of(self.state, self.wire, order)
        if found.ours:
            return
        raw = snapshot.read(path_of(order.id))
        ended = raw is not None and Run.from_bytes(raw, path_of(order.id)).status in ENDED
        if ended or order.digest() in orders_done(notes_folder(self.state), order.id):
            raise Failed("it was carried out already")
        why = _why_left(order, found) or _why_rests(order, found)
        if why and not is_claimed:
            raise Failed(why)

    def _carried_out(self, lease: Lease, order: Order, queued: str) -> None:
        try:
            found = progress_of(self.state, self.wire, order)
            if why := _why_left(order, found):
                self.tell(f"{order.id} is left in the queue: {why}")
                self._refused[order.id] = queued
                lease.publish([])
                return
            if self._worked(lease, order, queued, found):
                return
        except NexusError as exc:
            # An orphan of ours may still work on it, or the server be gone: the claim runs out, and somebody takes it.
            self.tell(f"{order.id}: {exc.message}")
            if isinstance(exc, Failed) and not isinstance(exc, Unreachable):
                self._count_failed(order.id, queued)  # the server takes no such thing: asking for ever helps nobody
            return
        self.tell(f"{order.id}: the lease is lost; another worker has it, and nothing was published")

    def _worked(self, lease: Lease, order: Order, queued: str, found: Progress) -> bool:
        """Bring a run on and publish it, or give it back; False if we lost it. Raises: NexusError."""
        desk = self._arrived(order, found)
        mark = desk.folder / LEASED
        mark.write_text(self.name + "\n", encoding="utf-8")
        if why := _why_rests(order, found):
            self.tell(f"{order.id}: {why}")  # the worker before died with it done: only that has to be published
            recorded(desk)
        elif (ended := self._driven(desk, lease, order)) is None:
            return False
        else:
            status = desk.view().status
            if status not in ENDED and not (ended == ApprovalNeeded.code and status != "running"):
                self._given_back(desk, lease, queued)
                return True
        if not self._published(desk, lease, queued):
            return False
        keep_order_done(desk.noted, order.id, order.digest())
        mark.unlink(missing_ok=True)
        self.done.append(order.id)
        self.tell(f"{order.id}: published, {desk.view().status}")
        self._share()
        return True

    def _given_back(self, desk: RunDesk, lease: Lease, queued: str) -> None:
        """Let go of a run whose driver ended before the run did; after three times it is left to other workers."""
        run = desk.run.id
        text = (desk.folder / DRIVER_LOG).read_text(encoding="utf-8", errors="replace")
        self.tell(f"{run}: given back, since git nexus resume ended before the run did: {last_words(text)}")
        lease.beat(self._progress(desk))
        lease.publish([])
        self._count_failed(run, queued)

    def _count_failed(self, run: str, queued: str) -> None:
        self._failed[run] = self._failed.get(run, 0) + 1
        if self._failed[run] >= _MOST_FAILED:
            self._refused[run] = queued

    def _arrived(self, order: Order, found: Progress | None = None) -> RunDesk:
        """Return the run, begun here or as its log left it, here or there. Raises: NexusError."""
        repo, run = self.state.repo, order.run()
        found = found or progress_of(self.state, self.wire, order)
        desk = RunDesk(self.state, run)
        keep_agreement(desk.noted, run.id, run.definition, "order")  # its signature was checked
        if not found.events:
            return began(self.state, run, definition_in(order.workflow))
        self._recorded(order)
        if found.commit:
            argv = ("update-ref", "--no-deref", "--create-reflog", "-m", "worker", f"{LOGS}{run.id}", found.commit)
            git_run(*argv, git_dir=repo.common_dir)
            if brought_up(repo.common_dir, self.state.objects, run, desk.head_file):
                taken_over(desk)
        return desk

    def _recorded(self, order: Order) -> None:
        path = path_of(order.id)

        def decide(snapshot: Snapshot) -> Change[None]:
            known = snapshot.read(path) is not None
            return Change({} if known else {path: order.run().to_bytes()}, f"runs: begin {order.id}", None)

        self.state.transact(decide)

    def _driven(self, desk: RunDesk, lease: Lease, order: Order) -> int | None:
        """Let a process of its own drive the run, say that we live, and return how it left; None without a lease."""
        argv = [sys.executable, "-m", "gitnexus", "-C", str(desk.repo.place), "resume", desk.run.id, "--unattended"]
        argv += ["--network", order.network] if order.network else []
        if lease.beat(self._progress(desk)) == "lost":  # that it began is known before anything is done
            return None
        with (desk.folder / DRIVER_LOG).open("wb") as log:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/")
        try:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    return child.wait(self.lease / 4)
                if lease.beat(self._progress(desk)) == "lost":
                    return None
        finally:
            if child.poll() is None:
                child.terminate()
                child.wait()

    def _progress(self, desk: RunDesk) -> list[Push]:
        """Return how far the run is, as refs to push: a log, and the branch as that very log tells it."""
        with contextlib.suppress(NexusError):  # the driver may be at it: next time
            desk.checkpointed()
        kept = load(self.state.objects, desk.run.id)
        if kept is None:
            return []
        events = [link.event for link in walk(kept.raw(), desk.run.id)]
        made = [str(event.body["commit"]) for event in events if event.kind == "run.committed"]
        return [Push(f"{LOGS}{desk.run.id}", kept.commit), Push(desk.branch, made[-1] if made else desk.run.base)]

    def _published(self, desk: RunDesk, lease: Lease, queued: str) -> bool:
        result = [*self._progress(desk), Push(f"{QUEUE}{desk.run.id}", None, queued)]
        while (held := lease.publish(result)) == "unreachable":
            self.tell(f"{desk.run.id}: {self.wire.shown} does not answer; what came of it is kept")
            time.sleep(self.poll * (0.5 + fraction()))
        return held == "held"

    def _share(self) -> None:
        """Give the record of the run to everybody, and take in what they have: policy, approvers, answers."""
        wire = replace(self.wire, kinds=frozenset({"state"}), way="both")
        try:
            synced(self.state, wire, Asked())
        except NexusError as exc:
            self.tell(f"the state is not synced yet: {exc.message}")
        # Every fetch leaves a pack, and where only a worker works nobody else puts them together.
        git_run("maintenance", "run", "--auto", "--quiet", git_dir=self.state.repo.common_dir)


def last_words(text: str) -> str:
    """Return what a command said last: its error with the hint below it, else its last line."""
    lines = [line for line in text.splitlines() if line.strip()]
    at = max((number for number, line in enumerate(lines) if line.startswith("error: ")), default=len(lines) - 1)
    said = [line.removeprefix("error: ").removeprefix("hint: ") for line in lines[max(at, 0) :][:2]]
    return one_line("; ".join(said), 600) or "it said nothing"


def _why_left(order: Order, found: Progress) -> str:
    """Return why a run can neither be begun nor gone on with."""
    if found.why or found.events or not order.after:
        return found.why
    return f"it is to go on after event {order.after} of a log that is not on the server: git nexus sync where it is"


def _why_rests(order: Order, found: Progress) -> str:
    """Return why nothing is to be driven for an order, nothing if something is. Raises: Failed."""
    # Whoever answers at this machine while we hold the run takes nothing away from the order.
    return why_spent(order.changed(after=None) if found.ours else order, found.events) if found.events else ""
