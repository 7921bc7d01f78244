"""The commands about projects, as people and scripts call them."""

import json
from pathlib import Path

import pytest

from gitnexus.base import errors
from gitnexus.base.errors import CrossProjectError
from gitnexus.projects.levels import Level
from gitnexus.projects.model import Project
from gitnexus.ui.envelope import failure_document
from tests.conftest import Nexus, run_git
from tests.projects.conftest import World, told
from tests.terminal import shown as terminal


@pytest.fixture
def nexus(world: World) -> Nexus:
    """git nexus in the first of three projects: web, my-api and a folder of the other tool."""
    return Nexus(Path(world.begin_with("three to command", _three).path))


def _three(world: World) -> Project:
    web = world.registered("web", T1="mine")
    world.registered("my-api", "api", T1="theirs", T2="more")
    world.register(world.cleo_project("old"))
    return web


def test_the_life_of_a_registration(world: World, nexus: Nexus) -> None:
    place = world.git_project("neu & alt")

    registered = told(nexus, "register", "../neu & alt", "--alias", "n", "--alias", "m")
    assert registered["project"]["name"] == "neu---alt"
    assert registered["_meta"]["project"] == {
        "name": "neu---alt",
        "hash": registered["project"]["hash"],
        "path": str(place),
    }
    assert told(nexus, "register", str(place))["error"]["name"] == "E_DUPLICATE"
    assert told(nexus, "project", "rename", "n", "both")["project"]["aliases"] == ["n", "m", "neu---alt"]
    assert told(nexus, "project", "alias", "both", "b", "c")["project"]["aliases"] == ["n", "m", "neu---alt", "b", "c"]
    assert told(nexus, "project", "alias", "both", "b", "n", "--remove")["project"]["aliases"] == [
        "m",
        "neu---alt",
        "c",
    ]
    place.rename(world.root / "away")
    assert told(nexus, "project", "move", "both", "../away")["movedFrom"] == str(place)
    assert told(nexus, "project", "show", "both")["project"]["path"] == str(world.root / "away")
    assert told(nexus, "project", "unregister", "m")["project"]["name"] == "both"
    assert told(nexus, "project", "show", "both")["error"]["code"] == 70
    assert (world.root / "away" / ".git").exists()


def test_the_list_is_one_screen_with_health_and_permission(world: World, nexus: Nexus) -> None:
    Path(world.registered("gone").path).rename(world.root / "away")
    nexus.ok("grant", "web", "old", "--permission", "none")

    shown = nexus.ok("project", "list")
    rows = told(nexus, "project", "list")["projects"]

    root = world.root
    assert shown.splitlines() == [
        f"   gone    missing  read      {root}/gone",
        f"   my-api  ok       read      {root}/my-api",
        f"   old     ok       none      {root}/old",
        f"*  web     ok       this one  {root}/web",
    ]
    assert [(row["name"], row["health"], row["permission"], row["current"], row.get("kind")) for row in rows] == [
        ("gone", "missing", "read", False, None),
        ("my-api", "ok", "read", False, "git"),
        ("old", "ok", "none", False, "cleo"),
        ("web", "ok", "execute", True, "git"),
    ]


def test_a_list_of_nothing_says_what_to_do_and_makes_nothing(tmp_path: Path, sealed: Path) -> None:
    assert "git nexus register PATH" in Nexus(tmp_path).ok("project", "list")
    assert not (sealed / "nexus").exists()


def test_a_task_of_another_project_says_who_answered(nexus: Nexus, world: World) -> None:
    found = told(nexus, "query", "api:T1")
    key = told(nexus, "project", "show", "api")["project"]["hash"]

    assert {name: found[name] for name in ("id", "title", "status", "taskId", "ref", "project")} == {
        "id": "T1",
        "title": "theirs",
        "status": "pending",
        "taskId": f"{key}:T1",
        "ref": "my-api:T1",
        "project": "my-api",
    }
    assert found["_meta"]["project"] == {"name": "my-api", "hash": key, "path": str(world.root / "my-api")}
    assert nexus.ok("query", "api:T1") == "my-api:T1  pending  theirs\n"


def test_the_same_id_here_and_there_is_told_apart(nexus: Nexus) -> None:
    assert [told(nexus, "query", ref)["ref"] for ref in ("T1", ".:T1", "web:T1", "my-api:T1")] == [
        "web:T1",
        "web:T1",
        "web:T1",
        "my-api:T1",
    ]


