"""The chain of approvers, and what this machine remembers of it."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitnexus.base.canonical import json_document, parse_json
from gitnexus.base.errors import Duplicate, Invalid, NotFound, VerificationFailed
from gitnexus.policy.approvers import (
    Approvers,
    render_chain,
    start_chain,
    verify_chain,
    with_added_key,
    with_revoked_key,
)
from gitnexus.policy.pins import advance_pin, goes_on_from, pins_of_project, read_pin, remove_pin, write_pin
from tests.policy.signing import NOW, PROJECT, Key


def chain(*names: str) -> tuple[list[Key], Approvers]:
    keys = [Key() for _ in names]
    found = start_chain(PROJECT, names[0], keys[0], NOW)
    for name, key in zip(names[1:], keys[1:], strict=True):
        found = with_added_key(found, key.public, name, keys[0], NOW)
    return keys, found


def test_a_chain_is_read_back_as_it_was_made() -> None:
    keys, made = chain("ann", "bob", "eve")
    made = with_revoked_key(made, "eve", "left", keys[1], NOW)

    found = verify_chain(made.to_bytes(), PROJECT)

    assert found == made
    assert [one.name for one in found.active] == ["ann", "bob"]
    assert found.root.key == keys[0].key_id


def test_the_chain_of_another_project_is_refused() -> None:
    _, made = chain("ann")

    with pytest.raises(VerificationFailed, match="another project"):
        verify_chain(made.to_bytes(), "fedcba9876543210")


def test_every_change_of_a_stored_field_is_refused() -> None:
    keys, made = chain("ann", "bob")
    made = with_revoked_key(made, "bob", "left", keys[0], NOW)
    value = parse_json(made.to_bytes())

    for at, row in enumerate(value["entries"]):
        for name in row:
            for new in ("", "x" + row[name], "add" if row[name] == "revoke" else "revoke"):
                if new != row[name]:
                    rows = [*value["entries"]]
                    rows[at] = {**row, name: new}
                    with pytest.raises(VerificationFailed):
                        verify_chain(json_document({"v": 1, "entries": rows}), PROJECT)


@pytest.mark.parametrize("order", [[1, 0], [0, 2, 1], [0, 0], [0, 2], [1], []])
def test_links_that_are_left_out_or_in_another_order_are_refused(order: list[int]) -> None:
    _, made = chain("ann", "bob", "eve")

    with pytest.raises(VerificationFailed):
        verify_chain(render_chain([made.entries[at] for at in order]), PROJECT)


def test_a_stranger_signs_nobody_in_and_a_revoked_key_neither() -> None:
    keys, made = chain("ann", "bob")
    with pytest.raises(VerificationFailed, match="not an approver"):
        with_added_key(made, Key().public, "evil", Key(), NOW)
    after = with_revoked_key(made, "bob", "", keys[0], NOW)
    with pytest.raises(VerificationFailed, match="not an approver"):
        with_added_key(after, Key().public, "evil", keys[1], NOW)


def test_who_was_signed_in_by_a_key_stays_when_that_key_goes() -> None:
    keys, made = chain("ann", "bob")

    after = verify_chain(with_revoked_key(made, "ann", "", keys[1], NOW).to_bytes(), PROJECT)

    assert [one.name for one in after.active] == ["bob"]
    assert after.root.name == "ann"


def test_a_key_comes_in_once_and_never_comes_back() -> None:
    keys, made = chain("ann", "bob")
    with pytest.raises(Duplicate, match="already"):
        with_added_key(made, keys[1].public, "bob", keys[0], NOW)
    with pytest.raises(Duplicate, match="cannot be added again"):
        with_added_key(with_revoked_key(made, "bob", "", keys[0], NOW), keys[1].public, "bob", keys[0], NOW)


def test_the_last_approver_and_an_unknown_one_cannot_go() -> None:
    keys, made = chain("ann")
    with pytest.raises(Invalid, match="last approver"):
        with_revoked_key(made, "ann", "", keys[0], NOW)
    with pytest.raises(NotFound):
        with_revoked_key(made, "nobody", "", keys[0], NOW)


def test_a_word_that_names_two_is_not_guessed() -> None:
    keys, made = chain("ann", "bob", "bob")
    with pytest.raises(Invalid, match="names 2"):
        with_revoked_key(made, "bob", "", keys[0], NOW)
    assert len(with_revoked_key(made, keys[2].key_id, "", keys[0], NOW).active) == 2
    assert len(with_revoked_key(made, keys[2].key_id[:12], "", keys[0], NOW).active) == 2


def test_a_name_is_one_plain_line() -> None:
    for name in ("a\nb", "a\x1b[2J", "a\u202eb", "x" * 101):
        with pytest.raises(Invalid, match="one plain line"):
            start_chain(PROJECT, name, Key(), NOW)


def test_a_list_made_elsewhere_cannot_draw_lines_either(monkeypatch: pytest.MonkeyPatch) -> None:
    from gitnexus.policy import approvers

    monkeypatch.setattr(approvers, "_refuse_odd_text", lambda entry: None)
    raw = start_chain(PROJECT, "ann\n  registered as trusted", Key(), NOW).to_bytes()
    monkeypatch.undo()

    with pytest.raises(VerificationFailed, match="one plain line"):
        verify_chain(raw, PROJECT)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@settings(deadline=None)
@given(
    st.binary(max_size=40)
    | VALUES.map(lambda value: json_document({"v": 1, "entries": [value]}))
    | VALUES.map(json_document)
)
def test_whatever_lies_there_is_refused_in_words(raw: bytes) -> None:
    with pytest.raises(VerificationFailed):
        verify_chain(raw, PROJECT)


def test_this_machine_remembers_the_root_and_how_far_it_saw(tmp_path: Path) -> None:
    keys, made = chain("ann", "bob")
    held = write_pin(tmp_path, made, consent=True)
    longer = with_added_key(made, Key().public, "eve", keys[1], NOW)

    assert read_pin(tmp_path) == held
    assert advance_pin(tmp_path, held, made) == held
    moved = advance_pin(tmp_path, held, longer)
    assert (moved.length, read_pin(tmp_path)) == (3, moved)
    with pytest.raises(VerificationFailed, match="are gone from the list"):
        advance_pin(tmp_path, moved, made)


def test_another_root_another_end_and_another_project_are_refused(tmp_path: Path) -> None:
    keys, made = chain("ann", "bob")
    held = write_pin(tmp_path, with_revoked_key(made, "bob", "stolen", keys[0], NOW), consent=True)
    refused: list[tuple[Any, str]] = [
        (chain("ann")[1], "the first approver is"),
        # who has bob's key makes the list go on as if it had never been revoked
        (with_added_key(made, Key().public, "evil", keys[1], NOW), "are gone from the list"),
        (start_chain("fedcba9876543210", "ann", keys[0], NOW), "says now that it is"),
    ]

    for other, words in refused:
        with pytest.raises(VerificationFailed, match=words):
            advance_pin(tmp_path, held, other)


def test_other_clones_of_the_project_are_known(tmp_path: Path) -> None:
    keys, made = chain("ann", "bob")
    longer = with_revoked_key(made, "bob", "", keys[0], NOW)
    held = write_pin(tmp_path, longer, consent=True)

    assert pins_of_project(PROJECT) == [held] and pins_of_project("other") == []
    assert goes_on_from(held, longer)
    assert not goes_on_from(held, made)
    assert not goes_on_from(held, chain("ann", "bob", "eve")[1])
    assert remove_pin(tmp_path) and not remove_pin(tmp_path)
    assert pins_of_project(PROJECT) == []
