"""Renders the catalog skills that a node references as `skill:NAME#VARIANT`, within a byte limit."""

from collections.abc import Iterable

from gitnexus.adapters.table import ADAPTERS
from gitnexus.base.errors import NexusError
from gitnexus.base.text import one_line
from gitnexus.catalog.routing import SKILL, render_skill
from gitnexus.runs.open_run import OpenRun

_OURS = "git-nexus"


def render_skills(run: OpenRun, refs: Iterable[str], adapter: str, room: int) -> tuple[str, list[str]]:
    """Return the skills in at most `room` bytes, and those left out with the reason; skills are never cut."""
    names = list(dict.fromkeys(ref.removeprefix(SKILL) for ref in refs))
    if not names:
        return "", []
    from gitnexus.catalog import open_catalog  # imports YAML: only needed with a skill
    from gitnexus.catalog.harnesses import find_harness

    catalog = open_catalog(run.state.snapshot, run.repo.folder, run.state.trusts).catalog
    harness = find_harness((ADAPTERS[adapter].harness if adapter in ADAPTERS else "") or _OURS)
    texts: list[str] = []
    wrong: list[str] = []
    for name in names:
        skill, _, variant = name.partition("#")
        try:
            text = render_skill(catalog, catalog.skill(skill), harness, variant=variant or None)
        except NexusError as exc:
            wrong.append(exc.message)
            continue
        if len(text.encode()) > room:
            wrong.append(f"the skill {one_line(skill, 60)} takes {len(text.encode())} bytes, and {room} are left")
            continue
        texts.append(text)
        room -= len(text.encode())
    return "\n\n".join(texts), wrong
