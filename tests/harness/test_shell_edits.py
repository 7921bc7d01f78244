"""Files that an agent changes by commands count as its own, and a skill is still there when a program goes on."""

import os
from pathlib import Path

import pytest

from gitnexus.harness.changed_files import changed_since
from gitnexus.harness.model import HarnessEvent
from gitnexus.harness.touched import files_changed_by_call
from tests.harness.conftest import Programs


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("echo x > a.txt", ("a.txt",)),
        ("sed -i s/a/b/ a.txt && cat a.txt", ("a.txt",)),
        ("cd sub && tee b.txt < ../a.txt", ("sub/b.txt",)),
        ("cat <<'E' > sub/b.txt\nx\nE", ("sub/b.txt",)),
        ("cp a.txt sub/b.txt", ("sub/b.txt",)),
        ("rm gone.txt", ("gone.txt",)),
        ("cat a.txt | grep x", ()),
        ("ls > /dev/null", ()),
    ],
)
def test_what_a_command_names_as_its_files_is_what_it_changed(
    tmp_path: Path, command: str, files: tuple[str, ...]
) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("a.txt", "sub/b.txt"):
        (tmp_path / name).write_text("x\n")
    told = HarnessEvent(
        "claude-code", "post_tool_use", "PostToolUse", cwd=str(tmp_path), tool="Bash", given={"command": command}
    )

    assert files_changed_by_call(told, str(tmp_path)) == files


def test_files_changed_by_commands_reach_the_tracker_of_the_agent_and_that_of_edits(program: Programs) -> None:
    harness = program("claude-code")
    harness("session_start")
    harness("subagent_spawn")
    (harness.place / "made.txt").write_text("x\n")

    harness("post_tool_use", tool_name="Bash", tool_input={"command": "echo x > made.txt"}, tool_response={})
    harness("subagent_complete")

    (row,) = harness.file("agent-tracker.json")
    assert row["files_touched"] == ["made.txt"]
    assert list(harness.file("edit-tracker.json")["files"]) == ["made.txt"]
    assert harness.log()[-1]["harness"] == "claude-code"


def test_the_log_of_one_program_is_not_taken_for_that_of_another(program: Programs) -> None:
    one, other = program("claude-code"), program("codex")
    one("subagent_spawn", agent_id="a1")
    other("post_tool_use", agent_id="a1")

    one("subagent_complete", agent_id="a1")

    (row,) = one.file("agent-tracker.json")
    assert row["files_touched"] == []


def test_a_program_that_takes_a_session_up_again_is_still_in_its_skill(program: Programs) -> None:
    harness = program("claude-code")
    harness("session_start", session_id="one")
    harness("user_message", session_id="one", prompt="[plan] tagging")
    harness("session_end", session_id="one")

    again = harness("session_start", session_id="one", source="resume")
    other = harness("session_start", session_id="two", source="startup")

    assert "this session is in the skill nx-plan: go on by it." in again.context
    assert "nx-plan: go on" not in other.context
    assert harness.file("sessions.json")["sessions"]["one"]["skill"] == "nx-plan"


def test_what_a_command_changed_and_does_not_name_is_found_on_disk(program: Programs) -> None:
    harness = program("claude-code")
    harness("session_start")
    harness("subagent_spawn")
    harness("post_tool_use", tool_name="Bash", tool_input={"command": "ls"}, tool_response={})
    before = (harness.place / ".nexus/state/tool-log.jsonl").stat().st_mtime_ns
    (harness.place / ".gitignore").write_text("*.o\n")
    for name, at in (("old.py", before - 10**9), (".gitignore", before - 10**9), ("made.py", before + 10**9),
                     ("made.o", before + 10**9)):  # fmt: skip
        (harness.place / name).touch()
        os.utime(harness.place / name, ns=(at, at))

    harness("post_tool_use", tool_name="Bash", tool_input={"command": "ls"}, tool_response={})
    looked = harness.log()[-1]
    os.utime(harness.place / ".nexus/state/tool-log.jsonl", ns=(before, before))
    harness("post_tool_use", tool_name="Bash", tool_input={"command": "python make.py"}, tool_response={})
    harness("subagent_complete")

    assert "file" not in looked
    (row,) = harness.file("agent-tracker.json")
    assert row["files_touched"] == ["made.py"]


def test_a_worktree_with_very_many_files_is_searched_too(tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for number in range(1_500):
        os.close(os.open(tmp_path / "many" / f"{number}", os.O_CREAT))
    later = os.stat(tmp_path / "many" / "1499").st_mtime_ns + 10**9
    (tmp_path / "many" / "deep").mkdir()
    for name in ("top.py", "many/deep/made.py"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, ns=(later, later))

    assert changed_since(str(tmp_path), later - 1, seconds=60) == [
        f"{tmp_path}/many/deep/made.py",
        f"{tmp_path}/top.py",
    ]
    assert changed_since(str(tmp_path), later - 1, seconds=0) == [f"{tmp_path}/top.py"]
