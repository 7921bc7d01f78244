"""The four real programs with git nexus installed into them, from `harness install` to `harness uninstall`.

Nothing is written by hand but what a person has of their own: where the model is, and the yes that a program wants. The
program runs headless in a sealed home without a network; its model is ours, and does one thing after the other.
"""

import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from gitnexus.catalog.harnesses import HARNESSES
from gitnexus.harness.install import trust as trusted
from gitnexus.harness.model import EVENTS
from gitnexus.harness.protocols.table import load_harness_protocol
from tests.adapters.stub_models import Step, StubModels
from tests.conftest import Nexus, run_git, trust
from tests.slow import offline
from tests.slow.conftest import _MISSING, _had
from tests.slow.test_adapters_real import REAL

pytestmark = pytest.mark.slow(seconds=30)
POLICY = "---\nversion: 1\nallow:\n- run: [git, status]\n- write: ['src/**']\ndeny:\n- run: [touch, denied.txt]\n---\n"
SUB = "SUBWORK: do task 1"
WORDS = "[plan] MAINWORK"
TASK = {"title": "Write it", "context": "In src/new.txt.", "owner": "engineer", "acceptance": "It is there."}
PATCH = "*** Begin Patch\n*** Add File: src/new.txt\n+n\n*** End Patch\n"
# What the program itself puts beside the files that we installed.
OWN = (".opencode/.gitignore", ".opencode/package.json", ".opencode/package-lock.json", ".opencode/node_modules/")


class Talk(StubModels):
    """A model that leads, and as a sub-agent does other steps; after a step that makes it long it has only words.

    Programs begin while their servers still start, so it does something idle until our tools are there.
    """

    def __init__(self, main: list[Step], sub: list[Step] | None = None, idle: Step | None = None) -> None:
        super().__init__(*main)
        self.sub, self.idle = sub or [], idle
        self.before: int | None = None
        self.idled = 0
        self.is_long = False

    def step(self, results: int, has_tools: bool) -> Step:
        body = self.requests[-1][1]
        asked = json.dumps(body)
        if not has_tools or self.is_long:
            return Step(text="Nothing more.")
        if self.sub and SUB in asked and "MAINWORK" not in asked:
            return self.sub[min(results, len(self.sub) - 1)]
        self.before = results if self.before is None else self.before  # of a session that is taken up again
        found = self.steps[min(results - self.before - self.idled, len(self.steps) - 1)]
        if self.idle is not None and "nx_task_add" in found.tool and not self.has_ours(body) and self.idled < 50:
            self.idled += 1
            return self.idle
        self.is_long = found.tokens > 1000
        agents = re.findall(r"agent_id\W+([0-9a-f-]{36})", asked)
        return replace(found, given={**found.given, "targets": agents[:1]}) if found.tool == "wait_agent" else found

    def has_ours(self, body: Mapping[str, Any]) -> bool:
        """True if a request offers our tools, or as in Codex holds what its search for tools has found."""
        given = body.get("input")
        found = [item for item in given if item.get("type") == "tool_search_output"] if isinstance(given, list) else []
        return "nx_task_add" in json.dumps([body.get("tools"), found])

    def heard(self, words: str) -> bool:
        """True if any request held these words."""
        spelled = json.dumps(words)[1:-1]
        return any(spelled in json.dumps(body) for _, body in self.requests)


@dataclass
class Scene:
    """A project with git nexus in one program, all that stands around it, and what its hooks were called for."""

    repo: Path
    home: Path
    program: Path
    env: dict[str, str]

    @property
    def events(self) -> set[str]:
        return set((self.home / "events").read_text().split())

    def agents(self) -> list[Mapping[str, Any]]:
        """Return what the tracker said whenever a session was about to end."""
        return [row for file in sorted(self.home.glob("tracker.*")) for row in json.loads(file.read_text())]


