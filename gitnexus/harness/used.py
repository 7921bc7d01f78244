"""After a tool was used: what is written down of it."""

from gitnexus.harness.model import Answer, Happening


def used(told: Happening) -> Answer:
    """Count the notes that the program's own tool has read."""
    # Called after every tool: what cannot be about a note leaves before anything is imported.
    if ".nexus" in str(told.given):
        from gitnexus.catalog.harnesses import harness_named
        from gitnexus.harness.reads import observe_reads

        observe_reads(harness_named(told.harness), told)
    return Answer()
