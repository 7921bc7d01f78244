"""Runs the commands that prove a step in the sandbox, on exactly the tree that its patch makes; logs each result."""

from collections.abc import Sequence

from gitnexus.base.argvtext import format_words
from gitnexus.base.errors import Failed, NexusError
from gitnexus.base.text import one_line
from gitnexus.events.kinds import shorten_text
from gitnexus.gateway.patching import check_any_patch
from gitnexus.git.private import PrivateGit, private_git
from gitnexus.policy.word_paths import assumed_program_path
from gitnexus.runs.actions.commit import branch_tip
from gitnexus.runs.actions.tool_context import tool_context_for
from gitnexus.runs.command_rules import command_request
from gitnexus.runs.landing.checks import run_check_sandboxed
from gitnexus.runs.open_run import OpenRun
from gitnexus.state.format import project_id_of
from gitnexus.workflow.engine_protocol import NodeAction

_MOST = 20


def prove_patch(run: OpenRun, deed: NodeAction, commands: Sequence[Sequence[str]], *, role: str = "") -> str:
    """Return which of the commands failed on the tree that a patch makes, with its last lines; empty if none did.

    A command that the policy does not allow without a question is not run here. A patch that does not apply proves
    nothing: its proposal says why.
    """
    allowed = [tuple(argv) for argv in commands[:_MOST] if argv and _is_allowed(run, tuple(argv), role)]
    if not allowed or deed.action is None:
        return ""
    with private_git(run.worktree) as git:
        try:
            text = deed.action.diff.encode("utf-8", "surrogateescape")
            done = check_any_patch(git, branch_tip(run), text, tool_context_for(run).rule_on)
        except NexusError:
            return ""
        for argv in allowed:
            if why := _failure_on_tree(run, git, done.result_tree, argv):
                return why
    return ""


def _failure_on_tree(run: OpenRun, git: PrivateGit, tree: str, argv: tuple[str, ...]) -> str:
    words = [shorten_text(word, 1000) for word in argv[:100]]
    try:
        run_check_sandboxed(git, tree, argv)
    except Failed as exc:
        run.log.append("checks.ran", "nexus", {"argv": words, "ok": False, "tree": tree})
        said = str(exc.context.get("output", ""))[-2000:]
        how = exc.message.partition(" failed with ")[2].partition(";")[0] or exc.message
        return f"with this change {one_line(format_words(argv), 200)} fails with {how}:\n{said}"
    run.log.append("checks.ran", "nexus", {"argv": words, "ok": True, "tree": tree})
    return ""


def _is_allowed(run: OpenRun, argv: tuple[str, ...], role: str) -> bool:
    """Return True if the policy lets an agent run a command without a question."""
    project = project_id_of(run.state.snapshot) or "unknown"
    program = assumed_program_path(argv[0])
    request = command_request(project, run.record.id, argv, str(run.worktree_path), program, "none", "L3", role)
    return run.make_gatekeeper().decide(request).verdict == "allow"
