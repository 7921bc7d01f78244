"""The timeline: every event in one safe line."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitnexus.events import Event
from gitnexus.events.kinds import KINDS
from gitnexus.events.timeline import WORDS, describe_event, format_timeline
from tests.events.scene import ASKED, COMMIT, STORY
from tests.events.test_fold import events

SAMPLES: dict[str, Any] = {
    **{"name": "N1", "names": ["one", "two"], "text": "some words", "hash": ASKED, "hashes": [ASKED], "count": 3},
    **{"number": -9, "flag": True, "verdict": "ask", "object": {}},
}


def test_every_kind_has_its_words_and_they_name_only_its_fields() -> None:
    assert list(WORDS) == list(KINDS)
    for kind, words in WORDS.items():
        known = {**KINDS[kind].needs, **KINDS[kind].may}
        body = {name: SAMPLES[wanted] for name, wanted in known.items()}
        filled = " ".join(words).format_map({**body, "ended": "ok"})
        assert filled


def test_the_story_is_told() -> None:
    shown = list(format_timeline(events(STORY)))

    assert shown == [
        "    1      +0.0s  person:ann: starts the run 0101-tidy: “tidy up”",
        "    2      +1.0s  nexus: begins N1",
        "    3      +2.0s  agent:claude: says: “looking around”",
        "    4      +3.0s  agent:claude: proposes patch a1: “remove dead code” → aaaaaaaaaaaa",
        "    5      +4.0s  nexus: judges a1 (writes: “it writes src”) → ask",
        "    6      +5.0s  person:ann: ann approved a1 (once) → aaaaaaaaaaaa",
        "    7      +6.0s  nexus: is about to run repo.commit for a1 → aaaaaaaaaaaa",
        "    8      +7.0s  nexus: committed a1 → cccccccccccc",
        "    9      +8.0s  nexus: ran repo.commit for a1 → ok",
        "   10      +9.0s  agent:claude: spent 100 tokens in, 20 out",
        "   11     +10.0s  nexus: completed N1",
        "   12     +11.0s  nexus: finished the run → ok",
    ]


@pytest.mark.parametrize(
    ("second", "shown"),
    [("00:00:59", "+59.0s"), ("00:02:05", "+2m05s"), ("03:00:09", "+3h00m09s"), ("nonsense", "?")],
)
def test_times_are_told_from_the_beginning(second: str, shown: str) -> None:
    first = Event(1, "2026-01-01T00:00:00Z", "n", "agent.progress", {"text": ""}, "")

    lines = format_timeline([first, first._replace(time=f"2026-01-01T{second}Z")])

    assert [line.split()[1] for line in lines] == ["+0.0s", shown]


def test_a_clock_that_was_set_back_is_told_as_such() -> None:
    first = Event(1, "2026-01-01T00:00:09Z", "n", "agent.progress", {"text": ""}, "")

    lines = format_timeline([first, first._replace(time="2026-01-01T00:00:00Z")])

    assert [line.split()[1] for line in lines] == ["+0.0s", "-9.0s"]


def test_a_kind_of_a_newer_version_is_still_a_line() -> None:
    shown = describe_event(Event(1, "", "nexus", "future.\x1b[31m", {"x": "y"}, ""))

    assert shown == "nexus: something this version does not know: future.\\x1b[31m"


def test_a_status_is_told() -> None:
    body = {"action": "a1", "tool": "cmd", "ok": False, "status": 2, "result": "no tests"}

    assert (
        describe_event(Event(1, "", "nexus", "tool.executed", body, ""))
        == "nexus: ran cmd for a1 → failed with 2 “no tests”"
    )


@settings(deadline=None)
@given(st.sampled_from(list(KINDS)), st.text(), st.text(), st.data())
def test_no_text_leaves_its_line_or_reaches_the_terminal(kind: str, text: str, actor: str, data: st.DataObject) -> None:
    values = st.sampled_from([text, COMMIT, [text], {"a": text}, 5, None, True])
    body = {name: data.draw(values) for name in (*KINDS[kind].needs, *KINDS[kind].may)}

    shown = describe_event(Event(1, text, actor, kind, body, ""))

    assert len(shown.splitlines()) == 1
    assert "\x1b" not in shown


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ({"action": "a1", "verdict": "ask", "rule": "r", "why": ""}, "nexus: judges a1 (r) → ask"),
        ({"action": "a1", "verdict": "ask"}, "nexus: judges a1 → ask"),
        ({"action": "100%", "verdict": "%s"}, "nexus: judges 100% → %s"),
    ],
)
def test_what_is_empty_or_missing_leaves_nothing_around_it(body: dict[str, Any], shown: str) -> None:
    assert describe_event(Event(1, "", "nexus", "action.judged", body, "")) == shown


def test_a_kind_with_a_percent_sign_is_told() -> None:
    assert describe_event(Event(1, "", "nexus", "a%sb", {}, "")) == "nexus: something this version does not know: a%sb"
