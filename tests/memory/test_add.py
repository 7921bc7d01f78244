"""Keeping notes: the pure decision, then the commit."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.base.errors import Duplicate, Invalid
from gitnexus.memory import Notes
from gitnexus.memory.add import Draft, Kept, add, extended, kept_with
from gitnexus.memory.model import MemorySettings, Note
from gitnexus.state import State
from tests.conftest import run_git

DAY = "2026-11-16"
LIMITS = Note(
    "external-payment-limits",
    "# Payment limits\n\nThe payment provider allows 100 requests a minute per key; more are answered with 429.\n",
)


def kept(draft: Draft, *known: Note, settings: MemorySettings | None = None) -> Kept:
    return kept_with(list(known), draft, settings or MemorySettings(), DAY)


def test_a_note_gets_a_title_from_its_name() -> None:
    found = kept(Draft("It takes 3 s.", "empirical-kafka-rebalance"))

    assert found == Kept(
        Note("empirical-kafka-rebalance", "# Kafka rebalance\n\nIt takes 3 s.\n"),
        "created",
        "empirical-kafka-rebalance",
    )


def test_a_note_that_has_a_title_keeps_it_and_gets_its_name_from_it() -> None:
    found = kept(Draft("# Kafka takes 3 s to rebalance\n\nMeasured twice.\r\n", category="empirical"))

    assert found.note == Note(
        "empirical-kafka-takes-s-rebalance", "# Kafka takes 3 s to rebalance\n\nMeasured twice.\n"
    )


def test_a_note_about_the_same_extends_the_one_that_is_there_under_the_day() -> None:
    found = kept(Draft("The payment provider allows 200 requests a minute now.", "external-payments"), LIMITS)

    assert found.action == "extended"
    assert found.note.name == LIMITS.name
    assert found.note.text == LIMITS.text + f"\n## {DAY}\n\nThe payment provider allows 200 requests a minute now.\n"


def test_more_on_the_same_day_stands_under_the_same_heading() -> None:
    once = extended(LIMITS.text, "First.", DAY)

    assert extended(once, "Second.", DAY) == once + "\nSecond.\n"
    assert extended(once, "Later.", "2026-11-17").endswith("First.\n\n## 2026-11-17\n\nLater.\n")


def test_the_same_again_changes_nothing() -> None:
    found = kept(Draft("more are answered with 429.", LIMITS.name), LIMITS)

    assert found == Kept(LIMITS, "known", LIMITS.name)


@pytest.mark.parametrize("name", ["empirical-payment-limits", "payment-limits"])
def test_another_category_is_another_matter(name: str) -> None:
    found = kept(Draft("The payment provider allows 200 requests a minute now.", name), LIMITS)

    assert (found.action, found.note.name) == ("created", name)


def test_new_makes_a_note_of_its_own_unless_the_name_is_taken() -> None:
    text = "The payment provider allows 200 requests a minute now."

    assert kept(Draft(text, "external-payments", new=True), LIMITS).action == "created"
    with pytest.raises(Duplicate):
        kept(Draft(text, LIMITS.name, new=True), LIMITS)


def test_something_else_is_a_new_note() -> None:
    found = kept(Draft("Their sandbox is down every Sunday night for maintenance.", "external-sandbox-hours"), LIMITS)

    assert found.action == "created"


@pytest.mark.parametrize(
    ("name", "text", "belongs"),
    [
        ("git-habits", "Never force-push to main.", "rules"),
        ("git-habits", "# Habits\n\n- Always rebase first.", "rules"),
        ("commit-conventions", "Use the imperative.", "rules"),
        ("service-architecture", "There are three layers.", "context"),
        ("onboarding", "Start with the readme.", "context"),
    ],
)
def test_what_belongs_elsewhere_is_pointed_there(name: str, text: str, belongs: str) -> None:
    with pytest.raises(Invalid) as refused:
        kept(Draft(text, name))

    assert refused.value.context == {"belongs": belongs}
    assert kept(Draft(text, name, here=True)).action == "created"


@pytest.mark.parametrize(
    "draft",
    [
        Draft(" \n", "x-y"),
        Draft("a\0b", "x-y"),
        Draft("\ud800", "x-y"),
        Draft("x" * 300_000, "x-y"),
        Draft("x", "x-y", category="nonsense"),
        Draft("x", "external-x", category="pattern"),
        Draft("… !", ""),
        Draft("the key is AKIAIOSFODNN7EXAMPLE", "aws-key"),
    ],
)
def test_what_cannot_be_a_note_is_refused(draft: Draft) -> None:
    with pytest.raises(Invalid):
        kept(draft)


def test_a_project_may_add_categories() -> None:
    settings = MemorySettings(categories=("incident",))

    found = kept(Draft("It was the disk.", "disk-full", category="incident"), settings=settings)

    assert found.note.name == "incident-disk-full"


@given(st.text(min_size=1), st.text(min_size=1))
def test_extending_loses_nothing_and_is_done_once(before: str, more: str) -> None:
    after = extended(before, more, DAY)

    assert after.startswith(before.rstrip("\n")) or after == before
    assert more in after or more.partition("\n")[2].strip("\n") in after
    assert extended(after, more, DAY) == after


def test_a_note_is_one_commit_with_its_reason(project: Path) -> None:
    state = State.open(project)

    add(Notes(state), Draft("It takes 3 s.", "empirical-kafka-rebalance"))
    add(Notes(state), Draft("With 40 partitions it takes 9 s.", "empirical-kafka-rebalance"))

    log = run_git(project, "log", "--format=%s", "-2", "refs/nexus/state", "--", "memory")
    assert log.splitlines() == ["memory: extend empirical-kafka-rebalance", "memory: add empirical-kafka-rebalance"]
    assert "9 s" in (project / ".nexus" / "memory" / "empirical-kafka-rebalance.md").read_text()
