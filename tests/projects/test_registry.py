"""The registry: register, rename, alias, move, prune, and when a project was last used."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from gitnexus.base.clock import format_timestamp
from gitnexus.base.errors import Conflict, Duplicate, HashCollision, Invalid, NotFound
from gitnexus.projects.granting import grant_permission
from gitnexus.projects.grants import read_permissions
from gitnexus.projects.levels import Level
from gitnexus.projects.model import Project, hash_of
from gitnexus.projects.move import move_project
from gitnexus.projects.names import add_aliases, remove_aliases, rename_project
from gitnexus.projects.operations import Operation
from gitnexus.projects.permissions import level_held
from gitnexus.projects.place import ProjectPlace, project_at
from gitnexus.projects.prune import PruneResult, prune_projects
from gitnexus.projects.register import RegisterRequest, register_project, unregister_project
from gitnexus.projects.store import read_registry
from gitnexus.state.home import home_folder, make_home
from tests.projects.conftest import TODAY, World


def rows(world: World) -> dict[str, tuple[str, ...]]:
    return {row.name: row.aliases for row in read_registry(world.home.latest()).projects_by_name()}


def place_at(folder: Path) -> ProjectPlace:
    found = project_at(folder)
    assert found is not None
    return found


def level(world: World, caller: Project, target: Project) -> Level:
    return level_held(read_permissions(world.home.latest(), world.home.trusts), caller.hash, target.hash)


def test_the_file_has_the_form_of_the_specification(world: World) -> None:
    project = world.registered("my-api", "api", "backend")

    assert world.file("registry.json") == {
        "$schema": "./schemas/nexus-registry.schema.json",
        "version": "1.0.0",
        "lastUpdated": "2026-02-01T12:00:00Z",
        "projects": {
            project.hash: {
                "hash": project.hash,
                "path": str(world.root / "my-api"),
                "name": "my-api",
                "aliases": ["api", "backend"],
                "lastAccess": "2026-02-01T12:00:00Z",
                "id": project.id,
            }
        },
    }


def test_a_cleo_folder_is_registered_and_not_written_to(world: World) -> None:
    place = world.cleo_project("old")

    world.register(place)

    assert [path.name for path in place.rglob("*")] == [".cleo", "todo.json"]


def test_the_same_path_twice_is_3_however_it_is_written(world: World) -> None:
    place = world.git_project("api")
    world.register(place)
    (world.root / "link").symlink_to(place)

    for same in (place, world.root / "link", world.root / "." / "api", place / ".git"):
        with pytest.raises(Duplicate, match="is registered already, as api"):
            world.register(same)


def test_a_path_without_a_project_is_4(world: World) -> None:
    inside = world.git_project("api") / "sub"
    inside.mkdir()

    with pytest.raises(NotFound, match="there is no folder"):
        world.register(world.root / "nowhere")
    with pytest.raises(NotFound, match="is not a project") as refused:
        world.register(inside)
    assert refused.value.fix == f"git nexus register '{world.root / 'api'}'"
    with pytest.raises(NotFound, match="is not a project"):
        world.register(world.root)


def test_names_and_aliases_are_one_namespace(world: World) -> None:
    world.register(world.git_project("a"), "one", "first")
    place = world.git_project("b")

    for words in (("one",), ("first",), ("two", "one"), ("two", "first")):
        with pytest.raises(Invalid, match="belongs to the project at"):
            world.register(place, *words)
        assert rows(world) == {"one": ("first",)}, words


def test_a_folder_whose_name_is_taken_wants_a_name_and_is_told_one(world: World) -> None:
    (world.root / "x").mkdir()
    world.registered("api")
    place = world.git_project("x/api")

    with pytest.raises(Invalid) as refused:
        world.register(place)

    assert refused.value.fix == f"git nexus register '{place}' --name api-2"


def test_a_name_that_could_not_be_referred_to_is_6(world: World) -> None:
    place = world.git_project("api")

    for name in ("", "a b", "ä", "x" * 65, "a:b", "../x", ".", "*", "a\n"):
        print(repr(name))  # which one it was, if one is accepted
        with pytest.raises(Invalid):
            world.register(place, name)
        with pytest.raises(Invalid):
            world.register(place, "fine", name)


def test_a_default_name_is_the_folder_with_everything_else_replaced(world: World) -> None:
    assert world.registered("Café & Büro").name == "Caf----B-ro"


def test_another_path_with_the_same_hash_is_74(world: World) -> None:
    place = world.git_project("api")
    key = hash_of(str(place))
    row = {"hash": key, "path": "/elsewhere", "name": "other", "aliases": []}
    world.put({"registry.json": json.dumps({"projects": {key: row}}).encode()})

    with pytest.raises(HashCollision) as refused:
        world.register(place)

    assert refused.value.code == 74
    assert refused.value.context == {"hash": key, "paths": ["/elsewhere", str(place)]}
    assert refused.value.fix == f"git nexus project show {key}"


GARBAGE = [b"", b"{broken", b"[]", b'{"projects": []}', b'{"version": "2.0.0"}', b'{"projects": {"a": {"hash": "b"}}}',
     b'{"projects": {"aaaaaaaaaaaa": {"hash": "bbbbbbbbbbbb", "path": "/x", "name": "x"}}}',
     b'{"projects": {"aaaaaaaaaaaa": {"hash": "aaaaaaaaaaaa", "path": 7, "name": "x"}}}',
     b'{"projects": {"aaaaaaaaaaaa": {"hash": "aaaaaaaaaaaa", "path": "x", "name": "x"}}}',
     b'{"projects": {"aaaaaaaaaaaa": {"hash": "aaaaaaaaaaaa", "path": "/x", "name": "x\\u001b[2J"}}}']  # fmt: skip


def test_a_registry_with_garbage_is_refused_and_untouched(world: World) -> None:
    project, place = world.registered("api"), world.git_project("new")
    standpoint = world.standpoint(place)
    attempts = (
        lambda: world.register(place),
        lambda: unregister_project(world.home, project.path, TODAY),
        lambda: rename_project(world.home, project, "b", TODAY),
        lambda: prune_projects(world.home, TODAY, older_than=None, dry_run=False, here=None),
        lambda: standpoint.find("api"),
    )

    for content in GARBAGE:
        print(content)  # which one it was, if one of these fails
        world.put({"registry.json": content})
        for attempt in attempts:
            with pytest.raises(Invalid, match=r"registry\.json of the home repository"):
                attempt()

        standpoint.touch([project])
        assert world.home.latest().read("registry.json") == content


def test_a_rename_keeps_the_old_name_as_an_alias(world: World) -> None:
    project = world.registered("old", "o")

    rename_project(world.home, project, "new", TODAY)
    assert rows(world) == {"new": ("o", "old")}

    rename_project(world.home, project, "o", TODAY)  # an alias becomes the name
    assert rows(world) == {"o": ("old", "new")}
    assert world.commits()[:2] == ["projects: rename old to o", "projects: rename old to new"]


def test_a_rename_to_the_same_name_is_no_commit_and_to_a_taken_one_is_6(world: World) -> None:
    project, _ = world.registered("a"), world.registered("b", "c")
    before = world.commits()

    rename_project(world.home, project, "a", TODAY)
    for taken in ("b", "c", "", "x y"):
        with pytest.raises(Invalid):
            rename_project(world.home, project, taken, TODAY)

    assert world.commits() == before


def test_aliases_come_and_go(world: World) -> None:
    project, _ = world.registered("a", "x"), world.registered("b", "c")

    add_aliases(world.home, project, ("y", "z", "y"), TODAY)
    remove_aliases(world.home, project, ("x", "z"), TODAY)

    assert rows(world) == {"a": ("y",), "b": ("c",)}
    for taken in ("a", "b", "c", "not a name"):
        with pytest.raises(Invalid):
            add_aliases(world.home, project, (taken,), TODAY)
    with pytest.raises(NotFound, match="a has no alias 'c'"):
        remove_aliases(world.home, project, ("c",), TODAY)
    with pytest.raises(Invalid, match="is the name of the project"):
        remove_aliases(world.home, project, ("a",), TODAY)


def test_what_was_unregistered_meanwhile_is_not_brought_back(world: World) -> None:
    project = world.registered("a")
    unregister_project(world.home, project.path, TODAY)

    with pytest.raises(Conflict):
        rename_project(world.home, project, "b", TODAY)
    assert rows(world) == {}


def test_who_is_unregistered_takes_the_permissions_along_in_one_commit(world: World) -> None:
    one, two, three = (world.registered(name) for name in ("one", "two", "three"))
    grant_permission(world.home, one, two, Level.EXECUTE, "")
    grant_permission(world.home, three, one, Level.NONE, "")
    grant_permission(world.home, two, three, Level.WRITE, "")
    before = len(world.commits())

    unregister_project(world.home, one.path, TODAY)

    assert [row["from"] for row in world.file("permissions.json")["projectRelationships"]] == [two.hash]
    assert len(world.commits()) == before + 1
    assert unregister_project(world.home, one.path, TODAY) is None


@pytest.mark.parametrize("how", ["register", "init", "move"])
def test_a_moved_project_keeps_names_and_permissions(world: World, how: str) -> None:
    one, two = world.registered("one", "o"), world.registered("two")
    grant_permission(world.home, one, two, Level.EXECUTE, "out")
    grant_permission(world.home, two, one, Level.NONE, "in")
    place = world.root / "elsewhere"
    Path(one.path).rename(place)

    match how:
        case "register":
            moved = world.register(place)
        case "init":
            moved = register_project(world.home, RegisterRequest(str(place), project_id=one.id), TODAY).project
        case _:
            moved = move_project(world.home, one, place_at(place), TODAY).project

    assert (moved.name, moved.aliases, moved.path, moved.id) == ("one", ("o",), str(place), one.id)
    assert rows(world) == {"one": ("o",), "two": ()}
    assert (level(world, moved, two), level(world, two, moved)) == (Level.EXECUTE, Level.NONE)
    assert world.commits()[0] in ("projects: register one", f"projects: one moved to {place}")


def test_a_cleo_folder_is_moved_by_name(world: World) -> None:
    project = world.register(world.cleo_project("old"))
    (world.root / "old").rename(world.root / "new")

    assert move_project(world.home, project, place_at(world.root / "new"), TODAY).project.path == str(
        world.root / "new"
    )


def test_a_move_is_refused_while_the_project_is_where_it_was(world: World) -> None:
    one, place = world.registered("one"), world.git_project("other")

    with pytest.raises(Invalid, match="one is still at"):
        move_project(world.home, one, place_at(place), TODAY)


def test_a_move_onto_another_project_is_refused(world: World) -> None:
    one, two, three = world.registered("one"), world.registered("two"), world.git_project("three")
    Path(one.path).rename(world.root / "gone")

    with pytest.raises(Duplicate):
        move_project(world.home, one, place_at(Path(two.path)), TODAY)
    with pytest.raises(Invalid, match="is another one than one"):
        move_project(world.home, one, place_at(three), TODAY)


def test_a_clone_of_a_project_that_is_still_there_is_a_project_of_its_own(world: World) -> None:
    one = world.registered("one")
    other = register_project(world.home, RegisterRequest(str(world.root / "clone"), project_id=one.id), TODAY).project

    assert rows(world) == {"clone": (), "one": ()}
    assert other.id == one.id


def gone_of(found: PruneResult) -> dict[str, str]:
    return {one.project.name: one.why for one in found.gone}


def test_prune_forgets_what_is_gone_with_its_permissions_in_one_commit(world: World) -> None:
    kept, missing, emptied = (world.registered(name) for name in ("kept", "missing", "emptied"))
    cleo = world.register(world.cleo_project("cleo"))
    grant_permission(world.home, kept, missing, Level.EXECUTE, "")
    grant_permission(world.home, emptied, kept, Level.EXECUTE, "")
    grant_permission(world.home, kept, cleo, Level.WRITE, "")
    Path(missing.path).rename(world.root / "away")
    (Path(emptied.path) / ".git").rename(world.root / "elsewhere")
    commits = len(world.commits())
    expected = {"missing": "its folder is gone", "emptied": "it is no longer a project"}

    shown = prune_projects(world.home, TODAY, older_than=None, dry_run=True, here=None)
    assert (gone_of(shown), shown.permissions, shown.kept) == (expected, 2, 2)
    assert len(world.commits()) == commits

    assert prune_projects(world.home, TODAY, older_than=None, dry_run=False, here=None) == shown
    assert set(rows(world)) == {"kept", "cleo"}
    assert [row["to"] for row in world.file("permissions.json")["projectRelationships"]] == [cleo.hash]
    assert len(world.commits()) == commits + 1
    assert prune_projects(world.home, TODAY, older_than=None, dry_run=False, here=None).gone == ()


def test_prune_looks_at_age_only_when_asked_and_spares_the_current_project(world: World) -> None:
    old, here = world.registered("old"), world.registered("here")
    world.register(world.git_project("undated"))
    registry = read_registry(world.home.latest())
    undated = registry.owner("undated")
    assert undated is not None
    world.put({"registry.json": registry.with_row(undated.changed(last_access=None)).to_bytes()})
    later = TODAY + timedelta(days=91)

    def gone(days: int | None) -> dict[str, str]:
        return gone_of(prune_projects(world.home, later, older_than=days, dry_run=True, here=here.hash))

    assert gone(None) == {}
    assert gone(91) == {}
    assert gone(90) == {old.name: "last used 2026-02-01"}


def test_prune_changes_nothing_where_the_permissions_cannot_be_read(world: World) -> None:
    Path(world.registered("a").path).rename(world.root / "away")
    world.put({"permissions.json": b"{broken"})

    with pytest.raises(Invalid, match=r"permissions\.json"):
        prune_projects(world.home, TODAY, older_than=None, dry_run=False, here=None)
    assert rows(world) == {"a": ()}


def test_the_last_use_is_noted_at_most_hourly_and_touches_nothing_else(world: World) -> None:
    here, other = world.registered("here"), world.registered("other")
    before = world.file("registry.json")

    def used(minutes: int) -> str:
        standpoint = world.standpoint(Path(here.path), now=TODAY + timedelta(minutes=minutes))
        standpoint.require_permission(Operation.SHOW, other, "T1")
        return str(world.file("registry.json")["projects"][other.hash]["lastAccess"])

    commits = len(world.commits())
    assert used(59) == format_timestamp(TODAY)
    assert len(world.commits()) == commits
    assert used(61) == "2026-02-01T13:01:00Z"
    assert used(100) == "2026-02-01T13:01:00Z"
    assert len(world.commits()) == commits + 1
    after = world.file("registry.json")
    assert after["lastUpdated"] == before["lastUpdated"]
    assert after["projects"][here.hash] == before["projects"][here.hash]


def test_work_on_the_own_project_is_use_too(world: World) -> None:
    here = world.registered("here")

    world.standpoint(Path(here.path), now=TODAY + timedelta(days=1)).require_permission(Operation.UPDATE, here, "T1")

    assert world.file("registry.json")["projects"][here.hash]["lastAccess"] == "2026-02-02T12:00:00Z"


def test_fields_of_a_newer_writer_are_kept(world: World) -> None:
    project = world.registered("a")
    value = world.file("registry.json")
    value["future"] = 1
    value["projects"][project.hash]["colour"] = "green"
    world.put({"registry.json": json.dumps(value).encode()})

    rename_project(world.home, project, "b", TODAY)

    after = world.file("registry.json")
    assert (after["future"], after["projects"][project.hash]["colour"]) == (1, "green")


def test_everything_is_kept_in_the_home_of_the_person(sealed: Path) -> None:
    assert home_folder() == sealed / "nexus"
    assert make_home().repo.common_dir == sealed / "nexus" / "home.git"
