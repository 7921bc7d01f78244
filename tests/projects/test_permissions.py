"""Permissions between projects; §8.1.3 and §5.2.1 of the specification, and what it leaves open."""

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.base.errors import Invalid, PermissionDenied
from gitnexus.projects import signed_permissions
from gitnexus.projects.access import AccessRequest, AccessVerdict, judge_access
from gitnexus.projects.granting import grant_permission, revoke_permission, set_default_level
from gitnexus.projects.grants import read_permissions
from gitnexus.projects.levels import Level
from gitnexus.projects.model import Project
from gitnexus.projects.operations import NEEDS, Operation
from gitnexus.projects.permissions import (
    Permissions,
    ProjectGrant,
    level_held,
    with_grant,
    with_moved_project,
    without_grant,
    without_projects,
)
from tests.projects.conftest import World

GARBAGE = [
    b"", b"{broken", b"[]", b"null", b"\xff\xfe", b'{"version": "2.0.0"}', b'{"defaultPermission": "admin"}',
    b'{"projectRelationships": {}}', b'{"projectRelationships": [{"from": "a", "to": "b", "permission": "read"}]}',
    b'{"projectRelationships": [{"from": "aaaaaaaaaaaa", "permission": "read"}]}',
    b'{"projectRelationships": [{"from": "aaaaaaaaaaaa", "to": "bbbbbbbbbbbb", "permission": "root"}]}',
    b'{"defaultPermission": "none", "defaultPermission": "execute"}',
]  # fmt: skip


@pytest.fixture
def pair(world: World) -> tuple[Project, Project]:
    return world.begin_with(
        "a pair", lambda empty: (empty.registered("my-api", T1="x"), empty.registered("auth-lib", T456="y"))
    )


def allows(world: World, operation: Operation, caller: Project | None, target: Project) -> bool:
    return judge_access(world.home.latest(), AccessRequest(operation, caller, target), world.home.trusts).allowed


def test_check_read_permission(world: World, pair: tuple[Project, Project]) -> None:
    grant_permission(world.home, *pair, Level.READ, "")

    assert allows(world, Operation.SHOW, *pair)


def test_check_write_requires_write(world: World, pair: tuple[Project, Project]) -> None:
    grant_permission(world.home, *pair, Level.READ, "")

    assert not allows(world, Operation.UPDATE, *pair)


def test_check_execute_implies_write(world: World, pair: tuple[Project, Project]) -> None:
    grant_permission(world.home, *pair, Level.EXECUTE, "")

    assert allows(world, Operation.UPDATE, *pair)


def test_check_default_permission(world: World, pair: tuple[Project, Project]) -> None:
    for level in Level:
        set_default_level(world.home, level)

        allowed = [allows(world, op, *pair) for op in (Operation.SHOW, Operation.UPDATE, Operation.COMPLETE)]
        assert (level, allowed) == (
            level,
            [level is not Level.NONE, level in (Level.WRITE, Level.EXECUTE), level is Level.EXECUTE],
        )


def test_check_same_project_always_allowed(world: World, pair: tuple[Project, Project]) -> None:
    for content in (None, b'{"defaultPermission": "none"}', b"{broken"):
        if content is not None:
            world.put({"permissions.json": content})

        assert all(allows(world, operation, pair[0], pair[0]) for operation in Operation), content


# §5.2.1, with the words of our commands, and below the line the verbs that the table does not know.
TABLE = {
    "show": "read",
    "discover": "read",
    "deps": "read",
    "search": "read",
    "task update": "write",
    "task add --depends": "write",
    "task relate": "write",
    "task complete": "execute",
    "task delete": "execute",
    "run --task": "execute",
    # --
    "query": "read",
    "dependents": "read",
    "graph": "read",
    "project show": "read",
    "task claim": "write",
    "task cancel": "execute",
}


def test_operation_permission_mapping() -> None:
    assert {operation.value: level.value for operation, level in NEEDS.items()} == TABLE
    assert set(NEEDS) == set(Operation)


