"""What a role may not do, whatever the rules say: its capabilities, as tools of the program and as commands."""

from gitnexus.app.court import Court, Finding
from gitnexus.app.judgeshell import writes_files
from gitnexus.base.text import one_line
from gitnexus.harness.calls import Call, Reads, Shell


def limited(court: Court, call: Call) -> Finding | None:
    """Return the no that a role's capabilities mean for a call, None if they mean none."""
    if not court.role:
        return None
    from gitnexus.catalog import open_catalog  # roles and skills: only who has a role pays
    from gitnexus.catalog.effective import denied, effective
    from gitnexus.catalog.harnesses import HARNESSES

    opened = open_catalog(court.state.snapshot, court.state.repo.place, court.state.trusts)
    if court.role not in opened.catalog.agents or isinstance(call, Reads):
        return None
    held = effective(opened.catalog, court.role, opened.added)
    harness = HARNESSES.get(court.told.harness)
    tools = denied(opened.catalog, held, harness) if held and harness else ()
    if court.told.tool in tools:
        return Finding("deny", f"the role {court.role} may not use {one_line(court.told.tool, 60)}", "capability")
    if "no_file_edit" in held and isinstance(call, Shell) and writes_files(call):
        return Finding("deny", f"the role {court.role} edits no files, by a command neither", "capability")
    return None
