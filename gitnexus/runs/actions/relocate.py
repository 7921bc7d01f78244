"""A command that waits and was proposed in the worktree of another machine: proposed anew in the one that is here."""

from pathlib import Path

from gitnexus.app.runact import bench_for
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.running import at_its_place
from gitnexus.app.runproposal import action_of, next_action, propose, proposed_request
from gitnexus.gateway.commanding import found_again
from gitnexus.policy.model import CommandRequest


def moved(desk: RunDesk, action: str) -> str:
    """Return the action that stands for one here: itself, or the same command in this machine's worktree.

    That is a proposal of its own: judged by the policy, and approved, for what it would do here. Raises: NexusError.
    """
    known = action_of(desk, action)
    request = proposed_request(desk, action)
    if known.status != "waiting" or not isinstance(request, CommandRequest) or desk.run.session:
        return action
    if Path(request.cwd).is_relative_to(desk.place.resolve()):
        return action
    below = _below(request.cwd, desk.run.id)
    if below is None:
        return action
    with desk.driving():
        at_its_place(desk)
    with desk.deciding(), desk.proposing():
        bench = bench_for(desk)
        here = request.changed(cwd=str(Path(bench.worktree.resolve(), *below)), env=bench.confine.environment({}))
        name = next_action(desk)
        propose(desk, name, found_again(bench, here), known.summary, known.node, replaces=action)
    return name


def _below(cwd: str, run: str) -> tuple[str, ...] | None:
    """Return the folder below a run's worktree, wherever that lies: it is called like its run."""
    parts = Path(cwd).parts
    return parts[parts.index(run) + 1 :] if run in parts and ".." not in parts else None
