"""Tokens: what they say, that nobody else can say it, and that they fit one request only."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitnexus.base.canonical import canonical_json, parse_json
from gitnexus.base.errors import Invalid, VerificationFailed
from gitnexus.policy.approvers import start_chain, with_revoked_key
from gitnexus.policy.encoding import decode_base64, encode_base64
from gitnexus.policy.tokens import (
    DOMAIN,
    ExpectedAction,
    check_token,
    issue_token,
    parse_token,
    redeem_token,
    verify_token,
)
from tests.policy.signing import NOW, PROJECT, Key, Scene, patch, scene

MANY = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def here(tmp_path: Path) -> Scene:
    return scene(tmp_path)


def refused(token: str, expected: ExpectedAction, here: Scene, **other: Any) -> str:
    with pytest.raises(VerificationFailed) as error:
        check_token(token, expected, other.get("approvers", here.approvers), other.get("now", NOW), here.ledger)
    return error.value.message


def test_a_token_is_one_line_and_holds_for_what_it_was_given_for(here: Scene) -> None:
    token = here.token()

    assert token.startswith("nx1.") and token.count(".") == 2 and token.isascii() and "\n" not in token
    assert check_token(token, patch(), here.approvers, NOW, here.ledger) == parse_token(token)[0]


def test_anybody_can_verify_it_by_the_form_that_is_written_down(here: Scene) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    _, claims, signature = here.token().split(".")
    key = Ed25519PublicKey.from_public_bytes(decode_base64(here.key.public.split()[1]))

    key.verify(decode_base64(signature), DOMAIN + decode_base64(claims))
    assert parse_json(decode_base64(claims))["request"] == patch().request


OTHER: dict[str, tuple[str, str]] = {
    "run": ("r2", "another run"),
    "action": ("a2", "another action"),
    "kind": ("command", "another kind"),
    "request": ("sha256:" + "2" * 64, "another request"),
    "mode": ("autopilot", "another mode"),
    "base": ("e" * 40, "another base"),
    "result": ("e" * 40, "another result tree"),
    "patch_id": ("e" * 40, "another patch"),
    "role": ("planner", "another role"),
    "session": ("s2", "another session"),
    "workflow": ("w2", "another workflow"),
}


@pytest.mark.parametrize("name", OTHER)
def test_one_field_that_differs_is_refused_and_named(here: Scene, name: str) -> None:
    value, words = OTHER[name]

    assert words in refused(here.token(), patch(**{name: value}), here)


def test_every_field_of_what_is_executed_is_compared() -> None:
    assert set(OTHER) | {"project"} == set(vars(patch()))


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
REQUESTS = st.builds(
    patch,
    run=TEXT.filter(bool),
    action=TEXT.filter(bool),
    kind=st.sampled_from(["patch", "command", "handoff"]),
    request=st.sampled_from(["sha256:" + digit * 64 for digit in "012"]),
    mode=st.sampled_from(["default", "acceptEdits", "autopilot"]),
    base=st.sampled_from(["a" * 40, "b" * 40]),
    result=st.sampled_from(["a" * 40, "b" * 40]),
    role=TEXT,
    session=TEXT,
    workflow=TEXT,
)


@MANY
@given(REQUESTS, REQUESTS)
def test_a_token_for_one_request_never_passes_for_another(
    here: Scene, one: ExpectedAction, other: ExpectedAction
) -> None:
    token = here.token(one)

    assert check_token(token, one, here.approvers, NOW, here.ledger).request == one.request
    if one != other:
        refused(token, other, here)


def test_every_change_of_a_single_byte_is_refused(here: Scene) -> None:
    token = here.token()
    alphabet = "Aa0-_.=\n "

    for at, was in enumerate(token):
        for new in {*alphabet, chr(ord(was) ^ 1)} - {was}:
            refused(token[:at] + new + token[at + 1 :], patch(), here)
        refused(token[:at] + token[at + 1 :], patch(), here)
    for text in (token + "\n", " " + token, token + "=", token.upper(), "", "nx1..", "nx2" + token[3:]):
        refused(text, patch(), here)


@MANY
@given(st.text(max_size=60) | st.text(alphabet="nx1.AbZ09_-=", max_size=60))
def test_whatever_text_comes_is_refused_in_words(here: Scene, text: str) -> None:
    refused(text, patch(), here)


@pytest.mark.parametrize(
    "twist",
    [
        lambda value: {**value, "alg": "none"},
        lambda value: {key: item for key, item in value.items() if key != "nonce"},
        lambda value: {**value, "v": 2},
        lambda value: {**value, "v": True},
        lambda value: {**value, "expires": str(value["expires"])},
        lambda value: {**value, "scope": "always"},
        lambda value: {**value, "nonce": ""},
        lambda value: {**value, "request": "sha256:1"},
        lambda value: {**value, "expires": value["issued"]},
        lambda value: {**value, "expires": value["issued"] + 10**12},
        lambda value: {**value, "result": ""},
        lambda value: {**value, "seen": []},
        lambda value: {key: item for key, item in {**value, "seen": ["1.x"]}.items() if key != "paths"},
    ],
)
def test_claims_of_another_form_are_refused_even_if_an_approver_signed_them(here: Scene, twist: Any) -> None:
    raw = canonical_json(twist(parse_json(here.claims().bytes())))
    token = f"nx1.{encode_base64(raw)}.{encode_base64(here.key.sign(DOMAIN + raw))}"

    assert "malformed" in refused(token, patch(), here)


def test_what_came_later_stands_in_a_token_only_where_it_says_something(here: Scene) -> None:
    """So a token of 0.1.0 has the spelling that it always had."""
    plain, said = here.claims(), here.claims().changed(seen=("1.0123456789abcdef",))

    assert "seen" not in parse_json(plain.bytes())
    assert check_token(issue_token(said, here.key), patch(), here.approvers, NOW, here.ledger).seen == said.seen


def test_claims_that_are_not_in_canonical_form_are_refused_even_if_signed(here: Scene) -> None:
    canonical_form = here.claims().bytes()
    for raw in (canonical_form + b"\n", canonical_form.replace(b'":', b'": ', 1), b'{"v":1,' + canonical_form[1:]):
        refused(f"nx1.{encode_base64(raw)}.{encode_base64(here.key.sign(DOMAIN + raw))}", patch(), here)


def test_a_signature_over_something_else_of_ours_is_no_token(here: Scene) -> None:
    raw = here.claims().bytes()

    for domain in (b"", b"git-nexus file v1\0", b"git-nexus approver v1\0"):
        assert "forged" in refused(
            f"nx1.{encode_base64(raw)}.{encode_base64(here.key.sign(domain + raw))}", patch(), here
        )


def test_time_is_kept(here: Scene) -> None:
    token = here.token()

    assert "expired" in refused(token, patch(), here, now=NOW + timedelta(hours=1))
    assert "not valid yet" in refused(token, patch(), here, now=NOW - timedelta(minutes=2))
    assert check_token(token, patch(), here.approvers, NOW + timedelta(minutes=59), here.ledger)
    assert check_token(token, patch(), here.approvers, NOW - timedelta(seconds=30), here.ledger)


def test_nobody_gets_a_token_that_lasts_for_ever(here: Scene) -> None:
    with pytest.raises(Invalid, match="lasts longer than 1 days"):
        here.token(lasts=timedelta(days=2))
    with pytest.raises(Invalid, match="lasts longer than 90 days"):
        here.token(scope="session", lasts=timedelta(days=91))


def test_an_approver_signs_only_in_their_own_name(here: Scene) -> None:
    with pytest.raises(Invalid, match="the available key is"):
        issue_token(here.claims(), Key())


def test_who_is_unknown_and_who_was_revoked_is_told_apart(tmp_path: Path) -> None:
    other = Key()
    here = scene(tmp_path, other)
    stranger = Key()
    theirs = here.token(signer=other, approver=other.key_id)
    without = with_revoked_key(here.approvers, other.key_id, "lost", here.key, NOW)

    assert check_token(theirs, patch(), here.approvers, NOW, here.ledger).approver == other.key_id
    assert "was revoked" in refused(theirs, patch(), here, approvers=without)
    assert "is not an approver" in refused(here.token(signer=stranger, approver=stranger.key_id), patch(), here)


def test_the_same_key_in_another_project_approves_nothing_here(here: Scene) -> None:
    elsewhere = start_chain("fedcba9876543210", "the first", here.key, NOW)

    assert "another project" in refused(here.token(), patch(), here, approvers=elsewhere)
    assert "another project" in refused(here.token(patch(project="fedcba9876543210")), patch(), here)


def test_a_token_is_redeemed_once(here: Scene) -> None:
    token = here.token()

    assert redeem_token(token, patch(), here.approvers, NOW, here.ledger).nonce == parse_token(token)[0].nonce
    with pytest.raises(VerificationFailed, match="is spent"):
        redeem_token(token, patch(), here.approvers, NOW, here.ledger)
    assert verify_token(token, here.approvers).project == PROJECT  # history can still be read


def test_a_check_that_fails_spends_nothing(here: Scene) -> None:
    token = here.token()
    with pytest.raises(VerificationFailed):
        redeem_token(token, patch(run="r2"), here.approvers, NOW, here.ledger)

    assert redeem_token(token, patch(), here.approvers, NOW, here.ledger)


@pytest.mark.parametrize(
    ("scope", "reach", "words"),
    [
        ("path", {}, "does not say what it reaches"),
        ("argv", {}, "does not say what it reaches"),
        ("once", {"paths": ("src/**",)}, "only scope path"),
        ("session", {"argv": ("ls",)}, "only scope argv"),
    ],
)
def test_a_scope_says_what_it_reaches_and_nothing_else(here: Scene, scope: str, reach: Any, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        here.token(scope=scope, **reach)
    assert here.token(scope="path", paths=("src/a.py",))
