"""The skills that a node is to work by, from the catalog: what a person typed in brackets, as `skill:NAME#VARIANT`."""

from collections.abc import Iterable

from gitnexus.adapters.table import ADAPTERS
from gitnexus.app.rundesk import RunDesk
from gitnexus.base.errors import NexusError
from gitnexus.base.text import one_line
from gitnexus.catalog.routing import SKILL, skill_text

_OURS = "git-nexus"


def skill_text_of(desk: RunDesk, refs: Iterable[str], adapter: str, room: int) -> tuple[str, list[str]]:
    """Return the skills in at most `room` bytes, and what was left out with the reason: half a skill is none."""
    names = list(dict.fromkeys(ref.removeprefix(SKILL) for ref in refs))
    if not names:
        return "", []
    from gitnexus.catalog import open_catalog  # reads YAML: only who names a skill pays
    from gitnexus.catalog.harnesses import harness_named

    catalog = open_catalog(desk.state.snapshot, desk.repo.place, desk.state.trusts).catalog
    harness = harness_named((ADAPTERS[adapter].harness if adapter in ADAPTERS else "") or _OURS)
    texts: list[str] = []
    wrong: list[str] = []
    for name in names:
        skill, _, variant = name.partition("#")
        try:
            text = skill_text(catalog, catalog.skill(skill), harness, variant=variant or None)
        except NexusError as exc:
            wrong.append(exc.message)
            continue
        if len(text.encode()) > room:
            wrong.append(f"the skill {one_line(skill, 60)} takes {len(text.encode())} bytes, and {room} are left")
            continue
        texts.append(text)
        room -= len(text.encode())
    return "\n\n".join(texts), wrong
