"""Secrets are found by rule and line, and their values go nowhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.redaction import Finding, find_secrets, mask
from gitnexus.redaction.rules import RULES, Rule


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_each_rule_finds_its_example_and_names_itself(rule: Rule) -> None:
    found = find_secrets([(7, f'    value = "{rule.example}"  # note')])

    assert [finding.line for finding in found] == [7]
    assert rule.pattern.search(rule.example)
    assert any(word in rule.example.lower() for word in rule.keywords)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_masked_text_does_not_hold_the_secret(rule: Rule) -> None:
    match = rule.pattern.search(rule.example)
    assert match is not None
    secret = match["secret"] if "secret" in match.re.groupindex else match[0]

    assert secret not in mask(f"before {rule.example} after")


@pytest.mark.parametrize(
    "line",
    [
        "token = os.environ['TOKEN']",
        "password: str",
        'secret = "<your secret here>"',
        "https://example.com/path?x=1",
        "git clone ssh://git@host/repo.git",
        "api_key = get_api_key(config)",
        "the tokens of a sentence",
        'password = "${DB_PASSWORD}"',
        "sk-learn is a library",
    ],
)
def test_ordinary_lines_are_left_in_peace(line: str) -> None:
    assert find_secrets([(1, line)]) == []


def test_the_first_rule_of_a_line_is_told_once() -> None:
    line = "AKIA" + "QXZ7" * 4 + " AKIA" + "QXZ7" * 4

    assert find_secrets([(3, line)]) == [Finding("aws-access-key-id", 3)]


@given(st.text())
def test_any_text_can_be_masked(text: str) -> None:
    assert mask(mask(text)) == mask(text)
