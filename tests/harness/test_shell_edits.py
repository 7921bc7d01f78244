"""Files that an agent changes by commands count as its own, and a skill is still there when a program goes on."""

import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from gitnexus.harness.changed_files import changed_since
from gitnexus.harness.model import HarnessEvent
from gitnexus.harness.touched import files_changed_by_call
from tests.conftest import run_git
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

    assert "this session is in the skill nx-plan: continue with it." in again.context
    assert "nx-plan: go on" not in other.context
    assert harness.file("sessions.json")["sessions"]["one"]["skill"] == "nx-plan"


def test_what_a_command_changed_and_does_not_name_is_found_on_disk(program: Programs) -> None:
    harness = program("claude-code")
    harness("session_start")
    harness("subagent_spawn")
    (harness.place / ".gitignore").write_text("*.o\n")
    (harness.place / "old.py").touch()
    harness("post_tool_use", tool_name="Bash", tool_input={"command": "ls"}, tool_response={})
    before = (harness.place / ".nexus/state/tool-log.jsonl").stat().st_mtime_ns
    for name in ("made.py", "made.o"):
        (harness.place / name).touch()
        os.utime(harness.place / name, ns=(before + 10**9, before + 10**9))

    harness("post_tool_use", tool_name="Bash", tool_input={"command": "ls"}, tool_response={})
    looked = harness.log()[-1]
    os.utime(harness.place / ".nexus/state/tool-log.jsonl", ns=(before, before))
    harness("post_tool_use", tool_name="Bash", tool_input={"command": "python make.py"}, tool_response={})
    harness("subagent_complete")

    assert "file" not in looked
    (row,) = harness.file("agent-tracker.json")
    assert row["files_touched"] == ["made.py"]


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("echo x > $(echo c).txt", ("c.txt",)),
        ("find . -name a.txt -exec sed -i s/x/y/ {} +", ("a.txt",)),
        ("git checkout -- a.txt sub", ("a.txt", "sub/b.txt")),
        ("git stash -q && git stash pop -q", ("a.txt", "sub/b.txt")),
        ("cp -p a.txt sub/", ("sub/a.txt",)),
        ("mv a.txt sub/", ("a.txt", "sub/a.txt")),
        ("mv sub other", ("sub", "other/b.txt")),
        ("mkdir in && mv sub in", ("sub", "in/sub/b.txt")),
        ("git mv sub other", ("sub", "other/b.txt")),
        ("tar cf - a.txt | tar xf - -C sub", ("sub/a.txt",)),
        ("sort -o a.txt a.txt", ("a.txt",)),
        ("git log --oneline; find . -name b.txt; cat a.txt > /dev/null", ()),
    ],
)
def test_what_a_command_did_is_found_whether_its_words_name_the_files_or_not(
    repository: Path, command: str, files: tuple[str, ...]
) -> None:
    (repository / "sub").mkdir()
    for name in ("a.txt", "sub/b.txt"):
        (repository / name).write_text("x\n")
    run_git(repository, "add", ".")
    run_git(repository, "commit", "-qm", "files")
    for name in ("a.txt", "sub/b.txt"):
        (repository / name).write_text("x\nx\n")
    since = wait_for_the_clock_of_files(repository)
    done = subprocess.run(["sh", "-c", command], cwd=repository, check=True, capture_output=True)
    told = HarnessEvent(
        "claude-code", "post_tool_use", "PostToolUse", cwd=str(repository), tool="Bash", given={"command": command}
    )

    assert done.returncode == 0
    assert sorted(files_changed_by_call(told, str(repository), since)) == sorted(files)


def wait_for_the_clock_of_files(place: Path) -> int:
    """Return a time by which all that was written until now counts as older, and all from now on as newer."""
    mark = place / ".git" / "mark"
    mark.touch()
    before = mark.stat().st_mtime_ns
    while mark.stat().st_mtime_ns == before:
        mark.touch()
    return before


def test_what_a_person_changed_before_the_session_is_no_work_of_it(program: Programs) -> None:
    harness = program("claude-code")
    harness("session_start", session_id="one")
    harness("post_tool_use", session_id="one", tool_name="Bash", tool_input={"command": "ls"}, tool_response={})
    harness("session_end", session_id="one")
    long_ago = time.time_ns() - 100 * 10**9
    os.utime(harness.place / ".nexus/state/tool-log.jsonl", ns=(long_ago, long_ago))
    (harness.place / "mine.txt").touch()
    harness("session_start", session_id="two")
    file = harness.place / ".nexus/state/claude-code/sessions.json"
    soon = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(time.time() + 5))
    file.write_text(re.sub(r'("started_at":")[^"]+', rf"\g<1>{soon}", file.read_text()))

    harness("post_tool_use", session_id="two", tool_name="Bash", tool_input={"command": "make x"}, tool_response={})

    assert "file" not in harness.log()[-1]


def test_the_first_command_of_all_is_looked_at_on_disk_too(program: Programs) -> None:
    harness = program("claude-code")
    harness("session_start")
    (harness.place / "made.txt").touch()

    harness("post_tool_use", tool_name="Bash", tool_input={"command": "make x"}, tool_response={})

    assert harness.log()[-1]["file"] == "made.txt"


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
