"""CLEO's files: read as they are, taken over, and written back with only what changed."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitnexus.backlog import StateBacklog, Tasks, cleo
from gitnexus.backlog.add import add_task
from gitnexus.backlog.claimant import agent_claimant
from gitnexus.backlog.cleo_write import CleoFileVersions, render_cleo_files
from gitnexus.backlog.close import complete_task
from gitnexus.backlog.delete import delete_task
from gitnexus.backlog.exporting import export_to_cleo
from gitnexus.backlog.fields import TaskFields
from gitnexus.backlog.importing import decide_import, import_documents
from gitnexus.backlog.update import update_task
from gitnexus.base.errors import Conflict, Duplicate, Invalid
from gitnexus.projects.open_state import open_state
from tests.backlog.scene import NOW
from tests.conftest import run_git

TASKS: list[dict[str, Any]] = [
    {"id": "T001", "title": "Zuerst", "status": "done", "priority": "high", "phase": "core", "labels": False,
     "createdAt": "2026-01-01T00:00:00Z", "completedAt": "2026-01-02T00:00:00Z",
     "verification": {"round": 1.0, "by": None}},
    {"title": "Then", "id": "T002", "status": "pending", "priority": "medium", "parentId": None,
     "depends": ["T001", "T900"], "createdAt": "2026-01-01T00:00:00Z", "rev": "theirs", "notes": []},
]  # fmt: skip
ARCHIVED = {
    "id": "T900", "title": "Old", "status": "done", "priority": "low", "createdAt": "2025-01-01T00:00:00Z",
    "_archive": {"archivedAt": "2025-02-01T00:00:00Z", "reason": "auto", "cycleTimeDays": 3.50},
}  # fmt: skip


def checksum(rows: list[Any]) -> str:
    line = json.dumps(rows, separators=(",", ":"), ensure_ascii=False) + "\n"
    return hashlib.sha256(line.encode()).hexdigest()[:16]


def text(rows: list[dict[str, Any]], **head: Any) -> bytes:
    value = {
        "version": "2.10.0", "project": {"name": "x", "phases": {"core": {"order": 1}}}, "unheard": [1, {"of": None}],
        "lastUpdated": "2026-01-05T00:00:00Z", "_meta": {"configVersion": "2.1", "checksum": checksum(rows)},
        "tasks": rows, "focus": {"currentTask": None}, **head,
    }  # fmt: skip
    return json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n"


TODO = text(TASKS)
ARCHIVE = json.dumps({"version": "2.1.0", "archivedTasks": [ARCHIVED]}, indent="\t").encode()


def fill(place: Path, todo: bytes = TODO, archive: bytes | None = ARCHIVE) -> Path:
    folder = place / ".cleo"
    folder.mkdir(exist_ok=True)
    (folder / "todo.json").write_bytes(todo)
    if archive is not None:
        (folder / "todo-archive.json").write_bytes(archive)
    return folder / "todo.json"


def backlog(place: Path) -> StateBacklog:
    return StateBacklog(open_state(place), lambda: agent_claimant("ada"), clock=lambda: NOW)


def import_from(here: StateBacklog, file: Path, **how: bool) -> Any:
    documents = [cleo.load_cleo_document(file), cleo.load_cleo_document(file.with_name("todo-archive.json"))]
    return import_documents(here, [one for one in documents if one is not None], **how)


def test_a_folder_of_cleo_is_read_where_it_is(tmp_path: Path) -> None:
    fill(tmp_path)

    found = cleo.read_cleo_tasks(tmp_path)

    assert [(task.id, task.status, task.labels) for task in found] == [
        ("T001", "done", ()), ("T002", "pending", ()), ("T900", "done", ()),
    ]  # fmt: skip
    assert cleo.nearest_cleo_folder(tmp_path / "deep" / "er") == tmp_path


def test_a_row_that_is_no_task_hides_no_other(tmp_path: Path) -> None:
    rows = [5, {"id": "T1"}, {"id": 7, "title": "x"}, {"id": "T2", "title": "good"}]
    fill(tmp_path, json.dumps({"tasks": rows}).encode(), None)

    found = cleo.read_cleo_tasks(tmp_path)

    assert [task.title for task in found] == ["good"]
    assert list(found.broken) == ["T1", "todo.json 1", "todo.json 3"]
    assert found.broken["T1"].endswith("todo.json: task 2: title should be text")


def test_links_are_no_project(tmp_path: Path) -> None:
    fill(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / ".cleo").symlink_to(tmp_path / ".cleo")
    (tmp_path / "b" / ".cleo").mkdir(parents=True)
    (tmp_path / "b" / ".cleo" / "todo.json").symlink_to(tmp_path / ".cleo" / "todo.json")

    assert [cleo.is_cleo_folder(tmp_path / name) for name in (".", "a", "b")] == [True, False, False]


def test_import_and_export_give_the_very_bytes_back(project: Path, tmp_path: Path) -> None:
    file, elsewhere = fill(project), tmp_path / "copy" / "todo.json"
    elsewhere.parent.mkdir()
    here = backlog(project)

    assert import_from(here, file).added == ["T001", "T002", "T900"]
    export_to_cleo(here, elsewhere, "x")
    file.unlink()
    export_to_cleo(here, file, "x", own=True)

    assert (elsewhere.read_bytes(), file.read_bytes()) == (TODO, TODO)
    assert elsewhere.with_name("todo-archive.json").read_bytes() == ARCHIVE
    record = json.loads(run_git(project, "show", "refs/nexus/state:backlog/T002.json"))
    assert (record["rev"], record["parentId"]) == (1, None)
    assert add_task(here, TaskFields(title="next")).id == "T901"


def test_an_export_changes_only_what_changed(project: Path) -> None:
    file = fill(project)
    here = backlog(project)
    import_from(here, file)

    complete_task(here, "T002")
    add_task(here, TaskFields(title="Neu", depends=("T002",)))
    done = export_to_cleo(here, file, "x", own=True)

    rows = [
        TASKS[0],
        {**TASKS[1], "status": "done", "updatedAt": "2026-02-01T12:00:00Z", "completedAt": "2026-02-01T12:00:00Z"},
        {"id": "T901", "title": "Neu", "status": "pending", "priority": "medium", "type": "task", "depends": ["T002"],
         "createdAt": "2026-02-01T12:00:00Z", "updatedAt": "2026-02-01T12:00:00Z"},
    ]  # fmt: skip
    assert file.read_bytes() == text(rows, lastUpdated="2026-02-01T12:00:00Z")
    assert [one.name for one in done.written] == ["todo.json"]
    assert export_to_cleo(here, file, "x", own=True).written == []


def test_two_clones_that_take_the_same_file_over_have_the_same_tasks(tmp_path: Path) -> None:
    document = cleo.load_cleo_document(fill(tmp_path))
    assert document is not None

    first, second = (decide_import(Tasks.of([]), [document], update=False) for _ in range(2))

    assert [record.to_bytes() for record in first.records] == [record.to_bytes() for record in second.records]


def test_what_exists_is_refused_with_the_list_and_updated_if_that_is_said(project: Path) -> None:
    here = backlog(project)
    file = fill(project)
    import_from(here, file)
    update_task(here, "T002", TaskFields(notes=("ours",)))
    before = run_git(project, "rev-parse", "refs/nexus/state")

    with pytest.raises(Duplicate) as refused:
        import_from(here, file)
    assert refused.value.context == {"ids": ["T001", "T002", "T900"]}
    assert run_git(project, "rev-parse", "refs/nexus/state") == before

    delete_task(here, "T900", force=True)
    fill(project, text([{**TASKS[0], "title": "Renamed"}, TASKS[1], {**TASKS[0], "id": "T003"}]))
    done = import_from(here, file, update=True)

    assert done[:3] == (["T003"], ["T001"], ["T900"])
    assert (done.taken, done.kept) == ({"T001": ["title"]}, {"T002": ["depends", "notes"]})
    assert [task.title for task in here.tasks()] == ["Renamed", "Then", "Zuerst"]
    assert here.tasks().task("T001").rev == 2
    assert here.tasks().task("T002").notes == ("ours",)


def test_an_export_never_drops_what_others_wrote_there(project: Path) -> None:
    here = backlog(project)
    file = fill(project)
    import_from(here, file)
    complete_task(here, "T002")
    by_cleo = text([TASKS[0], {**TASKS[1], "title": "Renamed by CLEO"}, {**TASKS[0], "id": "T003"}])
    file.write_bytes(by_cleo)

    with pytest.raises(Conflict) as refused:
        export_to_cleo(here, file, "x", own=True)

    assert refused.value.context == {"ids": ["T002", "T003"]}
    assert file.read_bytes() == by_cleo
    export_to_cleo(here, file, "x", own=True, force=True)
    assert [row["title"] for row in json.loads(file.read_text())["tasks"]] == ["Zuerst", "Then"]


def test_a_deleted_task_goes_from_the_file_and_one_opened_again_leaves_the_archive(project: Path) -> None:
    here = backlog(project)
    file = fill(project)
    import_from(here, file)

    delete_task(here, "T001", force=True)
    update_task(here, "T900", TaskFields(status="pending"))
    export_to_cleo(here, file, "x", own=True)

    assert [row["id"] for row in json.loads(file.read_text())["tasks"]] == ["T002", "T900"]
    assert json.loads(file.with_name("todo-archive.json").read_text())["archivedTasks"] == []


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"tasks": 5}', b'{"tasks": [{"id": "T1"}]}', b'{"a":1,"a":2}'])
def test_what_could_not_be_loaded_is_never_written_over(project: Path, raw: bytes) -> None:
    here = backlog(project)
    add_task(here, TaskFields(title="ours"))
    file = fill(project, raw, None)

    with pytest.raises(Invalid):
        export_to_cleo(here, file, "x", own=True, force=True)

    assert file.read_bytes() == raw


def test_a_link_is_neither_read_nor_written_through(project: Path, tmp_path: Path) -> None:
    here = backlog(project)
    secret = tmp_path / "secret.json"
    secret.write_bytes(TODO)
    (project / ".cleo").mkdir()
    (project / ".cleo" / "todo.json").symlink_to(secret)

    with pytest.raises(Invalid, match="cannot be read"):
        export_to_cleo(here, project / ".cleo" / "todo.json", "x", own=True, force=True)

    assert secret.read_bytes() == TODO


def test_a_backlog_that_never_met_cleo_is_written_as_a_whole_file(project: Path) -> None:
    here = backlog(project)
    add_task(here, TaskFields(title="one", labels=("a",)))

    export_to_cleo(here, project / ".cleo" / "todo.json", "mine", own=True)

    value = json.loads((project / ".cleo" / "todo.json").read_text())
    assert (value["version"], value["project"]["name"]) == ("2.10.0", "mine")
    assert value["_meta"]["checksum"] == checksum(value["tasks"])
    assert [sorted(row) for row in value["tasks"]] == [
        ["createdAt", "id", "labels", "priority", "status", "title", "type", "updatedAt"]
    ]
    assert not (project / ".cleo" / "todo-archive.json").exists()


values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.floats(-9, 9, width=16), st.text(max_size=4)),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=4,
)
keys = st.one_of(
    st.sampled_from(["status", "labels", "depends", "rev", "uid", "claim", "notes", "parentId"]), st.text(max_size=5)
)
rows = st.lists(st.dictionaries(keys, values, max_size=5), max_size=4).map(
    lambda found: [{**row, "id": f"T{n:03}", "title": "t"} for n, row in enumerate(found, 1)]
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    rows,
    st.dictionaries(st.text(max_size=4).filter(lambda key: key != "tasks"), values, max_size=3),
    st.sampled_from([None, 2, "\t"]),
)
def test_whatever_a_file_holds_comes_back_byte_for_byte(tasks: Any, head: dict[str, Any], indent: Any) -> None:
    raw = json.dumps({**head, "tasks": tasks}, indent=indent, ensure_ascii=False).encode()
    document = cleo.parse_cleo_document(raw, "todo.json")

    made = decide_import(Tasks.of([]), [document], update=False)
    stored = Tasks.of([type(record).from_bytes(record.to_bytes(), "x") for record in made.records])

    assert render_cleo_files(stored, CleoFileVersions(None, document), CleoFileVersions(None, None), "x", NOW) == (
        raw,
        None,
    )
    assert render_cleo_files(stored, CleoFileVersions(document, None), CleoFileVersions(None, None), "x", NOW) == (
        raw,
        None,
    )
