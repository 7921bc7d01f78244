"""The audit: what is written down, in which form, and what happens when it cannot be."""

import json
import os
import traceback
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from gitnexus.base.errors import Failed, Invalid, PermissionDenied
from gitnexus.projects.audit import read_audit
from gitnexus.projects.granting import grant_permission
from gitnexus.projects.levels import Level
from gitnexus.projects.model import Project
from gitnexus.projects.open_registry import open_standpoint
from gitnexus.projects.operations import Operation
from gitnexus.state.home import home_folder
from tests.conftest import Nexus
from tests.projects.conftest import TODAY, World


@pytest.fixture
def pair(world: World) -> tuple[Project, Project]:
    return world.begin_with("a pair with a grant", _pair)


def _pair(world: World) -> tuple[Project, Project]:
    one, two = world.registered("my-api"), world.registered("auth-lib", T456="x")
    grant_permission(world.home, one, two, Level.WRITE, "")
    return one, two


def lines(world: World) -> list[dict[str, object]]:
    return [line.plain() for line in read_audit(world.home.latest(), 1000).lines]


def test_a_write_is_written_down_in_the_form_of_the_specification(world: World, pair: tuple[Project, Project]) -> None:
    world.standpoint(Path(pair[0].path)).require_permission(Operation.UPDATE, pair[1], "T456")

    raw = world.home.latest().read("audit/2026-02.0001.log")
    assert raw is not None
    assert raw.count(b"\n") == 1
    assert json.loads(raw) == {
        "timestamp": "2026-02-01T12:00:00Z",
        "operation": "git nexus task update",
        "fromProject": pair[0].hash,
        "toProject": pair[1].hash,
        "taskRef": f"{pair[1].hash}:T456",
        "permissionRequired": "write",
        "permissionGranted": "write",
        "result": "allowed",
    }
    assert world.commits()[0] == "audit: my-api allowed task update on auth-lib"


def test_denials_are_written_down_of_every_level_and_also_of_nobody(
    world: World, pair: tuple[Project, Project]
) -> None:
    grant_permission(world.home, *reversed(pair), Level.NONE, "")  # type: ignore[call-arg]
    for place, operation in (
        (Path(pair[0].path), Operation.COMPLETE),
        (Path(pair[1].path), Operation.SHOW),
        (None, Operation.UPDATE),
    ):
        target = pair[0] if operation is Operation.SHOW else pair[1]
        with pytest.raises(PermissionDenied):
            world.standpoint(place).require_permission(operation, target)

    told = [
        (line["fromProject"], line["operation"], line["permissionGranted"], line["result"]) for line in lines(world)
    ]
    assert told == [
        (None, "git nexus task update", "read", "denied"),
        (pair[1].hash, "git nexus show", "none", "denied"),
        (pair[0].hash, "git nexus task complete", "write", "denied"),
    ]


def test_reads_and_work_on_the_own_project_are_not_written_down(world: World, pair: tuple[Project, Project]) -> None:
    standpoint = world.standpoint(Path(pair[0].path))

    standpoint.require_permission(Operation.SHOW, pair[1], "T456")
    standpoint.require_permission(Operation.DELETE, pair[0], "T1")

    assert lines(world) == []


def test_reads_are_written_down_where_that_is_asked_for(world: World, pair: tuple[Project, Project]) -> None:
    world.standpoint(Path(pair[0].path), audit_reads=lambda: True).require_permission(Operation.SHOW, pair[1], "T456")

    assert [(line["operation"], line["result"]) for line in lines(world)] == [("git nexus show", "allowed")]


@pytest.mark.parametrize("whose", ["project", "user"])
def test_project_and_user_can_both_ask_for_reads(world: World, pair: tuple[Project, Project], whose: str) -> None:
    asked, silent = b'{"audit": {"reads": true}}', b'{"audit": {"reads": false}}'
    (home_folder() / "settings.json").write_bytes(asked if whose == "user" else silent)
    (Path(pair[0].path) / ".nexus").mkdir()
    (Path(pair[0].path) / ".nexus" / "settings.json").write_bytes(asked if whose == "project" else silent)

    open_standpoint(Path(pair[0].path)).require_permission(Operation.SHOW, pair[1], "T456")

    assert len(lines(world)) == 1


def test_a_setting_of_the_wrong_kind_is_said_and_nothing_is_read(world: World, pair: tuple[Project, Project]) -> None:
    (home_folder() / "settings.json").write_text('{"audit": {"reads": "yes"}}')

    with pytest.raises(Invalid, match=r"audit\.reads should be true or false"):
        open_standpoint(Path(pair[0].path)).require_permission(Operation.SHOW, pair[1], "T456")


