"""The log: durable, chained, shared by processes, mended where a writer was stopped and nowhere else."""

import json
import os
import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Failed, Invalid, NotFound, VerificationFailed
from gitnexus.events import Event, RunLog, verify_log
from gitnexus.events import log as log_module
from gitnexus.events.anchor import HeadFile
from gitnexus.events.kinds import check_event_body, shorten_text
from gitnexus.events.log import EventDraft
from gitnexus.events.model import genesis_digest, parse_event_line, require_run_id, sha256_digest
from tests.conftest import examples
from tests.events.scene import DEFINITION, RUN, STARTED, STORY, begun, says


def test_events_come_back_as_they_were_written_each_with_the_digest_of_the_line_before(tmp_path: Path) -> None:
    log = begun(tmp_path, len(STORY))

    events = list(log.read())
    lines = log.path.read_bytes().splitlines()

    assert [(event.kind, event.actor, event.body) for event in events] == [tuple(draft) for draft in STORY]
    assert [event.seq for event in events] == list(range(1, len(STORY) + 1))
    assert [event.prev for event in events] == [genesis_digest(RUN, DEFINITION), *map(sha256_digest, lines[:-1])]


def test_the_log_and_its_folder_are_for_their_owner_only(tmp_path: Path) -> None:
    log = begun(tmp_path)

    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.folder.stat().st_mode) == 0o700


def test_a_log_begins_with_the_start_of_its_own_run_and_only_begins_with_it(tmp_path: Path) -> None:
    log = RunLog(tmp_path / RUN)

    with pytest.raises(Invalid, match=r"begins with workflow.started"):
        says(log)
    with pytest.raises(Invalid, match="not of another"):
        log.append("workflow.started", "nexus", {"run": "another", "definition": DEFINITION})
    log.append(*STARTED)
    with pytest.raises(Invalid, match="only begins with it"):
        log.append(*STARTED)

    assert [event.kind for event in log.read()] == ["workflow.started"]


@pytest.mark.parametrize("name", ["../x", "-x", "a..b", "", "x" * 81, "a b", "x.lock", "ü", "a\nb"])
def test_a_run_has_an_id_that_can_be_a_folder_and_a_ref(name: str) -> None:
    with pytest.raises(Invalid, match="cannot be the id of a run"):
        require_run_id(name)


def test_a_log_that_is_not_there_is_not_found_and_is_not_made_by_looking(tmp_path: Path) -> None:
    log = RunLog(tmp_path / RUN)

    with pytest.raises(NotFound):
        log.read()
    assert log.last() is None
    assert not log.folder.exists()


@pytest.mark.parametrize(
    ("kind", "body", "words"),
    [
        ("node.exploded", {}, "no event of the kind"),
        ("node.started", {}, "node is missing"),
        ("node.started", {"node": "N1", "colour": "red"}, "'colour' is not known"),
        ("node.started", {"node": ""}, "node should be text"),
        ("node.started", {"node": "N1", "attempt": True}, "attempt should be a whole number"),
        ("node.started", {"node": "N1", "attempt": 1.0}, "attempt should be a whole number"),
        ("action.judged", {"action": "a", "verdict": "maybe", "rule": "r", "why": ""}, "one of allow, ask, deny"),
        ("permission.granted", {"action": "a", "digest": "abc", "by": "x", "scope": "once"}, "digest should be"),
        ("agent.progress", {"text": "x" * 4001}, "at most 4000"),
        ("agent.progress", {"text": "half \ud800"}, "surrogate"),
        ("action.proposed", {**STORY[3].body, "claims": {"risk": 0.5}}, "holds a float"),
        ("action.proposed", {**STORY[3].body, "claims": {"risk": 2**60}}, "holds a int"),
        ("action.proposed", {**STORY[3].body, "claims": {"x": "y" * 300_000}}, "too long"),
    ],
)
def test_what_is_no_event_is_refused_and_the_log_stays(
    tmp_path: Path, kind: str, body: dict[str, object], words: str
) -> None:
    log = begun(tmp_path)
    before = log.path.read_bytes()

    with pytest.raises(Invalid, match=words):
        log.append(kind, "nexus", body)

    assert log.path.read_bytes() == before


