"""Tells whether tasks that CLEO keeps in a project can be imported; loads what reads them only where there are any."""

from gitnexus.base.errors import NexusError
from gitnexus.state import State


def offer_import(state: State) -> list[str]:
    """Return a message if CLEO has tasks that can be imported and the backlog has none."""
    # Most projects have no folder of CLEO's.
    if state.repo.worktree is None or not (state.repo.worktree / ".cleo").is_dir():
        return []
    from gitnexus.backlog import cleo
    from gitnexus.backlog.store import FOLDER

    if state.snapshot.oids(FOLDER) or not cleo.is_cleo_folder(state.repo.worktree):
        return []
    try:
        count = len(cleo.read_cleo_tasks(state.repo.worktree))
    except NexusError as exc:
        return [f"the tasks that CLEO keeps here cannot be read: {exc.message}"]
    named = "1 task" if count == 1 else f"{count} tasks"
    return [f"CLEO keeps {named} in {cleo.FOLDER}/: git nexus task import imports them"] if count else []
