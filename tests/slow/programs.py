"""The programs of agents as a person has them: in ~/.local/bin, keys in the environment, a model on this machine."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.stub_models import Step, StubModels
from tests.slow.conftest import _had
from tests.slow.test_adapters_real import REAL

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")
PATCH = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n"
# Where the stub is, as each program wants it spelled.
BELOW = {"claude": "", "gemini": "", "codex": "/v1", "opencode": "/v1", "aider": "/v1"}
MODELS = {"claude": "", "codex": "gpt-5.5", "gemini": "gemini-2.5-pro", "opencode": "stub/stub-model",
          "aider": "openai/stub-model"}  # fmt: skip


def placed(name: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a program where installers put it, and a key where its maker says."""
    folder = home / ".local" / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).symlink_to(_had(name, REAL[name].get))
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    for key in KEYS:
        monkeypatch.setenv(key, "stub")


class Model(StubModels):
    """A stub that can name the worktree of the one run there is: {folder} in what it gives to tools."""

    def __init__(self, home: Path, *steps: Step) -> None:
        super().__init__(*steps)
        self._home = home

    def step(self, results: int, has_tools: bool) -> Step:
        found = super().step(results, has_tools)
        folder = next((str(one) for one in sorted(self._home.glob("nexus/worktrees/*/*"))), "")
        given = {name: value.replace("{folder}", folder) if isinstance(value, str) else value
                 for name, value in found.given.items()}  # fmt: skip
        return Step(found.text, found.tool, given, found.custom.replace("{folder}", folder), found.namespace)

    def options(self, name: str) -> list[str]:
        """Return what `git nexus run` has to be told to use this model."""
        model = ["--model", MODELS[name]] if MODELS[name] else []
        return ["--agent", name, "--model-url", self.address + BELOW[name], *model]


@dataclass(frozen=True)
class Ways:
    """What a program calls the tools that write a file, run a command, and call one of ours."""

    write: Callable[[str, str], Step]
    run: Callable[[str], Step]
    ours: Callable[[str, Mapping[str, Any]], Step]


WAYS = {
    "claude": Ways(
        lambda file, text: Step(tool="Write", given={"file_path": f"{{folder}}/{file}", "content": text}),
        lambda line: Step(tool="Bash", given={"command": line}),
        lambda tool, given: Step(tool=f"mcp__nexus__{tool}", given=given),
    ),
    "codex": Ways(
        lambda file, text: Step(
            custom=f"*** Begin Patch\n*** Add File: {file}\n+{text.rstrip()}\n*** End Patch",
        ),
        lambda line: Step(tool="exec_command", given={"cmd": line}),
        lambda tool, given: Step(tool=tool, namespace="mcp__nexus", given=given),
    ),
    "gemini": Ways(
        lambda file, text: Step(tool="write_file", given={"file_path": f"{{folder}}/{file}", "content": text}),
        lambda line: Step(tool="run_shell_command", given={"command": line, "dir_path": "{folder}"}),
        lambda tool, given: Step(tool=f"mcp_nexus_{tool}", given=given),
    ),
    "opencode": Ways(
        lambda file, text: Step(tool="write", given={"filePath": f"{{folder}}/{file}", "content": text}),
        lambda line: Step(tool="bash", given={"command": line, "workdir": "{folder}", "description": "run"}),
        lambda tool, given: Step(tool=f"nexus_{tool}", given=given),
    ),
}
