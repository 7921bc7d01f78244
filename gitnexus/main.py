"""The command table, strings only: `git nexus -h` imports no command."""

import gc
import sys

# section, name, where it is, one line
COMMANDS: tuple[tuple[str, str, str, str], ...] = (
    ("Set up", "init", "gitnexus.cli.init:init", "Make this repository a project."),
    ("Set up", "status", "gitnexus.cli.status:status", "Show one screen: where things stand and what to do next."),
    ("Set up", "doctor", "gitnexus.cli.doctor:doctor", "Check everything; with --fix mend what can be mended."),
    ("Set up", "log", "gitnexus.cli.log:log", "Read the diary of the state: who changed what, and why."),
    ("Set up", "sync", "gitnexus.cli.sync:sync", "Exchange state with another clone."),
    ("Set up", "bundle", "gitnexus.cli.bundle:bundle", "Carry state in a file, where no network joins two clones."),
    ("Set up", "hooks", "gitnexus.cli.hooks:hooks", "Install, remove or look at the git hooks."),
    ("Set up", "harness", "gitnexus.cli.harness:harness", "Put git nexus into the program you work in, and out again."),
    ("Set up", "uninstall", "gitnexus.cli.uninstall:uninstall", "Take git nexus out of this repository."),
    ("Set up", "completion", "gitnexus.cli.completion:completion", "Print the completion script for a shell."),
    ("Runs", "run", "gitnexus.cli.run:run", "Run an agent in a worktree of its own."),
    ("Runs", "route", "gitnexus.cli.workflow:route", "Show which workflow a prompt would become; run nothing."),
    (
        "Runs",
        "workflow",
        "gitnexus.cli.workflow:workflow",
        "Workflows by name: list, show, check, and plans in batches.",
    ),
    ("Runs", "runs", "gitnexus.cli.runs:runs", "List runs and what waits."),
    ("Runs", "review", "gitnexus.cli.runs:review", "Look at what waits for an answer."),
    ("Runs", "approve", "gitnexus.cli.runs:approve", "Say yes to an action of a run."),
    ("Runs", "deny", "gitnexus.cli.runs:deny", "Say no to an action of a run."),
    ("Runs", "answer", "gitnexus.cli.runs:answer_command", "Answer a question of a run's agent."),
    ("Runs", "resume", "gitnexus.cli.run:resume", "Go on with a run."),
    ("Runs", "cancel", "gitnexus.cli.runs:cancel", "End a run where it is."),
    ("Runs", "worker", "gitnexus.cli.worker:worker", "Carry out runs from the queue of a server."),
    ("Runs", "queue", "gitnexus.cli.worker:queue", "Show the runs that wait on a server for a worker."),
    ("Runs", "land", "gitnexus.cli.land:land", "Bring what a run did into the branch you are on."),
    ("Runs", "pr", "gitnexus.cli.pr:pr", "Write and open a pull request for a run."),
    ("Runs", "clean", "gitnexus.cli.clean:clean", "Put away what runs left behind; nothing is lost."),
    ("Runs", "metrics", "gitnexus.cli.metrics:metrics", "Count how well agents do, from the logs of their runs."),
    ("Inside a run", "diff", "gitnexus.cli.runlook:diff", "Show what a run changed."),
    ("Inside a run", "replay", "gitnexus.cli.runlook:replay", "Tell the story of a run, and prove it."),
    ("Inside a run", "artifacts", "gitnexus.cli.runlook:artifacts", "List what a run kept."),
    ("Inside a run", "checkpoint", "gitnexus.cli.runlook:checkpoint", "Put the log of a run on its ref."),
    ("Inside a run", "pack", "gitnexus.cli.pack:pack", "What a model is given to read: build it, show it, prove it."),
    ("Inside a run", "prompt", "gitnexus.cli.prompt:prompt", "Typed questions to a model: list, show, ask one."),
    ("Rules", "verify", "gitnexus.cli.verify:verify", "Say which commits were approved, and prove it."),
    ("Rules", "policy", "gitnexus.cli.policy:policy", "What agents may do: rules, modes, and which of them decides."),
    ("Rules", "approver", "gitnexus.cli.approver:approver", "Whose signature counts: list, add, revoke."),
    ("Tasks", "task", "gitnexus.cli.task:task", "The backlog: add, list, claim, complete, and what to do next."),
    ("Tasks", "show", "gitnexus.cli.tasklook:show", "Show a task and what is around it."),
    ("Tasks", "deps", "gitnexus.cli.network:deps", "Show what a task waits for."),
    ("Tasks", "dependents", "gitnexus.cli.network:dependents", "Show the tasks that wait for one."),
    ("Tasks", "blocking", "gitnexus.cli.network:blocking", "Show all that a task holds up."),
    ("Tasks", "critical-path", "gitnexus.cli.network:critical_path", "Show the longest chain of open tasks."),
    ("Tasks", "discover", "gitnexus.cli.discover:discover", "Find tasks that are related to one."),
    ("Tasks", "search", "gitnexus.cli.discover:search", "Find tasks by words, in all projects."),
    ("Tasks", "graph", "gitnexus.cli.graph:graph", "Draw who waits for whom, in all projects."),
    ("Tasks", "orphans", "gitnexus.cli.network:orphans", "Show dependencies that lead nowhere."),
    ("Tasks", "index", "gitnexus.cli.network:index", "Bring the index of all projects up to date."),
    ("Projects", "register", "gitnexus.cli.register:register", "Put a project into the registry."),
    ("Projects", "project", "gitnexus.cli.project:project", "The projects you have: list, show, rename, move, forget."),
    ("Projects", "prune", "gitnexus.cli.prune:prune", "Forget the projects that are gone."),
    ("Projects", "query", "gitnexus.cli.query:query", "Show a task of any project."),
    ("Projects", "grant", "gitnexus.cli.permissions:grant", "Let one project read, write or execute in another."),
    ("Projects", "revoke", "gitnexus.cli.permissions:revoke", "Go back to the default between two projects."),
    ("Projects", "permissions", "gitnexus.cli.permissions:permissions", "Who may do what, and who did."),
    ("Cycle", "agenda", "gitnexus.cli.agenda:agenda", "What the project is about: agenda, phases, what links them."),
    ("Cycle", "plan", "gitnexus.cli.plan:plan", "The open plan: its questions and what was decided."),
    ("Cycle", "cycle", "gitnexus.cli.cycle:cycle", "The tasks of this cycle, and its end."),
    ("Cycle", "history", "gitnexus.cli.history:history", "Search closed cycles: what was decided, and when."),
    ("Cycle", "memory", "gitnexus.cli.memory:memory", "What was learned here: notes that agents and people keep."),
    ("Cycle", "rule", "gitnexus.cli.rule:rule", "Rules of the project, by tag."),
    ("Cycle", "context", "gitnexus.cli.context:context", "What explains the project."),
    ("Cycle", "agents", "gitnexus.cli.agents:agents", "The roles that agents take, their limits and prompts."),
    ("Cycle", "skills", "gitnexus.cli.skills:skills", "Ways of working, and what a message would start."),
    ("Cycle", "capabilities", "gitnexus.cli.capabilities:capabilities", "What roles may not do."),
    ("Cycle", "catalog", "gitnexus.cli.catalog:catalog", "Check a package of roles and skills of your own."),
    ("Talk", "chat", "gitnexus.tui.command:chat", "Ask, see what happens, and decide: one conversation."),
    ("Talk", "tool", "gitnexus.cli.tool:tool", "Call one of the tools that agents use."),
    ("Talk", "mcp", "gitnexus.mcp.command:mcp", "Serve the tools to an agent over stdio (MCP)."),
    ("Talk", "conformance", "gitnexus.cli.conformance:conformance", "Run the fixtures of the tool contract."),
    ("Talk", "help", "gitnexus.cli.help:help_command", "Show all commands, or how one is used."),
    ("inside", "hook", "gitnexus.hooks.command:hook", "Called by git hooks and hook managers."),
)
# What `git nexus -h` tells of, on one screen; of the others it gives the names.
COMMON = (
    "init", "status", "harness", "run", "review", "approve", "land", "diff", "policy", "verify", "task", "search",
    "graph", "project", "plan", "memory", "chat", "mcp", "help",
)  # fmt: skip
_GIT_HOOKS = ("pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-checkout", "pre-push")


