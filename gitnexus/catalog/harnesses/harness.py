"""The description of a harness: what each of its tools does, how it reads files, and what its agents need to know."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

Topic = Literal["resume_invocation", "instruction_file", "slash_command_display"]
TOPICS: tuple[Topic, ...] = ("resume_invocation", "instruction_file", "slash_command_display")

# The semantic classes of the contract, and those of the three capabilities that came later.
KNOWN_CLASSES: tuple[str, ...] = (
    "file_creation",
    "file_modification",
    "file_deletion",
    "partial_file_edit",
    "structured_document_edit",
    "nexus_task_creation",
    "nexus_task_state_transition",
    "nexus_task_metadata_modification",
    "shell_command_exec",
    "subprocess_spawn",
    "interactive_shell_session",
    "nexus_cycle_close",
    "subagent_session_create",
    "structured_user_prompt",
)
# Our own tools by class, the same in every harness but for what it puts before their names.
_OURS: dict[str, tuple[str, ...]] = {
    "nexus_task_creation": ("nx_task_add", "nx_plan_tasks"),
    "nexus_task_state_transition": ("nx_task_update", "nx_task_close"),
    "nexus_task_metadata_modification": ("nx_task_update",),
    "nexus_cycle_close": ("nx_task_close",),
}


@dataclass(frozen=True, slots=True)
class AbsentTool:
    """No tool of the harness does this, and why that is so."""

    why: str


@dataclass(frozen=True, slots=True)
class ReadTool:
    """A tool that reads files, and the input fields that may contain a path or paths."""

    name: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Harness:
    """One row of the table."""

    id: str
    name: str
    tools: Mapping[str, tuple[str, ...] | AbsentTool]
    reads: tuple[ReadTool, ...]
    observes_reads: bool
    notes: Mapping[Topic, str]

    def tools_of_class(self, semantic_class: str) -> tuple[str, ...]:
        """Return the tools that do what a semantic class names."""
        found = self.tools[semantic_class]
        return () if isinstance(found, AbsentTool) else found


def own_tools_by_class(prefixed: Callable[[str], str]) -> dict[str, tuple[str, ...]]:
    """Return our own tools by class, as a harness names the tools of a server called nexus."""
    return {kind: tuple(prefixed(name) for name in names) for kind, names in _OURS.items()}