@dataclass(frozen=True)
class Program:
    """One program: its name here and on the shelf, how it is run, what a person told it, and its words for things."""

    harness: str
    real: str
    argv: Callable[[str, str], list[str]]
    tell: Callable[[Path, Path, str], dict[str, str]]
    main: Callable[[Path], list[Step]]
    sub: Callable[[Path], list[Step]]
    run: Callable[[Path, str], Step]
    session: str

    def lead(self, repo: Path, *last: Step) -> list[Step]:
        """Return what the model does in a session."""
        first = [*self.main(repo), self.run(repo, "git-nexus-canary"), self.run(repo, "touch denied.txt")]
        return [*first, *last]


def _claude(home: Path, repo: Path, address: str) -> dict[str, str]:
    (home / ".claude").mkdir(exist_ok=True)
    (home / ".claude" / "settings.json").write_text('{"enableAllProjectMcpServers": true}')
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1"}
    return {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "stub", **quiet}


def _codex(home: Path, repo: Path, address: str) -> dict[str, str]:
    (home / ".codex").mkdir(exist_ok=True)
    config = (
        'model_provider = "stub"\nmodel = "gpt-5.5"\nmodel_auto_compact_token_limit = 50000\n'
        "[features]\nmulti_agent = true\n"
        f'[projects."{repo}"]\ntrust_level = "trusted"\n'
        f'[model_providers.stub]\nname = "stub"\nbase_url = "{address}/v1"\nenv_key = "OPENAI_API_KEY"\n'
    )
    (home / ".codex" / "config.toml").write_text(config + "".join(yes_to_hooks(repo / ".codex" / "hooks.json")))
    return {"OPENAI_API_KEY": "stub", "CODEX_HOME": str(home / ".codex")}


def yes_to_hooks(hooks: Path) -> Iterator[str]:
    """Yield what Codex writes down when a person trusts our hooks with /hooks."""
    value = json.loads(hooks.read_text())["hooks"]
    for key in trusted.codex_hook_states(hooks, {}):
        label, at, nth = key.rsplit(":", 3)[1:]
        group = value[next(name for name in value if trusted.codex_event_label(name) == label)][int(at)]
        said = trusted.codex_hook_hash(label, group, group["hooks"][int(nth)])
        yield f'[hooks.state."{key}"]\ntrusted_hash = "{said}"\n'


def _gemini(home: Path, repo: Path, address: str) -> dict[str, str]:
    said = {path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in (repo / ".gemini/agents").iterdir()}
    (home / ".gemini" / "acknowledgments").mkdir(parents=True, exist_ok=True)
    (home / ".gemini" / "acknowledgments" / "agents.json").write_text(json.dumps({str(repo): said}))
    (home / ".gemini" / "trustedFolders.json").write_text(json.dumps({str(repo): "TRUST_FOLDER"}))
    (home / ".gemini" / "settings.json").write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}')
    return {"GOOGLE_GEMINI_BASE_URL": address, "GEMINI_API_KEY": "stub"}


def _opencode(home: Path, repo: Path, address: str) -> dict[str, str]:
    folder = home / ".config" / "opencode"
    folder.mkdir(parents=True, exist_ok=True)
    models = {"stub-model": {"limit": {"context": 100_000, "output": 4000}}}
    options = {"baseURL": f"{address}/v1", "apiKey": "stub"}
    provider = {"stub": {"npm": "@ai-sdk/openai-compatible", "options": options, "models": models}}
    (folder / "opencode.json").write_text(json.dumps({"provider": provider}))
    # As `harness status` says: without a network it would try for a minute to fetch its own package.
    return {"npm_config_offline": "true"}


def _note(repo: Path) -> str:
    return str(repo / ".nexus" / "memory" / "pattern-release.md")


def _new(repo: Path) -> str:
    return str(repo / "src" / "new.txt")