def main() -> None:
    """Run one command and leave with its exit status."""
    arguments = sys.argv[1:]
    if len(arguments) > 1 and arguments[0] == "hook" and arguments[1] in _GIT_HOOKS:
        _leave_for_the_shim(arguments[1:])
    if arguments[:2] == ["hook", "harness"] and len(arguments) == 4 and not arguments[3].startswith("-"):
        _leave_with(_harness_hook(arguments[2:]))
    # Nearly all that a command makes lives to its end: to look for garbage at every 700 objects finds none, and costs a
    # list of 10,000 tasks a fifth of its time.
    gc.set_threshold(50_000)
    from gitnexus.ui.run import run  # the hook path above must not pay for click

    sys.exit(run(COMMANDS, arguments, COMMON))


def _leave_for_the_shim(arguments: list[str]) -> None:
    import os

    from gitnexus.base import shim

    os.execv("/bin/sh", ["sh", shim.source(), *arguments])  # noqa: S606 - no shell string: a script and its arguments


def _harness_hook(arguments: list[str]) -> int:
    try:
        from gitnexus.hooks.harness import run_harness_hook

        return run_harness_hook(arguments)
    except BaseException as exc:  # noqa: BLE001 - a gate that cannot even be loaded does not open
        sys.stderr.write(f"git nexus: {type(exc).__name__}: {exc}\n")
        return 2 if arguments[1] == "pre_tool_use" else 0


def _leave_with(status: int) -> None:
    """Leave at once: to take the interpreter apart costs a process that lives 30 ms a tenth of them."""
    import os

    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


if __name__ == "__main__":
    main()
