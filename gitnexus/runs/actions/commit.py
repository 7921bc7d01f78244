"""An approved patch as a commit on the run's branch: made, brought into the files, and found again after a kill."""

import contextlib
from collections.abc import Sequence

from gitnexus.app.agreeing import moving_on
from gitnexus.app.rundesk import RunDesk
from gitnexus.base.errors import Conflict, NotFound, VerificationFailed
from gitnexus.base.text import one_line
from gitnexus.events.view import ActionView
from gitnexus.gateway.landing import refreshed
from gitnexus.git import Author
from gitnexus.git.branches import moved, raw_of, tip
from gitnexus.git.commits import write
from gitnexus.git.identity import again
from gitnexus.git.private import private
from gitnexus.git.rows import difference
from gitnexus.policy.model import PatchRequest
from gitnexus.runs.message import Trailers, message
from gitnexus.runs.message import read as trailers_of


def committed(desk: RunDesk, request: PatchRequest, action: str, known: ActionView, token: str) -> str:
    """Make the commit and move the branch on to it. Raises: Conflict where that is not where it was."""
    person, name = again(desk.state.author), desk.agent_at(known.node)
    agent = Author(one_line(f"{name} (agent)", 80), "agent@nexus.invalid", person.seconds, person.offset_minutes)
    trailers = Trailers(desk.run.id, (action,), name, (token,))
    edited = f"Edited by {one_line(known.edited, 80)} before it was approved." if known.edited else ""
    text = message(known.summary, edited, trailers)
    with private(desk.repo) as git:
        commit = write(git, request.result_tree, [request.base], text, agent, person)
    with moving_on(desk):
        went = moved(desk.repo, desk.branch, request.base, commit, f"nexus: {action}")
    if not went:
        raise Conflict(
            f"the branch {desk.run.branch} moved since {action} was approved",
            hint="look at it again; it needs a new yes",
        )
    return commit


def brought(desk: RunDesk, request: PatchRequest, instead: Sequence[str] = ()) -> None:
    """Bring a commit into the files of the worktree, each that still is what the patch was made from.

    A patch that was made from the files is there already, and what the agent has changed since is its next proposal.
    `instead` are the trees of proposals that this one was put in the place of: the files may be as in one of them.
    """
    with private(desk.worktree) as git:
        for before in (request.base_tree, *instead):
            rows = difference(git, before, request.result_tree)
            try:
                refreshed(git, desk.place, rows)
            except Conflict:
                for row in sorted(rows, key=lambda row: row.new_mode != ""):
                    with contextlib.suppress(Conflict):
                        refreshed(git, desk.place, (row,))


def committed_already(desk: RunDesk, action: str, request: PatchRequest) -> str | None:
    """Return the commit that we made before a kill: this tree on this base with this token, not what only says so."""
    at = tip(desk.repo, desk.branch)
    of = token_digest(desk, action)
    if at is None or at == request.base or of is None:
        return None
    head, _, text = raw_of(desk.repo, at).partition(b"\n\n")
    made = f"tree {request.result_tree}\nparent {request.base}\nauthor ".encode()
    found = trailers_of(text.decode("utf-8", "replace"))
    agent = desk.agent_at(desk.view().actions[action].node)
    wanted = Trailers(desk.run.id, (action,), agent, (token_of(desk, action),))
    return at if head.startswith(made) and found == wanted else None


def tip_of(desk: RunDesk) -> str:
    """Return the last commit of the run's branch. Raises: NotFound."""
    found = tip(desk.repo, desk.branch)
    if found is None:
        raise NotFound(f"the branch {desk.run.branch} is gone", hint="git reflog may still know it")
    return found


def has_token(desk: RunDesk, action: str) -> bool:
    """True if somebody, or a rule, said yes."""
    return token_digest(desk, action) is not None


def token_of(desk: RunDesk, action: str) -> str:
    """Return the token of the last yes. Raises: VerificationFailed."""
    of = token_digest(desk, action)
    if of is None:
        raise VerificationFailed(f"{action} has no approval")
    return desk.artifacts.read(of).decode("ascii", "replace")


def token_digest(desk: RunDesk, action: str) -> str | None:
    """Return which artifact holds the token of the last yes, None without one."""
    found = None
    for event in desk.log.read():
        if event.kind == "permission.granted" and event.body["action"] == action:
            found = event.body.get("token")
    return found
