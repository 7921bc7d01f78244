"""The name rule, without a repository."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.base.errors import Invalid
from gitnexus.memory.model import CATEGORIES
from gitnexus.memory.names import category_of_name, require_note_name, suggest_name, topic_of_name

PREFIXES = tuple(CATEGORIES)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("kafka-rebalance", "kafka-rebalance"),
        ("empirical-kafka-rebalance.md", "empirical-kafka-rebalance"),
        ("memory/pattern-release.md", "pattern-release"),
        ("utf8-names", "utf8-names"),
        ("oauth2-login", "oauth2-login"),
        ("http-404-pages", "http-404-pages"),
    ],
)
def test_a_name_of_small_words_is_kept(name: str, kept: str) -> None:
    assert require_note_name(name, PREFIXES) == kept


@pytest.mark.parametrize(
    ("name", "better"),
    [
        ("api-limits-2026", "api-limits"),
        ("2026-11-16-outage", "outage"),
        ("outage-20261116", "outage"),
        ("external-api-v2", "external-api"),
        ("python-3-12-quirks", "python-quirks"),
        ("API v2.3 limits", "api-limits"),
        ("Größe der Datenbank", "groe-der-datenbank"),
        ("Über Kafka", "uber-kafka"),
        ("release_checklist", "release-checklist"),
        ("how to restart the worker", "restart-worker"),
    ],
)
def test_a_name_that_breaks_the_rule_is_refused_with_one_that_would_do(name: str, better: str) -> None:
    with pytest.raises(Invalid) as refused:
        require_note_name(name, PREFIXES)

    assert refused.value.hint == f"call it {better}"
    assert require_note_name(better, PREFIXES) == better


@pytest.mark.parametrize("name", ["", "..", "a/b", "empirical", "2026", "-x", "x-", "é", "a" * 81, "\x1b[31m"])
def test_what_is_no_name_at_all_is_refused(name: str) -> None:
    with pytest.raises(Invalid):
        require_note_name(name, PREFIXES)


@given(st.text(max_size=60))
def test_whatever_is_suggested_is_a_name(text: str) -> None:
    name = suggest_name(text, PREFIXES)

    assert name == "" or require_note_name(name, PREFIXES) == name


@given(st.text(max_size=60))
def test_a_name_is_kept_as_it_is_or_refused(text: str) -> None:
    try:
        name = require_note_name(text, PREFIXES)
    except Invalid:
        return
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]*", name)


def test_the_category_is_the_first_word_if_the_project_knows_it() -> None:
    assert category_of_name("external-api-limits", PREFIXES) == "external"
    assert category_of_name("internal-api-limits", PREFIXES) is None
    assert topic_of_name("external-api-limits", PREFIXES) == "api limits"
    assert topic_of_name("internal-api", PREFIXES) == "internal api"
