"""Commits an approved patch on the run's branch, updates the worktree, and finds the commit again after a kill."""

import contextlib
from collections.abc import Sequence

from gitnexus.base.errors import Conflict, NotFound, VerificationFailed
from gitnexus.base.text import one_line
from gitnexus.events.view import ActionView
from gitnexus.gateway.apply_to_worktree import apply_changes
from gitnexus.git import Author
from gitnexus.git.branches import move_branch, read_raw_commit, tip_of_ref
from gitnexus.git.commits import write_commit_object
from gitnexus.git.identity import with_current_time
from gitnexus.git.private import private_git
from gitnexus.git.tree_diff import diff_trees
from gitnexus.policy.commit_message import Trailers, format_commit_message
from gitnexus.policy.commit_message import parse_trailers as trailers_of
from gitnexus.policy.model import PatchRequest
from gitnexus.runs.foreign_consent import agreement_kept
from gitnexus.runs.open_run import OpenRun


def commit_patch(run: OpenRun, request: PatchRequest, action: str, known: ActionView, token: str) -> str:
    """Create the commit and move the branch to it. Raises: Conflict if the branch is no longer at the patch's base."""
    person, name = with_current_time(run.state.author), run.agent_of_node(known.node)
    agent = Author(one_line(f"{name} (agent)", 80), "agent@nexus.invalid", person.seconds, person.offset_minutes)
    trailers = Trailers(run.record.id, (action,), name, (token,))
    edited = f"Edited by {one_line(known.edited, 80)} before it was approved." if known.edited else ""
    text = format_commit_message(known.summary, edited, trailers)
    with private_git(run.repo) as git:
        commit = write_commit_object(git, request.result_tree, [request.base], text, agent, person)
    with agreement_kept(run):
        went = move_branch(run.repo, run.branch, request.base, commit, f"nexus: {action}")
    if not went:
        raise Conflict(
            f"the branch {run.record.branch} moved since {action} was approved",
            hint="look at it again; it needs a new approval",
        )
    return commit


def update_worktree_files(run: OpenRun, request: PatchRequest, instead: Sequence[str] = ()) -> None:
    """Write a commit's files to the worktree, except files that changed since the patch was made.

    A patch made from the worktree is already in its files; later edits belong to the agent's next proposal. `instead`
    are the trees of proposals that this one replaced: files may match one of those.
    """
    with private_git(run.worktree) as git:
        for before in (request.base_tree, *instead):
            rows = diff_trees(git, before, request.result_tree)
            try:
                apply_changes(git, run.worktree_path, rows)
            except Conflict:
                for row in sorted(rows, key=lambda row: row.new_mode != ""):
                    with contextlib.suppress(Conflict):
                        apply_changes(git, run.worktree_path, (row,))


def find_earlier_commit(run: OpenRun, action: str, request: PatchRequest) -> str | None:
    """Return the commit made before a kill: same tree, base and token, not just the same message."""
    at = tip_of_ref(run.repo, run.branch)
    of = token_digest(run, action)
    if at is None or at == request.base or of is None:
        return None
    head, _, text = read_raw_commit(run.repo, at).partition(b"\n\n")
    made = f"tree {request.result_tree}\nparent {request.base}\nauthor ".encode()
    found = trailers_of(text.decode("utf-8", "replace"))
    agent = run.agent_of_node(run.view().actions[action].node)
    wanted = Trailers(run.record.id, (action,), agent, (read_token(run, action),))
    return at if head.startswith(made) and found == wanted else None


def branch_tip(run: OpenRun) -> str:
    """Return the tip of the run's branch. Raises: NotFound."""
    found = tip_of_ref(run.repo, run.branch)
    if found is None:
        raise NotFound(f"the branch {run.record.branch} is gone", hint="git reflog may still know it")
    return found


def has_token(run: OpenRun, action: str) -> bool:
    """True if a person or a rule approved the action."""
    return token_digest(run, action) is not None


def read_token(run: OpenRun, action: str) -> str:
    """Return the token of the last approval. Raises: VerificationFailed."""
    of = token_digest(run, action)
    if of is None:
        raise VerificationFailed(f"{action} has no approval")
    return run.artifacts.read(of).decode("ascii", "replace")


def token_digest(run: OpenRun, action: str) -> str | None:
    """Return the digest of the artifact with the last token, None without one."""
    found = None
    for event in run.log.read():
        if event.kind == "permission.granted" and event.body["action"] == action:
            found = event.body.get("token")
    return found
