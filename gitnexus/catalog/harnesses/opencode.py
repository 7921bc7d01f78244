"""The tools of OpenCode."""

from gitnexus.catalog.harnesses.harness import AbsentTool, Harness, ReadTool, own_tools_by_class

# A model gets either edit and write, or apply_patch.
_EDIT = ("edit", "write", "apply_patch")

OPENCODE = Harness(
    id="opencode",
    name="OpenCode",
    tools={
        "file_creation": ("write", "apply_patch"),
        "file_modification": _EDIT,
        "file_deletion": ("apply_patch",),
        "partial_file_edit": ("edit", "apply_patch"),
        "structured_document_edit": _EDIT,
        "shell_command_exec": ("bash",),
        "subprocess_spawn": ("bash",),
        "interactive_shell_session": AbsentTool("bash runs one command to its end; no shell stays open"),
        "subagent_session_create": ("task",),
        "structured_user_prompt": ("question",),
        **own_tools_by_class(lambda name: f"nexus_{name}"),
    },
    reads=(ReadTool("read", ("filePath",)),),
    observes_reads=True,
    notes={
        "resume_invocation": (
            "An agent is started with the tool task (subagent_type, description, prompt); its answer holds a task_id. "
            "To go on with it, call task with that task_id: it has its earlier messages and results. Without it "
            "the agent starts afresh. That task_id has nothing to do with the tasks of the cycle."
        ),
        "instruction_file": (
            "The file that sessions here read at the start is AGENTS.md at the top of the repository (CLAUDE.md if "
            "there is none), and ~/.config/opencode/AGENTS.md for all projects of the person. `instructions` in "
            "opencode.json may name more files."
        ),
        "slash_command_display": (
            "Skills of git nexus are prompts of the MCP server nexus and are shown as /nexus:nx-plan:mcp, "
            "/nexus:nx-run:mcp, /nexus:nx-sync:mcp and /nexus:nx-init:mcp. The tags [plan], [run] and [sync] at the "
            "start of a line do the same where the plugin of git nexus is installed."
        ),
    },
)
