"""The commands about the graph: who may not learns nothing, and whatever happens to files the answers stay right."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gitnexus.app.tools import ToolSession, call_session_tool
from gitnexus.backlog import StateBacklog
from gitnexus.backlog.add import add_task
from gitnexus.backlog.claimant import person_claimant
from gitnexus.backlog.fields import TaskFields
from gitnexus.backlog.reference import TaskReference
from gitnexus.base.errors import BadReference, NotFound
from gitnexus.cycle import Session
from gitnexus.projects.audit import read_audit
from gitnexus.projects.granting import grant_permission
from gitnexus.projects.levels import Level
from gitnexus.projects.model import Project
from gitnexus.projects.open_backlog import task_of_a_run
from gitnexus.projects.other_tasks import OtherProjects
from gitnexus.state import State
from gitnexus.state.home import home_folder
from tests.conftest import Nexus, run_git
from tests.projects.conftest import World, keep, told

READS = {
    "show": ("show", "lib:T1"),
    "task show": ("task", "show", "lib:T1"),
    "query": ("query", "lib:T1"),
    "deps": ("deps", "lib:T1"),
    "dependents": ("dependents", "lib:T1"),
    "blocking": ("blocking", "lib:T1"),
    "critical-path": ("critical-path", "lib:T1"),
    "discover": ("discover", "lib:T1"),
    "discover in it": ("discover", "T1", "--scope", "lib"),
    "search in it": ("search", "x", "--scope", "lib"),
    "search an id of it": ("search", "--id", "lib:T1"),
    "graph of it": ("graph", "--project", "lib"),
    "project show": ("project", "show", "lib"),
}
WRITES = {
    "task update": ("task", "update", "lib:T1", "--title", "taken"),
    "task claim": ("task", "claim", "lib:T1"),
    "task relate": ("task", "relate", "lib:T1", "T2"),
    "task add --depends": ("task", "add", "new", "--depends", "lib:T1"),
    "task complete": ("task", "complete", "lib:T1"),
    "task cancel": ("task", "cancel", "lib:T1"),
    "task delete": ("task", "delete", "lib:T1"),
}


def refs(rows: list[dict[str, Any]]) -> list[str]:
    return [row["ref"] for row in rows]


def audit(world: World) -> list[tuple[str, str, str, str, str | None]]:
    """Return what was written down, the newest first."""
    lines = [line.plain() for line in read_audit(world.home.latest(), 1000).lines]
    return [
        (line["operation"].removeprefix("git nexus "), line["result"], line["permissionGranted"],
         line["permissionRequired"], line["taskRef"])
        for line in lines
    ]  # fmt: skip


def tip(project: Project) -> str:
    return run_git(Path(project.path), "rev-parse", "refs/nexus/state")


@pytest.fixture
def both(world: World) -> tuple[Project, Project]:
    return world.begin_with("web and lib", _both)


def _both(world: World) -> tuple[Project, Project]:
    web = world.registered("web")
    keep(web, T1={"depends": ["lib:T1"]}, T2={})
    return web, world.registered("lib", T1="Theirs", T2="also theirs")


@pytest.fixture
def web(both: tuple[Project, Project]) -> Project:
    return both[0]


@pytest.fixture
def lib(both: tuple[Project, Project]) -> Project:
    return both[1]


@pytest.fixture
def nexus(web: Project) -> Nexus:
    return Nexus(Path(web.path))


@pytest.mark.parametrize("commands", [READS, WRITES], ids=["reads", "writes"])
def test_who_holds_none_is_refused_learns_nothing_and_is_written_down(
    world: World, nexus: Nexus, web: Project, lib: Project, commands: dict[str, tuple[str, ...]]
) -> None:
    grant_permission(world.home, web, lib, Level.NONE, "")
    before = tip(lib), tip(web)

    for number, (name, argv) in enumerate(commands.items(), start=1):
        done = nexus(*argv, "--json")

        assert done.returncode == json.loads(done.stdout)["error"]["code"] == 71, name
        assert "heirs" not in done.stdout + done.stderr, name
        assert (tip(lib), tip(web)) == before, name
        assert [(line[1], line[2]) for line in audit(world)] == [("denied", "none")] * number, name


def test_reading_is_no_permission_to_write(nexus: Nexus, lib: Project) -> None:
    before = tip(lib)

    for name, argv in WRITES.items():
        assert told(nexus, *argv)["error"]["code"] == 71, name
        assert tip(lib) == before, name


@pytest.mark.parametrize(("level", "commands"), [
    ("write", {
        "task update": WRITES["task update"], "task claim": WRITES["task claim"],
        "task relate": ("task", "relate", "lib:T1", "lib:T2"), "task add --depends": WRITES["task add --depends"],
    }),
    ("execute", {
        "task complete": WRITES["task complete"], "task cancel": ("task", "cancel", "lib:T2"),
        "task delete": ("task", "delete", "lib:T3"),
    }),
])  # fmt: skip
def test_a_write_that_is_permitted_happens_and_is_written_down(
    world: World, nexus: Nexus, web: Project, lib: Project, level: str, commands: dict[str, tuple[str, ...]]
) -> None:
    keep(lib, T3={})
    grant_permission(world.home, web, lib, Level(level), "")
    expected = []

    for verb, argv in commands.items():
        whose = web if verb == "task add --depends" else lib
        before = tip(whose)

        nexus.ok(*argv)

        assert tip(whose) != before, verb
        task = argv[-1] if verb == "task add --depends" else argv[2]
        expected.insert(0, (verb, "allowed", level, level, f"{lib.hash}:{task.removeprefix('lib:')}"))
        assert audit(world) == expected, verb


def test_reads_leave_no_line_unless_they_are_asked_for(world: World, nexus: Nexus) -> None:
    for argv in READS.values():
        nexus.ok(*argv)

    assert audit(world) == []


@pytest.mark.slow
@pytest.mark.parametrize("raw", [b"garbage", b'{"projects": [1]}', b"[]"])
@pytest.mark.parametrize("argv", [("deps", "T1"), ("search", "x"), ("graph",), ("orphans",), ("critical-path",),
                                  ("index",), ("index", "--rebuild"), ("deps", "lib:T1"),
                                  ("task", "update", "lib:T1", "--title", "x")])  # fmt: skip
def test_a_registry_that_does_not_parse_is_refused_and_left_alone(
    world: World, nexus: Nexus, raw: bytes, argv: tuple[str, ...]
) -> None:
    path = next(name for name in ("projects.json", "registry.json") if world.home.latest().read(name) is not None)
    world.put({path: raw})

    refused = told(nexus, *argv)

    assert refused["error"]["code"] == 6
    assert path in refused["error"]["message"]
    assert world.home.latest().read(path) == raw


@pytest.mark.slow
@pytest.mark.parametrize("harm", ["deleted", "emptied", "cut", "garbage", "a folder of none"])
def test_whatever_happens_to_the_index_the_answers_stay(nexus: Nexus, harm: str) -> None:
    asked = [("deps", "T1"), ("dependents", "lib:T1"), ("search", "theirs"), ("orphans",), ("critical-path",)]

    def answers() -> list[Any]:
        return [{key: value for key, value in told(nexus, *argv).items() if key != "_meta"} for argv in asked]

    before = answers()
    path = home_folder() / "cache" / "graph.sqlite"
    raw = path.read_bytes()
    match harm:
        case "emptied":
            path.write_bytes(b"")
        case "cut":
            path.write_bytes(raw[: len(raw) // 2])
        case "garbage":
            path.write_bytes(raw[:100] + os.urandom(len(raw) - 100))
        case _:
            path.unlink()
            if harm != "deleted":
                path.parent.rmdir() if not list(path.parent.iterdir()) else None

    assert answers() == before
    assert refs(before[2]["results"]) == ["lib:T1", "lib:T2"]


def test_a_circle_across_projects_is_shown_by_graph_and_named_by_critical_path(nexus: Nexus, lib: Project) -> None:
    keep(lib, T1={"depends": ["web:T1"]})

    assert told(nexus, "graph", "--format", "json")["cycles"] != []
    for argv in (("critical-path",), ("critical-path", "T1"), ("critical-path", "lib:T1")):
        refused = told(nexus, *argv)["error"]
        assert (refused["code"], refused["name"]) == (6, "E_CYCLE")
        assert sorted(refused["context"]["cycle"]) == ["lib:T1", "web:T1"]
    assert refs(told(nexus, "blocking", "T1")["tasks"]) == ["lib:T1"]
    assert refs(told(nexus, "deps", "T1")["dependencies"]) == ["lib:T1"]


def test_a_circle_through_a_done_task_is_no_longer_one_for_the_critical_path(nexus: Nexus, lib: Project) -> None:
    keep(lib, T1={"depends": ["web:T1"], "status": "done"})

    assert told(nexus, "critical-path", "T1")["length"] == 1


def test_a_project_that_is_renamed_keeps_its_dependents(world: World, nexus: Nexus, lib: Project) -> None:
    nexus.ok("project", "rename", "lib", "core")

    for ref in ("core:T1", "lib:T1"):
        found = told(nexus, "dependents", ref)
        assert (found["ref"], refs(found["dependents"])) == ("core:T1", ["web:T1"])
    assert refs(told(nexus, "deps", "T1")["dependencies"]) == ["core:T1"]
    assert told(nexus, "orphans")["orphans"] == []


def test_a_cleo_folder_takes_part(world: World, nexus: Nexus, web: Project) -> None:
    place = world.cleo_project("old", T7="Ancient")
    world.register(place)
    keep(web, T3={"depends": ["old:T7"]})

    assert told(nexus, "deps", "T3")["blockedBy"] == ["old:T7 (pending)"]
    assert refs(told(nexus, "dependents", "old:T7")["dependents"]) == ["web:T3"]
    assert refs(told(nexus, "search", "ancient")["results"]) == ["old:T7"]
    done = {"tasks": [{"id": "T7", "title": "Ancient", "status": "done", "labels": False, "depends": ["web:T2"]}]}
    (place / ".cleo" / "todo.json").write_text(json.dumps(done))
    assert told(nexus, "deps", "T3")["blocked"] is False
    assert refs(told(nexus, "dependents", "T2")["dependents"]) == ["old:T7"]


def test_a_cleo_folder_in_a_repository_is_read_anew_when_it_changes(world: World, nexus: Nexus) -> None:
    place = world.cleo_project("old", T7="Ancient")
    run_git(place, "init", "-q")
    world.register(place)
    assert refs(told(nexus, "search", "ancient")["results"]) == ["old:T7"]

    (place / ".cleo" / "todo.json").write_text(json.dumps({"tasks": [{"id": "T8", "title": "Recent one"}]}))

    assert refs(told(nexus, "search", "recent")["results"]) == ["old:T8"]
    assert told(nexus, "search", "ancient")["results"] == []


def test_a_repository_whose_git_folder_lies_elsewhere_is_read_anew_when_it_changes(world: World, nexus: Nexus) -> None:
    place = world.git_project("apart", T1="Before")
    run_git(place, "init", "-q", "--separate-git-dir", str(world.root / "the git dir"))
    apart = world.register(place)
    assert refs(told(nexus, "search", "before")["results"]) == ["apart:T1"]

    keep(apart, T2={"title": "After"})

    assert refs(told(nexus, "search", "after")["results"]) == ["apart:T2"]


BLOCKED_BY: list[tuple[list[str], list[str]]] = [
    (["T20"], []),
    (["T21"], ["web:T21 (active)"]),
    (["T22"], ["web:T22 (cancelled)"]),
    (["T9"], ["web:T9 (does not exist)"]),
    (["lib:T9"], ["lib:T9 (does not exist)"]),
    (["nobody:T1"], ["nobody:T1 (no project is called nobody)"]),
    (["not a reference"], ["not a reference (is not a reference to a task)"]),
    ([], []),
]


def test_what_blocks_a_task(nexus: Nexus, web: Project) -> None:
    """Asked by the tool, which answers as the command does: test_graph_tools.py."""
    keep(web, T20={"status": "done"}, T21={"status": "active"}, T22={"status": "cancelled"})
    tasks = {f"T{number}": {"depends": depends} for number, (depends, _) in enumerate(BLOCKED_BY, start=100)}
    keep(web, **tasks)
    desk = ToolSession(Session(State.open(Path(web.path), "long")))

    for task, (depends, blocked_by) in zip(tasks, BLOCKED_BY, strict=True):
        found = call_session_tool(desk, "deps", {"ref": task})
        assert (depends, found["blockedBy"], found["blocked"]) == (depends, blocked_by, bool(blocked_by))

    keep(web, **{task: {**held, "status": "done"} for task, held in tasks.items()})
    assert [call_session_tool(desk, "deps", {"ref": task})["blockedBy"] for task in tasks] == [[]] * len(tasks)
    assert told(nexus, "deps", "T101")["blockedBy"] == []


def test_a_permission_that_is_withdrawn_hides_what_was_answered_before(
    world: World, nexus: Nexus, web: Project, lib: Project
) -> None:
    keep(web, T2={"labels": ["auth"]})
    keep(lib, T2={"labels": ["auth"], "title": "Theirs"})
    assert refs(told(nexus, "discover", "T2")["results"]) == ["lib:T2"]
    assert told(nexus, "deps", "T1")["dependencies"][0]["title"] == "Theirs"

    grant_permission(world.home, web, lib, Level.NONE, "")

    assert told(nexus, "discover", "T2")["results"] == []
    (hidden,) = told(nexus, "deps", "T1")["dependencies"]
    assert (hidden["title"], hidden["status"], hidden["reason"]) == (None, None, "may not be read")
    assert told(nexus, "search", "theirs")["results"] == []
    assert told(nexus, "orphans")["orphans"] == []
    assert "Theirs" not in nexus.ok("graph", "--format", "json")
    nexus.ok("revoke", "web", "lib")
    assert refs(told(nexus, "discover", "T2")["results"]) == ["lib:T2"]


def test_a_task_of_another_project_is_shown_as_the_caller_may_see_it(
    world: World, nexus: Nexus, web: Project, lib: Project
) -> None:
    """The caller is the current project, not the one whose task it is: lib may read secret, web may not."""
    secret = world.registered("secret", T5="Hidden plan")
    grant_permission(world.home, web, secret, Level.NONE, "")
    grant_permission(world.home, web, lib, Level.EXECUTE, "")
    grant_permission(world.home, lib, secret, Level.EXECUTE, "")
    keep(lib, T1={"depends": ["secret:T5"]})

    shown = nexus.ok("show", "lib:T1", "--json")

    assert "Hidden plan" not in shown
    assert "pending" not in json.dumps(json.loads(shown)["waitsFor"])
    assert told(nexus, "task", "update", "lib:T2", "--depends", "secret:T5")["error"]["code"] == 71
    assert told(nexus, "task", "complete", "lib:T1")["error"]["code"] == 6


def test_a_task_of_another_project_may_wait_for_one_of_the_own(
    world: World, nexus: Nexus, web: Project, lib: Project
) -> None:
    grant_permission(world.home, web, lib, Level.WRITE, "")

    assert told(nexus, "task", "update", "lib:T2", "--depends", "web:T2")["task"]["depends"] == ["web:T2"]
    assert told(nexus, "task", "update", "lib:T2", "--depends", "lib:T1")["task"]["depends"] == ["web:T2", "T1"]


def test_the_current_project_can_be_said_by_the_environment(
    nexus: Nexus, web: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NEXUS_PROJECT", "web")

    assert told(nexus, "deps", "T1", place=tmp_path)["ref"] == "web:T1"
    assert [node["ref"] for node in told(nexus, "graph", "--project", ".", place=tmp_path)["nodes"]] == [
        "web:T1", "web:T2"]  # fmt: skip


def test_an_id_of_very_many_digits_stops_nothing(world: World, nexus: Nexus, web: Project) -> None:
    place = world.cleo_project("old")
    world.register(place)
    long = "T" + "9" * 5000
    tasks = [{"id": long, "title": "Endless", "depends": ["web:T2"]}, {"id": "T1", "title": "Short"}]
    (place / ".cleo" / "todo.json").write_text(json.dumps({"tasks": tasks}))

    assert "old:T1" in refs(told(nexus, "search", "short")["results"])
    nexus.ok("search", "endless")
    nexus.ok("dependents", "T2")
    nexus.ok("critical-path")
    nexus.ok("graph")


@pytest.mark.parametrize("status", ["done", "cancelled"])
def test_closing_a_task_by_its_status_needs_what_closing_it_needs(
    world: World, nexus: Nexus, web: Project, lib: Project, status: str
) -> None:
    grant_permission(world.home, web, lib, Level.WRITE, "")

    assert told(nexus, "task", "update", "lib:T1", "--status", status)["error"]["code"] == 71
    grant_permission(world.home, web, lib, Level.EXECUTE, "")
    assert told(nexus, "task", "update", "lib:T1", "--status", status)["task"]["status"] == status


def test_a_bare_id_is_one_of_the_project_it_was_typed_in(
    world: World, nexus: Nexus, web: Project, lib: Project
) -> None:
    grant_permission(world.home, web, lib, Level.WRITE, "")

    related = told(nexus, "task", "relate", "lib:T1", "T2")["task"]["relates"]
    waiting = told(nexus, "task", "update", "lib:T2", "--depends", "T1")["task"]["depends"]

    assert ([row["taskId"] for row in related], waiting) == (["web:T2"], ["web:T1"])
    assert nexus.ok("task", "update", "lib:T1", "--priority", "high") == "lib:T1 is pending: Theirs\n"


def test_a_task_that_was_edited_by_hand_counts_at_once(nexus: Nexus, web: Project) -> None:
    nexus.ok("init")
    file = Path(web.path, ".nexus", "backlog", "T2.json")
    file.write_text(json.dumps({**json.loads(file.read_text()), "title": "Renamed by hand"}))

    done = nexus("search", "renamed", "--json")

    assert refs(json.loads(done.stdout)["results"]) == ["web:T2"]
    assert "committed your edits in .nexus/: backlog/T2.json" in done.stderr


def test_commands_about_tasks_stand_where_they_are_told_to(
    nexus: Nexus, lib: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert told(nexus, "show", "T1", "--project", "lib", place=tmp_path)["ref"] == "lib:T1"

    monkeypatch.setenv("NEXUS_PROJECT", "lib")
    nexus.ok("task", "add", "Sent from outside", place=tmp_path)

    assert [task["title"] for task in told(nexus, "task", "list", place=tmp_path)["tasks"]][-1] == "Sent from outside"
    assert told(nexus, "task", "list", "--project", "nowhere", place=tmp_path)["error"]["code"] == 70


def test_a_dependency_elsewhere_is_asked_for_once_and_before_anything_is_locked(
    world: World, nexus: Nexus, web: Project, lib: Project
) -> None:
    grant_permission(world.home, web, lib, Level.WRITE, "")
    asked: list[bool] = []
    state = State.open(Path(web.path))

    class Watched(OtherProjects):
        def _admit(self, reference: TaskReference) -> str:
            asked.append(state.lock().held)
            return super()._admit(reference)

    add_task(
        StateBacklog(state, lambda: person_claimant("me"), Watched(Path(web.path))),
        TaskFields(title="x", depends=("lib:T1",)),
    )

    assert asked == [False]


def test_a_run_for_a_task_of_another_project_needs_execute_there(
    world: World, nexus: Nexus, web: Project, lib: Project
) -> None:
    place = Path(web.path)
    refused = nexus("run", "--task", "lib:T1", "--", "true")
    assert (refused.returncode, "requires 'execute'" in refused.stderr) == (71, True)
    with pytest.raises(BadReference):
        task_of_a_run(place, "t1")
    with pytest.raises(NotFound):
        task_of_a_run(place, "T99")
    grant_permission(world.home, web, lib, Level.EXECUTE, "")

    assert task_of_a_run(place, "lib:T1") == "lib:T1"
    assert task_of_a_run(place, "web:T1") == task_of_a_run(place, ".:T1") == "T1"


def test_outside_any_project_tasks_are_shown_and_not_changed(world: World, lib: Project) -> None:
    outside = Nexus(world.root)

    assert told(outside, "show", "lib:T1")["ref"] == "lib:T1"
    assert told(outside, "task", "update", "lib:T1", "--title", "x")["error"]["code"] == 71
    for argv in (("show", "T1"), ("task", "list"), ("task", "add", "x"), ("task", "export")):
        refused = told(outside, *argv)["error"]
        assert (refused["code"], refused["name"]) == (4, "E_NOT_FOUND")
