"""The real programs call our hooks at the events of a session, and their models hear what we say.

The hooks are written here by hand, one for each name that a program has for an event; tools are judged elsewhere, so
the gate is asked about sub-agents alone. OpenCode has no hooks but a plug-in, which is tried where it is installed.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gitnexus.harness.speech.table import speech_of
from tests.adapters.stub_models import Step, StubModels
from tests.conftest import Nexus
from tests.slow.conftest import _had
from tests.slow.test_adapters_real import REAL

pytestmark = pytest.mark.slow
HOOK = Path(sys.executable).parent / "git-nexus"
SUB = "SUBWORK: do task 1"


class Talk(StubModels):
    """A model that leads, and as a sub-agent does other steps."""

    def __init__(self, main: list[Step], sub: list[Step]) -> None:
        super().__init__(*main)
        self.sub = sub

    def step(self, results: int, has_tools: bool) -> Step:
        asked = json.dumps(self.requests[-1][1])
        if not has_tools:
            return Step(text="A title")
        steps = self.sub if SUB in asked and "MAINWORK" not in asked else self.steps
        return steps[min(results, len(steps) - 1)]

    def heard(self, words: str) -> bool:
        """True if any request held these words."""
        spelled = json.dumps(words)[1:-1]
        return any(spelled in json.dumps(body) for _, body in self.requests)


class Scene(NamedTuple):
    """A project, and the home of the program beside it."""

    place: Path
    home: Path
    env: dict[str, str]


def hooks(name: str) -> Iterator[tuple[str, str, str]]:
    """Yield the names of a program's events, with what they match and the command for each."""
    speech = speech_of(name)
    for event, names in speech.events.items():
        for native in names:
            matcher = "|".join(speech.delegates) if event == "pre_tool_use" else ""
            yield native, matcher, f"{HOOK} hook harness {name} {event}"


def grouped(name: str, seconds: int) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for native, matcher, command in hooks(name):
        row: dict[str, Any] = {"hooks": [{"type": "command", "name": native, "command": command, "timeout": seconds}]}
        if name != "gemini-cli":
            del row["hooks"][0]["name"]
        found[native] = [{**({"matcher": matcher} if matcher else {}), **row}]
    return found


def claude(scene: Scene, stub: StubModels) -> list[list[str]]:
    folder = scene.place / ".claude"
    (folder / "agents").mkdir(parents=True)
    (folder / "agents" / "engineer.md").write_text("---\nname: engineer\ndescription: builds\n---\nYou build.\n")
    (folder / "settings.json").write_text(json.dumps({"hooks": grouped("claude-code", 20)}))
    scene.env.update(
        ANTHROPIC_BASE_URL=stub.address, ANTHROPIC_API_KEY="stub", CLAUDE_CODE_DISABLE_BACKGROUND_TASKS="1"
    )
    program = str(_had("claude", REAL["claude"].get))
    base = [program, "--permission-mode", "acceptEdits", "--allowedTools", "Read,Edit,Write,Agent", "-p"]
    return [
        [*base, "[m] The build needs an hour on Mondays.\n\nMAINWORK"],
        [*base, "/compact", "-c"],
        [*base, "MAINWORK once more", "-c"],
    ]


def codex(scene: Scene, stub: StubModels) -> list[list[str]]:
    folder = scene.home / "codex"
    folder.mkdir()
    (folder / "config.toml").write_text(
        'model_provider = "stub"\nmodel = "gpt-5"\n[features]\nhooks = true\nmulti_agent = true\n'
        f'[model_providers.stub]\nname = "stub"\nbase_url = "{stub.address}/v1"\nenv_key = "OPENAI_API_KEY"\n'
        '[agents.engineer]\ndescription = "builds"\n'
    )
    (folder / "hooks.json").write_text(json.dumps({"hooks": grouped("codex", 20)}))
    scene.env.update(CODEX_HOME=str(folder), OPENAI_API_KEY="stub")
    program = str(_had("codex", REAL["codex"].get))
    words = "[m] The build needs an hour on Mondays.\n\nMAINWORK"
    return [[program, "exec", "--json", "-s", "danger-full-access", "--dangerously-bypass-hook-trust", words]]


def gemini(scene: Scene, stub: StubModels) -> list[list[str]]:
    folder = scene.home / ".gemini"
    (folder / "agents").mkdir(parents=True)
    (folder / "agents" / "engineer.md").write_text("---\nname: engineer\ndescription: builds\n---\nYou build.\n")
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "experimental": {"enableAgents": True},
        # Its read tool keeps away from what git ignores, and git ignores .nexus/.
        "context": {"fileFiltering": {"respectGitIgnore": False}},
        "hooks": grouped("gemini-cli", 20_000),
    }
    (folder / "settings.json").write_text(json.dumps(settings))
    scene.env.update(GOOGLE_GEMINI_BASE_URL=stub.address, GEMINI_API_KEY="stub", GEMINI_CLI_TRUST_WORKSPACE="true")
    program = str(_had("gemini", REAL["gemini"].get))
    words = "[m] The build needs an hour on Mondays.\n\nMAINWORK"
    return [[program, "-m", "gemini-2.5-pro", "--approval-mode", "yolo", "-p", words]]


