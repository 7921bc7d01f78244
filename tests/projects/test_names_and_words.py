"""Words that are searched for in linear time, names that can be typed, and files and audits that say what they are."""

import json
from pathlib import Path

import pytest

from gitnexus.projects.finding import _Test
from tests.conftest import Nexus
from tests.projects.conftest import World, keep, told


@pytest.mark.parametrize("word", ["*" * 15 + "b", "*a" * 12 + "b", "?a*" * 8 + "b", "a?" * 10 + "*b"])
def test_no_pattern_makes_a_search_slow(world: World, nexus: Nexus, word: str) -> None:
    project = world.registered("long")
    keep(project, T1={"title": "a" * 100, "description": "a" * 20_000})

    # Whoever goes back in the text does not come to an end with this.
    assert told(nexus, "search", word, place=Path(project.path))["results"] == []


@pytest.mark.parametrize(
    ("word", "text", "is_it", "holds"),
    [
        ("log*", "login", True, True), ("log*", "the login", False, True), ("*in", "login", True, True),
        ("l*n", "login", True, True), ("l*g", "login", False, True), ("l?gin", "login", True, True),
        ("a*a", "a", False, False), ("a*b*a", "aba", True, True), ("a*b*a", "ab c", False, False),
        ("t.*", "txx", False, False), ("*", "anything", True, True), ("x**y", "xy", True, True),
    ],
)  # fmt: skip
def test_stars_and_question_marks_mean_what_they_always_did(word: str, text: str, is_it: bool, holds: bool) -> None:
    test = _Test(word)

    assert (bool(test.names(text)), bool(test.holds(text))) == (is_it, holds)


def test_a_folder_whose_name_cannot_be_typed_is_refused_with_a_proposal(world: World, nexus: Nexus) -> None:
    place = world.git_project("Österreich")

    refused = told(nexus, "register", str(place), place=world.root)

    assert refused["error"]["code"] == 6
    assert refused["error"]["fix"].endswith("--name Osterreich")
    assert told(nexus, "register", str(place), "--name=-x", place=world.root)["error"]["context"]["proposal"] == "x"
    assert told(nexus, "register", str(place), "--name", "Osterreich", place=world.root)["success"]


def test_a_name_or_alias_that_is_the_hash_of_another_project_is_refused(world: World, nexus: Nexus) -> None:
    first, place = world.registered("first"), world.git_project("second")

    for argv in (["--name", first.hash], ["--name", first.hash[:5]], ["--alias", first.hash]):
        refused = told(nexus, "register", str(place), *argv, place=world.root)
        assert (refused["error"]["code"], refused["error"]["context"]["path"]) == (6, first.path)
    assert told(nexus, "project", "show", first.hash, place=world.root)["success"]


@pytest.mark.parametrize("typed", ["task update T1 --depends lib:T1", "task relate T1 lib:T1", "blocking lib:T1"])
def test_refusals_and_the_audit_name_the_command_that_was_typed(world: World, nexus: Nexus, typed: str) -> None:
    lib, app = world.registered("lib", T1="x"), world.registered("app", T1="y")
    assert nexus("grant", "app", "lib", "--permission", "none", place=Path(app.path)).returncode == 0
    command = "git nexus " + " ".join(word for word in typed.split()[:2] if ":" not in word)

    refused = told(nexus, *typed.split(), place=Path(app.path))

    assert refused["error"]["context"]["operation"] == command
    assert f"and {command} requires" in refused["error"]["message"]
    lines = told(nexus, "permissions", "--audit", place=Path(lib.path))
    assert json.dumps(command) in json.dumps(lines)


def test_registry_and_permissions_name_their_schema(world: World, nexus: Nexus) -> None:
    world.registered("lib")
    app = world.registered("app")
    assert nexus("grant", "app", "lib", "--permission", "write", place=Path(app.path)).returncode == 0

    assert world.file("registry.json")["$schema"] == "./schemas/nexus-registry.schema.json"
    assert world.file("permissions.json")["$schema"] == "./schemas/nexus-permissions.schema.json"
    assert "write" in nexus("permissions", "--list", place=Path(app.path)).stdout
