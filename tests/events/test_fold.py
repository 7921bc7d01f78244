"""The fold: a run as its log tells it, and what does not fit the story named and without effect."""

from collections.abc import Iterable
from functools import reduce
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitnexus.base.errors import Failed
from gitnexus.events import Event, RunView, fold, fold_next_event
from gitnexus.events.fold import STEPS
from gitnexus.events.kinds import KINDS
from gitnexus.events.log import EventDraft
from tests.events.scene import ASKED, COMMIT, DEFINITION, RUN, STORY

OTHER = "sha256:" + "b" * 64


def events(drafts: Iterable[EventDraft]) -> list[Event]:
    """Return events without a log: the fold looks at no chain."""
    return [
        Event(seq, f"2026-01-01T00:00:{seq:02d}Z", draft.actor, draft.kind, draft.body, "")
        for seq, draft in enumerate(drafts, 1)
    ]


def draft(kind: str, **body: Any) -> EventDraft:
    return EventDraft(kind, "nexus", body)


def story(count: int, *more: EventDraft) -> RunView:
    return fold(events([*STORY[:count], *more]))


def test_every_kind_has_its_step() -> None:
    assert list(STEPS) == list(KINDS)


def test_a_whole_story_is_a_completed_run() -> None:
    view = story(len(STORY))

    assert (view.run, view.definition, view.task, view.status) == (RUN, DEFINITION, "tidy up", "completed")
    assert view.nodes["N1"].status == "completed"
    assert view.nodes["N1"].agent == "claude"
    action = view.actions["a1"]
    assert (action.status, action.verdict, action.by, action.ok, action.commit) == (
        "executed",
        "ask",
        "ann",
        True,
        COMMIT,
    )
    assert (view.input_tokens, view.output_tokens, view.cost) == (100, 20, 7)
    assert (view.commits, view.nonces, view.odd) == ((COMMIT,), ("n1",), ())
    assert (view.started, view.last, view.seq) == ("2026-01-01T00:00:01Z", "2026-01-01T00:00:12Z", 12)


@pytest.mark.parametrize(
    ("count", "run", "action"),
    [
        (3, "running", None),
        (4, "running", "proposed"),
        (5, "waiting", "waiting"),
        (6, "running", "approved"),
        (7, "running", "unknown"),
        (9, "running", "executed"),
        (12, "completed", "executed"),
    ],
)
def test_the_story_so_far(count: int, run: str, action: str | None) -> None:
    view = story(count)

    assert view.status == run
    assert (view.actions["a1"].status if action else None) == action


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("node.blocked", {"node": "N1", "why": "no key"}, "blocked"),
        ("question.asked", {"question": "q1", "text": "which?"}, "waiting"),
        ("run.cancelled", {"by": "ann"}, "cancelled"),
        ("run.finished", {"ok": False, "why": "it broke"}, "failed"),
        ("run.landed", {"commit": COMMIT, "into": "main", "how": "merge"}, "landed"),
    ],
)
def test_what_a_run_comes_to(kind: str, body: dict[str, Any], status: str) -> None:
    assert story(3, EventDraft(kind, "nexus", body)).status == status


def test_a_failed_run_that_is_resumed_runs_and_an_answer_ends_the_waiting() -> None:
    failed = story(3, draft("run.finished", ok=False), draft("run.resumed", by="ann", definition=DEFINITION))
    asked = draft("question.asked", question="q1", text="which?")
    answered = story(3, asked, draft("question.answered", question="q1", text="this", by="ann"))

    assert (failed.status, failed.odd) == ("running", ())
    assert (answered.status, answered.questions) == ("running", {})


