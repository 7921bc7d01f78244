"""What is answered without the gate is what the gate would have answered: random texts, laws, modes, grants."""

import json
import os
import shlex
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from gitnexus.base.clock import utc_now
from gitnexus.git import discover
from gitnexus.harness.calls import ShellCall
from gitnexus.harness.model import HarnessEvent
from gitnexus.policy.gate import GateContext
from gitnexus.policy.grants import ApprovalGrant, make_grant
from gitnexus.policy.model import CommandRequest
from gitnexus.projects.open_state import open_state
from gitnexus.state import State
from gitnexus.state.home import home_folder
from gitnexus.state.locate import locate_project
from gitnexus.toolgate import context, fast_path
from gitnexus.toolgate.cache import CachedAnswer
from gitnexus.toolgate.context import CallFinding, JudgeContext
from gitnexus.toolgate.judge import judge_call
from tests.conftest import Nexus, run_git


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[State]:
    """One project with files of all sorts, in a home of its own; the law of each example is the user's own file."""
    folder = tmp_path_factory.mktemp("scene")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("HOME", "home"), ("NEXUS_HOME", "home/nexus"), ("XDG_CONFIG_HOME", "home/config")):
            patch.setenv(name, str(folder / value))
        (folder / "home").mkdir()
        (folder / "home" / ".gitconfig").write_text("[user]\n\tname = P\n\temail = p@example.com\n")
        place = folder / "project"
        place.mkdir()
        run_git(place, "init", "-q")
        run_git(place, "commit", "-q", "--allow-empty", "-m", "first")
        Nexus(place).ok("init")
        for file in ("src/a.py", "private/x", ".env", "tests/b.py", "src/private", "src/server.key"):
            (place / file).parent.mkdir(exist_ok=True)
            (place / file).write_text("x\n")
        (place / "tool").write_text("#!/bin/sh\n")
        (place / "tool").chmod(0o755)
        for link, target in (("link", ".env"), ("hidden", "private/x"), ("out", ".."), ("src/up", "../private")):
            (place / link).symlink_to(target)
        state = open_state(discover(place))
        yield state
        state.close()


COMMANDS = [
    *("git log", "git log -1", "git status", "git -C src log", "git grep x", "ls", "ls src", "cat src/a.py", "echo a"),
    *("cat link", "cat hidden", "cat .env", "cat src/up/x", "cat out/y", "cat private/x", "cat tests/b.py", "cat ~/x"),
    *("cat server.key", "curl x", "curl y", "/usr/bin/curl x", "env curl y", "tool", "./tool", "git push", "tee x"),
    *("rm src/a.py", "git log --output=x", "sh -c 'curl x'", "sh -c 'git log'", "sudo ls", "make", "pytest"),
    *("nobody-knows -x", "git log", "cat src/a.py", "ls src", "git log -2"),
]
MORE = [
    *(
        "",
        "",
        "",
        " -5",
        " --oneline",
        " 'a b'",
        " src/a.py",
        " > x",
        " >/dev/null",
        " 2>&1",
        " < .env",
        " $HOME",
        " *",
    ),
    *(" x=1", " \u00e9", " \\\\", " HEAD:private/x", " ''", " *** Begin Patch"),
    *(' ""', " ' '", " .", " ./", " ..", " src", " tests/", " src/..", " out", " -- ''", " :/", " ':(top)'"),
    *(" 'private/x y'", " 'private /x'", " 'a b/../private'", " src/up/gone", " -m 'a b.'"),
]
JOINTS = [" && ", "; ", " | ", " || ", "\n", " & ", "\r\n", " $(", ") ", "`", "#"]
PARTS = st.tuples(st.sampled_from(COMMANDS), st.lists(st.sampled_from(MORE), max_size=2)).map(
    lambda row: row[0] + "".join(row[1])
)
TEXTS = st.tuples(PARTS, st.lists(st.tuples(st.sampled_from(JOINTS), PARTS), max_size=2)).map(
    lambda row: row[0] + "".join(joint + part for joint, part in row[1])
)
LINES = [
    *(["git", "log", "**"], ["git", "**"], ["ls", "**"], ["cat", "**"], ["cat", "{path}"], ["echo", "*"], ["make"]),
    *(["curl", "**"], ["/usr/bin/curl", "**"], ["sh", "**"], ["tool"], ["git", "log", "--output=x"]),
]
LIKELY = [
    *(("allow", {"run": ["git", "**"]}), ("allow", {"run": ["cat", "**"]}), ("allow", {"run": ["ls", "**"]})),
    *(("deny", {"run": ["curl", "**"]}), ("deny", {"read": ["private/**"]})),
]
VERDICTS = st.sampled_from(["allow", "allow", "allow", "ask", "deny"])
MORE_RULES = st.lists(
    st.one_of(
        st.tuples(VERDICTS, st.sampled_from(LINES)).map(lambda row: (row[0], {"run": row[1]})),
        st.sampled_from(LINES).map(lambda words: ("allow", {"run": words, "unconfined": True})),
        st.sampled_from(["private/**", "src/*.py", "b.py"]).map(lambda path: ("deny", {"read": [path]})),
        st.sampled_from(["src/**", "x"]).map(lambda path: ("deny", {"write": [path]})),
        st.sampled_from(["command", "patch"]).map(lambda kind: ("ask", {"kind": kind})),
    ),
    max_size=3,
)
RULES = st.tuples(st.sampled_from([LIKELY, LIKELY, LIKELY, []]), MORE_RULES).map(lambda row: [*row[0], *row[1]])
LAWS = st.fixed_dictionaries(
    {"mode": st.sampled_from(["default"] * 7 + ["acceptEdits", "autopilot", "bypass"])},
    optional={
        "edits": st.sampled_from(["require-task", "free"]),
        "sandbox": st.sampled_from(["L0"] * 7 + ["L1"]).map(lambda level: {"minimum": level}),
    },
)


