"""Parses a manifest and its vocabulary, and lists every problem in it without reading any other file. Pure."""

import dataclasses
import re
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from gitnexus.base.errors import Invalid
from gitnexus.base.spelling import closest_word
from gitnexus.base.text import one_line
from gitnexus.catalog.harnesses import KNOWN_CLASSES
from gitnexus.catalog.manifest import VOCABULARY_KINDS, Manifest, Vocabulary
from gitnexus.catalog.model import SCHEMA_CONTRACT, Agent, CatalogRecord, Skill, Tag
from gitnexus.catalog.routing import HANDLERS
from gitnexus.catalog.tags import TRIGGER

R = TypeVar("R", bound=CatalogRecord)
MANIFEST = "manifest.json"
# An id is a part of a path, so it is checked before anything is opened by it.
_ID = re.compile(r"[a-z][a-z0-9-]{0,63}")
_WORD = re.compile(r"[a-z][a-z0-9_]{0,63}(\.[a-z][a-z0-9_]{0,63})?")
_MOST = 100
_KEYS = ("nexus_core_version", "nexus_core_commit", "schema_contract_version", "agents", "skills", "vocabulary")
_NEEDED = ("capabilities", "categories", "resume_tiers", "tags")


def parse_manifest(value: Any) -> tuple[Manifest | None, list[str]]:
    """Return the manifest in a JSON value, and all its problems.

    With problems it contains the rows that could be parsed, so that their files can be checked too.
    """
    if not isinstance(value, dict):
        return None, [f"{MANIFEST} should be an object"]
    problems: list[str] = []
    words = value.get("vocabulary")
    if not isinstance(words, dict):
        problems.append(f"{MANIFEST}: vocabulary should be an object")
        words = {}
    versions = {
        "nexus_core_version": value.get("nexus_core_version"),
        "schema_contract_version": value.get("schema_contract_version"),
    }
    problems += [f"{MANIFEST}: {key} should be text" for key, held in versions.items() if not isinstance(held, str)]
    problems += _newer_contract_problems(versions["schema_contract_version"])
    manifest = Manifest(
        nexus_core_version=str(versions["nexus_core_version"]),
        schema_contract_version=str(versions["schema_contract_version"]),
        agents=_parse_rows(Agent, value.get("agents"), f"{MANIFEST}: agents", problems),
        skills=_parse_rows(Skill, value.get("skills"), f"{MANIFEST}: skills", problems),
        vocabulary=Vocabulary(
            **{
                name: parse_vocabulary(name, words.get(name), f"{MANIFEST}: vocabulary.{name}", problems)
                for name in VOCABULARY_KINDS
                if name in words or name in _NEEDED
            }
        ),
        nexus_core_commit=value.get("nexus_core_commit"),
        unknown={key: held for key, held in value.items() if key not in _KEYS},
    )
    return manifest, [*problems, *find_inconsistencies(manifest)]


def _newer_contract_problems(version: Any) -> list[str]:
    """Refuse a newer major: what it means we cannot know."""
    major = re.match(r"\d{1,6}", version) if isinstance(version, str) else None
    if major is None or int(major[0]) <= int(SCHEMA_CONTRACT.partition(".")[0]):
        return []
    return [f"{MANIFEST} is of the schema contract {version[:20]}, and this version knows {SCHEMA_CONTRACT}"]


def parse_vocabulary(name: str, value: Any, where: str, problems: list[str]) -> Any:
    """Return one vocabulary of a JSON value; what cannot be read is added to `problems`."""
    kind = VOCABULARY_KINDS[name]
    if name != "memory_policy":
        return _parse_rows(kind, value, where, problems)
    try:
        return kind.from_value(value, where)
    except Invalid as exc:
        problems.append(exc.message)
        return None


