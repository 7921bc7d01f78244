"""The gate before each tool: by program and tool, under a signed policy; and that nothing is let through unseen."""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gitnexus.app.harness_install import install_harness, uninstall_harness
from gitnexus.harness.model import HarnessEvent, HookAnswer
from gitnexus.state.home import home_folder
from gitnexus.state.locate import locate_project
from gitnexus.toolgate.cache import AnswerCache, CachedAnswer, nexus_home
from gitnexus.toolgate.gate import answer_tool_call
from tests.conftest import Nexus, run_git, trust
from tests.prepared import prepare

POLICY = """---
version: 1
allow:
- write: ["src/**", "docs/*.md"]
- run: [git, status]
- run: [git, log, "**"]
- run: [ls, "**"]
- run: [cat, "**"]
- run: [pytest, "**"]
deny:
- run: [curl, "**"]
- write: ["src/locked/**"]
- read: ["private/**"]
- {handoff: ["*", designer], name: no-designer}
---
"""


@pytest.fixture
def ruled(project: Path, nexus: Nexus, monkeypatch: pytest.MonkeyPatch) -> Path:
    def sign_policy() -> str:
        (project / ".nexus" / "policy.md").write_text(POLICY)
        trust(project)
        return ""

    prepare(nexus, ("policy of the gate",), sign_policy)
    (project / "src").mkdir()
    (project / "src" / "a.py").write_text("one\n")
    (project / ".env").write_text("x=1\n")
    (project / "link").symlink_to(".env")
    (project / "out").symlink_to(project.parent)
    monkeypatch.delenv("CLAUDE_CODE_ENTRYPOINT", raising=False)
    ours = {"command": "git", "args": ["nexus", "mcp"]}
    (project / ".gemini").mkdir()
    (project / ".codex").mkdir()
    for file in (".mcp.json", ".gemini/settings.json"):
        (project / file).write_text(json.dumps({"mcpServers": {"nexus": ours}}))
    (project / "opencode.json").write_text(json.dumps({"mcp": {"nexus": {"command": ["git", "nexus", "mcp"]}}}))
    (project / ".codex" / "config.toml").write_text('[mcp_servers.nexus]\ncommand = "git"\nargs = ["nexus", "mcp"]\n')
    return project


def told(place: Path, tool: str, given_: dict[str, Any], harness: str = "claude-code", **more: Any) -> HarnessEvent:
    more = {"session": "s1", "cwd": str(place), **more}
    return HarnessEvent(harness, "pre_tool_use", "PreToolUse", tool=tool, given=given_, **more)


def said(place: Path, tool: str, given_: dict[str, Any], harness: str = "claude-code", **more: Any) -> str:
    return answer_tool_call(told(place, tool, given_, harness, **more)).verdict


def bash(place: Path, text: str, **more: Any) -> str:
    return said(place, "Bash", {"command": text}, **more)


