"""Logs as they grow, and what is said about them."""

from pathlib import Path

from gitnexus.events.inforce import Claimed
from gitnexus.events.log import RunLog
from gitnexus.events.model import Event
from gitnexus.tui import news
from gitnexus.tui.chat_store import MOST_ENTRIES, ChatStore
from gitnexus.tui.model import ChatEntry
from gitnexus.tui.watch import RunWatch

HASH = "sha256:" + "0" * 64


def begun(common: Path, run: str) -> RunLog:
    log = RunLog(common / "nexus" / "runs" / run)
    log.append("workflow.started", "user", {"run": run, "definition": HASH, "task": "tidy", "agent": "command"})
    return log


def seen(watch: RunWatch) -> list[tuple[str, list[str], bool]]:
    return [(one.run, [event.kind for event in one.events], one.first) for one in watch.look()]


def test_a_watch_tells_what_is_new_of_runs_that_are_not_over_and_of_new_ones(tmp_path: Path) -> None:
    old, over = begun(tmp_path, "old"), begun(tmp_path, "over")
    watch = RunWatch(tmp_path, frozenset({"over"}))

    first, nothing = seen(watch), seen(watch)
    old.append("node.started", "nexus", {"node": "main"})
    over.append("node.started", "nexus", {"node": "main"})
    begun(tmp_path, "elsewhere")
    later = seen(watch)

    assert first == [("old", ["workflow.started"], True)]
    assert nothing == []
    assert later == [("old", ["node.started"], False), ("elsewhere", ["workflow.started"], False)]
    assert watch.views["old"].nodes["main"].status == "started"


def test_an_end_that_is_only_claimed_does_not_end_a_run_for_who_watches(tmp_path: Path) -> None:
    log = begun(tmp_path, "r")
    log.append("run.cancelled", "user", {"by": "Ada"})
    (tmp_path / "nexus" / "runs" / "r" / "arrived").write_text("2 x\n")
    watch = RunWatch(tmp_path, frozenset(), lambda run: [Claimed(0, 2)])

    watch.look()

    assert watch.views["r"].status == "running"


def test_half_a_line_waits_until_it_is_whole_and_a_damaged_log_is_left_alone(tmp_path: Path) -> None:
    log = begun(tmp_path, "r")
    watch = RunWatch(tmp_path, frozenset())
    watch.look()
    with log.path.open("ab") as file:
        file.write(b'{"half')
        file.flush()
        half = seen(watch)
        file.write(b'": 1}\n')

    assert (half, seen(watch), seen(watch)) == ([], [], [])
    assert watch.views["r"].seq == 1


def event(kind: str, actor: str = "nexus", **body: object) -> Event:
    return Event(7, "2026-01-01T09:00:00.000000Z", actor, kind, body, HASH)


def test_agents_speak_behind_their_gutter_and_we_in_one_voice() -> None:
    spoken = [
        *news.entries_for_event("r", event("agent.progress", "codex", text="I edit", node="main")),
        *news.entries_for_event("r", event("agent.progress", "model", text="status: done\nsummary: so", node="main")),
        *news.entries_for_event("r", event("agent.progress", "gate", text="left out: x")),
        *news.entries_for_event("r", event("node.started", node="main", agent="codex", attempt=2)),
        *news.entries_for_event(
            "r", event("run.committed", action="a1", commit="a" * 40, tree="b" * 40, branch="nexus/r")
        ),
        *news.entries_for_event("r", event("action.judged", action="a1", verdict="ask", rule="x", why="y")),
    ]

    assert spoken == [
        ChatEntry("agent", "I edit", "r"),
        ChatEntry("agent", "status: done\nsummary: so", "r"),
        ChatEntry("nexus", "r: left out: x", "r"),
        ChatEntry("nexus", "r: main begins, done by codex, attempt 2", "r"),
        ChatEntry("nexus", f"r: a1 is commit {'a' * 12} on nexus/r", "r"),
    ]


def test_the_time_of_a_step_counts_all_its_attempts() -> None:
    times = news.StepTimes()
    for kind, at in (("started", "00"), ("blocked", "05"), ("started", "10"), ("completed", "11")):
        times.note("r", event(f"node.{kind}", node="main")._replace(time=f"2026-01-01T09:00:{at}.000000Z"))

    assert times.of("r") == {"main": 6.0}


def test_what_is_kept_is_bounded_masked_and_there_again(tmp_path: Path) -> None:
    keeper = ChatStore(tmp_path)
    secret = "ghp_" + "a1B2" * 9
    for number in range(MOST_ENTRIES + 5):
        keeper.add(ChatEntry("you", f"request {number}"))
    keeper.add(ChatEntry("agent", "is in the log of its run"))
    keeper.add(ChatEntry("nexus", f"token {secret}"))
    keeper.keep_draft("half a thought")

    again = ChatStore(tmp_path)
    entries = again.entries()

    assert (len(entries), entries[0].text) == (MOST_ENTRIES, "request 6")
    assert secret not in entries[-1].text
    assert again.draft() == "half a thought"
    assert (again.folder / "draft.json").stat().st_mode & 0o777 == 0o600


def test_files_that_others_damaged_are_as_if_they_were_not_there(tmp_path: Path) -> None:
    keeper = ChatStore(tmp_path)
    keeper.keep_draft("x")
    for name in ("draft.json", "history.json", "conversation.jsonl", "proposals.json"):
        (keeper.folder / name).write_text('{"no": [')

    assert (keeper.draft(), keeper.entries(), keeper.proposals(), keeper.history().past) == ("", [], {}, ())
