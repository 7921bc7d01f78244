"""What a policy says as lines, and the difference of two."""

import pytest

from gitnexus.policy.compiled_rules import compile_policy
from gitnexus.policy.in_force import PolicyInForce
from gitnexus.policy.rules import Policy, parse_policy
from gitnexus.policy.terms import policy_terms, terms_difference, terms_digest


def in_force(user: str = "", project: str = "", *, trusted: bool = True) -> PolicyInForce:
    mine, theirs = _parsed(user, "user"), _parsed(project, "project")
    return PolicyInForce(compile_policy(mine, theirs, trusted=trusted), mine, theirs, trusted, bool(project))


def _parsed(front: str, layer: str) -> Policy:
    return parse_policy(f"---\nversion: 1\n{front}\n---\n".encode() if front else b"", layer, "policy.md")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (in_force(), in_force(), ""),
        # Names and reasons of rules, and which file they stand in, say nothing about what is allowed.
        (
            in_force('allow:\n  - run: ["ls", "**"]'),
            in_force("", 'allow:\n  - run: ["ls", "**"]\n    why: it reads'),
            "",
        ),
        (in_force(), in_force('allow:\n  - run: ["ls", "**"]'), "+ allow run ls **"),
        (in_force('deny:\n  - write: ["a/**"]'), in_force('ask:\n  - write: ["a/**"]'),
         "+ ask write a/**; - deny write a/**"),
        (in_force(), in_force("mode: acceptEdits"), "+ mode: acceptEdits; - mode: default"),
        # An unsigned project only tightens: what it allows is not in force.
        (in_force(), in_force("", 'allow:\n  - run: ["ls", "**"]', trusted=False), ""),
        (in_force(), in_force("".join(["allow:", *(f'\n  - run: ["p{n}"]' for n in range(7))])),
         "+ allow run p0; + allow run p1; + allow run p2; + allow run p3; + allow run p4; and 2 more"),
    ],
)  # fmt: skip
def test_the_difference_of_two_policies_in_words(before: PolicyInForce, after: PolicyInForce, said: str) -> None:
    old, new = policy_terms(before), policy_terms(after)

    assert terms_difference(old, new) == said
    assert (terms_digest(old) == terms_digest(new)) == (said == "")