PROGRAMS = {
    one.harness: one
    for one in (
        Program(
            "claude-code",
            "claude",
            lambda words, session: [
                *(
                    "-p",
                    "--output-format",
                    "stream-json",
                    "--verbose",
                    "--allowedTools=mcp__nexus,Read,Write,Agent,Bash",
                ),
                *(*(("--resume", session) if session else ()), *((words,) if words else ())),
            ],
            _claude,
            lambda repo: [
                Step(tool="Read", given={"file_path": _note(repo)}),
                Step(tool="mcp__nexus__nx_task_add", given=TASK),
                Step(tool="Agent", given={"subagent_type": "engineer", "description": "do", "prompt": SUB}),
            ],
            lambda repo: [
                Step(tool="Write", given={"file_path": _new(repo), "content": "n\n"}),
                Step(text="sub done"),
            ],
            lambda repo, line: Step(tool="Bash", given={"command": line, "description": "d"}),
            "session_id",
        ),
        Program(
            "codex",
            "codex",
            lambda words, session: [
                *("exec", "--json", "-s", "danger-full-access", *(("resume", session) if session else ()), words),
            ],
            _codex,
            lambda repo: [
                Step(tool="nx_task_add", namespace="mcp__nexus", given=TASK),
                Step(tool="spawn_agent", namespace="multi_agent_v1", given={"agent_type": "engineer", "message": SUB}),
                Step(tool="wait_agent", namespace="multi_agent_v1", given={"timeout_ms": 120_000}),
            ],
            lambda repo: [Step(custom=PATCH), Step(text="sub done")],
            lambda repo, line: Step(tool="exec_command", given={"cmd": line}),
            "thread_id",
        ),
        Program(
            "gemini-cli",
            "gemini",
            lambda words, session: [
                *("-m", "gemini-2.5-pro", "--approval-mode", "yolo", "-o", "stream-json"),
                *(*(("--resume", session) if session else ()), "-p", words),
            ],
            _gemini,
            lambda repo: [
                Step(tool="read_file", given={"file_path": _note(repo)}),
                Step(tool="mcp_nexus_nx_task_add", given=TASK),
                Step(tool="invoke_agent", given={"agent_name": "engineer", "prompt": SUB}),
            ],
            lambda repo: [
                Step(tool="write_file", given={"file_path": _new(repo), "content": "n\n"}),
                Step(tool="complete_task", given={"result": "sub done"}),
                Step(text="sub done"),
            ],
            lambda repo, line: Step(tool="run_shell_command", given={"command": line, "dir_path": str(repo)}),
            "session_id",
        ),
        Program(
            "opencode",
            "opencode",
            lambda words, session: [
                *("run", "--format", "json", "-m", "stub/stub-model"),
                *(*(("-s", session) if session else ()), words),
            ],
            _opencode,
            lambda repo: [
                Step(tool="read", given={"filePath": _note(repo)}),
                Step(tool="nexus_nx_task_add", given=TASK),
                Step(tool="task", given={"subagent_type": "engineer", "description": "do", "prompt": SUB}),
            ],
            lambda repo: [
                Step(tool="write", given={"filePath": _new(repo), "content": "n\n"}),
                Step(text="sub done"),
            ],
            lambda repo, line: Step(tool="bash", given={"command": line, "workdir": str(repo), "description": "d"}),
            "sessionID",
        ),
    )
}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository whose path every program can take, with files of the person's own in the way."""
    place = tmp_path / "work"
    place.mkdir()
    run_git(place, "init", "-q")
    mine = {
        "AGENTS.md": "# Ours\n\nBe kind.",
        "CLAUDE.md": "# Mine\r\n\r\nBe brief.\r\n",
        ".claude/settings.json": '{\n\t"env": {"A": "1"}\n}\n',
        ".codex/config.toml": "# mine\nmodel_reasoning_effort = 'low'\n",
        ".gemini/settings.json": '{ // mine\n  "ui": {"hideTips": true},\n}',
        ".geminiignore": "*.bin",
        # It adds the schema by itself where there is none.
        "opencode.jsonc": '{\n  // mine\n  "$schema": "https://opencode.ai/config.json",\n}\n',
    }
    for name, text in mine.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_bytes(text.encode())
    run_git(place, "add", ".")
    run_git(place, "commit", "-qm", "first")
    Nexus(place).ok("init")
    Nexus(place).ok("memory", "add", "pattern-release", "Tag first, then publish.")
    (place / ".nexus" / "policy.md").write_text(POLICY)
    trust(place)
    return place


