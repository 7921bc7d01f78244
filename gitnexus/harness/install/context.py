"""The input of an installation plan: the program, the target folder, the catalog, and how to call git nexus."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gitnexus.base.files import expand_home
from gitnexus.catalog import Catalog
from gitnexus.catalog.harnesses import Harness
from gitnexus.harness.install.model import Scope
from gitnexus.harness.model import Event

# Seconds. The gate answers well before; what it cannot answer in time, three of four programs would let run.
GATE_SECONDS = 30
OTHER_SECONDS = 15


@dataclass(frozen=True, slots=True)
class InstallContext:
    """The input of a plan. `root` is the top of the project or the user's home; `call` is how git nexus is started.

    `denied` are the program's tools that each role may not call; `tools` are all of ours, by their plain names.
    """

    harness: Harness
    scope: Scope
    root: Path
    call: tuple[str, ...]
    catalog: Catalog
    denied: Mapping[str, tuple[str, ...]]
    tools: tuple[str, ...]
    environ: Mapping[str, str]

    def home(self, variable: str, default: str) -> Path:
        """Return the folder of a program's user configuration: from its environment variable, or below the home."""
        given = self.environ.get(variable)
        return expand_home(given) if given else self.root / default

    def server(self, harness: str) -> list[str]:
        """Return the command line of our MCP server."""
        return [*self.call, "mcp", "--harness", harness]

    def hook(self, event: Event) -> str:
        """Return the shell line for an event. Only the gate may block; it also blocks if git nexus is missing."""
        return hook_shell_line(self.call, self.harness.id, event)

    def prefixed_tool_name(self, tool: str) -> str:
        """Return the name that one of our tools has in the program."""
        first = self.harness.tools_of_class("nexus_task_creation")[0]
        return first.removesuffix("nx_task_add") + tool


def hook_shell_line(call: tuple[str, ...], harness: str, event: Event) -> str:
    """Return the shell line that a hook runs."""
    line = f"{shlex.join(call)} hook harness {harness} {event}"
    if event != "pre_tool_use":
        return f"{line} || :"
    words = (
        "git nexus did not answer, so nothing is run. Is it installed? "
        f"git nexus harness doctor {harness} tells more; git nexus harness uninstall {harness} takes this hook out."
    )
    return f"{line} || {{ [ $? = 2 ] || echo {shlex.quote(words)} >&2; exit 2; }}"


def quote_for_config(text: str) -> str:
    """Return a text quoted on one line so that YAML, TOML and JSON all parse it to the same text."""
    return json.dumps(text, ensure_ascii=False)
