"""What a plan is made from: the program, the place, the catalog as it holds there, and how we are called."""

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
class Kit:
    """`root` is the top of the project, or the person's home; `call` is how git nexus is started.

    `denied` are the tools of the program that each role may not call; `tools` are all of ours, by their plain names.
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
        """Return the folder where a program keeps what is the person's: a variable of its own, or below the home."""
        given = self.environ.get(variable)
        return expand_home(given) if given else self.root / default

    def server(self, harness: str) -> list[str]:
        """Return the command line of our MCP server."""
        return [*self.call, "mcp", "--harness", harness]

    def hook(self, event: Event) -> str:
        """Return the shell line for an event. Only the gate may stop anything: it does also where we are missing."""
        return hook_line(self.call, self.harness.id, event)

    def prefixed(self, tool: str) -> str:
        """Return one of our tools as the program names it."""
        first = self.harness.denied_by("nexus_task_creation")[0]
        return first.removesuffix("nx_task_add") + tool


def hook_line(call: tuple[str, ...], harness: str, event: Event) -> str:
    """Return the shell line that a hook runs."""
    line = f"{shlex.join(call)} hook harness {harness} {event}"
    if event != "pre_tool_use":
        return f"{line} || :"
    words = (
        "git nexus did not answer, so nothing is run. Is it installed? "
        f"git nexus harness doctor {harness} tells more; git nexus harness uninstall {harness} takes this hook out."
    )
    return f"{line} || {{ [ $? = 2 ] || echo {shlex.quote(words)} >&2; exit 2; }}"


def quoted(text: str) -> str:
    """Return a text as one line that YAML, TOML and JSON all read as this text."""
    return json.dumps(text, ensure_ascii=False)