def test_one_bad_event_of_several_keeps_all_of_them_out(tmp_path: Path) -> None:
    log = begun(tmp_path)

    with pytest.raises(Invalid):
        log.append_many([STORY[1], EventDraft("node.completed", "nexus", {})])

    assert len(list(log.read())) == 1


def test_two_who_write_in_turn_see_each_other(tmp_path: Path) -> None:
    mine = begun(tmp_path)
    theirs = RunLog(mine.folder)

    for log in (theirs, mine, theirs, theirs, mine):
        says(log)

    assert verify_log(mine).events == 6


def test_a_long_log_is_continued_by_one_who_has_not_read_it(tmp_path: Path) -> None:
    log = begun(tmp_path)
    log.append_many([EventDraft("agent.progress", "agent:claude", {"text": "x" * 4000})] * 200)

    says(RunLog(log.folder))

    assert verify_log(log).events == 202


def test_a_clock_that_goes_back_changes_no_order(tmp_path: Path) -> None:
    times = iter(datetime(2026, 1, day, tzinfo=UTC) for day in (9, 3, 7))
    log = RunLog(tmp_path / RUN, clock=lambda: next(times))
    log.append(*STARTED)
    says(log, "second")
    says(log, "third")

    assert [event.body.get("text") for event in log.read()] == [None, "second", "third"]


@pytest.mark.parametrize(
    "torn", [b"{", b'{"actor":"nexus"', b"\0\0\0\0", b"not json\n", b"[1]\n", b"\n", b"\xff" * 9000]
)
def test_half_a_line_is_set_aside_and_marked(tmp_path: Path, torn: bytes) -> None:
    log = begun(tmp_path, 3)
    with log.path.open("ab") as handle:
        handle.write(torn)

    assert verify_log(log).torn == len(torn)
    event = RunLog(log.folder).append(*STORY[4][:2], {**STORY[4].body})

    kinds = [event.kind for event in log.read()]
    marked = list(log.read())[3]
    assert event.seq == 5
    assert kinds[3:] == ["log.recovered", "action.judged"]
    assert marked.body == {"file": "events.torn-1", "bytes": len(torn), "digest": sha256_digest(torn)}
    assert (log.folder / "events.torn-1").read_bytes() == torn
    assert verify_log(log).torn == 0


def test_half_of_the_first_line_is_marked_after_the_beginning(tmp_path: Path) -> None:
    log = RunLog(tmp_path / RUN)
    log.folder.mkdir()
    log.path.write_bytes(b'{"actor":')

    log.append(*STARTED)

    assert [event.kind for event in log.read()] == ["workflow.started", "log.recovered"]


def test_recovering_twice_marks_once(tmp_path: Path) -> None:
    log = begun(tmp_path, 3)
    with log.path.open("ab") as handle:
        handle.write(b"half")

    says(log)
    says(log)

    assert [event.kind for event in log.read()].count("log.recovered") == 1


def test_reading_changes_nothing(tmp_path: Path) -> None:
    log = begun(tmp_path, 3)
    with log.path.open("ab") as handle:
        handle.write(b"half")
    before = log.path.read_bytes()

    assert len(list(log.read())) == 3

    assert log.path.read_bytes() == before
    assert os.listdir(log.folder) == ["events.jsonl"]


def test_one_who_was_killed_between_setting_aside_and_marking_leaves_one_file(tmp_path: Path) -> None:
    log = begun(tmp_path, 3)
    with log.path.open("ab") as handle:
        handle.write(b"half")
    (log.folder / "events.torn-1").write_bytes(b"half")

    says(log)

    assert sorted(os.listdir(log.folder)) == ["events.jsonl", "events.torn-1"]


def test_a_full_disk_leaves_the_log_as_it_was(tmp_path: Path) -> None:
    log = begun(tmp_path, 3)
    before = log.path.read_bytes()
    script = (
        "import resource, sys\nfrom pathlib import Path\nfrom gitnexus.base.errors import Failed\n"
        "from gitnexus.events import RunLog\nlog = RunLog(Path(sys.argv[1]))\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({len(before) + 100}, {len(before) + 100}))\n"
        "try:\n    log.append('agent.progress', 'agent:x', {'text': 'y' * 3000})\n"
        "except Failed as exc:\n    print(exc.message)\n"
    )

    done = subprocess.run([sys.executable, "-c", script, log.folder], capture_output=True, text=True, check=True)

    assert "File too large" in done.stdout
    assert log.path.read_bytes() == before
    says(log)
    assert verify_log(log).events == 4


