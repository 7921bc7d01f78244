"""Claim a task: one of many gets it, for a time."""

import re
from datetime import datetime, timedelta

from gitnexus.backlog.decision import Decision, touched
from gitnexus.backlog.lease import Claim
from gitnexus.backlog.model import BacklogTask
from gitnexus.backlog.store import Backlog
from gitnexus.backlog.tasks import Tasks
from gitnexus.backlog.who import Claimant
from gitnexus.base import chance
from gitnexus.base.clock import stamp
from gitnexus.base.errors import Busy, Invalid, NotFound

DEFAULT_TTL = "1h"
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_LONGEST = 30 * 86_400


def claim(
    backlog: Backlog,
    task_id: str,
    ttl: timedelta,
    who: Claimant | None = None,
    *,
    renew: bool = False,
    force: bool = False,
) -> BacklogTask:
    """Claim a task, as whoever calls if nobody is named. Raises: Busy, Invalid, NotFound."""
    name, token = who or backlog.claimant(), chance.token(16)
    return backlog.change(
        lambda tasks: claimed(tasks, task_id, name, ttl, backlog.clock(), token, renew=renew, force=force)
    )


def release(backlog: Backlog, task_id: str, who: Claimant | None = None, *, force: bool = False) -> BacklogTask:
    """Let a task go. Raises: Busy, NotFound."""
    name = who or backlog.claimant()
    return backlog.change(lambda tasks: released(tasks, task_id, name, backlog.clock(), force=force))


def claimed(
    tasks: Tasks,
    task_id: str,
    who: Claimant,
    ttl: timedelta,
    now: datetime,
    token: str,
    *,
    renew: bool = False,
    force: bool = False,
) -> Decision[BacklogTask]:
    """Return the task claimed until `ttl` from now. Raises: Busy while somebody else has it, Invalid, NotFound."""
    task = tasks.task(task_id)
    if not task.is_open:
        raise Invalid(f"{task.id} is {task.status}, there is nothing left to claim")
    held = task.claim if task.claim is not None and task.claim.holds(now) else None
    mine = held is not None and held.by == who.name and (who.is_agent or renew)
    if held is not None and not mine and not force:
        raise _taken(task, held, who)
    if held is None and renew:
        raise NotFound(f"{task.id} is not claimed", hint=f"git nexus task claim {task.id} takes it")
    lease = Claim(by=who.name, until=stamp(now + ttl), token=held.token if held is not None and mine else token)
    after = touched(task, now, claim=lease)
    return Decision([after], f"backlog: claim {task.id} for {who.name}", after)


def released(tasks: Tasks, task_id: str, who: Claimant, now: datetime, *, force: bool = False) -> Decision[BacklogTask]:
    """Return the task free again. Raises: Busy if it is somebody else's, NotFound if nobody has it."""
    task = tasks.task(task_id)
    held = task.claim
    if held is None:
        raise NotFound(f"{task.id} is not claimed")
    if held.holds(now) and held.by != who.name and not force:
        raise _taken(task, held, who)
    return Decision([after := touched(task, now, claim=None)], f"backlog: release {task.id}", after)


def duration(text: str) -> timedelta:
    """Return the time that `90s`, `30m`, `2h` or `1d` means. Raises: Invalid."""
    found = re.fullmatch(r"([0-9]{1,7})([smhd])", text.strip())
    seconds = int(found[1]) * _UNITS[found[2]] if found else 0
    if not 0 < seconds <= _LONGEST:
        raise Invalid(f"{text[:40]!r} is no time to hold a claim", hint="write 90s, 30m, 2h or 1d; 30d is the longest")
    return timedelta(seconds=seconds)


def _taken(task: BacklogTask, held: Claim, who: Claimant) -> Busy:
    same = held.by == who.name
    return Busy(
        f"{task.id} is claimed by {held.by} until {held.until}",
        hint=f"if that is you: git nexus task claim {task.id} --renew" if same else "take another: git nexus task next",
        context={"by": held.by, "until": held.until},
    )
