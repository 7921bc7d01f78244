"""A policy file is changed by one rule, and every other byte stays as the person wrote it."""

import difflib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitnexus.base.errors import Failed, Invalid, NotFound
from gitnexus.policy.edit import with_added_rule, with_mode, with_removed_rule
from gitnexus.policy.rules import parse_policy

FILE = b"""---
version: 1   # the only one there is
mode: default  # for now

# what everybody may write
allow:
  - write: ["src/**"]     # code
    why: it is only code

  # tests are run all day
  - run: [pytest, "-q"]
    name: tests
  # nothing below this line
deny: []   # nothing yet
---
# Our policy

We allow little.
---
allow:
  - this is prose
"""


def changed_lines(before: bytes, after: bytes) -> list[str]:
    rows = difflib.ndiff(before.decode().splitlines(True), after.decode().splitlines(True))
    return [row.rstrip("\n") for row in rows if row[0] in "+-"]


def test_a_rule_is_added_below_the_last_of_its_list() -> None:
    after, rule = with_added_rule(FILE, "allow", {"write": ["docs/**"]}, "user")

    assert rule.id == "user.allow.3"
    assert changed_lines(FILE, after) == ['+   - write: ["docs/**"]']
    assert after.index(b"docs/**") > after.index(b"name: tests")


def test_a_rule_is_added_to_an_empty_list_and_to_one_that_is_not_there() -> None:
    denied, _ = with_added_rule(FILE, "deny", {"run": ["curl", "**"], "why": "no network: ever"}, "user")
    asked, _ = with_added_rule(FILE, "ask", {"kind": "handoff"}, "user")

    assert changed_lines(FILE, denied) == [
        "- deny: []   # nothing yet", "+ deny:   # nothing yet",
        '+   - {run: ["curl", "**"], why: "no network: ever"}',
    ]  # fmt: skip
    assert changed_lines(FILE, asked) == ["+ ask:", "+   - kind: handoff"]


def test_a_rule_is_removed_with_its_lines_and_no_others() -> None:
    first, _ = with_removed_rule(FILE, "user.allow.1", "user")
    named, gone = with_removed_rule(FILE, "user.tests", "user")

    assert changed_lines(FILE, first) == ['-   - write: ["src/**"]     # code', "-     why: it is only code"]
    assert changed_lines(FILE, named) == ['-   - run: [pytest, "-q"]', "-     name: tests"]
    assert gone.patterns == ("pytest", "-q")


def test_the_last_rule_can_go_and_another_come() -> None:
    one, _ = with_removed_rule(FILE, "user.allow.1", "user")
    none, _ = with_removed_rule(one, "user.tests", "user")
    again, rule = with_added_rule(none, "allow", {"write": ["a"]}, "user")

    assert parse_policy(none, "user").rules == ()
    assert parse_policy(again, "user").rules == (rule,)
    assert b"# nothing below this line" in again


@pytest.mark.parametrize(
    "raw", [b"", b"# Prose only\n", b"---\n---\n", b"---\nversion: 1\n---\n", b"---\n# hm\n---\nprose"]
)
def test_a_file_without_rules_gets_its_first_and_keeps_its_prose(raw: bytes) -> None:
    after, rule = with_added_rule(raw, "deny", {"read": ["secrets/**"]}, "project")

    assert parse_policy(after, "project").rules == (rule,)
    assert after.endswith(raw.rpartition(b"---\n")[2])


def test_the_ends_of_lines_stay_what_they_are() -> None:
    windows = FILE.replace(b"\n", b"\r\n")

    after, _ = with_added_rule(windows, "allow", {"write": ["docs/**"]}, "user")

    assert after.count(b"\n") == after.count(b"\r\n") == windows.count(b"\n") + 1
    assert with_mode(windows, "autopilot", "user") == windows.replace(b"mode: default", b"mode: autopilot")


def test_the_mode_is_changed_in_its_place_or_put_at_the_top() -> None:
    assert changed_lines(FILE, with_mode(FILE, "acceptEdits", "user")) == [
        "- mode: default  # for now", "+ mode: acceptEdits  # for now",
    ]  # fmt: skip
    assert with_mode(b"---\nversion: 1\n---\nx\n", "autopilot", "user") == b"---\nversion: 1\nmode: autopilot\n---\nx\n"
    assert parse_policy(with_mode(b"", "autopilot", "user"), "user").mode == "autopilot"


def test_what_cannot_be_changed_without_harm_is_left_alone() -> None:
    flow = b'---\n{version: 1, allow: [{write: ["a"]}]}\n---\n'

    with pytest.raises(Failed):
        with_added_rule(flow, "allow", {"write": ["b"]}, "user")
    with pytest.raises(Failed):
        with_removed_rule(b'---\nversion: 1\nallow: [{write: ["a"]}]\n---\n', "user.allow.1", "user")
    with pytest.raises(NotFound):
        with_removed_rule(FILE, "user.allow.9", "user")
    with pytest.raises(Invalid):
        with_added_rule(FILE, "allow", {"write": ["**"]}, "user")


WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=10)


@settings(deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=4), st.text(max_size=20))
def test_whatever_words_a_rule_has_they_are_read_back_as_they_were(words: list[str], why: str) -> None:
    row = {"run": words, "why": why}
    try:
        after, rule = with_added_rule(FILE, "deny", row, "user")
    except (Invalid, Failed):
        return
    assert rule.patterns == tuple(words)
    assert rule.why == why
    assert with_removed_rule(after, rule.id, "user")[0].replace(b"deny:  ", b"deny: []  ") == FILE
