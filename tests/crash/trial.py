"""One trial: a command is struck at one change, called again, and everything that must hold is looked at."""

import errno
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.crash.injector import Fault, Outcome
from tests.crash.power import cut_power, durable_files
from tests.crash.scenes import Scene, look_at
from tests.crash.stage import Stage

# It takes longer than all the rest together.
_DOCTOR_EVERY = 9
_BUG = ("E_BUG", "Traceback", "has a bug")
_REASON = {Fault.NO_SPACE: errno.ENOSPC, Fault.FULL: errno.ENOSPC, Fault.IO_ERROR: errno.EIO}


@dataclass
class Prepared:
    """A scene ready to be struck: its command, its template, and what an undisturbed one comes to."""

    scene: Scene
    argv: tuple[str, ...]
    template: Path
    points: int
    ends: tuple[int | None, int | None]  # how the command ends the first and the second time
    looks: list[Any] = field(default_factory=list)  # before, after the command, after it was called twice
    doctor: Any = None
    changes: list[str] = field(default_factory=list)

    def numbers(self, *, terse: bool = False) -> list[int]:
        """Return the numbers of all changes; `terse`: of objects that are written in a row only the first."""
        if not terse:
            return list(range(1, self.points + 1))
        numbers, names = [], list[str]()
        for number, change in enumerate(self.changes, start=1):
            if "/objects/" not in change:
                names = []
            elif (operation := change.split()[0]) in names:
                continue
            else:
                names.append(operation)
            numbers.append(number)
        return numbers


def prepare(stage: Stage, scene: Scene) -> Prepared:
    """Make the template of a scene, and call its command undisturbed: the number of its changes is counted."""
    argv = tuple(scene.prepare(stage))
    template = stage.keep(scene.name.replace(" ", "-"))
    looks = [look_at(stage)]
    first = stage.injector.run(argv, stage.repo, trace=True)
    assert first.status == scene.status, str(first)
    changes = [line.split(" ", 2)[2] for line in stage.injector.log.read_text().splitlines()]
    looks.append(look_at(stage))
    doctor = _doctor(stage)
    second = stage.injector.run(argv, stage.repo)
    looks.append(look_at(stage))
    return Prepared(scene, argv, template, first.changes, (first.status, second.status), looks, doctor, changes)


def try_point(stage: Stage, prepared: Prepared, fault: Fault, number: int) -> tuple[Outcome, list[str]]:
    """Strike the command at change `number`; return how it ended, and each thing that does not hold."""
    stage.restore(prepared.template)
    before = durable_files(stage.root, prepared.template) if fault is Fault.POWER else {}
    struck = stage.struck(prepared.argv, fault, number)
    if fault is Fault.POWER:
        cut_power(stage.root, before, stage.injector.synced)
    try:
        return struck, list(_violations(stage, prepared, fault, number, struck))
    except AssertionError as exc:
        return struck, [f"what was looked at afterwards failed: {exc}"]


def _violations(stage: Stage, prepared: Prepared, fault: Fault, number: int, struck: Outcome) -> Iterator[str]:
    yield from _wrong_end(prepared, fault, struck)
    looks = prepared.looks
    if struck.status == prepared.scene.status and (now := look_at(stage)) != looks[1]:
        yield f"it said that it is done, and it is not: {_difference(now, looks[1])}"
    if prepared.scene.atomic and (now := look_at(stage)) not in looks[:2]:
        yield f"neither done nor not done: {_difference(now, looks[1])}"
    _let_a_minute_pass(stage)
    again = stage.injector.run(prepared.argv, stage.repo)
    if again.status not in prepared.ends:
        yield f"called again: {again}"
    prepared.scene.settle(stage)
    now = look_at(stage)
    if now not in looks[1:]:
        yield f"called again, it comes to something else: {_difference(now, looks[1])}: {again}"
    yield from _damage(stage)
    if number % _DOCTOR_EVERY == 0 and (doctor := _doctor(stage)) != prepared.doctor:
        yield f"doctor: {[row for row in doctor if row not in prepared.doctor]}"


def _wrong_end(prepared: Prepared, fault: Fault, struck: Outcome) -> Iterator[str]:
    said = struck.out + struck.err
    if struck.status is None:
        yield f"it hangs: {struck}"
    if struck.status == 99 or any(word in said for word in _BUG):
        yield f"it took the fault for a bug of its own: {struck}"
    elif struck.struck and (number := _REASON.get(fault)) and struck.status != prepared.scene.status:
        # git does not always tell why it could not write; then its own words must be passed on.
        if struck.status not in (1, *prepared.scene.refusals) or not (
            os.strerror(number) in said or (struck.in_child and "git" in said)
        ):
            yield f"it does not name the error of the system, status 1: {struck}"
    elif fault is Fault.KILL_ONE and struck.status not in (prepared.scene.status, 1, -9, *prepared.scene.refusals):
        yield f"a process of it was killed: {struck}"


def _damage(stage: Stage) -> Iterator[str]:
    for place in (stage.repo, stage.hub):
        if place.exists():
            left = [str(path.relative_to(place)) for path in _git_locks(place)]
            if left:
                yield f"locks of git are left in {place.name}: {left}"
            done = stage.try_git("fsck", "--strict", "--no-dangling", "--no-progress", cwd=place)
            if done.returncode or done.stdout or done.stderr:
                yield f"git fsck in {place.name}: {done.returncode} {done.stdout}{done.stderr}"


def _let_a_minute_pass(stage: Stage) -> None:
    """Make the locks on the server old: others may share its disk, and a young lock there may be one of theirs."""
    for path in _git_locks(stage.hub) if stage.hub.exists() else ():
        if path.name.removesuffix(".lock") in stage.git("for-each-ref", cwd=stage.hub) or "queue" not in path.parts:
            os.utime(path, (time.time() - 120,) * 2)
        else:
            path.unlink()  # on a ref with a name that nobody will ever choose again: it is in nobody's way


def _git_locks(place: Path) -> list[Path]:
    """Return the lock files that keep git from changing a ref, the index or the settings."""
    folder = place / ".git" if (place / ".git").is_dir() else place
    return [path for path in folder.rglob("*.lock") if path.relative_to(folder).parts[0] != "nexus"]


def _doctor(stage: Stage) -> list[tuple[str, str, str]]:
    findings = stage.injector.run(("doctor", "--json"), stage.repo)
    rows = json.loads(findings.out)["findings"]
    return [(row["check"], row["state"], "" if row["state"] == "ok" else str(row)) for row in rows]


def _difference(now: Any, wanted: Any) -> str:
    return "; ".join(f"{key} {now[key]!r}, not {wanted[key]!r}" for key in now if now[key] != wanted[key])
