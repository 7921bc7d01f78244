"""Policy files: what can be written, what is refused, and how far a pattern reaches."""

import random

import pathspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitnexus.base.errors import Invalid
from gitnexus.policy.builtin import all_patterns
from gitnexus.policy.compiled_rules import compile_policy
from gitnexus.policy.paths import fold_path, why_path_odd
from gitnexus.policy.patterns import (
    ArgvPattern,
    NarrowMatcher,
    WideMatcher,
    _pathspec_regex,
    _usual_regex,
    literal_word,
)
from gitnexus.policy.rules import STARTER, Policy, parse_policy
from tests.policy.scene import policy, text


def test_a_whole_policy_is_read() -> None:
    found = policy(
        """
mode: acceptEdits
sandbox: {level: auto, minimum: L1}
allow:
  - write: ["src/**", "tests/**"]
    name: code
    why: it is reviewed later
  - run: ["pytest", "*"]
    role: tester
ask:
  - kind: handoff
deny:
  - read: ["secrets/**"]
edits: ["docs/**"]
autopilot:
  allow:
    - run: ["pytest", "**"]
  budget: {files: 3}
"""
    )

    assert [rule.id for rule in found.rules] == ["user.deny.1", "user.ask.1", "user.code", "user.allow.2"]
    assert (found.mode, found.level, found.minimum, found.edits) == ("acceptEdits", "auto", "L1", ("docs/**",))
    assert found.budget is not None
    assert (found.budget.files, found.budget.directories) == (3, 5)
    assert found.rules[2].why == "it is reviewed later"
    assert found.rules[3].role == "tester"


@pytest.mark.parametrize("raw", [b"", b"# Only prose\n", b"---\n---\n", b"---\n# nothing\n---\nprose\n"])
def test_a_file_without_rules_says_nothing(raw: bytes) -> None:
    assert parse_policy(raw, "user") == Policy()


def test_the_first_page_of_the_editor_is_a_policy() -> None:
    assert parse_policy(STARTER, "user") == Policy()


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"allow:\n  - write: [a]\n", "not at the top"),
        (b"\n---\nversion: 1\ndeny: []\n---\n", "not at the top"),
        (b"\xef\xbb\xbfversion: 1\n", "not at the top"),
        (b"---\nversion: 1\n", "does not end"),
        (b"---\nmode: default\n---\n", "version should be 1"),
        (b"---\nversion: 2\n---\n", "version should be 1"),
        (b"---\nversion: true\n---\n", "version should be 1"),
        (b"---\n- a\n---\n", "should be an object"),
        (text("allow: {}"), "should be a list"),
        (text("alow: []"), "'alow' is not known"),
        (text("mode: yolo"), "one of default"),
        (text("mode: [default]"), "one of default"),
        (text("sandbox: {minimum: L9}"), "one of L0"),
        (text("allow:\n  - write: src"), "should be a list"),
        (text("allow:\n  - write: [yes]"), "should be text"),
        (text("allow:\n  - run: [sleep, 5]"), "should be text"),
        (text("allow:\n  - write: [a]\n    run: [b]"), "cannot be in one rule"),
        (text("allow:\n  - wirte: [a]"), "'wirte' is not known"),
        (text("allow:\n  - read: [a]"), "can only be denied"),
        (text("ask:\n  - read: [a]"), "can only be denied"),
        (text("allow:\n  - run: [a, '**', b]"), "at the end"),
        (text("allow:\n  - run: [a, 'x*']"), "not a wildcard"),
        (text("allow:\n  - run: [a, '{thing}']"), "there is no slot"),
        (text("allow:\n  - run: [a, '{int}{int}']"), "one slot"),
        (text("deny:\n  - write: ['!a']"), "cannot begin"),
        (text("deny:\n  - write: ['a**b']"), "a part of its own"),
        (text("deny:\n  - write: ['[z-a]']"), "backwards"),
        (text("deny:\n  - write: ['a[b']"), "does not begin a plain set"),
        (text("deny:\n  - write: ['*a*b*c*d*e']"), "too many"),
        (text("deny:\n  - write: [a]\n    name: x\n  - write: [b]\n    name: x"), "two rules"),
        (text("deny:\n  - write: [a]\n    name: X y"), "lower-case letters"),
        (text("deny:\n  - write: [a]\n    network: full"), "belongs to a rule with run"),
        (text("deny:\n  - run: [a]\n    unconfined: true"), "belongs to a rule that allows"),
        (text("allow:\n  - run: [a]\n    unconfined: 1"), "should be true or false"),
        (text("deny: &a []\nask: *a"), "alias"),
        (text("deny: []\ndeny: []"), "occurs twice"),
        (text("deny: !!python/object:os.system []"), "not valid YAML"),
        (text("autopilot: {budget: {files: -1}}"), "below 0"),
        (text("autopilot: {deny: []}"), "is not known"),
        (b"---\nversion: 1\n\xff\n---\n", "not UTF-8"),
    ],
)
def test_a_slip_is_refused_with_a_sentence(raw: bytes, words: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_policy(raw, "user", "policy.md")

    assert words in refused.value.message
    assert refused.value.message.startswith("policy.md")


PART = st.text("abAB.*?[]é ~", min_size=1, max_size=5)
PATTERN = st.lists(st.one_of(PART, st.just("**"), st.sampled_from(["a", "b", "*"])), min_size=1, max_size=4).map(
    "/".join
)
PATH = st.lists(st.text("abAB.é", min_size=1, max_size=3), min_size=1, max_size=4).map("/".join)


def usable(pattern: str) -> bool:
    from gitnexus.policy.patterns import require_path_pattern

    try:
        require_path_pattern(pattern, "x")
    except Invalid:
        return False
    return True


def test_usual_patterns_mean_without_pathspec_what_they_mean_with_it() -> None:
    chance = random.Random(7)
    drawn = [
        "".join(chance.choices(["a", ".b", "*", "**", "/", "-", "*"], k=chance.randint(1, 7))) for _ in range(3000)
    ]

    usual = {pattern: text for pattern in {*map(fold_path, all_patterns()), *drawn} if (text := _usual_regex(pattern))}

    assert len(usual) > 500
    assert usual == {pattern: _pathspec_regex(pattern) for pattern in usual}


@pytest.mark.filterwarnings("ignore:Possible nested set:FutureWarning")  # of the library that we compare with
@settings(deadline=None)
@given(PATTERN.filter(usable), PATH.filter(lambda path: why_path_odd(path) is None))
def test_what_allows_never_reaches_beyond_gitignore_and_what_denies_never_less(pattern: str, path: str) -> None:
    exact = pathspec.PathSpec.from_lines("gitignore", [f"/{pattern}"]).match_file(path)
    wide = pathspec.PathSpec.from_lines("gitignore", [fold_path(pattern)]).match_file(fold_path(path))

    assert NarrowMatcher([pattern]).first(path) in ((0, None) if exact else (None,))
    assert WideMatcher([pattern]).first(path) in ((0,) if wide else (0, None))


@settings(deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6), min_size=1, max_size=4))
def test_a_word_can_always_be_written_so_that_it_means_itself(argv: list[str]) -> None:
    pattern = ArgvPattern([literal_word(word) for word in argv], "x")

    assert pattern.matches(argv)
    assert pattern.wild_places(argv) == frozenset()
    assert not pattern.matches([*argv, "x"])
    for at in range(len(argv)):
        assert not pattern.matches([*argv[:at], argv[at] + "x", *argv[at + 1 :]])


