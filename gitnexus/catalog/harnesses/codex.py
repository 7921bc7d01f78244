"""The tools of Codex."""

from gitnexus.catalog.harnesses.harness import Harness, own_tools_by_class

_PATCH = ("apply_patch",)
# Which of the two shells a model gets depends on the model; hooks see both as `Bash`. `exec`, which some models get
# instead of single tools, evaluates in a sandbox of its own and reaches files and commands through these.
_SHELL = ("exec_command", "shell_command", "Bash")

CODEX = Harness(
    id="codex",
    name="Codex",
    tools={
        "file_creation": _PATCH,
        "file_modification": _PATCH,
        "file_deletion": _PATCH,
        "partial_file_edit": _PATCH,
        "structured_document_edit": _PATCH,
        "shell_command_exec": _SHELL,
        "subprocess_spawn": _SHELL,
        "interactive_shell_session": (*_SHELL, "write_stdin"),
        "subagent_session_create": ("spawn_agent", "resume_agent", "send_input", "followup_task"),
        "structured_user_prompt": ("request_user_input",),
        **own_tools_by_class(lambda name: f"mcp__nexus__{name}"),
    },
    # Files are read with commands; a command line does not tell reliably which.
    reads=(),
    observes_reads=False,
    notes={
        "resume_invocation": (
            "An agent is started with spawn_agent, which answers with its id. To go on with it, send_input with that "
            "id, after resume_agent if it was closed; where the model has followup_task, that does both. wait_agent "
            "waits for the answer. Another spawn_agent starts afresh. Where these tools are not offered there are no "
            "other agents: do the work in this session, under the rules of the role. A whole session is taken up from "
            "outside with: codex exec resume ID."
        ),
        "instruction_file": (
            "The file that sessions here read at the start is AGENTS.md at the top of the repository; one in a folder "
            "below adds to it for that folder, and ~/.codex/AGENTS.md is the person's own for all projects."
        ),
        "slash_command_display": (
            "Codex does not show prompts of MCP servers as slash commands. Say so to the person: skills are started by "
            "a tag at the start of a line, [plan], [run] or [sync], where the hooks of git nexus are installed, and "
            "otherwise by asking for them by name."
        ),
    },
)