def test_an_operation_passes_exactly_from_the_level_that_it_needs() -> None:
    caller, target = (Project(hash=key * 12, path=f"/{key}", name=key) for key in "ab")
    order = ["none", "read", "write", "execute"]

    for operation, level in itertools.product(Operation, Level):
        verdict = AccessVerdict(AccessRequest(operation, caller, target), level)
        permitted = order.index(level.value) >= order.index(TABLE[operation.value])
        assert (operation, level, verdict.allowed) == (operation, level, permitted)


def test_a_grant_says_nothing_about_the_other_direction(world: World, pair: tuple[Project, Project]) -> None:
    grant_permission(world.home, *pair, Level.EXECUTE, "")

    assert not allows(world, Operation.UPDATE, pair[1], pair[0])


def test_outside_any_project_it_is_reading_at_most(world: World, pair: tuple[Project, Project]) -> None:
    told = {}
    for level in Level:
        set_default_level(world.home, level)
        told[level.value] = [allows(world, op, None, pair[0]) for op in (Operation.SHOW, Operation.UPDATE)]

    assert told == {"none": [False, False], "read": [True, False], "write": [True, False], "execute": [True, False]}


def test_a_denial_says_what_is_held_what_is_needed_and_how_it_is_granted(
    world: World, pair: tuple[Project, Project]
) -> None:
    with pytest.raises(PermissionDenied) as refused:
        world.standpoint(Path(pair[0].path)).require_permission(Operation.UPDATE, pair[1], "T456")

    error = refused.value
    assert (error.code, error.name) == (71, "E_NEXUS_PERMISSION_DENIED")
    assert error.message == (
        "project 'my-api' has 'read' permission to 'auth-lib', and git nexus task update requires 'write'"
    )
    assert error.fix == "git nexus grant my-api auth-lib --permission write"
    assert (error.context["permissionHeld"], error.context["permissionRequired"]) == ("read", "write")


def test_a_denial_of_an_unregistered_project_says_that_it_must_be_registered(world: World) -> None:
    target = world.registered("api")
    place = world.git_project("new one")

    with pytest.raises(PermissionDenied) as refused:
        world.standpoint(place).require_permission(Operation.COMPLETE, target, "T1")

    assert refused.value.fix == f"git nexus register '{place}' --name new-one"
    assert refused.value.hint == "register 'new-one' first, then: git nexus grant new-one api --permission execute"


def test_a_project_that_is_not_registered_may_read_at_most(world: World) -> None:
    target, place = world.registered("api"), world.git_project("new")
    set_default_level(world.home, Level.EXECUTE)
    standpoint = world.standpoint(place)

    standpoint.require_permission(Operation.SHOW, target, "T1")
    with pytest.raises(PermissionDenied):
        standpoint.require_permission(Operation.UPDATE, target, "T1")

    assert standpoint.level(target) is Level.READ
    world.register(place)
    assert world.standpoint(place).level(target) is Level.EXECUTE


def test_a_denial_outside_any_project_says_where_to_go(world: World) -> None:
    target = world.registered("api")

    with pytest.raises(PermissionDenied, match="who is in no project has 'read' permission to 'api'"):
        world.standpoint(None).require_permission(Operation.UPDATE, target, "T1")


def test_permissions_with_garbage_deny_everything_external_and_stay_as_they_are(
    world: World, pair: tuple[Project, Project]
) -> None:
    for content in GARBAGE:
        world.put({"permissions.json": content})
        standpoint = world.standpoint(Path(pair[0].path))
        print(content)  # which one it was, if one of these fails

        with pytest.raises(PermissionDenied, match=r"permissions\.json of the home repository") as refused:
            standpoint.require_permission(Operation.SHOW, pair[1], "T456")
        for change in (
            lambda: grant_permission(world.home, *pair, Level.EXECUTE, ""),
            lambda: revoke_permission(world.home, *pair),
            lambda: set_default_level(world.home, Level.EXECUTE),
        ):
            with pytest.raises(Invalid):
                change()

        assert refused.value.context["permissionHeld"] == "none"
        assert standpoint.readable() == [pair[0]]
        assert world.home.latest().read("permissions.json") == content


def test_a_folder_in_the_place_of_the_permissions_is_not_taken_for_none(
    world: World, pair: tuple[Project, Project]
) -> None:
    world.put({"permissions.json/x": b"1"})

    with pytest.raises(Invalid, match="it is not a plain file"):
        read_permissions(world.home.latest())
    assert not allows(world, Operation.SHOW, *pair)


