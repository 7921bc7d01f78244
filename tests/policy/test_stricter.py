"""Which of two policies leaves agents no more, and one that leaves them no more than either."""

import pytest

from gitnexus.policy.rules import parse_policy
from gitnexus.policy.stricter import combine_policies, is_weaker, without_loosening_rules


def text(*lines: str) -> bytes:
    return "\n".join(["---", "version: 1", *lines, "---", "", "# Policy", ""]).encode()


CURL = ("deny:", "  - run: [curl, '**']")


@pytest.mark.parametrize(
    ("new", "old", "weaker"),
    [
        (text(*CURL), text(*CURL), False),
        (text(*CURL), text(), False),
        (text(), text(*CURL), True),
        (text("ask:", "  - run: [curl, '**']"), text(*CURL), True),
        (text(*CURL), text("ask:", "  - run: [curl, '**']"), False),
        (text("allow:", "  - run: [make]"), text(), True),
        (text(), text("allow:", "  - run: [make]"), False),
        (text("mode: autopilot"), text(), True),
        (text(), text("mode: autopilot"), False),
        (text("way: contained"), text("way: proposer"), True),
        (text("way: proposer"), text(), False),
        (text("approval: per-action"), text(), False),
        (text(), text("approval: per-action"), True),
    ],
)
def test_weaker_is_what_allows_more_or_has_lost_a_no(new: bytes, old: bytes, weaker: bool) -> None:
    assert is_weaker(parse_policy(new, "project"), parse_policy(old, "project")) is weaker


def test_what_two_policies_deny_and_ask_is_in_their_combination() -> None:
    mine = text(*CURL, "ask:", "  - write: ['*.lock']", "allow:", "  - run: [make]")
    theirs = text("mode: acceptEdits", "deny:", "  - run: [wget, '**']", "allow:", "  - run: [ninja]")

    found = parse_policy(combine_policies(mine, theirs), "project")

    for side in (mine, theirs):
        assert not is_weaker(without_loosening_rules(found), without_loosening_rules(parse_policy(side, "project")))
    assert found.mode == "default"