ODD = [
    (4, draft("permission.granted", action="a1", digest=OTHER, by="x", scope="once"), "another digest", "proposed"),
    (4, draft("tool.intended", action="a1", tool="t", digest=ASKED), "without an approval", "unknown"),
    (6, draft("tool.intended", action="a1", tool="t", digest=OTHER), "without an approval", "unknown"),
    (6, draft("tool.executed", action="a1", tool="t", ok=True), "without having been started", "executed"),
    (9, draft("tool.executed", action="a1", tool="t", ok=True), "without having been started", "executed"),
    (9, draft("permission.denied", action="a1", by="x"), "after it was executed", "executed"),
    (9, draft("permission.granted", action="a1", digest=ASKED, by="x", scope="once"), "after it was", "executed"),
    (7, draft("tool.intended", action="a1", tool="t", digest=ASKED, nonce="n1"), "spent twice", "unknown"),
    (5, draft("run.committed", action="a1", commit=COMMIT, tree=COMMIT), "without an approval", "waiting"),
    (9, draft("run.committed", action="a1", commit=COMMIT, tree=COMMIT), "committed twice", "executed"),
    (4, draft("permission.granted", action="a9", digest=ASKED, by="x", scope="once"), "never proposed", "proposed"),
    (5, draft("action.proposed", action="a1", actionKind="patch", summary="", digest=OTHER), "already", "waiting"),
    (11, draft("node.started", node="N1"), "after it was completed", "executed"),
    (5, draft("run.resumed", by="x", definition=OTHER), "another definition", "waiting"),
]


@pytest.mark.parametrize(("count", "event", "words", "status"), ODD)
def test_what_does_not_fit_the_story_is_named_and_grants_nothing(
    count: int, event: EventDraft, words: str, status: str
) -> None:
    view = story(count, event)

    assert any(words in line and line.startswith(f"event {count + 1}:") for line in view.odd)
    assert (view.actions["a1"].status, view.actions["a1"].digest) == (status, ASKED)


def test_what_the_gate_denied_cannot_be_granted() -> None:
    denied = draft("action.judged", action="a1", verdict="deny", rule="secrets", why="a key")
    granted = draft("permission.granted", action="a1", digest=ASKED, by="x", scope="once")

    view = story(4, denied, granted)

    assert view.actions["a1"].status == "denied"
    assert view.odd == ("event 6: granted after it was denied",)


def test_an_action_of_unknown_outcome_can_be_approved_again() -> None:
    again = draft("permission.granted", action="a1", digest=ASKED, by="ann", scope="once")

    assert story(7, again).actions["a1"].status == "approved"


@given(st.integers(0, len(STORY)))
@settings(deadline=None)
def test_folding_step_by_step_or_in_two_parts_is_folding_at_once(cut: int) -> None:
    whole = events(STORY)

    assert fold(whole[cut:], fold(whole[:cut])) == fold(whole)
    assert reduce(fold_next_event, whole, RunView()) == fold(whole)


def test_a_step_leaves_the_view_before_it_as_it_was() -> None:
    whole = events(STORY)
    before = fold(whole[:6])
    copy = fold(whole[:6])

    fold_next_event(before, whole[6])

    assert before == copy


def test_no_events_are_an_empty_view() -> None:
    assert fold([]) == RunView()


@pytest.mark.parametrize(
    "event", [draft("future.kind", x=1), draft("node.started"), draft("agent.spent", input="1", output=2)]
)
def test_an_event_that_is_not_understood_stops_the_fold(event: EventDraft) -> None:
    with pytest.raises(Failed, match="event 2 is not understood"):
        story(1, event)


def test_a_field_that_only_a_newer_writer_knows_is_let_be() -> None:
    assert story(1, draft("node.started", node="N1", colour="red")).nodes["N1"].status == "started"


def test_a_view_is_plain_json_in_camel_case() -> None:
    plain = story(len(STORY)).plain()

    assert plain["inputTokens"] == 100
    assert plain["actions"]["a1"]["status"] == "executed"


@pytest.mark.parametrize(("how", "why", "status"), [
    ("approved", "a1 denied", "completed"),
    ("denied", "a1 denied", "failed"),
    ("approved", "a1, a2 denied", "failed"),
    ("approved", "the tests fail", "failed"),
])  # fmt: skip
def test_a_run_that_failed_by_a_no_is_completed_once_that_is_settled_as_approved(
    how: str, why: str, status: str
) -> None:
    settled = story(
        5,
        draft("permission.denied", action="a1", by="bob"),
        draft("run.finished", ok=False, why=why),
        draft("decision.contradicted", action="a1", here="denied", elsewhere="approved"),
        draft("decision.settled", action="a1", how=how, by="ann"),
    )

    assert (settled.status, settled.odd) == (status, ())