def test_the_last_entry_for_a_pair_wins_and_a_grant_replaces_them_all(
    world: World, pair: tuple[Project, Project]
) -> None:
    rows = [{"from": pair[0].hash, "to": pair[1].hash, "permission": word} for word in ("execute", "none", "write")]
    world.put({"permissions.json": json.dumps({"projectRelationships": rows, "ours": [1]}).encode()})
    signed_permissions.sign_home_permissions(*signed_permissions.permissions_to_sign())

    assert allows(world, Operation.UPDATE, *pair)
    assert not allows(world, Operation.COMPLETE, *pair)

    done = grant_permission(world.home, *pair, Level.READ, "for the login")
    after = world.file("permissions.json")

    assert (done.before, done.after) == (Level.WRITE, Level.READ)
    assert after["projectRelationships"] == [{**rows[0], "permission": "read", "reason": "for the login"}]
    assert after["ours"] == [1]


def test_a_revoked_grant_is_the_default_again_and_revoking_twice_is_harmless(
    world: World, pair: tuple[Project, Project]
) -> None:
    grant_permission(world.home, *pair, Level.EXECUTE, "")

    assert [revoke_permission(world.home, *pair).before for _ in range(2)] == [Level.EXECUTE, Level.READ]
    assert world.file("permissions.json")["projectRelationships"] == []
    assert len(world.commits()) == 6  # begin, two registrations, approver, grant, revoke


def test_the_same_grant_twice_is_one_commit(world: World, pair: tuple[Project, Project]) -> None:
    grant_permission(world.home, *pair, Level.EXECUTE, "the first one also begins the list of approvers")
    before = len(world.commits())
    for _ in range(2):
        grant_permission(world.home, *pair, Level.WRITE, "why")

    assert len(world.commits()) == before + 1


def test_a_project_needs_no_grant_for_itself_and_a_reason_has_an_end(
    world: World, pair: tuple[Project, Project]
) -> None:
    with pytest.raises(Invalid, match="the same project"):
        grant_permission(world.home, pair[0], pair[0], Level.READ, "")
    with pytest.raises(Invalid, match="longer than 500"):
        grant_permission(world.home, *pair, Level.READ, "x" * 501)


HASHES = st.sampled_from([f"{digit * 12}" for digit in "abcd"])
GRANTS = st.builds(lambda one, two, level: ProjectGrant(from_=one, to=two, permission=level), HASHES, HASHES,
                   st.sampled_from(Level))  # fmt: skip
PERMISSIONS = st.builds(
    lambda default, rows: Permissions(default_permission=default, project_relationships=tuple(rows)),
    st.sampled_from(Level),
    st.lists(GRANTS, max_size=8),
)


@given(PERMISSIONS, GRANTS, HASHES, HASHES)
def test_a_grant_changes_its_own_pair_and_no_other(before: Permissions, row: ProjectGrant, one: str, two: str) -> None:
    after = with_grant(before, row)

    if (one, two) != (row.from_, row.to):
        assert level_held(after, one, two) == level_held(before, one, two)
    elif one != two:
        assert level_held(after, one, two) == row.permission
    assert without_grant(after, row.from_, row.to) == without_grant(before, row.from_, row.to)


@given(PERMISSIONS, HASHES, HASHES, HASHES)
def test_a_project_that_moves_keeps_what_it_held(before: Permissions, old: str, new: str, other: str) -> None:
    after = with_moved_project(before, old, new)

    if old != new and other not in (old, new):
        assert level_held(after, new, other) == level_held(before, old, other)
        assert level_held(after, other, new) == level_held(before, other, old)
        assert level_held(after, other, old) == before.default_permission


@given(PERMISSIONS, HASHES, HASHES)
def test_what_goes_leaves_nothing_behind(before: Permissions, gone: str, other: str) -> None:
    after = without_projects(before, frozenset({gone}))

    assert all(gone not in (row.from_, row.to) for row in after.project_relationships)
    if gone != other:
        assert level_held(after, other, gone) == level_held(after, gone, other) == before.default_permission
