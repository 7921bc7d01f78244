"""Every way by which a command can be run here, against a rule that allows it, asks about it, or denies it."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gitnexus.adapters.live.protocol import PendingCall
from gitnexus.app import open_nexus
from gitnexus.base.errors import ApprovalNeeded, DeniedByPolicy
from gitnexus.runs.agent.live import LiveReader
from gitnexus.runs.agent.tools import call_run_tool
from gitnexus.runs.command_rules import refuse_run_command
from gitnexus.runs.start import RunRequest, start_run
from gitnexus.workflow.run_definition import definition_from_command
from tests.conftest import Nexus, run_git, trust
from tests.mcp.test_server import fork_server
from tests.runs.begun import begun
from tests.runs.scene import RunScene

# The words hold `%s`, the output does not: so what ran is told from what was only named.
ARGV = ("printf", "ran-%s", "here")
RAN = "ran-here"
HARNESSES = ("claude-code", "codex", "gemini-cli", "opencode")


def by_run(nexus: Nexus) -> str:
    done = nexus("run", "--", *ARGV)
    return done.stdout + done.stderr


def by_node(nexus: Nexus) -> str:
    workflow = {
        "name": "w",
        "nodes": [{"id": "n", "type": "command", "specialist": "executor", "argv": list(ARGV)}],
    }
    (nexus.place.parent / "w.json").write_text(json.dumps(workflow))
    done = nexus("run", "--yes", "--workflow", str(nexus.place.parent / "w.json"))
    return done.stdout + done.stderr


def by_setup(nexus: Nexus) -> str:
    _settings(nexus.place, setup=[list(ARGV)])
    done = nexus("run", "--", "true")
    logs = (nexus.place / ".git" / "nexus" / "runs").glob("*/artifacts/**/*")
    return done.stdout + done.stderr + "".join(path.read_text(errors="replace") for path in logs if path.is_file())


def by_check(nexus: Nexus) -> str:
    _settings(nexus.place, checks=[list(ARGV)])
    scene = RunScene(nexus.place)
    scene.commit({"new.txt": "x\n"})
    scene.end()
    done = nexus("land", scene.id)
    return done.stdout + done.stderr + (RAN if (nexus.place / "new.txt").exists() else "")


def by_worker(nexus: Nexus) -> str:
    opened = open_nexus(nexus.place)
    desk = start_run(opened.state, RunRequest(definition_from_command(ARGV), "a run"))
    opened.close()
    done = nexus("resume", desk.record.id, "--unattended")  # what a worker calls for a run of the queue
    return done.stdout + done.stderr


def by_tool(nexus: Nexus) -> str:
    done = nexus("tool", "cmd.run", json.dumps({"argv": list(ARGV)}))
    return done.stdout + done.stderr


def by_mcp(nexus: Nexus) -> str:
    with begun(nexus.place) as desk:
        return json.dumps(call_run_tool(desk, "propose_command", {"argv": list(ARGV)}))


def by_served_run(nexus: Nexus) -> str:
    with begun(nexus.place) as desk:
        run = desk.record.id
    return served(nexus, "propose_command", {"argv": list(ARGV)}, "--run", run)


def served(nexus: Nexus, tool: str, given: dict[str, object], *options: str) -> str:
    """Start `git nexus mcp`, call one tool as a client would, and return the answer."""
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": client},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": tool, "arguments": given}},
    ]
    pid, from_server, to_server = fork_server(nexus.place, {}, *options)
    answer = ""
    for message in messages:
        to_server.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        to_server.flush()
        answer = from_server.readline() if "id" in message else ""
    to_server.close()
    from_server.close()
    os.waitpid(pid, 0)
    return answer


def by_queue(nexus: Nexus) -> str:
    """Queue a run at a server, and let the worker of this machine carry it out."""
    server = nexus.place.parent / "server.git"
    run_git(nexus.place.parent, "init", "-q", "--bare", str(server))
    run_git(nexus.place, "remote", "add", "origin", str(server))
    run_git(nexus.place, "push", "-q", "origin", "main", "refs/nexus/state")
    run = nexus.ok("run", "--queue", "--", *ARGV).split()[0]
    worked, shown = nexus("worker", "--once"), nexus("replay", run)
    logs = (nexus.place / ".git" / "nexus" / "runs").glob("*/artifacts/**/*")
    return worked.stderr + shown.stdout + "".join(path.read_text(errors="replace") for path in logs if path.is_file())


def by_live(nexus: Nexus) -> str:
    with begun(nexus.place) as desk:
        live = LiveReader(desk, "", "codex", None, "none")  # type: ignore[arg-type] - it is not talked to here
        live._patience = 0
        asked = PendingCall(id="1", tool="shell", given={"command": list(ARGV)}, cwd=str(desk.worktree_path))
        yes, why = live._answer_or_refuse(asked)
        return RAN if yes else why


def by_hook(harness: str) -> Callable[[Nexus], str]:
    def called(nexus: Nexus) -> str:
        tool = {"gemini-cli": "run_shell_command", "opencode": "bash"}.get(harness, "Bash")
        given = {"command": " ".join(ARGV)}
        payload: dict[str, object] = {
            "cwd": str(nexus.place),
            "session_id": "s",
            "tool_name": tool,
            "tool_input": given,
        }
        if harness == "opencode":
            payload = {"event": "tool.execute.before", "cwd": str(nexus.place), "tool": tool, "args": given}
        done = nexus("hook", "harness", harness, "pre_tool_use", stdin=json.dumps(payload))
        said = done.stdout + done.stderr
        refused = done.returncode == 2 or '"deny"' in said or '"block"' in said
        return said if refused else RAN

    return called


WAYS: dict[str, Callable[[Nexus], str]] = {
    "run": by_run,
    "node": by_node,
    "set-up": by_setup,
    "check": by_check,
    "worker": by_worker,
    "tool": by_tool,
    "mcp": by_mcp,
    "mcp --run": by_served_run,
    "queue and worker": by_queue,
    "live": by_live,
    **{f"hook of {harness}": by_hook(harness) for harness in HARNESSES},
}


def _settings(place: Path, **runs: list[list[str]]) -> None:
    (place / ".nexus" / "settings.json").write_text(json.dumps({"runs": runs}))
    trust(place)


def _rule(sealed: Path, verdict: str, words: str = '[printf, "**"]') -> None:
    (sealed / "nexus").mkdir(exist_ok=True)
    text = f"---\nversion: 1\n{verdict}:\n- {{name: this, run: {words}}}\n---\n"
    (sealed / "nexus" / "policy.md").write_text(text)


# What is denied comes in by no way. An order in the queue is a run of a worker; its rest is with the slow tests.
@pytest.mark.parametrize(("way", "verdict"), [
    *((way, "deny") for way in WAYS),
    *((way, verdict) for way in WAYS for verdict in ("allow", "ask") if not way.startswith("queue")),
    *(pytest.param("queue and worker", verdict, marks=pytest.mark.slow) for verdict in ("allow", "ask")),
])  # fmt: skip
def test_a_rule_holds_whichever_way_a_command_comes_in(
    project: Path, nexus: Nexus, sealed: Path, way: str, verdict: str
) -> None:
    _rule(sealed, verdict)

    said = WAYS[way](nexus)

    assert (RAN in said) == (verdict == "allow"), said
    if verdict == "deny":
        assert "user.this" in said
    elif verdict == "ask":
        assert "wait" in said or "asks" in said or "approve" in said or "nobody" in said, said


def test_the_server_of_a_project_has_no_tool_that_runs_a_command(project: Path, nexus: Nexus, sealed: Path) -> None:
    _rule(sealed, "allow")

    answers = [served(nexus, tool, {"argv": list(ARGV)}) for tool in ("cmd.run", "tests.run", "propose_command")]

    assert [RAN in answer for answer in answers] == [False] * 3
    assert all("there is no tool" in answer for answer in answers), answers


@pytest.mark.parametrize("way", ["run", "mcp"])
@pytest.mark.parametrize(
    "line",
    [
        pytest.param(("sh", "-c", "true; printf x"), id="in-a-text"),
        pytest.param(("env", "sh", "-c", "true && sh -c 'printf x'"), id="in-a-text-in-a-text"),
        pytest.param(("find", ".", "-exec", "printf", "x", ";"), id="by-find"),
        pytest.param(("git", "nexus", "run", "--", "printf", "x"), id="by-ourselves"),
        pytest.param(("npm", "exec", "--", "printf", "x"), id="by-a-package-manager"),
        pytest.param(("/usr/bin/printf", "x"), id="by-its-path"),
    ],
)
def test_a_denied_program_is_denied_inside_of_what_runs_it(
    project: Path, nexus: Nexus, sealed: Path, monkeypatch: pytest.MonkeyPatch, way: str, line: tuple[str, ...]
) -> None:
    _rule(sealed, "deny")
    if line[0] == "npm":  # what is not there is refused for that
        npm = project.parent / "bin" / "npm"
        npm.parent.mkdir()
        npm.write_text("#!/bin/sh\n")
        npm.chmod(0o755)
        monkeypatch.setenv("PATH", f"{npm.parent}:{os.environ['PATH']}")
    if way == "run":
        done = nexus("run", "--", *line)
        assert (done.returncode, "user.this" in done.stderr) == (20, True), done
        assert json.loads(nexus.ok("runs", "--all", "--json"))["runs"] == []
        return
    with begun(project) as desk:
        told = call_run_tool(desk, "propose_command", {"argv": list(line)})
        assert (told["status"], told["rule"]) == ("denied", "user.this")


def test_an_agents_own_program_is_a_program_too(project: Path, nexus: Nexus, sealed: Path) -> None:
    _rule(sealed, "deny", '[claude, "**"]')

    done = nexus("run", "--agent", "claude", "do it")

    assert done.returncode == 20, done
    assert "user.this denies claude" in done.stderr


@pytest.mark.parametrize(
    "line",
    [
        *(("bash", "-c", text) for text in (
            "function f { printf x; }; f", "trap 'printf x' EXIT", "$'printf' x", '$"printf" x', "print{f,f} x",
            "/usr/bin/print[f] x", "bash <<< 'printf x'", 'eval "$(echo printf x)"', "S=sh; $S -c 'printf x'",
            "echo printf x | sh")),
        ("env", "-S", 'sh -c "printf x"'), ("npx", "printf"), ("setarch", "-R", "printf", "x"), ("prlimit", "printf"),
        ("chrt", "-o", "0", "printf", "x"), ("taskset", "1", "printf"), ("setpriv", "printf"),
        ("capsh", "--", "-c", "printf x"), ("fakeroot", "printf"), ("/lib64/ld-linux-x86-64.so.2", "/usr/bin/printf"),
        ("git", "-c", "alias.x=!printf x", "x"),
    ],
)  # fmt: skip
def test_a_denied_program_is_not_run_by_a_text_or_wrapper_that_hides_it(
    project: Path, sealed: Path, line: tuple[str, ...]
) -> None:
    _rule(sealed, "deny")
    with begun(project) as desk, pytest.raises((DeniedByPolicy, ApprovalNeeded)):
        refuse_run_command(desk, line, "none", "the command")


def test_a_verb_of_git_is_denied_by_its_other_name(project: Path, sealed: Path) -> None:
    _rule(sealed, "deny", '[git, push, "**"]')
    with begun(project) as desk:
        with pytest.raises(DeniedByPolicy):
            refuse_run_command(desk, ("git-push", "origin"), "none", "the command")
        refuse_run_command(desk, ("sh", "-c", "for x in a b; do echo $x > y; done"), "none", "the command")


LINKED = ("tools/x y", "env tools/x y", "sh -c './other y'", "cd tools && ./x y", "find . -exec tools/x y ;",
          "nice -n 3 ./other y", "wrap env other2 y", "env aliased y")  # fmt: skip


@pytest.fixture
def linked(project: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with links to a denied program, in the worktree and on PATH."""
    _rule(sealed, "deny")
    folder = project.parent / "bin"
    folder.mkdir()
    for link, target in (("tools/x", "/usr/bin/printf"), ("other", "tools/x"), ("other2", "/usr/bin/printf")):
        (project / link).parent.mkdir(exist_ok=True)
        (project / link).symlink_to(target)
    for name in ("aliased", "other2"):
        (folder / name).symlink_to("/usr/bin/printf")
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:{folder}")
    run_git(project, "add", "-A")
    run_git(project, "commit", "-qm", "links")
    return project