def steps(name: str, place: Path) -> tuple[list[Step], list[Step]]:
    """Return what the model does: read a note and start an agent, which writes a file."""
    note = str(place / ".nexus" / "memory" / "pattern-release.md")
    new = str(place / "new.txt")
    end = Step(text="All done.")
    if name == "claude-code":
        agent = {"subagent_type": "engineer", "description": "do", "prompt": SUB}
        main = [Step(tool="Read", given={"file_path": note}), Step(tool="Agent", given=agent), end]
        return main, [Step(tool="Write", given={"file_path": new, "content": "n\n"}), Step(text="sub done")]
    if name == "codex":
        agent = {"agent_type": "engineer", "message": SUB}
        wait = Step(tool="exec_command", given={"cmd": "sleep 6"})
        main = [Step(tool="spawn_agent", namespace="multi_agent_v1", given=agent), wait, wait, end]
        return main, [Step(tool="exec_command", given={"cmd": "echo n > new.txt"}), Step(text="sub done")]
    agent = {"agent_name": "engineer", "prompt": SUB}
    main = [Step(tool="read_file", given={"file_path": note}), Step(tool="invoke_agent", given=agent), end]
    write = Step(tool="write_file", given={"file_path": new, "content": "n\n"})
    return main, [write, Step(tool="complete_task", given={"result": "sub done"}), Step(text="sub done")]


@pytest.fixture
def scene(project: Path, nexus: Nexus) -> Iterator[Scene]:
    task = {"title": "Write it", "context": "In new.txt.", "owner": "engineer", "acceptance": "It is there."}
    nexus.ok("tool", "task_add", json.dumps(task))
    nexus.ok("memory", "add", "pattern-release", "Tag first, then publish.")
    # Codex does not start its sandbox from below the folder for temporary files.
    home = Path("/var/tmp", f"nexus-harness-{os.getpid()}")
    home.mkdir()
    names = ("PATH", "LANG", "NEXUS_HOME", "GIT_CONFIG_NOSYSTEM")
    env = {name: os.environ[name] for name in names if name in os.environ}
    shutil.copy(Path(os.environ["HOME"], ".gitconfig"), home)
    yield Scene(project, home, {**env, "HOME": str(home)})
    shutil.rmtree(home, ignore_errors=True)


PROGRAMS: dict[str, Callable[[Scene, StubModels], list[list[str]]]] = {
    "claude-code": claude,
    "codex": codex,
    "gemini-cli": gemini,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_model_of_a_real_program_hears_us_at_every_event(name: str, scene: Scene) -> None:
    folder = scene.place / ".nexus" / "state" / name
    with Talk(*steps(name, scene.place)) as stub:
        first, *more = PROGRAMS[name](scene, stub)
        done = subprocess.run(
            first,
            cwd=scene.place,
            env=scene.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=200,
            check=False,
        )
        print(done.stdout[-3000:].decode(), done.stderr[-3000:].decode(), sep="\n")
        for argv in more:
            subprocess.run(argv, cwd=scene.place, env=scene.env, stdin=subprocess.DEVNULL, timeout=200, check=False)
    log = [json.loads(line) for line in (folder / "tool-log.jsonl").read_text().splitlines()]
    tasks = json.loads((scene.place / ".nexus/state/tasks.json").read_text())["tasks"]

    assert done.returncode == 0
    assert stub.heard("git nexus: an earlier session left tasks open")  # session_start
    assert stub.heard("git nexus: [m] is done already (nx_memory_store)")  # user_message
    assert any("Mondays" in path.read_text() for path in (scene.place / ".nexus/memory").iterdir())
    assert stub.heard("git nexus: you work on task 1 of this cycle:\nTASK: Write it")  # subagent_spawn
    assert stub.heard("engineer is done with task 1 “Write it”. Nobody has checked")  # subagent_complete
    assert tasks[0]["status"] == "completed"
    assert (scene.place / "new.txt").read_text() == "n\n"
    assert len(log) >= 2  # post_tool_use
    if name == "claude-code":
        assert stub.heard("git nexus: the conversation was compacted")  # context_compact
        assert any(row.get("agent_name") == "engineer" and row.get("file") == "new.txt" for row in log)
    if name != "codex":
        assert json.loads((folder / "memory-access.jsonl").read_text())["access_count"] >= 1
    assert not (folder / "agent-tracker.json").exists()  # session_end
    assert not (folder / "sessions.json").exists()
