"""Runs the commands that prove a step in the sandbox, on exactly the tree that its patch makes; logs each result."""

from collections.abc import Sequence

from gitnexus.base.argvtext import format_words
from gitnexus.base.errors import Failed, NexusError
from gitnexus.base.text import one_line
from gitnexus.events.kinds import shorten_text
from gitnexus.gateway.patching import check_any_patch
from gitnexus.git.commits import tree_of_commit
from gitnexus.git.private import PrivateGit, private_git
from gitnexus.policy.model import CommandRequest
from gitnexus.policy.word_paths import assumed_program_path
from gitnexus.runs.actions.commit import branch_tip
from gitnexus.runs.actions.propose import read_proposed_request
from gitnexus.runs.actions.tool_context import tool_context_for
from gitnexus.runs.command_rules import command_request
from gitnexus.runs.landing.checks import run_check_sandboxed
from gitnexus.runs.open_run import OpenRun
from gitnexus.state.format import project_id_of
from gitnexus.workflow.engine_protocol import ON_COMMIT, CommitProof, NodeAction

_MOST = 20


def prove_patch(run: OpenRun, node_action: NodeAction, commands: Sequence[Sequence[str]], *, role: str = "") -> str:
    """Return which of the commands failed on the tree that a patch makes, with its last lines; empty if none did.

    A command that the policy does not allow without a question is not run here. A patch that does not apply proves
    nothing: its proposal says why.
    """
    given = [tuple(argv) for argv in commands[:_MOST] if argv]
    allowed = [argv for argv in given if _verdict_on(run, argv, role) == "allow"]
    if not allowed or node_action.action is None:
        return ""
    with private_git(run.worktree) as git:
        try:
            text = node_action.action.diff.encode("utf-8", "surrogateescape")
            done = check_any_patch(git, branch_tip(run), text, tool_context_for(run).rule_on)
        except NexusError:
            return ""
        for argv in allowed:
            if why := _failure_on_tree(run, git, done.result_tree, argv, "with this change"):
                return why
    return ""


def prove_commit(run: OpenRun, node: str, commands: Sequence[Sequence[str]], *, role: str = "") -> CommitProof:
    """Return which command failed on what is on the run's branch, and which need a yes before they run.

    What ran there and passed already, as a check or as an action of the node, is not repeated. What the policy denies
    is left out.
    """
    with private_git(run.repo) as git:
        tree = tree_of_commit(git, branch_tip(run))
        passed = _passed_commands(run, node, tree)
        asks = []
        for argv in [tuple(argv) for argv in commands[:_MOST] if argv]:
            if _logged_words(argv) in passed:
                continue
            verdict = _verdict_on(run, argv, role)
            if verdict == "ask":
                asks.append(argv)
            elif verdict == "allow" and (why := _failure_on_tree(run, git, tree, argv, ON_COMMIT)):
                return CommitProof(why)
    return CommitProof(asks=asks)


def _passed_commands(run: OpenRun, node: str, tree: str) -> set[tuple[str, ...]]:
    """Return the commands that passed on a tree, or as actions of a node after its last commit."""
    mine = {name for name, one in run.view().actions.items() if one.node == node}
    checked: set[tuple[str, ...]] = set()
    acted: set[tuple[str, ...]] = set()
    for event in run.events():
        body = event.body
        if event.kind == "checks.ran" and body["ok"] and body.get("tree") == tree:
            checked.add(tuple(body["argv"]))
        elif event.kind == "run.committed" and body["action"] in mine:
            acted.clear()
        elif event.kind == "tool.executed" and body["ok"] and body["action"] in mine:
            request = read_proposed_request(run, body["action"])
            if isinstance(request, CommandRequest):
                acted.add(_logged_words(request.argv))
    return checked | acted


def _logged_words(argv: Sequence[str]) -> tuple[str, ...]:
    return tuple(shorten_text(word, 1000) for word in argv[:100])


def _failure_on_tree(run: OpenRun, git: PrivateGit, tree: str, argv: tuple[str, ...], when: str) -> str:
    words = list(_logged_words(argv))
    try:
        run_check_sandboxed(git, tree, argv)
    except Failed as exc:
        run.log.append("checks.ran", "nexus", {"argv": words, "ok": False, "tree": tree})
        said = str(exc.context.get("output", ""))[-2000:]
        how = exc.message.partition(" failed with ")[2].partition(";")[0] or exc.message
        return f"{when} {one_line(format_words(argv), 200)} fails with {how}:\n{said}"
    run.log.append("checks.ran", "nexus", {"argv": words, "ok": True, "tree": tree})
    return ""


def _verdict_on(run: OpenRun, argv: tuple[str, ...], role: str) -> str:
    """Return what the policy says to an agent that runs a command."""
    project = project_id_of(run.state.snapshot) or "unknown"
    program = assumed_program_path(argv[0])
    request = command_request(project, run.record.id, argv, str(run.worktree_path), program, "none", "L3", role)
    return run.make_gatekeeper().decide(request).verdict