@pytest.fixture
def held_lock(world: World, pair: tuple[Project, Project]) -> Iterator[None]:
    """A lock on the home ref that a living process holds."""
    with world.home.ref_lock_file().open("w"):
        yield


@pytest.mark.usefixtures("held_lock")
def test_a_write_that_cannot_be_audited_is_refused(world: World, pair: tuple[Project, Project]) -> None:
    with pytest.raises(Failed, match="task update on auth-lib is refused: it cannot be audited") as refused:
        world.standpoint(Path(pair[0].path)).require_permission(Operation.UPDATE, pair[1], "T456")

    assert refused.value.code == 1


@pytest.mark.usefixtures("held_lock")
def test_a_denial_that_cannot_be_audited_is_still_a_denial(world: World, pair: tuple[Project, Project]) -> None:
    with pytest.raises(PermissionDenied):
        world.standpoint(Path(pair[0].path)).require_permission(Operation.DELETE, pair[1], "T456")


@pytest.mark.usefixtures("held_lock")
def test_a_read_does_not_fail_because_its_time_cannot_be_noted(world: World, pair: tuple[Project, Project]) -> None:
    world.standpoint(Path(pair[0].path), now=TODAY + timedelta(days=1)).require_permission(
        Operation.SHOW, pair[1], "T456"
    )


def test_a_full_file_is_followed_by_the_next_and_the_order_stays(world: World, pair: tuple[Project, Project]) -> None:
    filler = b'{"old": "line"}\n' * 2100
    world.put({"audit/2026-02.0001.log": filler, "audit/2026-01.0001.log": b'{"older": "line"}\n'})
    standpoint = world.standpoint(Path(pair[0].path))

    for task in ("T1", "T2"):
        standpoint.require_permission(Operation.UPDATE, pair[1], task)

    told = read_audit(world.home.latest(), 1)
    assert world.home.snapshot.names("audit") == ["2026-01.0001.log", "2026-02.0001.log", "2026-02.0002.log"]
    assert world.home.snapshot.read("audit/2026-02.0001.log") == filler
    assert [line.task_ref for line in told.lines] == [f"{pair[1].hash}:T2"]
    assert (told.more, told.unreadable) == (1, 2101)


def test_a_line_that_was_cut_off_does_not_swallow_the_next(world: World, pair: tuple[Project, Project]) -> None:
    world.put({"audit/2026-02.0001.log": b'{"timestamp": "2026'})

    world.standpoint(Path(pair[0].path)).require_permission(Operation.UPDATE, pair[1], "T1")

    told = read_audit(world.home.latest(), 10)
    assert (len(told.lines), told.unreadable) == (1, 1)


def write_five(place: Path, who: int) -> int:
    """Start a process that writes five lines, and return its id."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        standpoint = open_standpoint(place)
        target = standpoint.find("auth-lib")
        for number in range(5):
            standpoint.require_permission(Operation.UPDATE, target, f"T{who}{number}")
        status = 0
    except BaseException:  # noqa: BLE001 - nothing of this process may go back into the tests
        traceback.print_exc()
    finally:
        os._exit(status)


def test_eight_writers_at_once_lose_no_line(world: World, pair: tuple[Project, Project]) -> None:
    started = [write_five(Path(pair[0].path), who) for who in range(1, 9)]

    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in started] == [0] * 8
    expected = {f"{pair[1].hash}:T{who}{number}" for who in range(1, 9) for number in range(5)}
    told = [line["taskRef"] for line in lines(world)]
    assert set(told) == expected
    assert len(told) == 40


def test_the_audit_is_shown_newest_first_with_names(world: World, pair: tuple[Project, Project]) -> None:
    standpoint = world.standpoint(Path(pair[0].path))
    for task in ("T1", "T2", "T3"):
        standpoint.require_permission(Operation.UPDATE, pair[1], task)
    nexus = Nexus(Path(pair[0].path))

    shown = nexus.ok("permissions", "--audit", "-n", "2")
    told = json.loads(nexus.ok("permissions", "--audit", "--limit", "2", "--json"))

    words = "allowed  my-api  auth-lib:{}  git nexus task update  has write, needs write"
    assert shown.splitlines() == [
        *(f"2026-02-01T12:00:00Z  {words.format(task)}" for task in ("T3", "T2")),
        "… 1 more: git nexus permissions --audit -n 3",
    ]
    assert [entry["taskRef"].partition(":")[2] for entry in told["entries"]] == ["T3", "T2"]
    assert (told["more"], told["unreadable"]) == (1, 0)


def test_an_empty_audit_is_said_and_makes_no_home(tmp_path: Path, sealed: Path) -> None:
    assert Nexus(tmp_path).ok("permissions", "--audit") == "The audit is empty.\n"
    assert not (sealed / "nexus").exists()
