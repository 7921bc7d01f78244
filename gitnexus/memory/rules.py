"""Rules: advice that the project's people set, one file a tag, never forgotten by gc."""

import re

from gitnexus.base.errors import Duplicate, Invalid, NotFound
from gitnexus.memory.notes import Notes, begun, checked, readable, shelf_in, written
from gitnexus.redaction import find_secrets
from gitnexus.state import Change, Snapshot

FOLDER = "rules"
UNTAGGED = "general"
_TAG = re.compile(r"\w[\w-]{0,63}")


def add_rule(notes: Notes, text: str, tag: str | None = None) -> tuple[str, str]:
    """Add a rule to its tag's file, as one commit; return tag and rule. Raises: Invalid, Duplicate."""
    rule, name = checked_rule(text), checked_tag(tag)
    notes.latest()

    def decide(snapshot: Snapshot) -> Change[tuple[str, str]]:
        after = with_rule(shelf_in(snapshot, FOLDER).get(name, ""), rule, name)
        files = begun(snapshot, {f"{FOLDER}/{name}.md": written(after)}, notes.clock())
        return Change(files, f"rules: add to {name}", (name, rule))

    added = notes.state.transact(decide)
    notes.latest()  # the first write of all fills `.nexus/`
    return added


def with_rule(before: str, rule: str, tag: str) -> str:
    """Return a file of rules with one more. Raises: Duplicate."""
    if any(_bare(line) == _bare(rule) for line in before.splitlines()):
        raise Duplicate(f"{FOLDER}/{tag}.md says that already")
    head = before.rstrip("\n") or f"# Rules: {tag}\n"
    return f"{head}\n- {rule}\n"


def checked_rule(text: str) -> str:
    """Return a rule as one paragraph. Raises: Invalid."""
    rule = " ".join(checked(text).split())
    if not rule:
        raise Invalid("the rule is empty", hint="say what should always or never happen")
    if len(rule) > 2000:
        raise Invalid("the rule is longer than 2000 characters", hint="say it shorter, or write it to .nexus/context/")
    for secret in find_secrets([(1, rule)]):
        raise Invalid(f"the rule holds what looks like a secret ({secret.rule})", hint="say where it is kept instead")
    return rule


def checked_tag(tag: str | None) -> str:
    """Return the tag as a file's name. Raises: Invalid."""
    name = (tag or UNTAGGED).strip().lower()
    if not _TAG.fullmatch(name):
        raise Invalid(f"{name[:40]!r} cannot be a tag", hint="a tag is one word: letters, digits and dashes")
    return name


def listed(snapshot: Snapshot) -> dict[str, list[str]]:
    """Return the rules of every tag."""
    return {
        tag: [line[2:].strip() for line in readable(text).splitlines() if line.startswith(("- ", "* "))]
        for tag, text in shelf_in(snapshot, FOLDER).items()
    }


def shown(snapshot: Snapshot, shelf: str, name: str) -> str:
    """Return the text of a file of rules or context. Raises: NotFound."""
    files = shelf_in(snapshot, shelf)
    plain = name.strip().removeprefix(f"{shelf}/").removesuffix(".md")
    if plain not in files:
        one = "rule tag" if shelf == FOLDER else "context note"
        command = "rule" if shelf == FOLDER else "context"
        raise NotFound(f"there is no {one} {plain[:80]!r}", hint=f"git nexus {command} list shows what there is")
    return files[plain]


def _bare(line: str) -> str:
    return line.strip().lstrip("-* ").rstrip(". ").casefold()
