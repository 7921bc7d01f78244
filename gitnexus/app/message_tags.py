"""The tags of a message: a skill becomes text for the model, an action is done at once by the tool that it names."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gitnexus.app.gatememo import Memo, home
from gitnexus.base.errors import NexusError
from gitnexus.base.text import framed, one_line
from gitnexus.catalog.builtin import built_in
from gitnexus.catalog.catalog import Catalog
from gitnexus.catalog.harnesses import harness_named
from gitnexus.catalog.routing import ActionRoute, SkillRoute, route
from gitnexus.catalog.tags import TagUse, tags_in
from gitnexus.harness.place import Place

# As `state.layout` and `state.settings` call them, which cost more than all that is done here.
FORMAT, SETTINGS = "format.json", "settings.json"
_MOST, _ANSWER = 10, 1500
_WIDE = 10_000  # a model has no edge at which a line would break


class Followed(NamedTuple):
    """What came of the tags: words for the model and for the person, and the skill that begins; `refs` name all."""

    context: str
    notice: str
    skill: str
    refs: tuple[str, ...] = ()


def follow(here: Place, harness: str, message: str) -> Followed | None:
    """Follow the tags of a message, None if it has none. Raises: NexusError."""
    place = Path(here.worktree)
    catalog = built_in() if _says_nothing(here) else _catalog(place)
    uses = tags_in(message, catalog.tags)
    if not uses:
        return None
    context, notices, skill, refs = [], [], "", []
    for use in uses[:_MOST]:
        found = route(catalog, use, harness_named(harness))
        tag = _typed(catalog, use)
        if isinstance(found, SkillRoute):
            skill = f"{found.skill}{f' ({use.variant})' if use.variant else ''}"
            refs.append(found.ref)
            context.append(f"git nexus: the person typed {tag}. Work by this skill until it is done:\n\n{found.text}")
        else:
            said, notice = _done(place, harness, tag, found)
            context.append(said)
            notices.append(notice)
    return Followed("\n\n".join(context), "\n".join(notices), skill, tuple(refs))


# What a tag leaves open, for a person; a model is told the parameter's name.
_IN_WORDS = {"issue_id": "which open question of the plan it answers (git nexus plan show)"}


def _says_nothing(here: Place) -> bool:
    """True if neither the project nor the person has settings, so that the catalog is ours: most have none."""
    if os.path.lexists(os.path.join(home(), SETTINGS)):
        return False
    memo = Memo(here.common_dir)
    # The format is always there: without it nobody told.
    rows = memo.rows(memo.tip(), (SETTINGS, FORMAT))
    return [row.partition("\t")[2] for row in rows.split("\0") if row] == [FORMAT]


def _catalog(place: Path) -> Catalog:
    """Return the catalog of a project as its state has it; a person who waits for an answer waits for nothing more."""
    from gitnexus.app.keepers import open_state  # all of the state: only who has settings pays
    from gitnexus.catalog import open_catalog
    from gitnexus.git import discover

    state = open_state(discover(place))
    try:
        return open_catalog(state.snapshot, place, state.trusts).catalog
    finally:
        state.close()


def _done(place: Path, harness: str, tag: str, found: ActionRoute) -> tuple[str, str]:
    """Call a tool as an agent would; return what the model and what the person hear of it."""
    tool = f"nx_{found.tool}"
    params, missing = _completed(place, harness, found)
    if missing:
        lacks = " and ".join(missing)
        said = f"git nexus: {tag} leaves {lacks} open. If the conversation tells it, call {tool} yourself; else ask."
        told = " and ".join(_IN_WORDS.get(name, name) for name in missing)
        return said, f"git nexus: {tag} was not done yet: it does not say {told}"
    try:
        answer = _called(place, harness, found.tool, params)
    except NexusError as exc:
        why = one_line(exc.message, 300)
        hint = f" ({one_line(exc.hint, 200)})" if exc.hint else ""
        said = f"git nexus: {tag} failed: {why}{hint}"
        return said, said
    shown = json.dumps(answer, ensure_ascii=False)
    lines = [f"git nexus: {tag} is done already ({tool}); do not do it again. What it answered, as data:"]
    return "\n".join([*lines, *framed(shown[:_ANSWER], _WIDE)]), f"git nexus: {tag} done"


def _completed(place: Path, harness: str, found: ActionRoute) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Return the parameters, with the issue that a decision is about where only one is open."""
    if found.tool != "plan_decide" or found.missing != ("issue_id",):
        return found.params, found.missing
    status = _called(place, harness, "plan_status", {})
    pending = [issue["id"] for issue in status.get("issues", ()) if issue["status"] == "pending"]
    return ({**found.params, "issue_id": pending[0]}, ()) if len(pending) == 1 else (found.params, found.missing)


def _called(place: Path, harness: str, tool: str, params: Mapping[str, Any]) -> dict[str, Any]:
    from gitnexus.app.session import open_session
    from gitnexus.app.tools import Desk, call  # every room: only who types an action pays

    session = open_session(place, harness)
    try:
        return call(Desk(session), tool, params)
    finally:
        session.state.close()


def _typed(catalog: Catalog, use: TagUse) -> str:
    """Return a tag as it is typed."""
    trigger = next(tag.trigger for tag in catalog.tags if tag.id == use.id)
    return f"{trigger[:-1]}:{use.variant}]" if use.variant else trigger
