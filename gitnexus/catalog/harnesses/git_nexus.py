"""The tools of git nexus itself: the gateway's tools, and those offered over MCP."""

from gitnexus.catalog.harnesses.harness import AbsentTool, Harness, ReadTool, own_tools_by_class

_PATCH = ("repo.apply_patch",)
_RUN = ("cmd.run", "tests.run")

GIT_NEXUS = Harness(
    id="git-nexus",
    name="git nexus",
    tools={
        "file_creation": _PATCH,
        "file_modification": _PATCH,
        "file_deletion": _PATCH,
        "partial_file_edit": _PATCH,
        "structured_document_edit": _PATCH,
        "shell_command_exec": _RUN,
        "subprocess_spawn": _RUN,
        "interactive_shell_session": AbsentTool(
            "the gateway runs one list of arguments to its end; no shell stays open"
        ),
        # They only write down that an agent was started: who may start none has nothing to write down.
        "subagent_session_create": ("nx_agent_spawn", "nx_agent_resume"),
        "structured_user_prompt": AbsentTool(
            "no tool of ours asks a person; the gate does, about actions and by itself"
        ),
        **own_tools_by_class(lambda name: name),
    },
    reads=(ReadTool("repo.read_file", ("path",)),),
    observes_reads=False,  # through our own tools, yes; what the program behind them reads by itself, no
    notes={
        "resume_invocation": (
            "Agents are started by the program that you run in. nx_task_resume and nx_plan_resume "
            "tell whether an earlier session is worth going on with. If this program can take it up, do; if it cannot, "
            "start afresh with a brief that stands alone. That is no error."
        ),
        "instruction_file": (
            "Which file a program reads at the start differs: CLAUDE.md for Claude Code, GEMINI.md for Gemini CLI, "
            "AGENTS.md for Codex, OpenCode and most others. Look which of them is there, and ask if it is none."
        ),
        "slash_command_display": (
            "Skills of git nexus are prompts of its MCP server; most programs show them as slash commands, each in its "
            "own spelling. `git nexus skills` lists them. The tags [plan], [run] and [sync] at the start of a line do "
            "the same where the hooks of git nexus are installed."
        ),
    },
)
