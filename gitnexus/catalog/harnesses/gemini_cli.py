"""The tools of Gemini CLI."""

from gitnexus.catalog.harnesses.harness import AbsentTool, Harness, ReadTool, own_tools_by_class

_EDIT = ("replace", "write_file")
_SHELL = ("run_shell_command",)

GEMINI_CLI = Harness(
    id="gemini-cli",
    name="Gemini CLI",
    tools={
        "file_creation": ("write_file",),
        "file_modification": _EDIT,
        "file_deletion": AbsentTool("no tool deletes; that goes through run_shell_command, which no_shell_exec denies"),
        "partial_file_edit": ("replace",),
        "structured_document_edit": _EDIT,  # notebooks are text here
        "shell_command_exec": _SHELL,
        "subprocess_spawn": _SHELL,
        "interactive_shell_session": (*_SHELL, "list_background_processes", "read_background_output"),
        "subagent_session_create": ("invoke_agent",),
        "structured_user_prompt": ("ask_user",),
        **own_tools_by_class(lambda name: f"mcp_nexus_{name}"),
    },
    reads=(
        ReadTool("read_file", ("file_path", "absolute_path")),  # the second in older versions
        ReadTool("read_many_files", ("include", "paths")),
    ),
    observes_reads=True,
    notes={
        "resume_invocation": (
            "An agent is started with the tool invoke_agent (agent_name, prompt) and answers once. It cannot be taken "
            "up again: every call starts afresh, so put into the prompt what an earlier one found. That is no error. "
            "The person can take up a whole session with: gemini -r latest."
        ),
        "instruction_file": (
            "The file that sessions here read at the start is GEMINI.md at the top of the repository, and "
            "~/.gemini/GEMINI.md for all projects of the person. context.fileName in .gemini/settings.json may name "
            "another one, such as AGENTS.md: look there first."
        ),
        "slash_command_display": (
            "Skills of git nexus are prompts of the MCP server nexus and are shown as /nx-plan, /nx-run, /nx-sync and "
            "/nx-init; /mcp lists them. The tags [plan], [run] and [sync] at the start of a line do the same where the "
            "hooks of git nexus are installed."
        ),
    },
)