def test_a_disk_that_fails_to_keep_it_leaves_the_log_and_the_torn_end_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = begun(tmp_path, 3)
    with log.path.open("ab") as handle:
        handle.write(b"half")
    (log.folder / "events.torn-1").write_bytes(b"half")
    before = log.path.read_bytes()

    def broken(fd: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", broken)
        with pytest.raises(Failed, match="Input/output error"):
            says(log)

    assert log.path.read_bytes() == before
    says(log)
    assert [event.kind for event in log.read()][3:] == ["log.recovered", "agent.progress"]


def test_a_writer_notices_that_the_log_was_cut_or_changed_under_it(tmp_path: Path) -> None:
    log = begun(tmp_path, 5)
    whole = log.path.read_bytes()

    for changed in (whole[: whole.rindex(b"\n", 0, -1) + 1], whole.replace(b'"why":"it', b'"why":"IT')):
        log.path.write_bytes(changed)
        with pytest.raises(VerificationFailed, match="event 5 is gone"):
            says(log)
        assert log.path.read_bytes() == changed


def test_a_writer_notices_that_the_log_is_gone(tmp_path: Path) -> None:
    log = begun(tmp_path, 2)
    log.path.unlink()

    with pytest.raises(NotFound, match="is gone"):
        says(log)


def test_a_log_that_is_cleaned_away_while_one_waits_for_it_is_not_written_into_the_void(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, fresh = begun(tmp_path, 2), RunLog(tmp_path / "runs" / RUN)
    lock = log_module._lock_file
    cleaned: list[int] = []

    def slow(fd: int, how: int, run: str) -> None:
        lock(fd, how, run)
        if not cleaned:
            cleaned.append(fd)
            known.path.unlink()

    monkeypatch.setattr(log_module, "_lock_file", slow)

    with pytest.raises(NotFound, match="is gone"):
        says(known)
    fresh.append(*STARTED)
    cleaned.clear()
    RunLog(known.folder).append(*STARTED)

    assert [event.seq for event in fresh.read()] == [1]


def test_a_link_in_the_place_of_the_log_is_not_followed(tmp_path: Path) -> None:
    log = RunLog(tmp_path / RUN)
    log.folder.mkdir()
    (tmp_path / "elsewhere").write_bytes(b"")
    log.path.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(Failed):
        log.append(*STARTED)
    with pytest.raises(Failed):
        log.read()
    assert (tmp_path / "elsewhere").read_bytes() == b""


def test_a_pipe_or_a_folder_in_the_place_of_the_log_is_not_waited_for(tmp_path: Path) -> None:
    for at, make in enumerate((os.mkfifo, os.mkdir)):
        log = RunLog(tmp_path / f"run{at}")
        log.folder.mkdir()
        make(log.path)

        for act in (log.read, lambda log=log: says(log)):
            with pytest.raises(Failed, match=r"not a plain file|Is a directory"):
                act()


def test_the_head_file_follows_the_log_and_refuses_one_that_was_cut(tmp_path: Path) -> None:
    head = tmp_path / "home" / "run.head"
    log = begun(tmp_path, 5, head=head)
    anchor = HeadFile(head).read()
    assert anchor is not None
    assert (anchor.seq, anchor.digest) == log.last()
    lines = log.path.read_bytes().splitlines(keepends=True)

    log.path.write_bytes(b"".join(lines[:-1]))

    with pytest.raises(VerificationFailed, match=r"ends at event 4, but .*head knows event 5"):
        says(RunLog(log.folder, head=head))
    with pytest.raises(VerificationFailed, match="it was cut"):
        verify_log(log, [anchor])


def test_a_head_file_that_lags_behind_is_brought_up_to_date(tmp_path: Path) -> None:
    head = tmp_path / "run.head"
    log = begun(tmp_path, 3, head=head)
    says(RunLog(log.folder))

    says(RunLog(log.folder, head=head))

    anchor = HeadFile(head).read()
    assert anchor is not None
    assert anchor.seq == 5


def test_a_head_file_that_cannot_be_made_stops_the_event_before_it_happens(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    log = begun(tmp_path, 2)

    with pytest.raises(Failed):
        says(RunLog(log.folder, head=tmp_path / "file" / "run.head"))

    assert len(list(log.read())) == 2


def test_a_lost_log_is_not_a_new_one_to_who_has_an_anchor(tmp_path: Path) -> None:
    log = begun(tmp_path, 3, head=tmp_path / "run.head")
    anchor = HeadFile(tmp_path / "run.head").read()
    assert anchor is not None
    log.path.unlink()

    with pytest.raises(VerificationFailed, match="ends at event 0"):
        verify_log(RunLog(log.folder), [anchor])
    with pytest.raises(VerificationFailed, match="ends at event 0"):
        RunLog(log.folder, head=tmp_path / "run.head").append(*STARTED)


def test_a_log_renamed_to_another_run_is_found_out(tmp_path: Path) -> None:
    log = begun(tmp_path, 3)
    log.folder.rename(log.folder.with_name("0102-other"))

    with pytest.raises(VerificationFailed, match="line 1: it is the log of another run"):
        verify_log(RunLog(log.folder.with_name("0102-other")))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(max_codepoint=127)), inner),
    max_leaves=10,
)