def find_inconsistencies(manifest: Manifest) -> list[str]:
    """Return what contradicts within a manifest."""
    words = manifest.vocabulary
    problems = [f"{MANIFEST}: {kind} {ident} occurs twice" for kind, ident in _duplicate_ids(manifest)]
    for capability in words.capabilities:
        unmapped = [one for one in capability.blocks_semantic_classes if one not in KNOWN_CLASSES]
        problems += [
            f"{MANIFEST}: capability {capability.id} blocks {one!r}, which maps to no tool of any harness"
            for one in unmapped
        ]
    for agent in manifest.agents:
        for what, given, there in (
            ("category", (agent.category,), words.categories),
            ("resume_tier", (agent.resume_tier,), words.resume_tiers),
            ("capability", agent.capabilities, words.capabilities),
        ):
            known = {row.id for row in there}
            problems += [
                f"{MANIFEST}: agent {agent.id} has the unknown {what} {one!r}" for one in given if one not in known
            ]
    skills = {skill.id for skill in manifest.skills}
    problems += [problem for tag in words.tags for problem in _tag_problems(tag, skills)]
    started = {(tag.id, tag.skill) for tag in words.tags}
    problems += [
        f"{MANIFEST}: skill {skill.id} names the trigger {one!r}, but no such tag starts it"
        for skill in manifest.skills
        for one in skill.triggers
        if (one, skill.id) not in started
    ]
    return problems


def _tag_problems(tag: Tag, skills: set[str]) -> Iterator[str]:
    if not TRIGGER.fullmatch(tag.trigger):
        yield f"{MANIFEST}: tag {tag.id} has the trigger {tag.trigger!r}, which is not a word in brackets"
    if tag.type == "skill" and tag.skill not in skills:
        yield f"{MANIFEST}: tag {tag.id} starts the skill {tag.skill!r}, which is not there"
    if tag.type == "inline_action" and tag.handler not in HANDLERS:
        yield f"{MANIFEST}: tag {tag.id} calls {tag.handler!r}, which is not a tool; there are {', '.join(HANDLERS)}"


def _duplicate_ids(manifest: Manifest) -> Iterator[tuple[str, str]]:
    words = manifest.vocabulary
    shelves: dict[str, Iterable[str]] = {
        "agent": (row.id for row in manifest.agents),
        "skill": (row.id for row in manifest.skills),
        "capability": (row.id for row in words.capabilities),
        "category": (row.id for row in words.categories),
        "resume tier": (row.id for row in words.resume_tiers),
        "tag": (row.id for row in words.tags),
        "trigger": (row.trigger for row in words.tags),
        "invocation": (row.id for row in words.invocations),
        "task exception": (row.id for row in words.task_exceptions),
    }
    for kind, idents in shelves.items():
        seen: set[str] = set()
        for ident in idents:
            if ident in seen:
                yield kind, ident
            seen.add(ident)


def _misspelt_fields(row: CatalogRecord, given: dict[str, Any], where: str) -> Iterator[str]:
    """Yield the unknown fields that resemble one which was left out: a limit that is misspelt limits nothing."""
    left_out = [field.name for field in dataclasses.fields(row) if field.name not in given]
    for name in row.unknown:
        if meant := closest_word(name, left_out):
            yield f"{where}: {one_line(name, 60)} is not known (did you mean {meant}?)"


def _parse_rows(kind: type[R], value: Any, where: str, problems: list[str]) -> tuple[R, ...]:
    if not isinstance(value, list):
        problems.append(f"{where} should be a list")
        return ()
    if len(value) > _MOST:
        problems.append(f"{where} has more than {_MOST} entries")
    form = _ID if kind in (Agent, Skill, Tag) else _WORD
    rows = []
    for at, item in enumerate(value[:_MOST]):
        try:
            row = kind.from_value(item, f"{where}[{at}]")
        except Invalid as exc:
            problems.append(f"{exc.message} ({exc.hint})" if exc.hint else exc.message)
            continue
        problems += _misspelt_fields(row, item, f"{where}[{at}]")
        ident = getattr(row, "id", "")
        if form.fullmatch(ident):
            rows.append(row)
        else:
            problems.append(f"{where}[{at}]: {ident[:60]!r} cannot be an id")
    return tuple(rows)
