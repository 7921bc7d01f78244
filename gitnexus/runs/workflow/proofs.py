"""Runs the commands that prove a step in the sandbox, on exactly the tree that its patch makes; logs each result."""

import os
from collections.abc import Sequence
from typing import NamedTuple

from gitnexus.base.argvtext import format_words
from gitnexus.base.errors import Failed, Invalid, NexusError, NotFound
from gitnexus.base.text import one_line
from gitnexus.events.kinds import shorten_text
from gitnexus.gateway.patching import check_any_patch
from gitnexus.gateway.sandboxed import tool_folders
from gitnexus.git.commits import tree_of_commit
from gitnexus.git.diff_text import changed_line_counts
from gitnexus.git.private import PrivateGit, private_git
from gitnexus.git.tree_diff import TreeChange
from gitnexus.git.worktree_tree import write_worktree_tree
from gitnexus.policy.model import CommandRequest
from gitnexus.runs.actions.commit import branch_tip
from gitnexus.runs.actions.joint_proofs import decide_on_proof
from gitnexus.runs.actions.propose import read_proposed_request
from gitnexus.runs.actions.tool_context import tool_context_for
from gitnexus.runs.check_folder import run_proof_sandboxed
from gitnexus.runs.open_run import OpenRun
from gitnexus.sandbox.environment import command_environment
from gitnexus.sandbox.program import resolve_program
from gitnexus.workflow.engine_protocol import ON_COMMIT, CommitProof, NodeAction
from gitnexus.workflow.specialist import StepLimits

_MOST = 20


class ProposedTree(NamedTuple):
    """The tree that a proposal makes of the last commit on the run's branch, and what it changes."""

    base_tree: str
    result_tree: str
    changes: tuple[TreeChange, ...]


def proposed_tree(run: OpenRun, git: PrivateGit, node_action: NodeAction) -> ProposedTree | None:
    """Return the tree of a patch, or of what an agent left in the worktree; None if there is no such tree.

    A patch that does not apply has none: its proposal says why.
    """
    try:
        if node_action.kind == "tree":
            left = write_worktree_tree(git, run.worktree_path, branch_tip(run), run.stamps)
            return ProposedTree(left.base_tree, left.result_tree, left.changes) if left.changes else None
        if node_action.kind != "patch" or node_action.action is None:
            return None
        text = node_action.action.diff.encode("utf-8", "surrogateescape")
        done = check_any_patch(git, branch_tip(run), text, tool_context_for(run).rule_on)
    except NexusError:
        return None
    return ProposedTree(done.base_tree, done.result_tree, done.changes)


def prove_change(
    run: OpenRun, node_action: NodeAction, commands: Sequence[Sequence[str]], limits: StepLimits, *, role: str = ""
) -> str:
    """Return what is too much about a change, or which of the commands failed on its tree, with its last lines.

    Empty if nothing is wrong. A command that the policy does not allow without a question is not run here.
    """
    given = [tuple(argv) for argv in commands[:_MOST] if argv]
    verdicts = {argv: decide_on_proof(run, argv, role).verdict for argv in given}
    allowed = [argv for argv in given if verdicts[argv] == "allow"]
    if missing := _missing_program(run, [argv for argv in given if verdicts[argv] != "deny"]):
        return missing
    if not allowed and not any(limits):
        return ""
    with private_git(run.worktree) as git:
        proposed = proposed_tree(run, git, node_action)
        if proposed is None:
            return ""
        if over := _why_too_large(git, proposed, limits):
            return over
        for argv in allowed:
            if why := _failure_on_tree(run, git, proposed.result_tree, argv, "with this change"):
                return why
    return ""


def _missing_program(run: OpenRun, commands: Sequence[tuple[str, ...]]) -> str:
    """Return which command cannot run, because its program is not on this machine; empty if all are there."""
    root = str(run.worktree_path)
    path = command_environment({}, os.environ, tool_folders(run.repo))["PATH"]
    for argv in commands:
        # What a path within the worktree names may come with the patch.
        if "/" in argv[0] and not argv[0].startswith("/"):
            continue
        try:
            resolve_program(argv[0], path, root, root)
        except (NotFound, Invalid) as exc:
            return f"{one_line(format_words(argv), 200)} cannot be run to prove it: {exc.message}"
    return ""


def _why_too_large(git: PrivateGit, proposed: ProposedTree, limits: StepLimits) -> str:
    if not any(limits):
        return ""
    files = len(proposed.changes)
    counts = changed_line_counts(git, proposed.base_tree, proposed.result_tree) if limits.lines else []
    lines = sum((one.added or 0) + (one.removed or 0) for one in counts)
    over = [
        f"{has:,} {what} of {most:,}"
        for what, has, most in (("files", files, limits.files), ("lines", lines, limits.lines))
        if most and has > most
    ]
    return (
        f"it changes more than one step may: {' and '.join(over)}; change less, or ask for the step to be split "
        "(needs_plan_patch)"
        if over
        else ""
    )


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
            verdict = decide_on_proof(run, argv, role).verdict
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
        run_proof_sandboxed(run, git, tree, argv)
    except Failed as exc:
        run.log.append("checks.ran", "nexus", {"argv": words, "ok": False, "tree": tree})
        said = str(exc.context.get("output", ""))[-3000:]
        how = exc.message.partition(" failed with ")[2].partition(";")[0] or exc.message
        printed = f":\n{said}" if said.strip() else ", and prints nothing"
        return f"{when} {one_line(format_words(argv), 200)} fails with {how}{printed}"
    except (NotFound, Invalid) as exc:
        run.log.append("checks.ran", "nexus", {"argv": words, "ok": False, "tree": tree})
        return f"{when} {one_line(format_words(argv), 200)} cannot be run: {exc.message}"
    run.log.append("checks.ran", "nexus", {"argv": words, "ok": True, "tree": tree})
    return ""
