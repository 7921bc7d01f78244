"""Adds and reads rules: advice that the project's people set, one file per tag, never deleted by gc."""

import re

from gitnexus.base.errors import Duplicate, Invalid, NotFound
from gitnexus.memory.notes import (
    Notes,
    encode_text,
    json_safe_text,
    read_text_folder,
    require_valid_text,
    with_project_files,
)
from gitnexus.redaction import find_secrets
from gitnexus.state import Change, Snapshot

FOLDER = "rules"
UNTAGGED = "general"
_TAG = re.compile(r"\w[\w-]{0,63}")


def add_rule(notes: Notes, text: str, tag: str | None = None) -> tuple[str, str]:
    """Add a rule to its tag's file, as one commit; return tag and rule. Raises: Invalid, Duplicate."""
    rule, name = require_rule_text(text), require_tag_name(tag)
    notes.latest()

    def decide(snapshot: Snapshot) -> Change[tuple[str, str]]:
        after = with_rule(read_text_folder(snapshot, FOLDER).get(name, ""), rule, name)
        files = with_project_files(snapshot, {f"{FOLDER}/{name}.md": encode_text(after)}, notes.clock())
        return Change(files, f"rules: add to {name}", (name, rule))

    added = notes.state.transact(decide)
    notes.latest()  # the first write of all fills `.nexus/`
    return added


def with_rule(before: str, rule: str, tag: str) -> str:
    """Return a rules file with one more rule. Raises: Duplicate."""
    if any(_comparable_text(line) == _comparable_text(rule) for line in before.splitlines()):
        raise Duplicate(f"{FOLDER}/{tag}.md says that already")
    head = before.rstrip("\n") or f"# Rules: {tag}\n"
    return f"{head}\n- {rule}\n"


def require_rule_text(text: str) -> str:
    """Return a rule as one paragraph. Raises: Invalid."""
    rule = " ".join(require_valid_text(text).split())
    if not rule:
        raise Invalid("the rule is empty", hint="say what should always or never happen")
    if len(rule) > 2000:
        raise Invalid("the rule is longer than 2000 characters", hint="shorten it, or write it to .nexus/context/")
    for secret in find_secrets([(1, rule)]):
        raise Invalid(f"the rule holds what looks like a secret ({secret.rule})", hint="say where to find it instead")
    return rule


def require_tag_name(tag: str | None) -> str:
    """Return the tag as a file name. Raises: Invalid."""
    name = (tag or UNTAGGED).strip().lower()
    if not _TAG.fullmatch(name):
        raise Invalid(f"{name[:40]!r} cannot be a tag", hint="a tag is one word: letters, digits and dashes")
    return name


def rules_by_tag(snapshot: Snapshot) -> dict[str, list[str]]:
    """Return the rules of every tag."""
    return {
        tag: [line[2:].strip() for line in json_safe_text(text).splitlines() if line.startswith(("- ", "* "))]
        for tag, text in read_text_folder(snapshot, FOLDER).items()
    }


def read_rule_or_context(snapshot: Snapshot, folder: str, name: str) -> str:
    """Return the text of a rules or context file. Raises: NotFound."""
    files = read_text_folder(snapshot, folder)
    plain = name.strip().removeprefix(f"{folder}/").removesuffix(".md")
    if plain not in files:
        one = "rule tag" if folder == FOLDER else "context note"
        command = "rule" if folder == FOLDER else "context"
        raise NotFound(f"there is no {one} {plain[:80]!r}", hint=f"git nexus {command} list shows what there is")
    return files[plain]


def _comparable_text(line: str) -> str:
    return line.strip().lstrip("-* ").rstrip(". ").casefold()