def lay_down(law: dict[str, Any], rules: list[tuple[str, dict[str, Any]]], bypass: bool) -> None:
    value: dict[str, Any] = {"version": 1, **law}
    for verdict, row in rules:
        value.setdefault(verdict, []).append(row)
    home_folder().mkdir(exist_ok=True)
    (home_folder() / "policy.md").write_text(f"---\n{json.dumps(value)}\n---\n")
    (home_folder() / "settings.json").write_text(json.dumps({"policy": {"bypass": bypass}}))


def standing(project: str, top: str) -> list[ApprovalGrant]:
    """Return a standing yes to a command, as one that a person has given."""
    request = CommandRequest(
        project=project, run="session", argv=("git", "status"), program=os.path.realpath("/usr/bin/git"),
        program_digest="", cwd=top, base="", env={}, limits={}, network="none", sandbox="L0",
    )  # fmt: skip
    return [make_grant(request, "argv", utc_now() + timedelta(days=1), GateContext(worktree=top))]


def seal(scene: State, monkeypatch: pytest.MonkeyPatch) -> None:
    home = scene.repo.folder.parent / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("NEXUS_HOME", str(home / "nexus"))


def both_answers(scene: State, call: ShellCall) -> tuple[CachedAnswer | None, CallFinding]:
    """Return what the shortcut and the whole way say to a call."""
    place = locate_project(str(scene.repo.folder))
    assert place is not None
    told = HarnessEvent("claude-code", "pre_tool_use", "PreToolUse", tool="Bash", given={}, session="s", cwd=place.top)
    bench = JudgeContext(scene, told, place)
    plain = bench.policy_sources().plain()
    assert plain is not None
    return fast_path.answer_plain_call(call, place, json.loads(json.dumps(plain))), judge_call(bench, call).finding


# Words that name a folder above a denied file: empty, the folder itself, one above, one that a link leads to.
ABOVE = ["''", '""', ".", "./", "././/", "src/..", "out", "out/project", "..", "-- ''", "-- .", "src ''", "'' src/a.py"]


@pytest.mark.parametrize("program", ["cat", "ls -R", "git log -p", "git add", "git checkout"])
@pytest.mark.parametrize("words", ABOVE)
@pytest.mark.parametrize("denied", ["private/**", "b.py", "tests/*.py"])
def test_a_word_for_a_folder_above_a_denied_file_is_left_to_the_whole_way(
    scene: State, monkeypatch: pytest.MonkeyPatch, program: str, words: str, denied: str
) -> None:
    seal(scene, monkeypatch)
    runs = [("allow", {"run": [name, "**"]}) for name in ("cat", "ls", "git")]
    text, cwd = f"{program} {words}", str(scene.repo.folder)
    for call in (ShellCall(text, cwd, (), "sh"), ShellCall("", cwd, tuple(shlex.split(text)), "sh")):
        lay_down({"mode": "default"}, [*runs, ("deny", {"read": [denied]})], False)
        quick, whole = both_answers(scene, call)

        assert quick is None
        assert (whole.verdict, whole.rule) == ("deny", "user.deny.1")