@pytest.fixture
def bare() -> bool:
    """True if the programs can be run without a network; where not they are run with one, and a test here says so."""
    return not offline.why_not()


def staged(one: Program, repo: Path, home: Path) -> Scene:
    """Return the scene: a git-nexus that writes down what it is called for, and a canary that must not be run."""
    program = _had(one.real, REAL[one.real].get)
    folder = home / "bin"
    folder.mkdir()
    tracker = repo / ".nexus" / "state" / one.harness / "agent-tracker.json"
    files = {
        "git-nexus": f'if [ "$1" = hook ] && [ "$2" = harness ]; then echo "$4" >> "{home}/events"\n'
        f'  if [ "$4" = session_end ] && [ -f "{tracker}" ]; then cp "{tracker}" "{home}/tracker.$$"; fi\nfi\n'
        f'exec "{Path(sys.executable).parent}/git-nexus" "$@"\n',
        "git-nexus-canary": f'touch "{home}/sang"\n',
    }
    for name, text in files.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}")
        (folder / name).chmod(0o755)
    (folder / program.name).symlink_to(program)
    env = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    env.pop("CLAUDE_CODE_ENTRYPOINT", None)
    # OpenCode believes PWD more than where it is.
    return Scene(repo, home, program, {**env, "PATH": f"{folder}:{os.environ['PATH']}", "PWD": str(repo)})


def talked(one: Program, scene: Scene, stub: Talk, words: str, session: str = "", *, bare: bool) -> str:
    """Run one session; return its id."""
    port = int(stub.address.rpartition(":")[2])
    keys = one.tell(scene.home, scene.repo, stub.address)
    argv = [str(scene.program), *one.argv(words, session)]
    with offline.road_to(port) as road:
        done = offline.run([*(road if bare else ()), *argv], scene.repo, {**scene.env, **keys})
    print(f"--- {argv}\n{done.stdout[-6000:]}\n{done.stderr[-3000:]}")
    assert stub.requests, "the program did not reach its model"
    found = re.search(rf'"{one.session}":"([^"]+)"', done.stdout)
    return found[1] if found else ""


def files_in(repo: Path) -> dict[str, bytes]:
    """Return every file of a project but those of git and of git nexus, and what a program puts there for itself."""
    return {
        name: path.read_bytes()
        for path in sorted(repo.rglob("*"))
        if path.is_file()
        and not (name := path.relative_to(repo).as_posix()).startswith((".git/", ".nexus/", "src/", *OWN))
    }


def test_what_runs_without_a_network_reaches_the_model_and_nothing_else() -> None:
    why = offline.why_not()
    if why:
        pytest.skip(f"{_MISSING}a network of one's own, so the programs were run with this one: {why}")
    ask = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 30)"

    with StubModels() as stub, offline.road_to(int(stub.address.rpartition(":")[2])) as road:
        argv = [*road, sys.executable, "-c", ask]
        model = offline.run([*argv, "127.0.0.1", stub.address.rpartition(":")[2]], Path.cwd(), os.environ)
        others = [offline.run([*argv, host, "443"], Path.cwd(), os.environ) for host in ("192.0.2.1", "127.0.0.1")]

    assert (model.returncode, model.stderr) == (0, "")
    assert ["unreachable" in others[0].stderr, "refused" in others[1].stderr] == [True, True]


