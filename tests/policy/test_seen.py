"""How far a chain and signatures were seen, as words: what is older is found out, and what pins a project."""

import pytest

from gitnexus.base.errors import Invalid, VerificationFailed
from gitnexus.policy.approvers import start_chain, with_added_key
from gitnexus.policy.pins import Pin
from gitnexus.policy.seen import (
    RootPin,
    SeenChain,
    format_root,
    format_statement,
    parse_root,
    parse_statement,
    refuse_unpinned,
    why_behind,
)
from tests.policy.signing import NOW, PROJECT, Key

EARLY, LATE = "2026-11-16T12:00:00.000001Z", "2026-11-16T12:00:00.000002Z"
FIRST = Key()
ONE = start_chain(PROJECT, "the first", FIRST, NOW)
TWO = with_added_key(ONE, Key().public, "another", FIRST, NOW)
OTHER = with_added_key(ONE, Key().public, "a third", FIRST, NOW)
AGAIN = start_chain(PROJECT, "begun anew", FIRST, NOW)


def seen(length: int, head: str, **signed: str) -> SeenChain:
    return SeenChain(length, head[:16], {f"{name}.md": at for name, at in signed.items()})


def test_what_a_pin_knows_is_said_and_read_again() -> None:
    pin = Pin(project=PROJECT, root=FIRST.key_id, head=TWO.head, length=2, consent=True, path="/x",
              signed={"policy.md": LATE, "unheard.md": EARLY})  # fmt: skip

    words = format_statement(pin, ("policy.md", "settings.json"))

    assert words == (f"2.{TWO.head[:16]}", f"policy.md {LATE}")
    assert parse_statement(words) == seen(2, TWO.head, policy=LATE)
    assert format_statement(None, ("policy.md",)) == ()


@pytest.mark.parametrize("words", [(), ("",), ("x",), ("1.0",), ("-1.0123456789abcdef",), ("²." + "0" * 16,)])
def test_what_states_nothing_is_nothing(words: tuple[str, ...]) -> None:
    assert parse_statement(words) is None


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (seen(1, ONE.head), ""),
        (seen(2, TWO.head), ""),
        (seen(2, TWO.head, policy=LATE), ""),
        (seen(2, TWO.head, other=LATE), ""),
        (seen(3, TWO.head), "the list of approvers had 3 entries, and has 2"),
        (seen(2, OTHER.head), "entry 2 of the list of approvers was another one"),
        (seen(0, TWO.head), "entry 0 of the list of approvers was another one"),
        (seen(2, TWO.head, policy="2026-11-16T12:00:01.000000Z"),
         "policy.md had a version signed 2026-11-16T12:00:01.000000Z, and has an older one"),
    ],
)  # fmt: skip
def test_what_is_older_than_was_seen_is_found_out(said: SeenChain, why: str) -> None:
    assert why_behind(TWO, {"policy.md": LATE}, said) == why


def test_one_string_pins_project_chain_and_key() -> None:
    pin = parse_root(format_root(TWO))

    assert pin == RootPin(FIRST.key_id, PROJECT, 2, TWO.head[:16])
    refuse_unpinned(pin, TWO)
    for wrong in (
        ONE,
        OTHER,
        AGAIN,
        start_chain("f" * 16, "the first", FIRST, NOW),
        start_chain(PROJECT, "x", Key(), NOW),
    ):
        with pytest.raises(VerificationFailed):
            refuse_unpinned(pin, wrong)


def test_a_key_of_ssh_may_hold_a_slash_and_a_key_alone_is_the_old_form() -> None:
    assert parse_root("p/1.0123456789abcdef/SHA256:a/b+c").key == "SHA256:a/b+c"
    assert parse_root("SHA256:a/b+c") == RootPin("SHA256:a/b+c")
    with pytest.raises(Invalid, match="pins no project"):
        parse_root("p/SHA256:a/b")
