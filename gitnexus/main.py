"""The command table, strings only: `git nexus -h` imports no command."""

import gc
import os
import sys

from gitnexus.base import shim

# section, name, where it is, one line
COMMANDS: tuple[tuple[str, str, str, str], ...] = (
    ("Set up", "init", "gitnexus.cli.init:init_repository", "Make this repository a project."),
    (
        "Set up",
        "status",
        "gitnexus.cli.status:show_status",
        "Show the state of the project on one screen, and what to do next.",
    ),
    (
        "Set up",
        "doctor",
        "gitnexus.cli.doctor:examine_setup",
        "Check everything; with --fix repair what can be repaired.",
    ),
    ("Set up", "log", "gitnexus.cli.log:show_state_log", "Show the history of the state: who changed what, and why."),
    ("Set up", "sync", "gitnexus.cli.sync:sync_state", "Exchange state with another clone."),
    (
        "Set up",
        "bundle",
        "gitnexus.cli.bundle:bundle",
        "Exchange state as a file between clones that share no network.",
    ),
    ("Set up", "hooks", "gitnexus.cli.hooks:hooks", "Install, remove or show the git hooks."),
    ("Set up", "harness", "gitnexus.cli.harness:harness", "Add git nexus to the program you work in, or remove it."),
    (
        "Set up",
        "uninstall",
        "gitnexus.cli.uninstall:uninstall_from_repository",
        "Remove git nexus from this repository.",
    ),
    (
        "Set up",
        "completion",
        "gitnexus.cli.completion:print_completion_script",
        "Print the completion script for a shell.",
    ),
    ("Runs", "run", "gitnexus.cli.run.run:run_agent_or_workflow", "Run an agent in its own worktree."),
    ("Runs", "route", "gitnexus.cli.route:show_route", "Show which workflow a prompt would become; run nothing."),
    (
        "Runs",
        "workflow",
        "gitnexus.cli.workflow:workflow",
        "Workflows by name: list, show, check, and plans in batches.",
    ),
    ("Runs", "runs", "gitnexus.cli.run.runs:show_runs", "List runs and what waits."),
    ("Runs", "review", "gitnexus.cli.run.review:review_runs", "Show what waits for an answer."),
    ("Runs", "approve", "gitnexus.cli.run.approve:approve_actions", "Approve an action of a run."),
    ("Runs", "deny", "gitnexus.cli.run.deny:deny_actions", "Deny an action of a run."),
    ("Runs", "answer", "gitnexus.cli.run.answer:answer_agent", "Answer a question of a run's agent."),
    ("Runs", "resume", "gitnexus.cli.run.resume:resume_run", "Continue a run."),
    ("Runs", "cancel", "gitnexus.cli.run.cancel:end_run", "Stop a run; its branch stays."),
    ("Runs", "worker", "gitnexus.cli.worker:run_worker", "Execute runs from the queue of a server."),
    ("Runs", "queue", "gitnexus.cli.queue:show_queue", "Show the runs that wait on a server for a worker."),
    (
        "Runs",
        "land",
        "gitnexus.cli.run.land:land_finished_run",
        "Merge the approved commits of a run into the current branch.",
    ),
    ("Runs", "pr", "gitnexus.cli.run.pr:create_pull_request", "Write and open a pull request for a run."),
    (
        "Runs",
        "clean",
        "gitnexus.cli.run.clean:clean_up_runs",
        "Remove what finished runs left behind; nothing is lost.",
    ),
    ("Runs", "metrics", "gitnexus.cli.metrics:show_metrics", "Show figures for each agent, from the logs of its runs."),
    ("Inside a run", "diff", "gitnexus.cli.run.diff:show_run_diff", "Show what a run changed."),
    ("Inside a run", "replay", "gitnexus.cli.run.replay:replay_run", "Show what happened in a run, and prove it."),
    ("Inside a run", "artifacts", "gitnexus.cli.run.artifacts:show_artifacts", "List the artifacts of a run."),
    ("Inside a run", "checkpoint", "gitnexus.cli.run.checkpoint:checkpoint_run", "Store the log of a run on its ref."),
    (
        "Inside a run",
        "pack",
        "gitnexus.cli.pack:pack",
        "Context packs, which a model reads: build, show and check them.",
    ),
    (
        "Inside a run",
        "model",
        "gitnexus.cli.model:model",
        "Language models: set one up, test it, say which roles use it.",
    ),
    (
        "Inside a run",
        "toolpack",
        "gitnexus.cli.toolpack:toolpack",
        "The project's own tools for agents: list and check them.",
    ),
    ("Inside a run", "prompt", "gitnexus.cli.prompt:prompt", "Typed questions to a model: list, show, ask one."),
    ("Rules", "verify", "gitnexus.cli.verify:verify_history", "Show which commits were approved, and prove it."),
    ("Rules", "policy", "gitnexus.cli.policy:policy", "What agents may do: rules, modes, and which of them decides."),
    ("Rules", "approver", "gitnexus.cli.approver:approver", "Whose signature counts: list, add, revoke."),
    ("Tasks", "task", "gitnexus.cli.task:task", "The backlog: add, list, claim, complete, and what to do next."),
    ("Tasks", "show", "gitnexus.cli.task.show:show_task", "Show a task with its subtasks and dependencies."),
    ("Tasks", "deps", "gitnexus.cli.graph.deps:show_dependencies", "Show what a task waits for."),
    ("Tasks", "dependents", "gitnexus.cli.graph.dependents:show_dependents", "Show the tasks that wait for one."),
    ("Tasks", "blocking", "gitnexus.cli.graph.blocking:show_blocked_tasks", "Show all tasks that a task blocks."),
    (
        "Tasks",
        "critical-path",
        "gitnexus.cli.graph.critical_path:show_critical_path",
        "Show the longest chain of open tasks.",
    ),
    ("Tasks", "discover", "gitnexus.cli.graph.discover:discover_related_tasks", "Find tasks that are related to one."),
    ("Tasks", "search", "gitnexus.cli.graph.search:search_all_projects", "Find tasks by words, in all projects."),
    ("Tasks", "graph", "gitnexus.cli.graph.graph:draw_graph", "Draw the dependencies between tasks, in all projects."),
    ("Tasks", "orphans", "gitnexus.cli.graph.orphans:show_orphans", "Show dependencies that lead nowhere."),
    ("Tasks", "index", "gitnexus.cli.graph.index:update_index", "Bring the index of all projects up to date."),
    ("Projects", "register", "gitnexus.cli.register:register_folder", "Add a project to the registry."),
    ("Projects", "project", "gitnexus.cli.project:project", "The projects you have: list, show, rename, move, forget."),
    (
        "Projects",
        "prune",
        "gitnexus.cli.prune:prune_registry",
        "Remove projects that no longer exist from the registry.",
    ),
    ("Projects", "query", "gitnexus.cli.query:query_task", "Show a task of any project."),
    (
        "Projects",
        "grant",
        "gitnexus.cli.grant:grant_project_permission",
        "Allow one project to read, write or execute in another.",
    ),
    (
        "Projects",
        "revoke",
        "gitnexus.cli.revoke:revoke_project_permission",
        "Go back to the default between two projects.",
    ),
    ("Projects", "permissions", "gitnexus.cli.permissions:show_permissions", "Who may do what, and who did."),
    ("Cycle", "agenda", "gitnexus.cli.agenda:agenda", "What the project is about: agenda, phases, what links them."),
    ("Cycle", "plan", "gitnexus.cli.plan:plan", "The open plan: its questions and what was decided."),
    ("Cycle", "cycle", "gitnexus.cli.cycle:cycle", "The tasks of this cycle, and its end."),
    (
        "Cycle",
        "history",
        "gitnexus.cli.history:search_closed_cycles",
        "Search closed cycles: what was decided, and when.",
    ),
    ("Cycle", "memory", "gitnexus.cli.memory:memory", "What was learned here: notes that agents and people keep."),
    ("Cycle", "rule", "gitnexus.cli.rule:rule", "Rules of the project, by tag."),
    ("Cycle", "context", "gitnexus.cli.context:context", "What explains the project."),
    ("Cycle", "agents", "gitnexus.cli.agents:show_agents", "The roles that agents take, their limits and prompts."),
    ("Cycle", "skills", "gitnexus.cli.skills:show_skills", "Ways of working, and what a message would start."),
    ("Cycle", "capabilities", "gitnexus.cli.capabilities:show_capabilities", "What roles may not do."),
    ("Cycle", "catalog", "gitnexus.cli.catalog:catalog", "Check a package of roles and skills of your own."),
    ("Talk", "chat", "gitnexus.tui.command:chat", "Ask, see what happens, and decide: one conversation."),
    ("Talk", "tool", "gitnexus.cli.tool:call_or_list_tools", "Call one of the tools that agents use."),
    ("Talk", "mcp", "gitnexus.mcp.command:mcp", "Serve the tools to an agent over stdio (MCP)."),
    ("Talk", "conformance", "gitnexus.cli.conformance:run_conformance", "Run the fixtures of the tool contract."),
    ("Talk", "help", "gitnexus.cli.help:show_help", "Show all commands, or how one is used."),
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
    from gitnexus.ui.run import run_command_line  # the hook path above must not pay for click

    sys.exit(run_command_line(COMMANDS, arguments, COMMON))


def _leave_for_the_shim(arguments: list[str]) -> None:
    os.execv("/bin/sh", ["sh", shim.shim_source_path(), *arguments])  # noqa: S606 - no shell string: a script and its arguments


def _harness_hook(arguments: list[str]) -> int:
    try:
        from gitnexus.hooks.harness import run_harness_hook

        return run_harness_hook(arguments)
    except BaseException as exc:  # noqa: BLE001 - a gate that cannot even be loaded does not open
        sys.stderr.write(f"git nexus: {type(exc).__name__}: {exc}\n")
        return 2 if arguments[1] == "pre_tool_use" else 0


def _leave_with(status: int) -> None:
    """Leave at once: to take the interpreter apart costs a process that lives 30 ms a tenth of them."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


if __name__ == "__main__":
    main()
