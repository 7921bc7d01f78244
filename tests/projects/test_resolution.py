"""From a word or a reference to a project; §8.1.1 of the specification, row by row, and what it leaves open."""

from pathlib import Path

import pytest

from gitnexus.backlog.reference import parse_reference
from gitnexus.base.errors import AmbiguousName, NotFound, PermissionDenied, ProjectNotFound
from gitnexus.projects.granting import grant_permission
from gitnexus.projects.levels import Level
from gitnexus.projects.model import Project, Registry
from gitnexus.projects.query import query_one_task
from gitnexus.projects.resolve import find_project
from gitnexus.projects.standpoint import Standpoint
from tests.projects.conftest import World


def row(key: str, name: str, *aliases: str) -> Project:
    return Project(hash=key, path=f"/srv/{name}", name=name, aliases=aliases)


def registry(*rows: Project) -> Registry:
    return Registry(projects={one.hash: one for one in rows})


def resolve_task(standpoint: Standpoint, text: str) -> str:
    return query_one_task(standpoint, parse_reference(text)).at.task_id


@pytest.fixture
def at_home(world: World) -> Standpoint:
    """Two projects; we stand in the first."""
    return world.standpoint(Path(world.begin_with("two to resolve", _two).path))


def _two(world: World) -> Project:
    here = world.registered("web", T123="the own one", T7="another")
    world.registered("my-api", "api", T123="the other one")
    return here


def test_resolve_simple_task_id(at_home: Standpoint) -> None:
    assert at_home.current is not None
    assert resolve_task(at_home, "T123") == f"{at_home.current.hash}:T123"


def test_resolve_qualified_task_id(at_home: Standpoint) -> None:
    assert resolve_task(at_home, "my-api:T123") == f"{at_home.find('my-api').hash}:T123"


def test_resolve_current_project_explicit(at_home: Standpoint) -> None:
    assert at_home.current is not None
    assert resolve_task(at_home, ".:T123") == f"{at_home.current.hash}:T123"


def test_resolve_wildcard(at_home: Standpoint) -> None:
    assert parse_reference("*:T123").is_everywhere


def test_resolve_invalid_project(at_home: Standpoint) -> None:
    with pytest.raises(ProjectNotFound) as refused:
        resolve_task(at_home, "invalid:T123")

    assert (refused.value.code, refused.value.name) == (70, "E_NEXUS_PROJECT_NOT_FOUND")
    assert refused.value.context == {"requestedProject": "invalid", "registeredProjects": ["my-api", "web"]}
    assert refused.value.fix == "git nexus register PATH --name invalid"
    assert {"action": "List registered projects", "command": "git nexus project list"} in refused.value.alternatives


def test_resolve_missing_task(at_home: Standpoint) -> None:
    for text in ("my-api:T999", "T999", ".:T999", "my-api:T7"):
        with pytest.raises(NotFound) as refused:
            resolve_task(at_home, text)

        assert (text, refused.value.code) == (text, 4)


def test_resolve_by_alias(at_home: Standpoint) -> None:
    assert resolve_task(at_home, "api:T123") == f"{at_home.find('my-api').hash}:T123"


def test_resolve_by_hash_prefix(at_home: Standpoint) -> None:
    key = at_home.find("my-api").hash

    assert {resolve_task(at_home, f"{key[:length]}:T123") for length in (4, 8, 12)} == {f"{key}:T123"}
    with pytest.raises(ProjectNotFound):
        resolve_task(at_home, f"{key[:3]}:T123")


def test_a_name_comes_before_an_alias_and_an_alias_before_a_hash() -> None:
    one = row("aaaa00000001", "cafe")
    two = row("cafe00000002", "two", "beef")
    three = row("beef00000003", "three")
    rows = registry(one, two, three)

    assert find_project(rows, "cafe") == one
    assert find_project(rows, "beef") == two
    assert find_project(rows, "beef0") == three


def test_a_prefix_that_fits_two_is_76_with_both() -> None:
    one, two = row("abcd00000001", "one"), row("abcd00000002", "two")

    with pytest.raises(AmbiguousName) as refused:
        find_project(registry(one, two), "abcd")

    assert refused.value.code == 76
    assert refused.value.context["candidates"] == [one.described(), two.described()]
    assert refused.value.fix == "git nexus project show abcd00000001"


def test_a_name_that_two_rows_have_is_76() -> None:
    with pytest.raises(AmbiguousName):
        find_project(registry(row("aaaa00000001", "twin"), row("aaaa00000002", "twin")), "twin")


def test_case_matters() -> None:
    with pytest.raises(ProjectNotFound, match="project 'Api' not found") as refused:
        find_project(registry(row("aaaa00000001", "api")), "Api")

    assert refused.value.hint == "did you mean api?"


def test_a_word_that_could_be_no_name_is_not_put_into_a_command() -> None:
    with pytest.raises(ProjectNotFound) as refused:
        find_project(registry(), "x; rm -r y")

    assert refused.value.fix == "git nexus project list"


def test_outside_any_project_a_bare_task_is_not_found(world: World) -> None:
    world.registered("api", T1="x")

    with pytest.raises(NotFound, match="not in a project"):
        resolve_task(world.standpoint(None), "T1")


def test_a_task_of_a_cleo_folder_is_found_also_in_its_archive(world: World) -> None:
    place = world.cleo_project("old", T1="open")
    (place / ".cleo" / "todo-archive.json").write_text('{"archivedTasks": [{"id": "T2", "title": 5, "labels": false}]}')
    project = world.register(place)

    outside = world.standpoint(None)

    assert resolve_task(outside, "old:T1") == f"{project.hash}:T1"
    assert resolve_task(outside, "old:T2") == f"{project.hash}:T2"


def test_a_registered_project_that_is_gone_is_said_to_be(world: World) -> None:
    place = Path(world.registered("api", T1="x").path)
    place.rename(world.root / "elsewhere")

    with pytest.raises(NotFound, match=r"api is registered at .*/api, and that is missing"):
        resolve_task(world.standpoint(None), "api:T1")


def test_who_may_not_read_learns_not_even_whether_a_task_is_there(world: World) -> None:
    web, api = world.registered("web"), world.registered("api", T1="x")
    grant_permission(world.home, web, api, Level.NONE, "")
    standpoint = world.standpoint(Path(web.path))

    for task in ("T1", "T999"):
        with pytest.raises(PermissionDenied):
            resolve_task(standpoint, f"api:{task}")


def test_a_registry_with_garbage_does_not_stop_work_on_the_own_project(world: World) -> None:
    web = world.registered("web", T1="x")
    world.put({"registry.json": b"{broken"})

    assert resolve_task(world.standpoint(Path(web.path)), "T1") == f"{web.hash}:T1"