def test_wildcard_search_all_projects(nexus: Nexus, world: World) -> None:
    world.register(world.cleo_project("third", T1="of the folder"))
    Path(world.registered("gone").path).rename(world.root / "away")

    found = told(nexus, "query", "*:T1")

    assert [row["ref"] for row in found["results"]] == ["my-api:T1", "third:T1", "web:T1"]
    assert (found["total"], [row["project"] for row in found["skipped"]]) == (3, ["gone"])
    assert nexus("query", "*:T1").stderr.startswith("gone cannot answer: gone is registered at")


def test_a_wildcard_leaves_out_what_may_not_be_read_and_finds_nothing_with_4(nexus: Nexus) -> None:
    nexus.ok("grant", ".", "api", "--permission", "none")

    assert [row["ref"] for row in told(nexus, "query", "*:T1")["results"]] == ["web:T1"]
    assert told(nexus, "query", "*:T2")["error"]["code"] == 4
    assert told(nexus, "permissions", "--audit")["entries"] == []


WRONG: list[tuple[list[str], int]] = [
    (["query", "nobody:T1"], 70),
    (["query", "api:t1"], 72),
    (["query", ""], 72),
    (["query", "api:T99"], 4),
    (["query"], 2),
    (["project", "show", "nobody"], 70),
    (["project", "rename", "api", "web"], 6),
    (["project", "rename", "api", "a b"], 6),
    (["project", "alias", "api"], 2),
    (["project", "move", "api", "../nowhere"], 4),
    (["project", "unregister", "nobody"], 70),
    (["register", ".."], 4),
    (["register", "."], 3),
    (["register"], 2),
    (["grant", "web", "nobody", "--permission", "read"], 70),
    (["grant", "web", "api", "--permission", "admin"], 2),
    (["grant", "web", "api"], 2),
    (["grant", "web", "web", "--permission", "read"], 6),
    (["revoke", "web"], 2),
    (["revoke", "nobody", "web"], 70),
    (["prune", "--older-than", "-1"], 2),
    (["permissions", "--limit", "0"], 2),
    (["query", "T1", "--project", "nobody"], 70),
]


def test_what_is_wrong_gets_a_sentence_and_a_status_and_changes_nothing(nexus: Nexus, world: World) -> None:
    nexus.ok("query", "api:T1")  # notes that it is in use, for an hour
    before = world.commits()

    for argv, code in WRONG:
        done = nexus(*argv)
        assert (argv, done.returncode, done.stdout) == (argv, code, "")
        assert done.stderr.startswith("error: ")

    for argv, code in WRONG[:4]:
        assert told(nexus, *argv)["error"]["code"] == code
    assert world.commits() == before


def test_grants_are_given_listed_and_taken_back(nexus: Nexus) -> None:
    assert nexus.ok("grant", ".", "api", "--permission", "write", "--reason", "shared contract") == (
        "web now has write permission on my-api (before: read).\n"
    )
    assert nexus.ok("permissions", "--list") == ("web  →  my-api  write  shared contract\nBy default: read.\n")
    (row,) = told(nexus, "permissions", "--list")["permissions"]
    assert (row["from"], row["to"], row["permission"], row["reason"]) == ("web", "my-api", "write", "shared contract")
    assert told(nexus, "revoke", "web", "my-api")["previous"] == "write"
    assert told(nexus, "permissions", "--default", "none")["defaultPermission"] == "none"
    assert told(nexus, "query", "api:T1")["error"]["code"] == 71


def test_a_denial_in_a_shell_shows_the_command_that_grants(nexus: Nexus) -> None:
    nexus.ok("grant", "web", "api", "--permission", "none")

    done = nexus("query", "api:T1")

    assert done.returncode == 71
    assert done.stderr.splitlines() == [
        "error: project 'web' has 'none' permission to 'my-api', and git nexus query requires 'read'",
        "hint: try: git nexus grant web my-api --permission read",
        "or:   See who may do what: git nexus permissions --list",
    ]


def test_every_error_between_projects_has_the_envelope_of_the_specification() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, CrossProjectError)]
    codes = {}
    for kind in kinds:
        error = kind("words", fix="git nexus project list", alternatives=[{"action": "Look", "command": "git nexus"}])
        value = json.loads(failure_document(error))
        assert set(value["error"]) == {"code", "name", "message", "fix", "alternatives"}
        codes[value["error"]["code"]] = value["error"]["name"]

    del codes[1]  # the base of the tree, never raised
    assert codes == {
        70: "E_NEXUS_PROJECT_NOT_FOUND",
        71: "E_NEXUS_PERMISSION_DENIED",
        72: "E_NEXUS_INVALID_SYNTAX",
        73: "E_NEXUS_SYNC_FAILED",
        74: "E_NEXUS_HASH_COLLISION",
        75: "E_NEXUS_CACHE_CORRUPT",
        76: "E_NEXUS_AMBIGUOUS_NAME",
    }