def test_a_denied_program_is_denied_through_a_link_behind_what_runs_it(linked: Path, nexus: Nexus) -> None:
    with begun(linked) as desk:
        for line in LINKED:
            argv = ("sh", "-c", line)
            with pytest.raises(DeniedByPolicy, match="this"):
                refuse_run_command(desk, argv, "none", "the command")
            told = call_run_tool(desk, "propose_command", {"argv": list(argv)})
            assert (told["status"], told["rule"]) == ("denied", "user.this"), line
    done = nexus("run", "--", "env", "tools/x", "y")
    assert (done.returncode, "leads to /usr/bin/printf" in done.stderr) == (20, True), done


@pytest.mark.parametrize("harness", HARNESSES)
def test_no_program_runs_a_denied_one_through_a_link(linked: Path, nexus: Nexus, harness: str) -> None:
    payload: dict[str, object] = {"cwd": str(linked), "session_id": "s"}
    for line in ("env tools/x y", "nice ./other y"):
        given = {"command": line}
        if harness == "opencode":
            payload |= {"event": "tool.execute.before", "tool": "bash", "args": given}
        else:
            payload |= {"tool_name": "run_shell_command" if harness == "gemini-cli" else "Bash", "tool_input": given}
        done = nexus("hook", "harness", harness, "pre_tool_use", stdin=json.dumps(payload))
        assert "leads to /usr/bin/printf" in done.stdout + done.stderr, (line, done)
