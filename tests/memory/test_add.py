"""Keeping notes: the pure decision, then the commit."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.base.errors import Duplicate, Invalid
from gitnexus.memory import Notes
from gitnexus.memory.add import AddNoteResult, NoteDraft, add_note, compute_kept_note, with_text_appended
from gitnexus.memory.model import MemorySettings, Note
from gitnexus.state import State
from tests.conftest import run_git

DAY = "2026-11-16"
LIMITS = Note(
    "external-payment-limits",
    "# Payment limits\n\nThe payment provider allows 100 requests a minute per key; more are answered with 429.\n",
)


def kept(draft: NoteDraft, *known: Note, settings: MemorySettings | None = None) -> AddNoteResult:
    return compute_kept_note(list(known), draft, settings or MemorySettings(), DAY)


def test_a_note_gets_a_title_from_its_name() -> None:
    found = kept(NoteDraft("It takes 3 s.", "empirical-kafka-rebalance"))

    assert found == AddNoteResult(
        Note("empirical-kafka-rebalance", "# Kafka rebalance\n\nIt takes 3 s.\n"),
        "created",
        "empirical-kafka-rebalance",
    )


def test_a_note_that_has_a_title_keeps_it_and_gets_its_name_from_it() -> None:
    found = kept(NoteDraft("# Kafka takes 3 s to rebalance\n\nMeasured twice.\r\n", category="empirical"))

    assert found.note == Note(
        "empirical-kafka-takes-s-rebalance", "# Kafka takes 3 s to rebalance\n\nMeasured twice.\n"
    )


def test_a_note_about_the_same_extends_the_one_that_is_there_under_the_day() -> None:
    found = kept(NoteDraft("The payment provider allows 200 requests a minute now.", "external-payments"), LIMITS)

    assert found.action == "extended"
    assert found.note.name == LIMITS.name
    assert found.note.text == LIMITS.text + f"\n## {DAY}\n\nThe payment provider allows 200 requests a minute now.\n"


def test_more_on_the_same_day_stands_under_the_same_heading() -> None:
    once = with_text_appended(LIMITS.text, "First.", DAY)

    assert with_text_appended(once, "Second.", DAY) == once + "\nSecond.\n"
    assert with_text_appended(once, "Later.", "2026-11-17").endswith("First.\n\n## 2026-11-17\n\nLater.\n")


def test_the_same_again_changes_nothing() -> None:
    found = kept(NoteDraft("more are answered with 429.", LIMITS.name), LIMITS)

    assert found == AddNoteResult(LIMITS, "known", LIMITS.name)


@pytest.mark.parametrize("name", ["empirical-payment-limits", "payment-limits"])
def test_another_category_is_another_matter(name: str) -> None:
    found = kept(NoteDraft("The payment provider allows 200 requests a minute now.", name), LIMITS)

    assert (found.action, found.note.name) == ("created", name)


def test_new_makes_a_note_of_its_own_unless_the_name_is_taken() -> None:
    text = "The payment provider allows 200 requests a minute now."

    assert kept(NoteDraft(text, "external-payments", new=True), LIMITS).action == "created"
    with pytest.raises(Duplicate):
        kept(NoteDraft(text, LIMITS.name, new=True), LIMITS)


def test_something_else_is_a_new_note() -> None:
    found = kept(
        NoteDraft("Their sandbox is down every Sunday night for maintenance.", "external-sandbox-hours"), LIMITS
    )

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
        kept(NoteDraft(text, name))

    assert refused.value.context == {"belongs": belongs}
    assert kept(NoteDraft(text, name, here=True)).action == "created"


@pytest.mark.parametrize(
    "draft",
    [
        NoteDraft(" \n", "x-y"),
        NoteDraft("a\0b", "x-y"),
        NoteDraft("\ud800", "x-y"),
        NoteDraft("x" * 300_000, "x-y"),
        NoteDraft("x", "x-y", category="nonsense"),
        NoteDraft("x", "external-x", category="pattern"),
        NoteDraft("… !", ""),
        NoteDraft("the key is AKIA" + "IOSFODNN7EXAMPLE", "aws-key"),
    ],
)
def test_what_cannot_be_a_note_is_refused(draft: NoteDraft) -> None:
    with pytest.raises(Invalid):
        kept(draft)


def test_a_project_may_add_categories() -> None:
    settings = MemorySettings(categories=("incident",))

    found = kept(NoteDraft("It was the disk.", "disk-full", category="incident"), settings=settings)

    assert found.note.name == "incident-disk-full"


@given(st.text(min_size=1), st.text(min_size=1))
def test_extending_loses_nothing_and_is_done_once(before: str, more: str) -> None:
    after = with_text_appended(before, more, DAY)

    assert after.startswith(before.rstrip("\n")) or after == before
    assert more in after or more.partition("\n")[2].strip("\n") in after
    assert with_text_appended(after, more, DAY) == after


def test_a_note_is_one_commit_with_its_reason(project: Path) -> None:
    state = State.open(project)

    add_note(Notes(state), NoteDraft("It takes 3 s.", "empirical-kafka-rebalance"))
    add_note(Notes(state), NoteDraft("With 40 partitions it takes 9 s.", "empirical-kafka-rebalance"))

    log = run_git(project, "log", "--format=%s", "-2", "refs/nexus/state", "--", "memory")
    assert log.splitlines() == ["memory: extend empirical-kafka-rebalance", "memory: add empirical-kafka-rebalance"]
    assert "9 s" in (project / ".nexus" / "memory" / "empirical-kafka-rebalance.md").read_text()