@pytest.mark.parametrize("program", ["ls", "git log", "git status", "git ls-files"])
@pytest.mark.parametrize("words", ABOVE)
def test_what_shows_names_alone_is_allowed_with_a_word_for_a_folder_above_a_denied_file(
    scene: State, monkeypatch: pytest.MonkeyPatch, program: str, words: str
) -> None:
    seal(scene, monkeypatch)
    runs = [("allow", {"run": [name, "**"]}) for name in ("ls", "git")]
    lay_down({"mode": "default"}, [*runs, ("deny", {"read": ["private/**"]})], False)

    quick, whole = both_answers(scene, ShellCall(f"{program} {words}", str(scene.repo.folder), (), "sh"))

    assert quick is None or quick.verdict == "allow"
    assert whole.verdict == "allow"


# Paths that are not there, of which a rule speaks: with a blank, spelled in disguise, through a link.
GONE = [
    "'private/x y'",
    "'private /x'",
    "'PRIVATE. /old name'",
    "'a b/../private/y'",
    "'a b/../private'",
    "src/up/gone",
    "out/project/private/y z",
]


@pytest.mark.parametrize("program", ["cat", "ls", "git log --", "git ls-files"])
@pytest.mark.parametrize("words", GONE)
def test_a_word_for_a_denied_path_that_is_not_there_is_left_to_the_whole_way(
    scene: State, monkeypatch: pytest.MonkeyPatch, program: str, words: str
) -> None:
    seal(scene, monkeypatch)
    lay_down({"mode": "default"}, LIKELY, False)

    quick, whole = both_answers(scene, ShellCall(f"{program} {words}", str(scene.repo.folder), (), "sh"))

    assert quick is None
    assert (whole.verdict, whole.rule) == ("deny", "user.deny.2")


KEPT = ["ls", "cat src/a.py", "git log -1", "git status", "git log -- src/a.py", "cat 'no such. '"]


@pytest.mark.parametrize("text", KEPT)
def test_commands_that_name_no_folder_keep_the_shortcut_where_a_file_is_denied(
    scene: State, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    seal(scene, monkeypatch)
    lay_down({"mode": "default"}, LIKELY, False)

    quick, whole = both_answers(scene, ShellCall(text, str(scene.repo.folder), (), "sh"))

    assert quick is not None
    assert (quick.verdict, quick.reason) == ("allow", whole.why)


@pytest.mark.parametrize("text", ["ls .", "ls ''", "git log src", "git add ."])
def test_a_folder_keeps_the_shortcut_where_no_rule_denies_reading(
    scene: State, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    seal(scene, monkeypatch)
    lay_down({"mode": "default"}, LIKELY[:-1], False)

    quick, whole = both_answers(scene, ShellCall(text, str(scene.repo.folder), (), "sh"))

    assert quick is not None
    assert (quick.verdict, quick.reason) == ("allow", whole.why)


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(
    text=TEXTS,
    law=LAWS,
    rules=RULES,
    folder=st.sampled_from(["", "", "", "src", "private", ".."]),
    as_words=st.sampled_from([False] * 4 + [True]),
    dialect=st.sampled_from(["sh"] * 7 + ["powershell"]),
    grants=st.booleans(),
    bypass=st.booleans(),
)
@example(
    text="git log ''",
    law={"mode": "default"},
    rules=LIKELY,
    folder="",
    as_words=False,
    dialect="sh",
    grants=False,
    bypass=False,
)
@example(
    text="git log --output=x",
    law={"mode": "default"},
    rules=[("allow", {"run": ["git", "log", "--output=x"]})],
    folder="",
    as_words=False,
    dialect="sh",
    grants=False,
    bypass=False,
)
def test_what_the_shortcut_says_to_a_text_the_whole_way_says(
    scene: State,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    law: dict[str, Any],
    rules: list[tuple[str, dict[str, Any]]],
    folder: str,
    as_words: bool,
    dialect: Any,
    grants: bool,
    bypass: bool,
) -> None:
    if grants:
        top = str(scene.repo.folder)
        monkeypatch.setattr(context.JudgeContext, "_valid_grants", lambda self: standing(self.common()["project"], top))
    cwd = str(Path(scene.repo.folder, folder))
    call = ShellCall("", cwd, tuple(text.split(" ")), dialect) if as_words else ShellCall(text, cwd, (), dialect)
    seal(scene, monkeypatch)
    lay_down(law, rules, bypass)

    quick, whole = both_answers(scene, call)

    event(f"quick: {quick and quick.verdict}, whole: {whole.verdict}")
    if quick is not None:
        assert (quick.verdict, quick.reason) == (whole.verdict, whole.why)
