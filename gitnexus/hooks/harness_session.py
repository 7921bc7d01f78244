"""A session of a harness begins: what it finds, and what waits for a person's yes."""

from pathlib import Path

from gitnexus.harness.begin import begun
from gitnexus.harness.model import MOST_CONTEXT, Answer, Happening
from gitnexus.harness.shelf import Shelf, shelf_of


def started(told: Happening) -> Answer:
    """Make the session ready and tell what it should know. Raises: NexusError, OSError."""
    if told.source == "compact":  # no start: the same session, with less of its memory
        from gitnexus.harness.snapshot import compacted

        return compacted(told)
    shelf = shelf_of(told)
    if shelf is None:
        from gitnexus.app.gateready import why_shut  # the gate will say it to every call: a person should know before

        words = why_shut(told.harness, told.cwd or str(Path.cwd()))
        return Answer(context=words, notice=words)
    found = begun(shelf, told)
    waits = _waiting(shelf)
    context = "\n".join(part for part in (found.context, waits) if part)[:MOST_CONTEXT]
    return Answer(context=context, notice="\n".join(part for part in (found.warning, waits) if part))


def _waiting(shelf: Shelf) -> str:
    """Return in a line what runs of this project wait for."""
    from gitnexus.app.keepers import open_state
    from gitnexus.git import discover

    state = open_state(discover(Path(shelf.place.worktree)))
    try:
        if not state.exists or not state.latest().names("runs"):
            return ""
        from gitnexus.app.runlist import waiting_runs  # most projects have no runs

        ids = [desk.run.id for desk in waiting_runs(state)]
    finally:
        state.close()
    if not ids:
        return ""
    more = f" and {len(ids) - 5} more" if len(ids) > 5 else ""
    return f"git nexus: waiting for a person's answer: {', '.join(ids[:5])}{more} (git nexus review)."
