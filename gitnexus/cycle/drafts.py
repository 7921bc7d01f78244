"""Parses and validates drafts: tasks as a planner proposes them, before the rules turn them into tasks."""

import posixpath
import unicodedata
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, Literal

from pydantic import Field

from gitnexus.base.document import Many
from gitnexus.base.errors import Invalid
from gitnexus.base.globs import matching_pattern
from gitnexus.base.parameters import Number, Parameters
from gitnexus.base.text import make_visible
from gitnexus.cycle.agents import plain_agent_name

# The roles that make something, those of them that may edit files, and the roles that check what was made.
DO = ("engineer", "writer", "researcher")
EDITS = ("engineer", "writer")
CHECK = ("tester", "reviewer")
# Agents write drafts: what would keep the session busy for long is refused.
MOST_DRAFTS, MOST_FILES, MOST_PATTERNS = 200, 2000, 20
_LONGEST_PATH, _LONGEST_NAME, _LONGEST_PATTERN = 1024, 255, 120


class TaskDraft(Parameters):
    """One proposed task. `deps` are positions in the list of drafts, `after` numbers of existing tasks."""

    title: str = Field(description="What to do.")
    context: str = Field(description="The background that is needed to do it.")
    owner: str | None = Field(default=None, description="The agent role that does it.")
    approach: str | None = Field(default=None, description="How to do it.")
    acceptance: str | None = Field(default=None, description="How to tell that it is done.")
    risk: str | None = Field(default=None, description="What may go wrong.")
    files: Many[str] = Field(default=(), description="The files it will change, from the top of the repository.")
    plan_issue: Number | None = Field(default=None, description="The plan's issue that it comes from.")
    deps: Many[Number] = Field(default=(), description="Drafts that come before, by their place in the list, from 1.")
    after: Many[Number] = Field(
        default=(), description="Tasks that are there already and come before, by their number."
    )
    scheme: str | None = Field(
        default=None, description="What several .md files have in common, if that is one change to all of them."
    )
    kind: Literal["behavior", "refactor", "types"] | None = Field(
        default=None, description="What kind of change it is."
    )
    verify: Literal["tester", "reviewer", "none"] | None = Field(
        default=None, description="Who checks it, whatever the rules say."
    )
    generated: Many[str] = Field(
        default=(), description="Patterns, in gitignore form, of files that a build writes; they hold for all drafts."
    )


def parse_drafts(values: Sequence[Mapping[str, Any]], names: Sequence[str] | None = None) -> tuple[TaskDraft, ...]:
    """Return the drafts in JSON values; `names` are what messages call them. Raises: Invalid."""
    if names is None and len(values) > MOST_DRAFTS:
        raise Invalid(f"{len(values)} drafts are too many: at most {MOST_DRAFTS} at once")
    called = names or [f"draft {at}" for at in range(1, len(values) + 1)]
    drafts = tuple(_parse_draft(dict(value), name) for value, name in zip(values, called, strict=True))
    for what, most in (("files", MOST_FILES), ("generated", MOST_PATTERNS)):
        count = sum(len(getattr(draft, what)) for draft in drafts)
        if count > most:
            raise Invalid(f"the drafts hold {count} entries in {what}: at most {most} at once")
    for draft, name in zip(drafts, called, strict=True):
        outside = [dep for dep in draft.deps if not 1 <= dep <= len(drafts)]
        if outside:
            raise Invalid(f"{name}: deps names drafts that do not exist: {', '.join(map(str, outside))}")
    circle = find_circle([draft.deps for draft in drafts])
    if circle:
        raise Invalid(f"the drafts wait for each other in a circle: {' → '.join(map(str, circle))}")
    return drafts


def find_circle(deps: Sequence[Sequence[int]]) -> list[int]:
    """Return positions that form a dependency cycle, the first again at the end; empty if there is none."""
    try:
        TopologicalSorter(dict(enumerate(deps, 1))).prepare()
    except CycleError as exc:
        return list(exc.args[1])
    return []


def _parse_draft(value: dict[str, Any], name: str) -> TaskDraft:
    draft = TaskDraft.from_value(value, name)
    for field in ("title", "context"):
        if not getattr(draft, field).strip():
            raise Invalid(f"{name}: {field} should not be empty")
    owner = _require_role(draft.owner, name) if draft.owner else None
    if owner in CHECK and draft.verify not in (None, "none"):
        raise Invalid(f"{name}: what a {owner} does is itself a check and has no other; leave verify out")
    for pattern in draft.generated:
        _refuse_bad_pattern(pattern, name)
    return draft.changed(
        owner=owner,
        files=_without_repeats(_normalize_path(file, name) for file in draft.files),
        deps=_without_repeats(draft.deps),
        after=_without_repeats(draft.after),
        scheme=draft.scheme.strip() or None if draft.scheme else None,
    )


def _without_repeats(values: Any) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(values))


def _require_role(owner: str, name: str) -> str:
    try:
        return plain_agent_name(owner)
    except Invalid as exc:
        raise Invalid(f"{name}: owner {owner[:40]!r} should be lower-case letters, digits and -") from exc


def _normalize_path(path: str, name: str) -> str:
    """Return one spelling for a file: two drafts that mean the same file must not miss each other."""
    plain = posixpath.normpath(unicodedata.normalize("NFC", path))
    reason = None
    if plain in ("", "."):
        reason = "it names no file"
    elif plain.startswith("/") or plain.split("/")[0] == "..":
        reason = "it leads out of the repository"
    elif make_visible(plain, keep="") != plain:
        reason = "it holds control or invisible characters"
    elif len(plain) > _LONGEST_PATH or max(map(len, plain.split("/"))) > _LONGEST_NAME:
        reason = f"it is longer than {_LONGEST_PATH} characters, or a part of it than {_LONGEST_NAME}"
    if reason:
        raise Invalid(f"{name}: the file {path[:80]!r} is refused: {reason}")
    return plain


def _refuse_bad_pattern(pattern: str, name: str) -> None:
    """Refuse a pattern that cannot be read, or that takes long: with five wildcards one path cost a minute."""
    reason = None
    folders = pattern.split("/").count("**")
    if len(pattern) > _LONGEST_PATTERN or folders > 2 or pattern.count("*") - 2 * folders > 2:
        reason = f"it is longer than {_LONGEST_PATTERN} characters, or has more than two ** or two *"
    else:
        try:
            matching_pattern((pattern,), "x")
        except ValueError as exc:
            reason = f"it is not a pattern: {exc}"
    if reason:
        raise Invalid(f"{name}: generated {pattern[:80]!r} is refused: {reason}")