Maker = Callable[[str], tuple[str, dict[str, Any]]]
# Each program's own tool and fields for the same thing.
WRITE: dict[str, Maker] = {
    "claude-code": lambda path: ("Write", {"file_path": path, "content": "x"}),
    "codex": lambda path: ("apply_patch", {"command": f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch"}),
    "gemini-cli": lambda path: ("write_file", {"file_path": path, "content": "x"}),
    "opencode": lambda path: ("write", {"filePath": path, "content": "x"}),
}
SHELL: dict[str, Maker] = {
    "claude-code": lambda text: ("Bash", {"command": text}),
    "codex": lambda text: ("shell", {"command": ["bash", "-lc", text]}),
    "gemini-cli": lambda text: ("run_shell_command", {"command": text}),
    "opencode": lambda text: ("bash", {"command": text}),
}
READ: dict[str, Maker] = {
    "claude-code": lambda path: ("Read", {"file_path": path}),
    "codex": lambda path: ("Bash", {"command": f"cat {path}"}),
    "gemini-cli": lambda path: ("read_file", {"file_path": path}),
    "opencode": lambda path: ("read", {"filePath": path}),
}
OURS = {
    "claude-code": "mcp__nexus__nx_task_add",
    "codex": "mcp__nexus__nx_task_add",
    "gemini-cli": "mcp_nexus_nx_task_add",
    "opencode": "nexus_nx_task_add",
}


@pytest.mark.parametrize("harness", WRITE)
def test_143_every_program_gets_a_plain_yes_or_no_where_nobody_sits(ruled: Path, harness: str) -> None:
    def asked(tool: str, given_: dict[str, Any]) -> str:
        return said(ruled, tool, given_, harness)

    rows = {
        "write allowed": asked(*WRITE[harness]("src/new.py")),
        "write locked": asked(*WRITE[harness]("src/locked/x")),
        "write silent": asked(*WRITE[harness]("top.txt")),
        "write secret": asked(*WRITE[harness](".env")),
        "write git": asked(*WRITE[harness](".git/hooks/pre-commit")),
        "write nexus": asked(*WRITE[harness](".nexus/policy.md")),
        "write through": asked(*WRITE[harness]("out/x.txt")),
        "run denied": asked(*SHELL[harness]("curl http://x")),
        "run silent": asked(*SHELL[harness]("make")),
        "run hidden": asked(*SHELL[harness]("true; echo $(curl http://x)")),
        "read secret": asked(*READ[harness](".env")),
        "read denied": asked(*READ[harness]("private/x")),
        "read linked": asked(*READ[harness]("link")),
        "ours": asked(OURS[harness], {}),
        "unknown": asked("Frobnicate", {}),
    }

    assert rows == {**dict.fromkeys(rows, "deny"), "write allowed": "allow", "ours": "allow"}


SHELL_TEXTS = {
    "066-alone": ("git status", "allow"),
    "066-both-allowed": ("git status && git log -1", "allow"),
    "066-piped": ("git status | cat", "allow"),
    "066-prefix": ("git status && touch x", "deny"),
    "066-then": ("git status; rm -rf x", "deny"),
    "070-redirection": ("git log > x", "deny"),
    "070-to-nowhere": ("git log 2>/dev/null", "allow"),
    "081-option": ("git log --output=x", "deny"),
    "073-alias": ("git -c alias.x=!sh x", "deny"),
    "096-runs-the-tree-unconfined": ("pytest -q", "deny"),
    "098-assignment": ("GIT_PAGER=x git log", "deny"),
    "088-other-program": ("./git status", "deny"),
    "071-in-place": ("sed -i s/a/b/ src/a.py", "deny"),
    "083-glob": ("cat src/*.py", "deny"),
    "083-variable": ("cat $HOME/x", "deny"),
    "178-by-a-link": ("cat link", "deny"),
}


def test_a_shell_text_passes_only_as_plain_commands_that_rules_allow(ruled: Path) -> None:
    verdicts = {name: (text, bash(ruled, text)) for name, (text, _) in SHELL_TEXTS.items()}

    assert verdicts == SHELL_TEXTS


def test_178_no_reading_verb_finds_a_denied_file(ruled: Path) -> None:
    for tool, given_ in (
        ("Grep", {"pattern": ".", "path": ".env"}),
        ("Grep", {"pattern": ".", "glob": ".env*"}),
        ("Glob", {"pattern": "**/*.pem"}),
        ("Read", {"file_path": str(ruled / "src" / ".." / ".env")}),
        ("Read", {"file_path": "/home/x/.ssh/id_rsa"}),
    ):
        assert said(ruled, tool, given_) == "deny", (tool, given_)
    assert said(ruled, "Grep", {"pattern": ".", "path": "src"}) == ""
    assert said(ruled, "Read", {"file_path": "src/a.py"}) == ""


def test_one_who_sits_before_claude_is_asked_by_it_and_nothing_is_written_down(
    ruled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", "cli")

    assert bash(ruled, "make") == "ask"
    assert said(ruled, "Write", {"file_path": "top.txt", "content": "x"}) == "ask"
    assert said(ruled, "WebFetch", {"url": "https://example.org"}) == "ask"
    assert said(ruled, "Frobnicate", {}) == "ask"
    assert said(ruled, "mcp__other__tool", {}) == "ask"
    assert bash(ruled, "curl x") == "deny"
    assert json.loads(Nexus(ruled).ok("--json", "runs"))["runs"] == []


def test_a_headless_claude_leaves_the_call_waiting(ruled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", "sdk-cli")

    first, again = (answer_tool_call(told(ruled, "Bash", {"command": "make"})) for _ in range(2))

    assert (first.verdict, again.verdict) == ("defer", "defer")
    rows = json.loads(Nexus(ruled).ok("--json", "runs"))["runs"]
    assert [(row["agent"], row["status"], row["waits"]) for row in rows] == [("claude-code", "waiting", "1 waiting")]
    assert f"git nexus approve {rows[0]['id']} a1" in first.reason


def the_run(place: Path) -> str:
    return str(json.loads(Nexus(place).ok("--json", "runs"))["runs"][0]["id"])


def test_a_yes_from_another_terminal_lets_the_same_call_through_once(ruled: Path) -> None:
    nexus = Nexus(ruled)
    call = {"file_path": "top.txt", "content": "x"}
    assert said(ruled, "Write", call) == "deny"
    run = the_run(ruled)
    assert "patch" in nexus("review", run).stdout

    nexus.ok("approve", "--unseen", run, "a1")

    assert said(ruled, "Write", {**call, "content": "y"}) == "deny", "other content"
    assert said(ruled, "Write", call, session="s2") == "deny", "another session"
    assert said(ruled, "Write", call, "claude-code", agent="writer") == "deny", "another role"
    assert said(ruled, "Write", call) == "allow"
    assert said(ruled, "Write", call) == "deny", "a token is spent once"
    assert nexus("replay", run, "--verify").returncode in (0, 2)


def test_128_a_file_that_changed_since_the_yes_needs_another(ruled: Path) -> None:
    edit = {"file_path": "readme.txt", "old_string": "hello", "new_string": "bye"}
    assert said(ruled, "Edit", edit) == "deny"
    Nexus(ruled).ok("approve", "--unseen", the_run(ruled), "a1")
    (ruled / "readme.txt").write_text("hello\nsomebody else\n")

    assert said(ruled, "Edit", edit) == "deny"


@pytest.mark.parametrize("before", [b"one\r\ntwo\r\n", b"one\ntwo\n\xe4"])
def test_an_edit_of_a_file_with_other_line_ends_or_bytes_can_be_approved(ruled: Path, before: bytes) -> None:
    (ruled / "readme.txt").write_bytes(before)
    edit = {"file_path": "readme.txt", "old_string": "one\ntwo", "new_string": "1\n2"}

    assert said(ruled, "Edit", edit) == "deny"
    Nexus(ruled).ok("approve", "--unseen", the_run(ruled), "a1")

    assert said(ruled, "Edit", edit) == "allow"


def test_a_no_from_another_terminal_is_told_to_the_agent(ruled: Path) -> None:
    assert bash(ruled, "make") == "deny"
    run = the_run(ruled)
    Nexus(ruled).ok("deny", run, "a1", "--reason", "use ninja")

    answer = answer_tool_call(told(ruled, "Bash", {"command": "make"}))

    assert answer == HookAnswer(verdict="deny", reason="git nexus: Test Person denied this: use ninja")
    shown = json.loads(Nexus(ruled).ok("--json", "runs", "--all"))["runs"]
    assert [row["status"] for row in shown] == ["completed"]


def test_a_session_is_not_driven_by_us(ruled: Path) -> None:
    bash(ruled, "make")

    done = Nexus(ruled)("resume", the_run(ruled))

    assert done.returncode == 1
    assert "is a session of claude-code" in done.stderr


def test_a_role_is_held_to_its_capabilities_and_may_still_read(ruled: Path) -> None:
    for role in ("architect", "git-nexus:architect"):
        assert said(ruled, "Write", {"file_path": "src/new.py", "content": "x"}, agent=role) == "deny"
        assert said(ruled, "Read", {"file_path": "src/a.py"}, agent=role) == ""
    assert said(ruled, "Write", {"file_path": "src/new.py", "content": "x"}, agent="engineer") == "allow"
    assert said(ruled, "Write", {"file_path": "src/new.py", "content": "x"}, agent="Explore") == "allow"
    answer = answer_tool_call(told(ruled, "Bash", {"command": "tee src/x"}, agent="architect"))
    assert answer.verdict == "deny"
    assert "role architect" in answer.reason


def test_an_agent_may_be_started_unless_a_rule_says_no(ruled: Path) -> None:
    assert said(ruled, "Agent", {"subagent_type": "tester", "prompt": "p"}) == ""
    assert said(ruled, "Agent", {"subagent_type": "designer", "prompt": "p"}) == "deny"


def test_edits_need_a_task_where_the_policy_says_so_and_sed_is_an_edit(ruled: Path) -> None:
    text = POLICY.replace("allow:", "edits: require-task\nallow:", 1)
    (ruled / ".nexus" / "policy.md").write_text(text)
    trust(ruled)
    write = {"file_path": "src/new.py", "content": "x"}

    before = [
        answer_tool_call(told(ruled, "Write", write)),
        answer_tool_call(told(ruled, "Bash", {"command": "sed -i p src/a.py"})),
    ]
    Nexus(ruled).ok("tool", "task_add", '{"title": "t", "context": "c"}')
    after = said(ruled, "Write", write)

    assert all("edits: require-task" in one.reason and one.verdict == "deny" for one in before)
    assert bash(ruled, "git status") == "allow"
    assert after == "allow"


@pytest.mark.parametrize("is_repository", [True, False])
def test_what_is_in_all_repositories_has_no_opinion_outside_of_projects_but_keys_and_the_canary(
    tmp_path: Path, is_repository: bool
) -> None:
    if is_repository:
        run_git(tmp_path, "init", "-q")
        for name in ("claude-code", "opencode"):
            install_harness(tmp_path, name, "user", None, dry_run=False)

    assert bash(tmp_path, "make") == ""
    assert said(tmp_path, "write", {"filePath": "x", "content": ""}, "opencode") == "allow"
    assert bash(tmp_path, "git-nexus-canary") == "deny"
    assert said(tmp_path, "Write", {"file_path": ".git-nexus-canary", "content": ""}) == "deny"
    assert said(tmp_path, "Read", {"file_path": str(home_folder() / "keys" / "approver")}) == "deny"
    assert bash(tmp_path, f"cat {home_folder()}/keys/approver") == "deny"


@pytest.mark.parametrize("harness", WRITE)
def test_a_repository_that_is_no_project_is_shut_unless_the_gate_is_the_persons_own(
    tmp_path: Path, harness: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone, other = tmp_path / "clone", tmp_path / "other"
    for place in (clone, other):
        place.mkdir()
        run_git(place, "init", "-q")
    install_harness(clone, harness, "project", None, dry_run=False)
    asked = SHELL[harness]("make")
    left_alone = "allow" if harness == "opencode" else ""

    strange = [said(place, *asked, harness) for place in (clone, other)]
    install_harness(clone, harness, "user", None, dry_run=False)
    mine = [said(place, *asked, harness) for place in (clone, clone / ".git", other, tmp_path)]
    uninstall_harness(clone, harness, "user", None, dry_run=False)
    monkeypatch.setenv("CLAUDE_PLUGIN_ROOT", "/plugin")
    plugin = [said(place, *asked, harness) for place in (clone, other)]

    assert strange == ["deny", "deny"]
    assert mine == ["deny", "deny", left_alone, left_alone]
    assert plugin == ["deny", left_alone]


def test_a_home_that_is_a_repository_does_not_shut_all_that_lies_in_it(sealed: Path) -> None:
    run_git(sealed, "init", "-q")
    (sealed / "notes").mkdir()
    install_harness(sealed, "claude-code", "user", None, dry_run=False)

    assert bash(sealed / "notes", "make") == ""


def test_a_file_of_a_project_is_judged_by_it_wherever_the_program_stands(ruled: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    assert said(elsewhere, "Write", {"file_path": str(ruled / ".env"), "content": ""}) == "deny"
    assert said(elsewhere, "Write", {"file_path": str(ruled / "src" / "new.py"), "content": ""}) == "allow"


def test_a_session_that_began_in_a_project_is_judged_by_it_wherever_it_went(
    ruled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    calls = [
        ("Bash", {"command": "curl x"}),
        ("Write", {"file_path": "x", "content": ""}),
        ("Read", {"file_path": "x"}),
    ]
    without = [said(elsewhere, *call) for call in calls]
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(ruled))

    assert without == ["", "", ""]
    assert [said(elsewhere, *call) for call in calls] == ["deny", "deny", ""]
    assert bash(elsewhere, "git status") == "allow", "by the rule of that project"


def test_a_repository_within_a_project_is_no_way_out_of_it(ruled: Path) -> None:
    inner = ruled / "src" / "inner"
    inner.mkdir()
    run_git(inner, "init", "-q")

    assert bash(inner, "curl x") == "deny"
    assert said(inner, "Write", {"file_path": ".env", "content": ""}) == "deny"
    assert said(inner, "Write", {"file_path": "a.py", "content": ""}) == "allow"


def test_what_was_judged_is_remembered_until_the_law_or_the_disk_is_another(ruled: Path) -> None:
    def known(text: str) -> bool:
        seen: list[bool] = []
        found = AnswerCache.found

        def looked(memo: AnswerCache, law: dict[str, Any], key: str) -> CachedAnswer | None:
            known = found(memo, law, key)
            seen.append(known is not None)
            return known

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(AnswerCache, "found", looked)
            bash(ruled, text)
        return bool(seen) and seen[0]

    assert [known("git status"), known("git status")] == [False, True]
    assert [known("make"), known("make")] == [False, False], "a question is remembered elsewhere"
    assert known("git status") is True, "what waits moved the state, and left the law as it was"
    (ruled / ".later").write_text("x")
    assert [known("cat .later"), known("cat .later")] == [False, True]
    (ruled / ".later").unlink()
    (ruled / ".later").symlink_to(".env")
    assert bash(ruled, "cat .later") == "deny"
    project = Nexus(ruled)
    project.ok("policy", "add", "deny", "--name", "later", "--", "git", "status")
    assert bash(ruled, "git status") == "deny", "the policy on the state is another"
    project.ok("policy", "remove", "project.later")
    trust(ruled)
    assert bash(ruled, "git status") == "allow"
    (home_folder() / "policy.md").write_text("---\nversion: 1\ndeny:\n- run: [git, '**']\n---\n")
    assert bash(ruled, "git status") == "deny"


def test_a_user_policy_behind_a_link_holds_as_soon_as_its_file_is_edited(ruled: Path, tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles.md"
    kept.write_text("---\nversion: 1\nallow:\n- run: [git, fetch]\n---\n")
    (home_folder() / "policy.md").unlink(missing_ok=True)
    (home_folder() / "policy.md").symlink_to(kept)
    before = [bash(ruled, "git status"), bash(ruled, "git status")]

    kept.write_text("---\nversion: 1\ndeny:\n- run: [git, '**']\n---\n")

    assert (before, bash(ruled, "git status")) == (["allow", "allow"], "deny")


def test_a_law_that_a_person_edits_by_hand_holds_with_the_next_call(ruled: Path) -> None:
    before = [bash(ruled, "git status"), bash(ruled, "git status")]
    stricter = POLICY.replace("deny:\n", 'deny:\n- run: [git, "**"]\n')
    (ruled / ".nexus" / "policy.md").write_text(stricter)
    after = [bash(ruled, "git status"), bash(ruled, "git log -3")]
    looser = POLICY.replace("allow:\n", "allow:\n- run: [make]\n")
    (ruled / ".nexus" / "policy.md").write_text(looser)

    assert (before, after) == (["allow", "allow"], ["deny", "deny"])
    assert bash(ruled, "make") == "deny", "what loosens counts only when it is signed"


@pytest.fixture
def judgements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tools for which the gate itself was loaded."""
    from gitnexus.toolgate import judge

    found: list[str] = []
    whole = judge.judge_and_answer

    def counted(told_: HarnessEvent, *more: Any) -> HookAnswer:
        found.append(told_.tool)
        return whole(told_, *more)

    monkeypatch.setattr(judge, "judge_and_answer", counted)
    return found


@pytest.mark.parametrize("answer", ["approve", "deny"])
def test_what_waits_is_told_so_without_the_gate_until_somebody_answers(
    ruled: Path, judgements: list[str], answer: str
) -> None:
    def asked() -> HookAnswer:
        return answer_tool_call(told(ruled, "Write", {"file_path": "x.txt", "content": "x"}))

    said_ = [asked().reason for _ in range(5)]
    before = len(judgements)
    run = json.loads(Nexus(ruled).ok("--json", "runs"))["runs"][0]["id"]
    Nexus(ruled).ok(answer, run, "a1", *(("--unseen",) if answer == "approve" else ()))
    after = asked()

    assert (before, len(set(said_[1:]))) == (2, 1), "once to ask, once to see that it waits"
    assert after.verdict == {"approve": "allow", "deny": "deny"}[answer]
    assert after.reason not in said_


def test_a_question_is_another_for_other_words_another_session_and_another_file(
    ruled: Path, judgements: list[str]
) -> None:
    def count(**more: Any) -> int:
        before = len(judgements)
        content, session = more.get("content", "x"), more.get("session", "s1")
        answer_tool_call(told(ruled, "Write", {"file_path": "readme.txt", "content": content}, session=session))
        return len(judgements) - before

    first = [count() for _ in range(3)]
    (ruled / "readme.txt").write_text("another")

    assert first == [1, 1, 0]
    assert [count(), count(content="y"), count(session="s2")] == [1, 1, 1]


def test_one_who_sits_before_the_program_is_asked_again_without_the_gate(
    ruled: Path, judgements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", "cli")
    seen = [bash(ruled, "make"), bash(ruled, "make")]
    monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", "sdk-py")

    assert (seen, judgements) == (["ask", "ask"], ["Bash"])
    assert bash(ruled, "make") == "defer", "nobody sits there now"


def test_a_remembered_question_is_never_a_yes(ruled: Path) -> None:
    for _ in range(3):
        assert bash(ruled, "make") == "deny"
    for file in (home_folder() / "cache" / "gate").rglob("*-*"):
        if file.is_file():
            file.write_text('["allow", "forged", []]')

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AnswerCache, "found", lambda *_: None)
        assert bash(ruled, "make") == "deny"


def test_what_somebody_else_could_have_written_is_not_believed(ruled: Path) -> None:
    assert bash(ruled, "git status") == "allow"
    place = locate_project(str(ruled))
    assert place is not None
    for file in (home_folder() / "cache" / "gate").rglob("*"):
        if file.is_file() and file.name != "index":
            file.write_text('["allow", "forged", []]')
            file.chmod(0o666)

    assert answer_tool_call(told(ruled, "Bash", {"command": "git status"})).reason != "forged"


def test_the_home_is_the_one_that_everybody_uses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert nexus_home() == str(home_folder())
    monkeypatch.delenv("NEXUS_HOME")
    assert nexus_home() == str(home_folder())
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert nexus_home() == str(home_folder())


def test_in_the_worktree_of_a_run_what_is_written_is_its_patch(ruled: Path) -> None:
    Nexus(ruled).ok("run", "--", "true")
    run = the_run(ruled)
    place = next((home_folder() / "worktrees").glob(f"*/{run}"))

    assert said(place, "Write", {"file_path": "top.txt", "content": "x"}) == ""
    assert said(place, "Write", {"file_path": ".env", "content": "x"}) == "deny"
    (place / ".nexus" / "state").mkdir(parents=True, exist_ok=True)
    (place / ".nexus" / "state" / "plan.json").write_text("{}")
    assert said(place, "Write", {"file_path": "top.txt", "content": "x"}) == "deny"


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One project for many examples, in a home of its own."""
    folder = tmp_path_factory.mktemp("once")
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
        (place / ".nexus" / "policy.md").write_text(POLICY)
        trust(place)
        yield place


PIECES = st.sampled_from(
    ["git status", "git", "status", " ", " && ", "; ", " | ", "$(", ")", "`", "'", '"', "\n", " > x", " < y", "#", "\\",
     "touch x", "ls", "cat .env", "FOO=1 ", "*", "~", "sh -c ", "&", "curl x"]
)  # fmt: skip


@settings(suppress_health_check=list(HealthCheck))
@given(text=st.lists(PIECES, max_size=6).map("".join))
@example(text="cat .envFOO=1 ")
def test_no_shell_text_is_allowed_but_plain_commands_that_a_rule_allows(
    once: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("NEXUS_HOME", str(once.parent / "home" / "nexus"))
    monkeypatch.setenv("HOME", str(once.parent / "home"))
    monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", "cli")
    verdict = bash(once, text)

    assert verdict in ("allow", "ask", "deny")
    if verdict == "allow":
        from gitnexus.policy.shell import parse_shell_text

        script = parse_shell_text(text)
        assert script.is_exact
        assert all(one.argv[0] in ("git", "ls", "cat") and not one.writes for one in script.commands)
        assert not set(text) & set("$`><*~")
        assert not re.search(r"(?:^|[;&|\n])\s*\w+=", text)  # an assignment; within a word = is a letter
        # Inside a word it is a letter like any other: `cat .env#` reads a file of that name.
        assert not re.search(r"(^|[\s;&|()])#", text)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(["file_path", "command", "path", "pattern", "url", "content", "edits", "old_string", "glob"])
TOOLS = st.sampled_from(
    ["Bash", "Write", "Edit", "Read", "Grep", "WebFetch", "apply_patch", "Agent", "NotebookEdit", "shell", "edit", ""]
) | st.text(max_size=10)
QUIET = ("Read", "Grep", "Glob", "LS", "Agent", "Task", "read", "Harmless")


@settings(suppress_health_check=list(HealthCheck))
@given(harness=st.sampled_from(list(WRITE)), tool=TOOLS, given_=st.dictionaries(FIELDS, VALUES, max_size=4))
def test_no_payload_raises_and_none_that_writes_or_runs_passes_in_silence(
    once: Path, monkeypatch: pytest.MonkeyPatch, harness: str, tool: str, given_: dict[str, Any]
) -> None:
    monkeypatch.setenv("NEXUS_HOME", str(once.parent / "home" / "nexus"))
    monkeypatch.setenv("HOME", str(once.parent / "home"))
    monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", "cli")
    verdict = said(once, tool, given_, harness)

    if tool in ("Bash", "Write", "Edit", "apply_patch", "NotebookEdit", "shell", "edit", ""):
        assert verdict in ("ask", "deny"), (tool, given_, os.getcwd())


def test_plain_commands_that_were_never_seen_need_no_gate(ruled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bash(ruled, "git status") == "allow"
    monkeypatch.setitem(sys.modules, "gitnexus.toolgate.judge", None)

    for text in (
        "git log -7",
        "git log --oneline src/a.py | cat",
        "ls src && git log --grep 'a b'",
        "cat src/a.py nothing",
    ):
        assert bash(ruled, text) == "allow", text
    for text in ("curl http://x", "git log -7; curl x", "/usr/bin/curl x", "curl x > y"):
        assert bash(ruled, text) == "deny", text
    for text in ("make", "git log > x", "cat .env", "cat link", "cat out/x private/y", "git -C src log", "git log -7 &",
                 "cat *", "./git log", "sh -c 'git log'", "git log --output=x", "echo x", "pytest -q"):  # fmt: skip
        with pytest.raises(ImportError):
            bash(ruled, text)
    with pytest.raises(ImportError):
        bash(ruled, "git log -8", agent="architect")


def test_plain_paths_that_were_never_seen_need_no_gate(ruled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(ruled, "Write", {"file_path": "src/first.py", "content": ""}) == "allow"
    monkeypatch.setitem(sys.modules, "gitnexus.toolgate.judge", None)

    assert said(ruled, "Write", {"file_path": "src/second.py", "content": ""}) == "allow"
    assert said(ruled, "Read", {"file_path": "src/a.py"}) == ""
    for tool, path in (("Write", "src/locked/x"), ("Write", "src/package.json"), ("Write", "top"), ("Read", ".env")):
        with pytest.raises(ImportError):
            said(ruled, tool, {"file_path": path, "content": ""})
    with pytest.raises(ImportError):
        said(ruled, "Write", {"file_path": "src/second.py", "content": "\0"})
    with pytest.raises(ImportError):
        said(ruled, "Write", {"file_path": "src/second.py", "content": ""}, agent="architect")