def test_patterns_are_matched_word_by_word() -> None:
    assert ArgvPattern(["a", "*"], "x").matches(["a", "b c"])
    assert not ArgvPattern(["a", "*"], "x").matches(["a"])
    assert ArgvPattern(["a", "..."], "x").matches(["a"])
    assert ArgvPattern(["a", "**"], "x").matches(["a", "b", "c"])
    assert ArgvPattern(["a", "{int}"], "x").matches(["a", "12"])
    assert not ArgvPattern(["a", "{int}"], "x").matches(["a", "-1"])
    assert ArgvPattern(["a", "\\*"], "x").matches(["a", "*"])
    assert not ArgvPattern(["a", "\\*"], "x").matches(["a", "b"])


@pytest.mark.parametrize(
    ("mine", "theirs", "trusted", "way"),
    [
        ("", "", True, "contained"),
        ("", "way: proposer", False, "proposer"),
        ("way: proposer", "way: contained", True, "proposer"),
        ("way: contained", "way: proposer", False, "proposer"),
        ("way: contained", "", False, "contained"),
    ],
)
def test_of_two_ways_the_stricter_holds(mine: str, theirs: str, trusted: bool, way: str) -> None:
    user, project = (parse_policy(f"---\nversion: 1\n{text}\n---\n".encode(), "user") for text in (mine, theirs))

    assert compile_policy(user, project, trusted=trusted).way == way


def test_a_way_that_nobody_knows_is_refused() -> None:
    with pytest.raises(Invalid, match="way should be one of proposer, contained"):
        parse_policy(b"---\nversion: 1\nway: careful\n---\n", "user")


@pytest.mark.parametrize(
    ("mine", "theirs", "expected"),
    [
        ("", "", ("at-end", "ask")),
        ("approval: per-action\nsignin: allow", "", ("per-action", "allow")),
        ("approval: at-end\nsignin: allow", "approval: per-action\nsignin: deny", ("per-action", "deny")),
        ("approval: per-action\nsignin: deny", "approval: at-end\nsignin: allow", ("per-action", "deny")),
        ("", "signin: allow", ("at-end", "ask")),
    ],
)
@pytest.mark.parametrize("trusted", [True, False])
def test_the_stricter_of_two_files_says_when_is_asked_and_if_a_sign_in_is_lent(
    mine: str, theirs: str, expected: tuple[str, str], trusted: bool
) -> None:
    law = compile_policy(policy(mine), policy(theirs), trusted=trusted)

    assert (law.approval, law.signin) == expected
