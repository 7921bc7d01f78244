"""After a tool was used: what is written down of it, and what waited to be said."""

from gitnexus.harness import edits, mail, toollog
from gitnexus.harness.model import Answer, Happening
from gitnexus.harness.moment import stamp
from gitnexus.harness.shelf import shelf_of
from gitnexus.harness.touched import touched


def used(told: Happening) -> Answer:
    """Note the call, the files that it changed and the notes that it read. Raises: NexusError, OSError."""
    shelf = shelf_of(told)
    if shelf is not None:
        files = touched(told, shelf.place.worktree)
        toollog.note(shelf, told, files)
        if files:
            edits.note(shelf, files, told.agent_id, stamp())
    # Called after every tool: what cannot be about a note leaves before anything more is imported.
    if any(".nexus" in str(value) for value in told.given.values()):
        from gitnexus.harness.reads import observe_reads

        observe_reads(told)
    waiting = mail.take(shelf, told.reader) if shelf is not None and told.hears else []
    return Answer(context="\n\n".join(waiting))
