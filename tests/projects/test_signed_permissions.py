"""Permissions count when the person signed them; an edit by anyone else takes away at most."""

import json
from pathlib import Path

import pytest

from gitnexus.base.errors import VerificationFailed
from gitnexus.policy.keys import keys_folder
from gitnexus.projects import signed_permissions
from gitnexus.projects.granting import grant_permission, revoke_permission, set_default_level
from gitnexus.projects.grants import PERMISSIONS, is_in_force, read_permissions
from gitnexus.projects.levels import Level
from gitnexus.projects.model import Project
from gitnexus.projects.move import move_project
from gitnexus.projects.permissions import level_held
from gitnexus.projects.place import project_at as place_at
from gitnexus.projects.prune import prune_projects
from gitnexus.projects.signed_permissions import NAME
from tests.conftest import Nexus
from tests.projects.conftest import TODAY, World

Pair = tuple[Project, Project]


@pytest.fixture
def pair(world: World) -> Pair:
    return world.begin_with(
        "a pair", lambda empty: (empty.registered("my-api", T1="x"), empty.registered("auth-lib", T456="y"))
    )


def level(world: World, pair: Pair) -> Level:
    return level_held(read_permissions(world.home.latest(), world.home.trusts), pair[0].hash, pair[1].hash)


def edited(world: World, pair: Pair, word: str, default: str = "read") -> None:
    """Write the file as an agent with git would."""
    rows = [{"from": pair[0].hash, "to": pair[1].hash, "permission": word}]
    text = json.dumps({"defaultPermission": default, "projectRelationships": rows})
    world.put({PERMISSIONS: text.encode()})


def test_a_grant_counts_and_is_signed_by_the_person(world: World, pair: Pair) -> None:
    grant_permission(world.home, *pair, Level.WRITE, "")

    assert level(world, pair) is Level.WRITE
    assert world.file("policy/signatures.json")["files"].keys() == {PERMISSIONS}
    assert signed_permissions.list_unsigned_permissions() == {}


@pytest.mark.parametrize(
    ("word", "default", "counts"),
    [("execute", "read", "read"), ("write", "execute", "read"), ("none", "execute", "none"), ("read", "read", "read")],
)
def test_an_edit_by_anyone_else_takes_away_at_most(
    world: World, pair: Pair, word: str, default: str, counts: str
) -> None:
    grant_permission(world.home, *pair, Level.WRITE, "")

    edited(world, pair, word, default)

    permissions = read_permissions(world.home.latest(), world.home.trusts)
    assert (level(world, pair).value, permissions.default_permission) == (counts, Level.READ)


def test_nobody_signs_away_an_edit_by_granting_something_else(world: World, pair: Pair) -> None:
    grant_permission(world.home, *pair, Level.WRITE, "")
    edited(world, pair, "execute")
    before = world.home.latest().commit

    for act in (
        lambda: grant_permission(world.home, pair[1], pair[0], Level.READ, ""),
        lambda: revoke_permission(world.home, *pair),
        lambda: set_default_level(world.home, Level.NONE),
    ):
        with pytest.raises(VerificationFailed, match="not as you signed it") as refused:
            act()
        assert refused.value.hint == "git nexus policy trust shows what is in it, and signs it"

    assert world.home.latest().commit == before


def test_what_is_pruned_or_moved_stays_signed_and_an_edit_stays_unsigned(world: World, pair: Pair) -> None:
    gone = world.registered("gone")
    grant_permission(world.home, *pair, Level.EXECUTE, "")
    grant_permission(world.home, gone, pair[1], Level.WRITE, "")
    Path(gone.path).rename(world.root / "away")
    place = world.root / "elsewhere"
    Path(pair[0].path).rename(place)

    moved = move_project(world.home, pair[0], place_at(place), TODAY).project  # type: ignore[arg-type]
    prune_projects(world.home, TODAY, older_than=None, dry_run=False, here=None)

    assert [row["to"] for row in world.file(PERMISSIONS)["projectRelationships"]] == [pair[1].hash]
    assert level(world, (moved, pair[1])) is Level.EXECUTE

    edited(world, (moved, pair[1]), "write")
    place.rename(world.root / "again")
    prune_projects(world.home, TODAY, older_than=None, dry_run=False, here=None)

    assert world.file(PERMISSIONS)["projectRelationships"] == []


def test_an_older_file_with_its_signature_does_not_come_back(world: World, pair: Pair) -> None:
    grant_permission(world.home, *pair, Level.EXECUTE, "")
    old = {path: world.home.latest().read(path) for path in (PERMISSIONS, "policy/signatures.json")}
    revoke_permission(world.home, *pair)
    grant_permission(world.home, pair[1], pair[0], Level.WRITE, "")
    assert level(world, pair) is Level.READ

    world.put(old)

    assert level(world, pair) is Level.READ
    assert "it is an older version" in signed_permissions.list_unsigned_permissions()[NAME]


def test_another_key_counts_once_a_person_trusts_with_it(world: World, pair: Pair) -> None:
    grant_permission(world.home, *pair, Level.WRITE, "")
    for file in keys_folder().iterdir():
        file.unlink()

    with pytest.raises(VerificationFailed, match="with another key than the available one"):
        grant_permission(world.home, *pair, Level.EXECUTE, "")

    edited(world, pair, "execute")
    key = signed_permissions.sign_home_permissions(*signed_permissions.permissions_to_sign())
    assert level(world, pair) is Level.EXECUTE
    grant_permission(world.home, *pair, Level.WRITE, "")
    assert level(world, pair) is Level.WRITE
    assert world.file("policy/signatures.json")["files"][PERMISSIONS]["key"] == key


def test_approvers_that_somebody_planted_in_the_home_are_not_believed(world: World, pair: Pair) -> None:
    grant_permission(world.home, *pair, Level.READ, "")
    planted = world.home.latest().read("approvers")
    assert planted is not None
    world.put({"approvers": planted.replace(b'"name"', b'"nAme"')})

    edited(world, pair, "execute")

    assert not is_in_force(world.home.latest(), world.home.trusts)
    assert level(world, pair) is Level.READ


def test_status_doctor_and_permissions_tell_and_policy_trust_signs(world: World, pair: Pair, nexus: Nexus) -> None:
    place = world.root / "here"
    nexus("init", "--name", "here", place=_repository(world, place))
    grant_permission(world.home, *pair, Level.WRITE, "")
    edited(world, pair, "execute")

    listed = json.loads(nexus("permissions", "--json", place=place).stdout)
    told = json.loads(nexus("status", "--json", place=place).stdout)["untrusted"]
    doctor = nexus("doctor", place=place).stdout

    assert (listed["trusted"], [row["permission"] for row in listed["permissions"]]) == (False, ["read"])
    assert [row["path"] for row in told] == [NAME]
    assert f"{NAME} is not in force: it changed since it was signed" in doctor

    (file,) = signed_permissions.permissions_to_sign()
    done = nexus("policy", "trust", "--confirm", file.digest, place=place)

    assert (done.returncode, done.stdout.split(" with ")[0]) == (0, f"Signed {NAME}")
    assert level(world, pair) is Level.EXECUTE


def _repository(world: World, place: Path) -> Path:
    world.git_project(place.name)
    return place