@pytest.mark.parametrize("harness", PROGRAMS)
def test_a_program_with_git_nexus_in_it(harness: str, repo: Path, sealed: Path, bare: bool) -> None:
    one, nexus = PROGRAMS[harness], Nexus(repo)
    scene = staged(one, repo, sealed)
    before = files_in(repo)
    nexus.ok("harness", "install", harness)

    # One session for all that may be done, and two things that may not.
    waits = one.run(repo, "touch made.txt")
    # Codex tells a model of no server's tools before it looks for them.
    idle = Step(search="add a task nx_task_add") if harness == "codex" else one.run(repo, "git status")
    with Talk([*one.lead(repo, waits), Step(text="Waiting.")], one.sub(repo), idle) as stub:
        session = talked(one, scene, stub, WORDS, bare=bare)

    assert any(stub.has_ours(body) for _, body in stub.requests), "our tools are not offered"
    assert stub.heard("A call that was refused stays refused"), "the instructions are not read"
    assert stub.heard("`[run]` is theirs to say"), "the tag did not bring the skill"
    assert stub.heard("pattern-release"), "what is known was not said at the start"
    tasks = json.loads((repo / ".nexus" / "state" / "tasks.json").read_text())["tasks"]
    assert [(task["title"], task["status"]) for task in tasks] == [("Write it", "completed")]
    assert (repo / "src" / "new.txt").read_text() == "n\n"
    assert stub.heard("git nexus: you work on task 1 of this cycle:\nTASK: Write it"), "the sub-agent was not told"
    assert stub.heard("engineer is done with task 1 “Write it”. Nobody has checked"), "the reminder did not come"
    rows = [(row["agent_name"], row["status"], row["files_touched"]) for row in scene.agents()]
    assert ("engineer", "completed", ["src/new.txt"]) in rows
    access = repo / ".nexus" / "state" / harness / "memory-access.jsonl"
    if HARNESSES[harness].reads:
        assert json.loads(access.read_text())["access_count"] == 1
    else:
        assert not access.exists()
        assert "not counted" in load_harness_protocol(harness).nearest["post_tool_use"]
    assert not (sealed / "sang").exists()
    assert stub.heard("git nexus canary: refused")
    assert not (repo / "denied.txt").exists()
    assert stub.heard("touch denied.txt")
    assert not (repo / "made.txt").exists()

    # What waits is approved elsewhere; the same call then passes, once. Where a program compacts by itself, the
    # conversation has grown too long with it.
    run = json.loads(nexus.ok("--json", "runs"))["runs"][0]["id"]
    assert harness == "claude-code" or stub.heard(f"git nexus approve {run}"), (
        "the model was not told what it waits for"
    )
    nexus.ok("approve", "--unseen", run, "a1")
    is_claude, by_itself = harness == "claude-code", harness in ("codex", "opencode")
    again = [] if is_claude else [replace(waits, tokens=99_000 if by_itself else waits.tokens)]
    with Talk([*again, Step(text="Done.")]) as stub:
        talked(one, scene, stub, "" if is_claude else "go on", session, bare=bare)
    assert not by_itself or stub.heard("git nexus: the conversation was compacted")

    assert (repo / "made.txt").exists()
    assert [row["status"] for row in json.loads(nexus.ok("--json", "runs", "--all"))["runs"]] == ["completed"]
    (repo / "made.txt").unlink()

    # Claude Code is told to.
    if is_claude:
        with Talk([replace(one.main(repo)[0], tokens=99_000), Step(text="Done.")]) as stub:
            session = talked(one, scene, stub, "MAINWORK", bare=bare)
            talked(one, scene, stub, "/compact", session, bare=bare)
            talked(one, scene, stub, "MAINWORK once more", session, bare=bare)
        assert stub.heard("git nexus: the conversation was compacted")

    speech = load_harness_protocol(harness)
    assert scene.events == {event for event in EVENTS if speech.events[event]}
    assert all(event in speech.nearest for event in EVENTS if not speech.events[event])
    assert not (repo / ".nexus" / "state" / harness / "agent-tracker.json").exists()
    nexus.ok("harness", "uninstall", harness)
    assert files_in(repo) == before