@settings(max_examples=examples(50), deadline=None)
@given(
    st.dictionaries(st.text(st.characters(max_codepoint=127)), JSON), st.text(st.characters(exclude_categories=["Cs"]))
)
def test_any_event_is_one_line_of_ascii_and_comes_back_the_same(body: dict[str, object], actor: str) -> None:
    event = Event(7, "2026-01-01T00:00:00Z", actor, "agent.progress", body, "sha256:" + "0" * 64)

    line = event.line()

    assert line.isascii()
    assert len(line.splitlines()) == len(line.decode().splitlines()) == 1
    assert parse_event_line(line) == event


@settings(deadline=None)
@given(st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
def test_what_is_no_event_is_refused_with_a_sentence(raw: bytes) -> None:
    with pytest.raises(Invalid):
        parse_event_line(raw)


BLANK = st.sampled_from(["", "", "", " ", "\t"])
WRITTEN = st.sampled_from(
    [
        '"x"',
        '""',
        '"a\\"b"',
        '"a:"',
        "1",
        "-7",
        "9007199254740993",
        "true",
        "null",
        "1.5",
        '["x"]',
        '{"a":1,"a":2}',
        '"\\ud800"',
    ]
)
PAIR = st.tuples(st.sampled_from(["a", "b", "seq", "x y"]), BLANK, BLANK, WRITTEN)


@settings(deadline=None)
@given(st.lists(PAIR, max_size=4), st.lists(PAIR, max_size=1), WRITTEN | st.just("3"))
def test_a_line_is_read_as_strictly_as_any_json(body: list[Any], more: list[Any], seq: str) -> None:
    def pairs(found: list[Any]) -> str:
        return ",".join(f'"{key}"{one}:{other}{value}' for key, one, other, value in found)

    fields = f'"actor":"x","body":{{{pairs(body)}}},"kind":"k","prev":"p","seq":{seq},"time":"t"'
    raw = f"{{{fields}{',' if more else ''}{pairs(more)}}}".encode()

    try:
        wanted = parse_json(raw)
        assert type(wanted["seq"]) is int
        assert len(wanted) == 6
    except (Invalid, AssertionError):
        with pytest.raises(Invalid):
            parse_event_line(raw)
    else:
        assert parse_event_line(raw) == Event(**wanted)


@settings(deadline=None)
@given(st.text(max_size=5000))
def test_what_is_shortened_fits_an_event(text: str) -> None:
    event = Event(1, "", "agent:x", "agent.progress", {"text": shorten_text(text)}, "")

    check_event_body(event.kind, event.body)

    assert parse_event_line(event.line()) == event
