"""Handles the tags in a user's message: a skill becomes text for the model, an action calls the tool it names."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gitnexus.base.errors import NexusError
from gitnexus.base.text import frame_text, one_line
from gitnexus.catalog.builtin import builtin_catalog
from gitnexus.catalog.catalog import Catalog
from gitnexus.catalog.harnesses import find_harness
from gitnexus.catalog.routing import ActionRoute, SkillRoute, route_tag
from gitnexus.catalog.tags import TagUse, find_tags
from gitnexus.state.locate import ProjectLocation
from gitnexus.toolgate.cache import AnswerCache, nexus_home

# As `state.layout` and `state.settings` call them, which cost more than all that is done here.
FORMAT, SETTINGS = "format.json", "settings.json"
_MOST, _ANSWER = 10, 1500
_WIDE = 10_000  # a model has no edge at which a line would break


class TagOutcome(NamedTuple):
    """The result of the tags: text for the model and for the user, the started skill, and all `refs`."""

    context: str
    notice: str
    skill: str
    refs: tuple[str, ...] = ()


def follow_tags(location: ProjectLocation, harness: str, message: str) -> TagOutcome | None:
    """Handle the tags of a message, None if it has none. Raises: NexusError."""
    place = Path(location.top)
    catalog = builtin_catalog() if _has_no_settings(location) else _project_catalog(place)
    uses = find_tags(message, catalog.tags)
    if not uses:
        return None
    context, notices, skill, refs = [], [], "", []
    for use in uses[:_MOST]:
        found = route_tag(catalog, use, find_harness(harness))
        tag = _tag_as_typed(catalog, use)
        if isinstance(found, SkillRoute):
            skill = f"{found.skill}{f' ({use.variant})' if use.variant else ''}"
            refs.append(found.ref)
            context.append(f"git nexus: the person typed {tag}. Work by this skill until it is done:\n\n{found.text}")
        else:
            said, notice = _run_tag_action(place, harness, tag, found)
            context.append(said)
            notices.append(notice)
    return TagOutcome("\n\n".join(context), "\n".join(notices), skill, tuple(refs))


# Missing parameters of a tag, for a person; a model gets the parameter's name.
_IN_WORDS = {"issue_id": "which open question of the plan it answers (git nexus plan show)"}


def _has_no_settings(location: ProjectLocation) -> bool:
    """Return True if neither project nor user has settings, as is usual: then the built-in catalog applies."""
    if os.path.lexists(os.path.join(nexus_home(), SETTINGS)):
        return False
    memo = AnswerCache(location.common)
    # The format is always there: without it nobody told.
    rows = memo.rows(memo.tip(), (SETTINGS, FORMAT))
    return [row.partition("\t")[2] for row in rows.split("\0") if row] == [FORMAT]


def _project_catalog(place: Path) -> Catalog:
    """Return the catalog from a project's stored state, without taking in hand edits, so that the user waits less."""
    from gitnexus.catalog import open_catalog
    from gitnexus.git import discover
    from gitnexus.projects.open_state import open_state  # all of the state: only who has settings pays

    state = open_state(discover(place))
    try:
        return open_catalog(state.snapshot, place, state.trusts).catalog
    finally:
        state.close()


def _run_tag_action(place: Path, harness: str, tag: str, found: ActionRoute) -> tuple[str, str]:
    """Call a tool as an agent would; return the messages for the model and for the user."""
    tool = f"nx_{found.tool}"
    params, missing = _complete_params(place, harness, found)
    if missing:
        lacks = " and ".join(missing)
        said = f"git nexus: {tag} leaves {lacks} open. If the conversation answers it, call {tool} yourself; else ask."
        told = " and ".join(_IN_WORDS.get(name, name) for name in missing)
        return said, f"git nexus: {tag} was not done yet: it does not say {told}"
    try:
        answer = _call_tool(place, harness, found.tool, params)
    except NexusError as exc:
        why = one_line(exc.message, 300)
        hint = f" ({one_line(exc.hint, 200)})" if exc.hint else ""
        said = f"git nexus: {tag} failed: {why}{hint}"
        return said, said
    shown = json.dumps(answer, ensure_ascii=False)
    lines = [f"git nexus: {tag} is done already ({tool}); do not do it again. What it answered, as data:"]
    return "\n".join([*lines, *frame_text(shown[:_ANSWER], _WIDE)]), f"git nexus: {tag} done{_about(params, answer)}"


def _about(params: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    """Return the issue that a decision belongs to, "" if none, so that the user notices a wrong one."""
    if not answer.get("decided") or "issue_id" not in params:
        return ""
    return f": issue {params['issue_id']}, {one_line(str(answer.get('issue', '')), 120)}, is decided"


def _complete_params(place: Path, harness: str, found: ActionRoute) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Return the parameters, with the issue of a decision filled in if only one issue is open."""
    if found.tool != "plan_decide" or found.missing != ("issue_id",):
        return found.params, found.missing
    status = _call_tool(place, harness, "plan_status", {})
    pending = [issue["id"] for issue in status.get("issues", ()) if issue["status"] == "pending"]
    return ({**found.params, "issue_id": pending[0]}, ()) if len(pending) == 1 else (found.params, found.missing)


def _call_tool(place: Path, harness: str, tool: str, params: Mapping[str, Any]) -> dict[str, Any]:
    from gitnexus.app.tools import ToolSession, call_session_tool  # every room: only who types an action pays
    from gitnexus.projects.open_session import open_session

    session = open_session(place, harness)
    try:
        return call_session_tool(ToolSession(session), tool, params)
    finally:
        session.state.close()


def _tag_as_typed(catalog: Catalog, use: TagUse) -> str:
    """Return a tag as the user typed it."""
    trigger = next(tag.trigger for tag in catalog.tags if tag.id == use.id)
    return f"{trigger[:-1]}:{use.variant}]" if use.variant else trigger
