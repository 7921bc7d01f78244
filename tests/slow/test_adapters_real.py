"""The real programs, with a model of ours on loopback, in a repository whose own agent settings are poisoned."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitnexus.adapters import AgentEnd, AgentEvent, AgentJob, AgentLaunch, Way
from gitnexus.adapters.installed import find_program
from gitnexus.adapters.lines import LineSplitter
from gitnexus.adapters.table import find_adapter
from tests.adapters.poison import poisoned
from tests.adapters.stub_models import IN, OUT, Fault, Step, StubModels
from tests.conftest import run_git
from tests.slow import peers
from tests.slow.conftest import _had

pytestmark = pytest.mark.slow
FAKE_MCP = Path(__file__).parents[1] / "adapters" / "fake_mcp.py"
# Where what they print is kept, to be scrubbed and recorded: NEXUS_RECORD=folder pytest -m slow …
RECORD = os.environ.get("NEXUS_RECORD")


@dataclass
class Real:
    """One program: where it is, how it is told of the stub, and what its tools are called."""

    name: str
    get: Callable[[], Path]
    model: str
    propose: Step
    edits: Callable[[Path], list[Step]]
    keys: Callable[[str], dict[str, str]]


def _npm(package: str, *patterns: str) -> Callable[[], Path]:
    def get() -> Path:
        # Without its install script a package may leave the program in the package of the platform.
        modules = peers.from_npm(package)
        files = [file for pattern in patterns for file in sorted(modules.glob(pattern)) if os.access(file, os.X_OK)]
        if not files:
            raise peers.CannotBeHad("the package holds no program for this machine")
        return files[0]

    return get


REAL = {
    real.name: real
    for real in (
        Real(
            "claude",
            _npm("@anthropic-ai/claude-code", "@anthropic-ai/claude-code-*/claude", ".bin/claude"),
            "",
            Step(tool="mcp__nexus__propose_patch", given={"patch": "p"}),
            lambda folder: [
                Step(tool="Write", given={"file_path": f"{folder}/new.txt", "content": "new\n"}),
                Step(tool="Bash", given={"command": "echo ran > ran.txt"}),
            ],
            lambda address: {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "stub"},
        ),
        Real(
            "codex",
            _npm("@openai/codex", ".bin/codex"),
            "stub-model",
            Step(tool="propose_patch", namespace="mcp__nexus", given={"patch": "p"}),
            lambda folder: [
                Step(tool="exec_command", given={"cmd": "echo new > new.txt"}),
                Step(tool="exec_command", given={"cmd": "echo ran > ran.txt"}),
            ],
            lambda address: {"OPENAI_API_KEY": "stub"},
        ),
        Real(
            "gemini",
            _npm("@google/gemini-cli", ".bin/gemini"),
            "gemini-2.5-pro",
            Step(tool="mcp_nexus_propose_patch", given={"patch": "p"}),
            lambda folder: [
                Step(tool="write_file", given={"file_path": f"{folder}/new.txt", "content": "new\n"}),
                Step(tool="run_shell_command", given={"command": "echo ran > ran.txt", "dir_path": str(folder)}),
            ],
            lambda address: {"GOOGLE_GEMINI_BASE_URL": address, "GEMINI_API_KEY": "stub"},
        ),
        Real(
            "opencode",
            _npm("opencode-ai", "opencode-linux-*64/bin/opencode", "opencode-darwin-*64/bin/opencode", ".bin/opencode"),
            "stub/stub-model",
            Step(tool="nexus_propose_patch", given={"patch": "p"}),
            lambda folder: [
                Step(tool="write", given={"filePath": f"{folder}/new.txt", "content": "new\n"}),
                Step(
                    tool="bash", given={"command": "echo ran > ran.txt", "workdir": str(folder), "description": "run"}
                ),
            ],
            lambda address: {},
        ),
        Real(
            "aider",
            lambda: peers.from_pypi("aider-chat", 900) / "aider",
            "openai/stub-model",
            Step(),
            lambda folder: [],
            lambda address: {"OPENAI_API_KEY": "stub", "OPENAI_API_BASE": f"{address}/v1"},
        ),
    )
}


@dataclass
class Scene:
    """A poisoned repository, and all that a runner would have beside it."""

    folder: Path
    private: Path
    traces: Path

    def ran(self) -> list[str]:
        return sorted(path.name for path in self.traces.iterdir())

    def proposed(self) -> list[str]:
        log = self.private / "proposed"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def scene(repository: Path, tmp_path: Path) -> Scene:
    scene = Scene(repository, tmp_path / "private", tmp_path / "traces")
    poisoned(repository, scene.traces)
    run_git(repository, "add", "-A", "-f")
    run_git(repository, "commit", "-qm", "settings")
    for name in ("home", "empty"):
        (scene.private / name).mkdir(parents=True)
    return scene


def job(real: Real, scene: Scene, way: Way, **more: object) -> AgentJob:
    program = str(_had(real.name, real.get))
    server = (sys.executable, str(FAKE_MCP), str(scene.private / "proposed"))
    fields: dict[str, object] = {"prompt": "--help me", "folder": str(scene.folder), "private": str(scene.private)}
    fields |= {"server": server, "program": program, "model": real.model, "instructions": "Be brief."}
    return AgentJob(way=way, **{**fields, **more})  # type: ignore[arg-type]


def told_of_the_stub(name: str, launch: AgentLaunch, address: str) -> dict[str, bytes]:
    """Return the files with the stub as provider, where that is a matter of settings."""
    files = dict(launch.files)
    if name == "codex":
        provider = f'[model_providers.stub]\nname = "stub"\nbase_url = "{address}/v1"\nenv_key = "OPENAI_API_KEY"\n'
        old = files["codex/config.toml"].decode()
        files["codex/config.toml"] = f'model_provider = "stub"\n{old}\n{provider}'.encode()
    if name == "opencode":
        config = json.loads(files["home/.config/opencode/opencode.json"])
        options = {"baseURL": f"{address}/v1", "apiKey": "stub"}
        models = {"stub-model": {"limit": {"context": 100_000, "output": 4000}}}
        config["provider"] = {"stub": {"npm": "@ai-sdk/openai-compatible", "options": options, "models": models}}
        files["home/.config/opencode/opencode.json"] = json.dumps(config).encode()
    return files


def run(real: Real, wanted: AgentJob, stub: StubModels, record: str = "") -> tuple[list[AgentEvent], AgentEnd]:
    adapter = find_adapter(real.name)
    launch = adapter.launch(wanted)
    for name, content in told_of_the_stub(real.name, launch, stub.address).items():
        path = Path(wanted.private, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **launch.env, **real.keys(stub.address)}
    place = Path(wanted.private, "empty") if launch.start_in == "empty" else Path(wanted.folder)
    done = subprocess.run(
        launch.argv, cwd=place, env=env, input=launch.stdin, capture_output=True, timeout=150, check=False
    )
    if RECORD:
        Path(RECORD, f"{real.name}-{record}.out").write_bytes(done.stdout)
    reader, lines = adapter.reader(), LineSplitter()
    said = [one for line in [*lines.feed(done.stdout), *lines.end()] for one in reader.feed(line)]
    ended = reader.end(done.returncode)
    print(done.stdout[-4000:].decode(), done.stderr[-4000:].decode(), ended, sep="\n")
    return said, ended


ALL_BUT_AIDER = [pytest.param(real, id=name) for name, real in REAL.items() if name != "aider"]


@pytest.mark.parametrize("real", ALL_BUT_AIDER)
def test_a_contained_agent_edits_the_folder_and_none_of_the_repositorys_settings_run(real: Real, scene: Scene) -> None:
    wanted = job(real, scene, "contained")
    with StubModels(*real.edits(scene.folder), Step(text="All done.")) as stub:
        said, ended = run(real, wanted, stub, "contained")
    with StubModels(Step(text="Once more.")) as stub:
        _, again = run(real, job(real, scene, "contained", session=ended.session), stub, "resumed")

    assert scene.ran() == []
    assert (scene.folder / "new.txt").read_text() == "new\n"
    assert (scene.folder / "ran.txt").read_text() == "ran\n"
    assert (ended.ok, ended.reason, ended.message) == (True, "completed", "All done.")
    assert (ended.tokens_in, ended.tokens_out) == (3 * IN, 3 * OUT)
    assert sum(one.kind == "tool_call" for one in said) == 2
    assert (again.ok, again.message, again.session) == (True, "Once more.", ended.session)
    assert any("All done." in json.dumps(body) for _, body in stub.requests), "the session was not taken up"


@pytest.mark.parametrize("real", ALL_BUT_AIDER)
def test_a_proposer_has_our_tools_alone_and_writes_nothing(real: Real, scene: Scene) -> None:
    with StubModels(real.propose, *real.edits(scene.folder), Step(text="Proposed.")) as stub:
        _, ended = run(real, job(real, scene, "proposer"), stub, "proposer")
    offered = stub.offered()

    assert scene.ran() == []
    assert run_git(scene.folder, "status", "--short") == ""
    assert (ended.ok, ended.message) == (True, "Proposed.")
    assert len(scene.proposed()) == 1
    # Codex keeps tools that look and plan; those that write, run or start others are gone.
    left = {name for name in offered if "nexus" not in name}
    writes = {"exec_command", "shell_command", "write_stdin", "apply_patch", "spawn_agent", "multi_agent_v1"}
    assert not left & writes if real.name == "codex" else left <= {"DeferredToolPlaceholder"}


@pytest.mark.parametrize("real", ALL_BUT_AIDER)
def test_what_a_role_may_not_do_is_not_offered(real: Real, scene: Scene) -> None:
    denied = ("shell_command_exec", "file_creation", "file_modification", "file_deletion", "partial_file_edit")
    with StubModels(*real.edits(scene.folder), Step(text="I could not.")) as stub:
        run(real, job(real, scene, "contained", denied=denied), stub, "denied")

    assert not (scene.folder / "new.txt").exists()
    assert not (scene.folder / "ran.txt").exists()
    assert not stub.offered() & {"Bash", "Write", "Edit", "bash", "write", "edit", "exec_command", "write_file"}
    # Nor what nobody listed: the web, other agents, skills.
    unlisted = {
        "web_fetch",
        "google_web_search",
        "invoke_agent",
        "activate_skill",
        "WebFetch",
        "Agent",
        "webfetch",
        "task",
    }
    assert not stub.offered() & (unlisted | {"run_shell_command", "replace"})


FAULTS: tuple[Fault, ...] = ("refused", "no json", "cut", "empty", "flood")
# OpenCode asks again for ever when a stream ends early: that is for the time limit of a run.
ENDLESS = {("opencode", "cut"), ("opencode", "empty")}
BAD = [
    (one, fault)
    for one in REAL.values()
    for fault in FAULTS
    if one.name != "aider" and (one.name, fault) not in ENDLESS
]


@pytest.mark.parametrize(("real", "fault"), [pytest.param(one, fault, id=f"{one.name}-{fault}") for one, fault in BAD])
def test_a_model_that_answers_badly_is_an_end_that_is_not_ok(real: Real, scene: Scene, fault: Fault) -> None:
    with StubModels(fault=fault) as stub:
        _, ended = run(real, job(real, scene, "contained"), stub, fault)

    assert not ended.ok
    assert "\x1b" not in ended.message


@pytest.mark.parametrize(
    ("name", "argv", "trace"),
    [
        pytest.param("claude", ["-p", "--output-format=stream-json", "--verbose"], "claude-hook", id="claude"),
        pytest.param(
            "gemini",
            ["--output-format=stream-json", "--model=gemini-2.5-pro"],
            "gemini-hook",
            id="gemini",
        ),
        pytest.param("codex", ["exec", "--json", "-"], "codex-mcp", id="codex"),
        pytest.param(
            "opencode", ["run", "--format=json", "--pure", "--model=stub/stub-model"], "opencode-plugin", id="opencode"
        ),
    ],
)
def test_the_poison_is_live(name: str, argv: list[str], trace: str, scene: Scene) -> None:
    real = REAL[name]
    wanted = job(real, scene, "contained")
    launch = find_adapter(name).launch(wanted)
    with StubModels(Step(text="Hello.")) as stub:
        env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **launch.env, **real.keys(stub.address)}
        files = told_of_the_stub(name, launch, stub.address)
        if name == "codex":
            files = {file: content.replace(b"untrusted", b"trusted") for file, content in files.items()}
        if name == "gemini":
            security = {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}}
            files = {"home/.gemini/settings.json": json.dumps({"security": security}).encode()}
        for file, content in files.items():
            (scene.private / file).parent.mkdir(parents=True, exist_ok=True)
            (scene.private / file).write_bytes(content)
        (scene.folder / ".gemini" / ".env").unlink()
        subprocess.run(
            [wanted.program, *argv],
            cwd=scene.folder,
            env=env,
            input=b"hi",
            capture_output=True,
            timeout=150,
            check=False,
        )

    assert trace in scene.ran()


def test_aider_edits_the_folder_and_its_tokens_are_read(scene: Scene) -> None:
    real = REAL["aider"]
    wanted = job(real, scene, "contained", server=(), prompt="/run touch ran.txt")
    with StubModels(Step(text="new.txt\n```\nnew\n```\n")) as stub:
        said, ended = run(real, wanted, stub, "contained")

    assert (scene.folder / "new.txt").read_text() == "new\n"
    assert not (scene.folder / "ran.txt").exists()
    assert (ended.ok, ended.tokens_in > 0, ended.tokens_out > 0) == (True, True, True)
    assert [one.text for one in said if one.tool == "edit"] == ["new.txt"]


@pytest.mark.parametrize("real", [pytest.param(real, id=name) for name, real in REAL.items()])
def test_the_version_of_a_program_is_found(real: Real) -> None:
    program = _had(real.name, real.get)

    answer = find_program(program.name, f"{program.parent}:{os.environ['PATH']}")

    assert answer is not None
    assert answer.version.count(".") >= 2
