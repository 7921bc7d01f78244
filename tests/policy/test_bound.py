"""What a token binds: one byte of a request that is another makes it another request, and the token does not fit."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitnexus.base.errors import Invalid, VerificationFailed
from gitnexus.policy.grants import GrantContext, grant_covers, make_grant
from gitnexus.policy.model import CommandRequest, PatchRequest, PatchRow, Request
from gitnexus.policy.request import canonical_bytes, parse_request, request_digest
from gitnexus.policy.tokens import ExpectedAction, check_token
from tests.policy.signing import NOW, PROJECT, Scene, patch, scene

MANY = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
COMMAND = CommandRequest(
    project=PROJECT, run="r1", role="engineer", argv=("pytest", "-q", "é"), program="/usr/bin/pytest",
    program_digest="sha256:" + "5" * 64, cwd="/w", base="b" * 40, env={"LANG": "C", "CI": "1"},
    limits={"seconds": 60}, stdin_digest="sha256:" + "6" * 64,
)  # fmt: skip
PATCH = PatchRequest(
    project=PROJECT, run="r1", role="engineer", base="b" * 40, base_tree="c" * 40, result_tree="d" * 40,
    changes=(PatchRow(path="src/é.py", old_mode="100644", new_mode="100755", old_blob="1" * 40, new_blob="2" * 40),
             PatchRow(path="to", new_mode="120000", new_blob="3" * 40, link_target="src", binary=False)),
)  # fmt: skip


@pytest.fixture
def here(tmp_path: Path) -> Scene:
    return scene(tmp_path)


def expected(request: Request) -> ExpectedAction:
    """What whoever executes recomputes, from the request that it is about to execute."""
    found: dict[str, Any] = {"base": request.base} if isinstance(request, (CommandRequest, PatchRequest)) else {}
    found |= {"result": request.result_tree} if isinstance(request, PatchRequest) else {"result": ""}
    return patch(project=request.project, run=request.run, role=request.role, kind=request.kind, patch_id="",
                 request=request_digest(request), **found)  # fmt: skip


def fits(here: Scene, token: str, request: Request) -> bool:
    try:
        check_token(token, expected(request), here.approvers, NOW, here.ledger)
    except VerificationFailed:
        return False
    return True


@pytest.mark.parametrize("request_", [COMMAND, PATCH], ids=["command", "patch"])
def test_every_single_byte_of_a_request_that_is_another_is_refused(here: Scene, request_: Request) -> None:
    raw, token = canonical_bytes(request_), here.token(expected(request_))
    assert fits(here, token, request_)
    understood = 0

    for at, was in enumerate(raw):
        for new in {was ^ 1, was ^ 0x20, ord("0"), ord('"'), ord("\\"), 0x00, 0xFF} - {was}:
            try:
                other = parse_request(raw[:at] + bytes([new]) + raw[at + 1 :])
            except Invalid:
                continue
            understood += 1
            assert not fits(here, token, other), (at, new)
    for at in range(len(raw)):
        try:
            other = parse_request(raw[:at] + raw[at + 1 :])
        except Invalid:
            continue
        assert not fits(here, token, other), at
    assert understood > len(raw), "most changes are requests of their own"


def test_nothing_of_a_request_is_left_out_of_what_is_bound() -> None:
    others: dict[str, Any] = {
        "project": "x" * 16, "run": "r2", "role": "", "argv": ("pytest", "-q", "e\u0301"), "program": "/w/pytest",
        "program_digest": "sha256:" + "7" * 64, "cwd": "/w/", "base": "a" * 40, "env": {"LANG": "C"},
        "limits": {"seconds": 61}, "stdin_digest": "", "network": "full", "sandbox": "L2", "base_tree": "a" * 40,
        "result_tree": "a" * 40, "changes": PATCH.changes[:1], "files": {"a.sh": "sha256:1, 1 bytes"},
        "reads": ("a",), "writes": (),
    }  # fmt: skip
    for request in (COMMAND, PATCH):
        for name in vars(request):
            assert request_digest(request.changed(**{name: others[name]})) != request_digest(request), name
    row = PATCH.changes[0]
    for name, value in vars(row).items():
        other = row.changed(**{name: not value if isinstance(value, bool) else f"{value}x"})
        assert request_digest(PATCH.changed(changes=(other, PATCH.changes[1]))) != request_digest(PATCH), name


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
COMMANDS = st.builds(
    COMMAND.changed,
    argv=st.lists(TEXT, min_size=1, max_size=4).map(tuple),
    cwd=TEXT,
    base=st.sampled_from(["a" * 40, "b" * 40]),
    env=st.dictionaries(TEXT, TEXT, max_size=3),
    limits=st.dictionaries(st.sampled_from(["seconds", "memory"]), st.integers(0, 2**53 - 1), max_size=2),
    network=st.sampled_from(["none", "loopback", "full"]),
)
ROWS = st.builds(
    PatchRow,
    path=TEXT,
    old_mode=st.sampled_from(["", "100644"]),
    new_mode=st.sampled_from(["", "100644", "100755", "120000"]),
    new_blob=TEXT,
    link_target=TEXT,
    binary=st.booleans(),
)
PATCHES = st.builds(
    PATCH.changed,
    base=st.sampled_from(["a" * 40, "b" * 40]),
    base_tree=st.sampled_from(["a" * 40, "b" * 40]),
    result_tree=st.sampled_from(["a" * 40, "b" * 40]),
    changes=st.lists(ROWS, max_size=3).map(tuple),
)


@MANY
@given(COMMANDS | PATCHES, COMMANDS | PATCHES)
def test_a_token_for_one_request_fits_no_other(here: Scene, one: Request, other: Request) -> None:
    token = here.token(expected(one))

    assert fits(here, token, one)
    assert fits(here, token, other) == (one == other)


@MANY
@given(COMMANDS | PATCHES, st.data())
def test_a_token_does_not_fit_what_one_edit_made_of_a_request(here: Scene, one: Request, data: st.DataObject) -> None:
    token, raw = here.token(expected(one)), canonical_bytes(one)
    at, piece = data.draw(st.integers(0, len(raw))), data.draw(st.binary(max_size=2))

    try:
        other = parse_request(raw[:at] + piece + raw[at + data.draw(st.integers(0, 2)) :])
    except Invalid:
        return
    assert fits(here, token, other) == (other == one)


def test_a_standing_approval_of_a_command_that_was_held_to_files_covers_no_freer_one() -> None:
    held = COMMAND.changed(argv=("pytest", "-q"), reads=("src/**",), writes=())
    until = NOW + timedelta(hours=1)

    def covers(approved: CommandRequest, asked: CommandRequest) -> bool:
        context = GrantContext(worktree="/w", executed_changed=False)
        return grant_covers(make_grant(approved, "session", until, context), asked, NOW, context)

    assert covers(held, held)
    assert not covers(held, held.changed(writes=None))
    assert not covers(held, held.changed(reads=("**",)))
    assert covers(held.changed(reads=None, writes=None), held)
