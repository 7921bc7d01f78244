"""Whatever comes through the door: the gate stays shut, a session goes on, and nobody sees a traceback."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitnexus.app.harness_install import install_harness
from gitnexus.git import discover
from gitnexus.harness.model import EVENTS, Event, HarnessEvent, HookAnswer
from gitnexus.harness.protocols.table import NAMES
from gitnexus.hooks import harness as door
from gitnexus.state.locate import locate_first_project, locate_project
from tests.conftest import Nexus, run_git
from tests.harness.conftest import Programs
from tests.harness.payloads import RECORDED, placed
from tests.harness.programs import Program

OTHERS = [event for event in EVENTS if event != "pre_tool_use"]
BROKEN = [b"", b"{", b"[]", b"null", b"\xff\xfe", b'"x"', b"1" * 5000, b"[" * 100_000]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("name", [*NAMES, "nobody"])
def test_what_cannot_be_read_shuts_the_gate_and_stops_nothing_else(
    name: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = Program(name, place, monkeypatch)

    for raw in BROKEN:
        shut = harness.send("pre_tool_use", raw)
        others = [harness.send(event, raw) for event in OTHERS]

        start = raw[:20]  # names the one that fails
        assert (start, shut.status, shut.out) == (start, 2, b"")
        assert shut.err.startswith("git nexus: refused: this could not be judged: "), start
        assert {(heard.status, heard.out) for heard in others} == {(0, b"")}, start
        assert all(heard.err.startswith("git nexus: ") and "Traceback" not in heard.err for heard in others), start
        assert not harness.folder.exists(), start


def test_what_is_too_large_is_not_read_to_its_end(program: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "_LARGEST", 1000)
    raw = json.dumps({"prompt": "x" * 2000}).encode()

    assert program("codex").send("pre_tool_use", raw).status == 2
    heard = program("codex").send("user_message", raw)
    assert (heard.status, heard.out) == (0, b"")
    assert "larger than" in heard.err


@pytest.mark.parametrize("name", NAMES)
@settings(suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_whatever_a_program_sends_gets_an_answer_in_its_own_words(
    name: str, data: st.DataObject, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    event: Event = data.draw(st.sampled_from(sorted(RECORDED[name])))
    changed = data.draw(st.dictionaries(st.sampled_from(sorted(RECORDED[name][event])), VALUES, max_size=4))
    payload: dict[str, Any] = {**placed(RECORDED[name][event], place), **changed}
    monkeypatch.setitem(door._HANDLERS, "pre_tool_use", "tests.harness.conftest:open_gate")

    heard = Program(name, place, monkeypatch).send(event, json.dumps(payload).encode())

    assert heard.status == 0 or (event == "pre_tool_use" and heard.status == 2)
    assert heard.said.keys() <= {"hookSpecificOutput", "systemMessage", "verdict", "context", "notice", "reason"}
    assert "Traceback" not in heard.err
    own = heard.said.get("hookSpecificOutput")
    if own is not None:
        fields = {"hookEventName", "additionalContext", "permissionDecision", "permissionDecisionReason", "tool_input"}
        assert own.keys() <= fields
        assert isinstance(own["hookEventName"], str)


@pytest.mark.parametrize("failure", [RuntimeError("bang"), MemoryError(), KeyboardInterrupt])
def test_a_handler_that_breaks_shuts_the_gate_even_through_main(
    failure: Any, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gitnexus import main

    def broken(told: HarnessEvent) -> HookAnswer:
        raise failure

    monkeypatch.setattr(door, "_call_handler", broken)
    raw = json.dumps(placed(RECORDED["claude-code"]["post_tool_use"], place)).encode()
    statuses = []
    for event in ("pre_tool_use", "post_tool_use"):
        monkeypatch.setattr(
            "sys.stdin", type("In", (), {"buffer": type("B", (), {"read": staticmethod(lambda n: raw)})})
        )
        statuses.append(main._harness_hook(["claude-code", event]))

    assert statuses == [2, 0]


def test_a_handler_that_never_ends_is_a_no_at_the_gate_and_given_up_elsewhere(place: Path) -> None:
    script = (
        "import sys, time\n"
        "from gitnexus.hooks import harness as door\n"
        "door.GATE_SECONDS = door.OTHER_SECONDS = 0.2\n"
        "def slow(told):\n"
        "    while True:\n"
        "        try: time.sleep(60)\n"
        "        except Exception: pass\n"
        "door._call_handler = slow\n"
        "sys.exit(door.run_harness_hook(sys.argv[1:]))\n"
    )
    raw = json.dumps(placed(RECORDED["codex"]["post_tool_use"], place)).encode()

    done = [
        subprocess.run([sys.executable, "-c", script, "codex", event], input=raw, capture_output=True, check=False)
        for event in ("pre_tool_use", "post_tool_use")
    ]

    assert [one.returncode for one in done] == [2, 0]
    assert b"could not be judged in time" in done[0].stderr
    assert b"post_tool_use was skipped: it took more than" in done[1].stderr


def test_a_program_that_never_ends_what_it_sends_is_not_waited_for(place: Path) -> None:
    script = (
        "import sys\n"
        "from gitnexus.hooks import harness as door\n"
        "door.GATE_SECONDS = 0.2\n"
        "sys.exit(door.run_harness_hook(['claude-code', 'pre_tool_use']))\n"
    )
    child = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stderr is not None
    child.stdin.write(b'{"tool_name"')
    child.stdin.flush()

    assert child.wait() == 2
    assert b"in time" in child.stderr.read()
    child.stdin.close()
    child.stderr.close()


@pytest.mark.parametrize("name", NAMES)
def test_outside_of_every_project_nothing_is_made_and_only_what_shuts_the_gate_is_said(
    name: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = Program(name, repository, monkeypatch)
    shut = harness("session_start")
    install_harness(repository, name, "user", None, dry_run=False)

    assert "not a project, so every tool is refused" in shut.context
    for event in RECORDED[name]:
        if event != "pre_tool_use":
            heard = harness(event)
            assert (heard.status, heard.out.strip(b"{}"), heard.err) == (0, b"", "")

    assert not (repository / ".nexus").exists()


def test_the_command_says_what_it_takes(nexus: Nexus) -> None:
    wrong = {("claude-code", "lunch"): 1, ("claude-code",): 1, ("claude-code", "pre_tool_use", "x"): 2}

    for argv, status in wrong.items():
        done = nexus("hook", "harness", *argv)
        assert (done.returncode, "session_start" in done.stderr) == (status, True)


def test_a_linked_worktree_and_a_folder_below_are_found_without_git(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = place.parent / "other"
    run_git(place, "worktree", "add", "-q", str(other))
    (other / "deep" / "er").mkdir(parents=True)
    bare = place.parent / "bare.git"
    run_git(place, "clone", "-q", "--bare", str(place), str(bare))
    monkeypatch.setenv("PATH", os.devnull)

    location = locate_project(str(other / "deep" / "er"))

    monkeypatch.undo()
    asked = discover(other)
    assert location is not None
    assert location[:3] == (str(asked.worktree), str(asked.git_dir), str(asked.common_dir))
    assert locate_project(str(bare)) is None
    assert locate_first_project("", "relative", "/\0", "/") is None
    assert locate_first_project("/", str(place)) is not None


def cloned_project(place: Path) -> Path:
    clone = place.parent / "clone"
    run_git(place, "clone", "-q", str(place), str(clone))
    run_git(clone, "fetch", "-q", "origin", "refs/nexus/state:refs/nexus/state")
    return clone


def cloned_project_with_packed_refs(place: Path) -> Path:
    clone = cloned_project(place)
    run_git(clone, "pack-refs", "--all")
    return clone


def repository_in_project(place: Path) -> Path:
    inner = place / "src" / "inner"
    inner.mkdir(parents=True)
    run_git(inner, "init", "-q")
    return inner


def folder_behind_link(place: Path) -> Path:
    link = place.parent / "link"
    link.symlink_to(place / ".git")
    return link


def uninstalled_project(place: Path) -> Path:
    Nexus(place).ok("uninstall")
    return place


@pytest.mark.parametrize(
    ("make", "top"),
    [
        (cloned_project, "clone"),
        (cloned_project_with_packed_refs, "clone"),
        (repository_in_project, "mein Büro"),
        (folder_behind_link, "mein Büro"),
        (uninstalled_project, None),
    ],
)
def test_the_gate_and_the_other_hooks_find_the_same_project(
    make: Callable[[Path], Path], top: str | None, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make(place)
    install_harness(place, "claude-code", "user", None, dry_run=False)
    session = place.parent / (top or "mein Büro") / ".nexus" / "state"
    harness = Program("claude-code", folder, monkeypatch)

    location = locate_project(str(folder))
    written = harness("post_tool_use")
    started = harness("session_start")
    asked = harness("pre_tool_use", tool_name="Bash", tool_input={"command": "cat .env"})

    assert (location and location.top) == (top and str(place.parent / top))
    assert [heard.status for heard in (written, started, asked)] == [0, 0, 0], (written, started, asked)
    assert (session / "tool-log.jsonl").exists() == (top is not None)
    assert (session / "claude-code").exists() == (top is not None)
    assert bool(asked.out.strip(b"{}")) == (top is not None)


def test_a_session_that_left_its_project_is_still_recorded_there(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setenv("GEMINI_PROJECT_DIR", str(place))

    heard = Program("gemini-cli", elsewhere, monkeypatch)("post_tool_use")

    assert (heard.status, heard.err) == (0, "")
    assert (place / ".nexus" / "state" / "tool-log.jsonl").exists()
