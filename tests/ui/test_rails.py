"""The rails: help, errors, JSON, exit codes, and the options that every command takes."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gitnexus.main import COMMANDS
from tests.conftest import Nexus, run_git
from tests.terminal import shown as terminal

NAMES = [row[1] for row in COMMANDS]


SECTIONS = ["Set up", "Runs", "Inside a run", "Rules", "Tasks", "Projects", "Cycle", "Talk"]


def test_the_help_fits_a_screen_in_sections_and_names_every_command(nexus: Nexus) -> None:
    shown = nexus.ok("-h")

    assert len(shown.splitlines()) <= 52
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert re.findall(r"^(\S.*):$", shown, re.MULTILINE) == SECTIONS
    assert {name for name in NAMES if not re.search(rf"\b{name}\b", shown)} == {"hook"}
    assert nexus.ok() == nexus.ok("help") == shown


def test_the_whole_help_has_a_line_for_every_command(nexus: Nexus) -> None:
    shown = nexus.ok("help", "--all")

    assert re.findall(r"^(\S.*):$", shown, re.MULTILINE) == ["Options", *SECTIONS, "inside"]
    assert [name for name in NAMES if not re.search(rf"^  {name} +\S", shown, re.MULTILINE)] == []


def test_help_shows_a_command_as_the_command_does(nexus: Nexus) -> None:
    assert nexus.ok("help", "task", "add") == nexus.ok("task", "add", "-h")
    assert nexus.ok("help", "task") == nexus.ok("task", "-h")
    assert json.loads(nexus.ok("help", "--json"))["commands"][0]["name"] == "init"
    assert nexus("help", "tsak").returncode == nexus("help", "task", "ad").returncode == 2


def test_no_command_stands_twice_in_the_table() -> None:
    assert sorted(NAMES) == sorted(set(NAMES))


def test_the_root_help_imports_no_command() -> None:
    code = (
        "import sys; sys.argv = ['git-nexus', '-h']\n"
        "from gitnexus.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "rooms = ('cli', 'app', 'git', 'state', 'projects', 'hooks')\n"
        "print([m for m in sys.modules if m.startswith(tuple('gitnexus.' + room for room in rooms))])"
    )

    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert shown.splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help_and_the_common_options(nexus: Nexus, name: str) -> None:
    shown = nexus.ok(name, "-h")

    assert shown.startswith(f"Usage: git nexus {name}")
    assert all(option in shown for option in ("--json", "--format", "-C DIR", "-h, --help"))


def test_both_spellings_of_help_show_the_same(nexus: Nexus) -> None:
    for words in (("status",), ("task",), ("task", "add"), ("hook",)):
        assert nexus.ok(*words, "--help") == nexus.ok(*words, "-h"), words


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["stauts"], "git nexus: 'stauts' is not a command; did you mean status"),
        (["hooks", "instal"], "git nexus hooks: 'instal' is not a command; did you mean install or uninstall?"),
        (["zzz"], "git nexus: 'zzz' is not a command"),
        (["init", "--nmae", "x"], "no such option '--nmae'"),
        (["log", "-n", "many"], "'many' is not a valid integer range"),
        (["hook", "bogus"], "'bogus' is not one of"),
    ],
)
def test_a_wrong_command_line_is_answered_with_a_sentence_and_status_2(
    nexus: Nexus, argv: list[str], words: str
) -> None:
    done = nexus(*argv)

    assert done.returncode == 2
    assert done.stdout == ""
    first, second = done.stderr.splitlines()
    assert first.startswith("error: ")
    assert words in first.replace("No such", "no such")
    assert second.startswith("hint: ")


def test_an_error_in_json_is_one_document_whose_code_is_the_exit_status(nexus: Nexus) -> None:
    done = nexus("status", "--json")

    assert done.returncode == 4
    assert done.stderr == ""
    assert json.loads(done.stdout) == {
        "$schema": "urn:git-nexus:output:1",
        "success": False,
        "error": {
            "code": 4,
            "name": "E_NOT_FOUND",
            "message": f"no git nexus project here: {nexus.place}",
            "hint": "make it one with: git nexus init",
            "fix": "git nexus init",
        },
    }


def test_a_wrong_command_line_with_json_is_json_too(nexus: Nexus) -> None:
    done = nexus("stauts", "--format", "json")

    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["name"] == "E_USAGE"


def test_the_envelope_says_which_project_answered(project: Path, nexus: Nexus) -> None:
    answer = json.loads(nexus.ok("--json", "log"))

    assert answer["success"] is True
    assert answer["_meta"]["command"] == "log"
    assert answer["_meta"]["project"]["path"] == str(project)
    assert re.fullmatch(r"[0-9a-f]{12}", answer["_meta"]["project"]["hash"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", answer["_meta"]["timestamp"])
    assert [entry["why"] for entry in answer["entries"]] == ["init: begin"]


@pytest.mark.parametrize("argv", [["-C", "{}", "status"], ["status", "-C", "{}"]])
def test_the_folder_can_be_named_before_or_after_the_command(
    project: Path, nexus: Nexus, tmp_path: Path, argv: list[str]
) -> None:
    assert str(project) in nexus.ok(*(word.format(project) for word in argv), place=tmp_path)


def test_several_folders_add_up_like_in_git(project: Path, nexus: Nexus) -> None:
    (project / "a" / "b").mkdir(parents=True)

    assert nexus.ok("-C", "..", "-C", project.name, "-C", "a/b", "status")


def test_git_itself_may_say_where_the_repository_is(project: Path, tmp_path: Path) -> None:
    shown = run_git(tmp_path, f"--git-dir={project}/.git", f"--work-tree={project}", "nexus", "status")

    assert str(project) in shown


def test_a_folder_that_does_not_exist_is_named(nexus: Nexus) -> None:
    done = nexus("status", "-C", "nowhere")

    assert done.returncode == 4
    assert "there is no folder" in done.stderr


def test_a_bug_is_one_sentence_a_log_and_status_99(nexus: Nexus, sealed: Path) -> None:
    code = (
        "import sys; sys.argv = ['git-nexus', 'status', 'token=ghp_' + 'a1B2c3' * 6]\n"
        "import gitnexus.ui.run as run\n"
        "class Broken:\n    def make_context(self, *a): raise ZeroDivisionError('by \\x1b[2J nought')\n"
        "run.build_root_command = lambda *rows: Broken()\n"
        "from gitnexus.main import main; main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 99
    sentence, hint = done.stderr.splitlines()
    log = Path(sentence.rpartition(" ")[2])
    assert sentence.startswith("error: git nexus has a bug (ZeroDivisionError: by \\x1b[2J nought);")
    assert hint == "hint: please report it with that file"
    assert log.is_relative_to(sealed / "nexus" / "log")
    assert "Traceback" in log.read_text()
    assert "ghp_a1B2" not in log.read_text()


def test_a_reader_that_goes_away_is_no_error(project: Path, nexus: Nexus) -> None:
    done = subprocess.run(
        "git nexus log --json | true; exit ${PIPESTATUS[0]}",
        shell=True, executable="/bin/bash", cwd=project, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.stderr == ""
    assert done.returncode in (0, 141)


def test_colours_only_on_a_terminal_and_never_with_no_color(project: Path, nexus: Nexus) -> None:
    assert "\x1b[" in terminal(project, "git", "nexus", "doctor")
    assert "\x1b[" not in terminal(project, "git", "nexus", "doctor", env={"NO_COLOR": "1"})
    assert "\x1b[" not in terminal(project, "git", "nexus", "stauts", env={"NO_COLOR": "1"})
    assert "\x1b[" not in nexus.ok("doctor")


def test_ctrl_c_leaves_with_status_130(project: Path) -> None:
    code = (
        "import signal, sys; sys.argv = ['git-nexus', 'status']\n"
        "import gitnexus.app as app\n"
        "app.open_nexus = lambda place: (signal.raise_signal(signal.SIGINT), signal.pause())\n"
        "from gitnexus.main import main; main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True, check=False)

    assert done.returncode == 128 + signal.SIGINT
    assert done.stderr == "error: interrupted; what was reported as done is done\n"


def test_the_version_is_told(nexus: Nexus) -> None:
    assert re.fullmatch(r"git-nexus version \d+\.\d+\.\d+\n", nexus.ok("--version"))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_scripts_are_printed(nexus: Nexus, shell: str) -> None:
    assert "_GIT_NEXUS_COMPLETE" in nexus.ok("completion", shell)


COMPLETIONS = [
    ("git-nexus st", "1", ["status"]),
    ("git-nexus hooks ", "2", ["install", "status", "uninstall"]),
    ("git-nexus init --na", "2", ["--name"]),
    ("git-nexus ", "1", [name for name in NAMES if name != "hook"]),
]


def test_completion_answers(nexus: Nexus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_GIT_NEXUS_COMPLETE", "bash_complete")
    for words, at, expected in COMPLETIONS:
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", at)

        shown = nexus.ok()

        assert (words, [line.partition(",")[2] for line in shown.splitlines()]) == (words, expected)


@pytest.mark.parametrize(
    "argv", [("-C", "~no-such-user", "status"), ("register", "~no-such-user"), ("run", "--workflow", "~no-such-user/x")]
)
def test_the_home_of_nobody_is_a_folder_that_is_not_there(project: Path, nexus: Nexus, argv: tuple[str, ...]) -> None:
    done = nexus(*argv)

    assert done.returncode not in (0, 70), done.stderr
    assert "~no-such-user" in done.stderr
    assert "E_BUG" not in done.stderr
