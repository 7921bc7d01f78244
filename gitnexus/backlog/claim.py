"""Claims a task for a limited time, so that only one worker has it, and releases it."""

import re
from datetime import datetime, timedelta

from gitnexus.backlog.claimant import Claimant
from gitnexus.backlog.decision import BacklogDecision, revised_task
from gitnexus.backlog.lease import TaskClaim
from gitnexus.backlog.model import BacklogTask
from gitnexus.backlog.store import Backlog
from gitnexus.backlog.tasks import Tasks
from gitnexus.base import randomness
from gitnexus.base.clock import format_timestamp
from gitnexus.base.errors import Busy, Invalid, NotFound

DEFAULT_TTL = "1h"
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_LONGEST = 30 * 86_400


def claim_task(
    backlog: Backlog,
    task_id: str,
    ttl: timedelta,
    who: Claimant | None = None,
    *,
    renew: bool = False,
    force: bool = False,
) -> BacklogTask:
    """Claim a task, for the caller if nobody is named. Raises: Busy, Invalid, NotFound."""
    name, token = who or backlog.claimant(), randomness.random_hex(16)
    return backlog.change(
        lambda tasks: decide_claim(tasks, task_id, name, ttl, backlog.clock(), token, renew=renew, force=force)
    )


def release_task(backlog: Backlog, task_id: str, who: Claimant | None = None, *, force: bool = False) -> BacklogTask:
    """Release a claimed task. Raises: Busy, NotFound."""
    name = who or backlog.claimant()
    return backlog.change(lambda tasks: decide_release(tasks, task_id, name, backlog.clock(), force=force))


def decide_claim(
    tasks: Tasks,
    task_id: str,
    who: Claimant,
    ttl: timedelta,
    now: datetime,
    token: str,
    *,
    renew: bool = False,
    force: bool = False,
) -> BacklogDecision[BacklogTask]:
    """Return the task, claimed for `ttl` from now. Raises: Busy while somebody else has it, Invalid, NotFound."""
    task = tasks.task(task_id) if force and not renew else _claimed_as(tasks, task_id, who, None if renew else now)
    if not task.is_open:
        raise Invalid(f"{task.id} is {task.status}, there is nothing left to claim")
    held = task.claim if task.claim is not None and task.claim.holds(now) else None
    mine = held is not None and held.by == who.name and (who.is_agent or renew)
    if held is not None and not mine and not force:
        raise _claimed_error(task, held, who, tasks.task(task_id))
    if held is None and renew:
        raise NotFound(f"{task.id} is not claimed", hint=f"git nexus task claim {task.id} takes it")
    lease = TaskClaim(
        by=who.name, until=format_timestamp(now + ttl), token=held.token if held is not None and mine else token
    )
    after = revised_task(task, now, claim=lease)
    return BacklogDecision([after], f"backlog: claim {task.id} for {who.name}", after)


def decide_release(
    tasks: Tasks, task_id: str, who: Claimant, now: datetime, *, force: bool = False
) -> BacklogDecision[BacklogTask]:
    """Return the task without its claim. Raises: Busy if somebody else has it, NotFound if it is not claimed."""
    task = _claimed_as(tasks, task_id, who)
    held = task.claim
    if held is None:
        raise NotFound(f"{task.id} is not claimed")
    if held.holds(now) and held.by != who.name and not force:
        raise _claimed_error(task, held, who, task)
    return BacklogDecision([after := revised_task(task, now, claim=None)], f"backlog: release {task.id}", after)


def _claimed_as(tasks: Tasks, task_id: str, who: Claimant, now: datetime | None = None) -> BacklogTask:
    """Return the task that was claimed under an id; a sync may have renumbered it since.

    With `now`, a claim that has expired by then does not count.
    """

    def is_theirs(task: BacklogTask | None) -> bool:
        claim = task.claim if task is not None else None
        return claim is not None and claim.by == who.name and (now is None or claim.holds(now))

    task, before = tasks.task(task_id), tasks.once(task_id)
    return before if before is not None and is_theirs(before) and not is_theirs(task) else task


def parse_claim_duration(text: str) -> timedelta:
    """Return the time that `90s`, `30m`, `2h` or `1d` means. Raises: Invalid."""
    found = re.fullmatch(r"([0-9]{1,7})([smhd])", text.strip())
    seconds = int(found[1]) * _UNITS[found[2]] if found else 0
    if not 0 < seconds <= _LONGEST:
        raise Invalid(
            f"{text[:40]!r} is not a valid time for a claim", hint="write 90s, 30m, 2h or 1d; 30d is the longest"
        )
    return timedelta(seconds=seconds)


def _claimed_error(task: BacklogTask, held: TaskClaim, who: Claimant, namesake: BacklogTask) -> Busy:
    hint = "take another: git nexus task next"
    if held.by == who.name:
        hint = f"if that is you: git nexus task claim {task.id} --renew"
    if namesake is not task:  # a sync gave its number to another task
        hint += f"; the task that is {namesake.id} now: git nexus task claim {namesake.id} --force"
    return Busy(
        f"{task.id} is claimed by {held.by} until {held.until}", hint=hint, context={"by": held.by, "until": held.until}
    )
