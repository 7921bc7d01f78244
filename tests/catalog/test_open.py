"""Which catalog holds: a project's own package if it is whole, else ours; settings add up."""

import json
from pathlib import Path

import pytest

from gitnexus.app.catalog import open_catalog_at
from gitnexus.app.doctor import examine_project
from gitnexus.app.doctor_finding import DoctorFinding
from gitnexus.base.errors import Invalid, NotFound
from gitnexus.git import discover
from gitnexus.state import State
from gitnexus.state.settings import settings_layers, settings_section
from tests.catalog.packages import package
from tests.conftest import run_git, trust


def configure(project: Path, **catalog: object) -> None:
    """Edit the project's settings by hand, and sign them."""
    (project / ".nexus" / "settings.json").write_text(json.dumps({"catalog": catalog}))
    trust(project)


def of_the_user(sealed: Path, **catalog: object) -> None:
    """Edit the user's own settings."""
    (sealed / "nexus").mkdir(exist_ok=True)
    (sealed / "nexus" / "settings.json").write_text(json.dumps({"catalog": catalog}))


def about_the_catalog(project: Path) -> list[DoctorFinding]:
    return [finding for finding in examine_project(discover(project), fix=False) if finding.check == "catalog"]


def test_without_settings_it_is_the_built_in_one_also_where_there_is_no_repository(
    tmp_path: Path, project: Path
) -> None:
    assert open_catalog_at(tmp_path).catalog.source == "built-in"
    assert open_catalog_at(tmp_path).described is None
    assert open_catalog_at(project).catalog.source == "built-in"
    assert open_catalog_at(project).notices == ()


def test_a_folder_that_is_not_there_is_an_error_all_the_same(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        open_catalog_at(tmp_path / "none")


def test_a_source_in_the_project_is_meant_from_its_top_wherever_one_stands(project: Path) -> None:
    package(project / "tools" / "my catalog")
    configure(project, source="tools/my catalog")
    (project / "sub").mkdir()

    for place in (project, project / "sub"):
        assert list(open_catalog_at(place).catalog.agents) == ["baker"]


def test_an_absolute_source_or_one_in_the_home_is_taken_as_it_is(project: Path, sealed: Path) -> None:
    package(sealed / "mine")

    for source in (str(sealed / "mine"), "~/mine"):
        configure(project, source=source)
        assert list(open_catalog_at(project).catalog.agents) == ["baker"]


def test_in_a_linked_worktree_a_relative_source_is_that_worktrees(project: Path, tmp_path: Path) -> None:
    package(project / "cat")
    run_git(project, "add", "cat")
    run_git(project, "commit", "-qm", "a catalog")
    configure(project, source="cat")
    open_catalog_at(project)
    run_git(project, "worktree", "add", "-q", str(tmp_path / "second"))

    assert open_catalog_at(tmp_path / "second").catalog.source == str((tmp_path / "second" / "cat").resolve())


def test_a_broken_source_is_told_and_the_built_in_catalog_stays(project: Path) -> None:
    package(project / "cat")
    (project / "cat" / "agents" / "baker" / "body.md").write_text("other")
    configure(project, source="cat")

    here = open_catalog_at(project)

    assert here.catalog.source == "built-in"
    assert len(here.catalog.agents) == 9
    assert len(here.opened.problems) == 1
    assert here.notices[-1].startswith("catalog.source cat is broken, so the built-in catalog is used")


def test_the_doctor_lists_what_is_wrong_with_a_source(project: Path) -> None:
    package(project / "cat")
    for path in ("agents/baker/body.md", "skills/nx-bake/meta.yml"):
        (project / "cat" / path).unlink()
    configure(project, source="cat")

    found = about_the_catalog(project)

    assert [(finding.state, finding.words) for finding in found] == [
        ("problem", "cat: agents/baker/body.md is missing"),
        ("problem", "cat: skills/nx-bake/meta.yml is missing"),
        ("ok", "9 roles and 4 skills, built-in"),
    ]


def test_the_doctor_says_which_catalog_holds_and_what_was_added(project: Path) -> None:
    assert [finding.words for finding in about_the_catalog(project)] == ["9 roles and 4 skills, built-in"]
    configure(project, capabilities={"engineer": ["no_shell_exec"], "writer": ["no_shell_exec"]})

    assert about_the_catalog(project)[0].words == "9 roles and 4 skills, built-in, 2 capabilities added"


def test_the_doctor_names_a_capability_that_cannot_be_added(project: Path) -> None:
    configure(project, capabilities={"engineer": ["-no_task_create"]})

    (finding,) = about_the_catalog(project)

    assert finding.state == "problem"
    assert "would take a capability away" in finding.words


def test_what_the_user_added_stays_whatever_the_project_says(project: Path, sealed: Path) -> None:
    of_the_user(sealed, capabilities={"engineer": ["no_shell_exec"]})
    configure(project, capabilities={"engineer": []})

    assert open_catalog_at(project).effective("engineer") == ("no_task_create", "no_shell_exec")


def test_the_projects_source_goes_before_the_users(project: Path, sealed: Path, tmp_path: Path) -> None:
    package(project / "cat")
    of_the_user(sealed, source=str(tmp_path / "none"))
    assert open_catalog_at(project).opened.asked == str(tmp_path / "none")

    configure(project, source="cat")

    assert open_catalog_at(project).opened.asked == "cat"


def test_outside_of_a_project_a_relative_source_leads_nowhere(sealed: Path, tmp_path: Path) -> None:
    of_the_user(sealed, source="cat")

    with pytest.raises(Invalid) as refused:
        open_catalog_at(tmp_path)

    assert "is not a path that can be resolved from here" in refused.value.message


@pytest.mark.parametrize(
    ("catalog", "words"),
    [
        ({"sourc": "x"}, ".nexus/settings.json: catalog: sourc is not known"),
        ({"source": 5}, ".nexus/settings.json: catalog: source should be text"),
        ({"source": "~nobody-of-that-name/x"}, "names no user's home"),
        ({"source": "a\0b"}, "is not a path that can be resolved"),
        ({"capabilities": ["no_shell_exec"]}, ".nexus/settings.json: catalog: capabilities should be an object"),
        ({"capabilities": {"engineer": "no_shell_exec"}}, "capabilities.engineer should be a list"),
    ],
)
def test_settings_that_are_not_understood_are_refused_by_name(
    project: Path, catalog: dict[str, object], words: str
) -> None:
    configure(project, **catalog)

    with pytest.raises(Invalid) as refused:
        open_catalog_at(project)

    assert words in refused.value.message


def test_a_part_of_the_settings_is_read_file_by_file_or_as_one(project: Path, sealed: Path) -> None:
    of_the_user(sealed, source="a", capabilities={"x": ["1"]})
    State.open(project).write(
        {"settings.json": b'{"catalog":{"capabilities":{"y":["2"]}},"memory":[]}'}, why="settings"
    )
    snapshot = State.open(project).snapshot

    assert settings_layers(snapshot, "catalog") == [
        (str(sealed / "nexus" / "settings.json"), {"source": "a", "capabilities": {"x": ["1"]}}),
        (".nexus/settings.json", {"capabilities": {"y": ["2"]}}),
    ]
    assert settings_section(snapshot, "catalog") == {"source": "a", "capabilities": {"x": ["1"], "y": ["2"]}}
    assert settings_section(snapshot, "backlog") == {}
    assert settings_layers(None, "memory") == []
    with pytest.raises(Invalid) as refused:
        settings_section(snapshot, "memory")
    assert refused.value.message == ".nexus/settings.json: memory should be an object"