def test_the_current_project_can_be_named_by_option_and_environment(
    nexus: Nexus, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert told(nexus, "query", "T2", "--project", "api")["ref"] == "my-api:T2"
    monkeypatch.setenv("NEXUS_PROJECT", str(world.root / "my-api"))
    assert told(nexus, "query", "T2", place=world.root)["ref"] == "my-api:T2"
    assert told(nexus, "query", "T1", "--project", "web")["ref"] == "web:T1"


def test_a_linked_worktree_is_the_same_project(nexus: Nexus, world: World) -> None:
    run_git(nexus.place, "commit", "-q", "--allow-empty", "-m", "first")
    run_git(nexus.place, "worktree", "add", "-q", "-b", "side", "../ein Baum")

    assert told(nexus, "query", "T1", place=world.root / "ein Baum")["ref"] == "web:T1"
    assert told(nexus, "register", ".", place=world.root / "ein Baum")["error"]["code"] == 3


def test_prune_prints_the_same_list_dry_or_not(nexus: Nexus, world: World) -> None:
    Path(world.registered("gone").path).rename(world.root / "away")
    nexus.ok("grant", "web", "gone", "--permission", "write")

    dry, real = nexus.ok("prune", "--dry-run"), nexus.ok("prune")

    assert dry.splitlines() == [
        f"gone  its folder is gone  {world.root}/gone",
        "Would forget 1 project and 1 permission; 3 left.",
    ]
    assert real.splitlines() == [dry.splitlines()[0], "Forgot 1 project and 1 permission; 3 left."]
    assert nexus.ok("prune") == "Nothing to forget; 3 projects.\n"
    before = json.loads(run_git(world.root, f"--git-dir={world.home.repo.git_dir}", "show",
                                "refs/nexus/state~1:registry.json"))  # fmt: skip
    assert "gone" in {row["name"] for row in before["projects"].values()}


def test_permissions_with_garbage_are_named_and_nothing_external_is_read(nexus: Nexus, world: World) -> None:
    world.put({"permissions.json": b"{broken"})

    denied = told(nexus, "query", "api:T1")["error"]
    assert denied["code"] == 71
    assert "permissions.json of the home repository is not valid JSON" in denied["message"]
    assert told(nexus, "permissions", "--list")["error"]["code"] == 6
    assert told(nexus, "grant", "web", "api", "--permission", "execute")["error"]["code"] == 6
    assert [row["permission"] for row in told(nexus, "project", "list")["projects"]] == ["none", "none", "execute"]
    assert "permissions.json" in nexus("project", "list").stderr
    assert told(nexus, "query", "T1")["ref"] == "web:T1"
    assert "permissions.json of the home repository is not valid JSON" in nexus("doctor").stdout
    assert world.home.latest().read("permissions.json") == b"{broken"


def test_words_of_others_cannot_draw_on_the_terminal(nexus: Nexus, world: World) -> None:
    evil = "x\x1b[2Jy\u202ez"
    world.register(world.cleo_project("evil", T1=evil))
    nexus.ok("grant", "web", "evil", "--permission", "write", "--reason", evil)

    for argv in (["query", "evil:T1"], ["query", "*:T1"], ["permissions", "--list"]):
        shown = terminal(nexus.place, "git", "nexus", *argv)
        assert "x\\x1b[2Jy\\u202ez" in shown
        assert "\x1b[2J" not in shown


def test_init_registers_with_the_permissions_of_the_place_it_moved_from(nexus: Nexus, world: World) -> None:
    nexus.ok("grant", "web", "api", "--permission", "execute")
    moved = world.root / "moved"
    nexus.place.rename(moved)

    Nexus(moved).ok("init", "--name", "web")

    (row,) = told(nexus, "permissions", "--list", place=moved)["permissions"]
    assert (row["from"], row["to"], row["permission"]) == ("web", "my-api", Level.EXECUTE.value)


def test_uninstall_takes_the_permissions_along(nexus: Nexus, world: World) -> None:
    nexus.ok("grant", "api", "web", "--permission", "execute")

    nexus.ok("uninstall")

    assert world.file("permissions.json")["projectRelationships"] == []
