"""Completion and history, without a screen."""

from gitnexus.tui.completing import CompletionOffer, CompletionSources, find_completions
from gitnexus.tui.history import MOST, InputHistory

FILES = ("docs/chat.md", "gitnexus/chat.py", "gitnexus/tui/chat.py", "readme.txt")
SOURCES = CompletionSources(
    files=lambda: FILES,
    tasks=lambda project: [(f"{project}:T1", "first"), (f"{project}:T12", "twelfth"), (f"{project}:T2", "second")],
    runs=lambda: [("261117-0001-aaaa", "tidy"), ("261117-0002-bbbb", "fix")],
    macros=lambda: [("research", "find out")],
)


def texts(text: str, cursor: int | None = None) -> list[str]:
    return [one.text for one in find_completions(text, len(text) if cursor is None else cursor, SOURCES)]


def test_slash_commands_and_workflows_complete_at_the_beginning_alone() -> None:
    assert texts("/re") == ["/review", "/replay", "/resume", "/research"]
    assert texts("look at /re") == []


def test_files_complete_after_an_at_by_beginning_then_by_name_then_by_any_part() -> None:
    assert texts("look at @read") == ["@readme.txt"]
    assert texts("@chat") == ["@docs/chat.md", "@gitnexus/chat.py", "@gitnexus/tui/chat.py"]
    assert find_completions("see @tui", 8, SOURCES) == [CompletionOffer("@gitnexus/tui/chat.py", "file", 4)]


def test_tasks_complete_after_the_name_of_their_project() -> None:
    assert texts("do my-api:T1") == ["my-api:T1", "my-api:T12"]
    assert texts("do my-api:") == ["my-api:T1", "my-api:T12", "my-api:T2"]
    assert texts("note: now") == []


def test_arguments_of_commands_complete_with_what_they_take() -> None:
    assert texts("/trace o") == ["on", "off"]
    assert texts("/mode a") == ["acceptEdits", "autopilot"]
    assert texts("/land 261117-0002") == ["261117-0002-bbbb"]


def test_only_the_word_before_the_cursor_counts() -> None:
    assert texts("@read and more", 5) == ["@readme.txt"]


def test_the_arrows_walk_through_what_was_typed_and_back_to_the_draft() -> None:
    history = InputHistory.of(("one", "two"))

    history, second = history.step_back("half a")
    history, first = history.step_back("two")
    history, nothing = history.step_back("one")
    history, again = history.step_forward()
    history, draft = history.step_forward()
    history, end = history.step_forward()

    assert (second, first, nothing, again, draft, end) == ("two", "one", None, "two", "half a", None)


def test_the_history_is_bounded_and_holds_a_repetition_once() -> None:
    history = InputHistory.of(tuple(map(str, range(MOST)))).added("x").added("x")

    assert (len(history.past), history.past[0], history.past[-2:]) == (MOST, "1", (str(MOST - 1), "x"))
