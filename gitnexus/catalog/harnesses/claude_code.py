"""The tools of Claude Code."""

from gitnexus.catalog.harnesses.harness import AbsentTool, Harness, ReadTool, own_tools_by_class

# `Monitor` runs a command and reports its lines; `PowerShell` is there instead of or beside Bash on Windows.
_SHELL = ("Bash", "PowerShell", "Monitor")

CLAUDE_CODE = Harness(
    id="claude-code",
    name="Claude Code",
    tools={
        "file_creation": ("Write",),
        "file_modification": ("Write", "Edit", "NotebookEdit"),
        "file_deletion": AbsentTool("no tool deletes; that goes through Bash, which no_shell_exec denies"),
        "partial_file_edit": ("Edit",),
        "structured_document_edit": ("NotebookEdit",),
        "shell_command_exec": _SHELL,
        "subprocess_spawn": _SHELL,
        "interactive_shell_session": (*_SHELL, "TaskOutput", "TaskStop"),
        # The tool is `Agent` for the model and `Task` in settings and in the list that a session begins with.
        # `SendMessage` takes up an agent that was started before.
        "subagent_session_create": ("Agent", "Task", "SendMessage", "Workflow", "RemoteTrigger"),
        "structured_user_prompt": ("AskUserQuestion",),
        **own_tools_by_class(lambda name: f"mcp__nexus__{name}"),
    },
    reads=(ReadTool("Read", ("file_path",)),),
    observes_reads=True,
    notes={
        "resume_invocation": (
            "An agent is started with the tool Agent (subagent_type, prompt) and answers with one message; the result "
            "names its agent id. To go on with it, call SendMessage with that id in `to`: it still knows everything. "
            "Another call of Agent always starts afresh, with a prompt that must stand alone. If SendMessage is not "
            "offered or the id is no longer known, start afresh."
        ),
        "instruction_file": (
            "The file that sessions here read at the start is CLAUDE.md at the top of the repository; "
            ".claude/CLAUDE.md counts too, and ~/.claude/CLAUDE.md is the person's own for all projects. "
            "CLAUDE.local.md is theirs alone. A line @path takes in another file."
        ),
        "slash_command_display": (
            "Skills of git nexus are prompts of the MCP server nexus and are shown as /mcp__nexus__nx-plan, "
            "/mcp__nexus__nx-run, /mcp__nexus__nx-sync and /mcp__nexus__nx-init. The tags [plan], [run] and [sync] at "
            "the start of a line do the same where the hooks of git nexus are installed."
        ),
    },
)
