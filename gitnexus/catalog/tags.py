"""Finds tags such as `[plan]`, `[d]`, `[rule:testing]` in a user's message, at the start of a line only. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gitnexus.catalog.markdown import code_and_quotation_ranges, is_in_ranges
from gitnexus.catalog.model import Tag

# What a vocabulary may call a trigger.
TRIGGER = re.compile(r"\[[a-z][a-z0-9-]{0,31}(:[a-z][a-z0-9-]{0,31})?\]")
# Something right behind makes it something else: a link, a definition, an index, an assignment, a menu ([d]elete).
_AT_START = re.compile(
    r"^ {0,3}(\[([a-z][a-z0-9-]*)(?::(\w[\w.-]{0,63}))?\])(?![A-Za-z0-9_!#-&(-/:-@\[-`{-~])", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class TagUse:
    """A tag that was typed: which, its variant if it has one, and what follows it."""

    id: str
    variant: str | None
    text: str


def find_tags(message: str, vocabulary: Sequence[Tag]) -> list[TagUse]:
    """Return the tags of a message in their order. What is shown as code or quoted does not count."""
    text = message.replace("\r\n", "\n").replace("\r", "\n")
    if "[" not in text:
        return []
    triggers = {tag.trigger: tag for tag in vocabulary}
    hidden = code_and_quotation_ranges(text)
    found: list[tuple[Tag, str | None, int, int]] = []
    for match in _AT_START.finditer(text):
        meant = _match_trigger(match[1], match[2], match[3], triggers)
        if meant is not None and not is_in_ranges(hidden, match.start(1)):
            found.append((*meant, match.start(), match.end()))
    ends = [row[2] for row in found[1:]] + [len(text)]
    return [
        TagUse(tag.id, variant, text[end:until].strip())
        for (tag, variant, _, end), until in zip(found, ends, strict=False)
    ]


def _match_trigger(
    whole: str, name: str, variant: str | None, triggers: dict[str, Tag]
) -> tuple[Tag, str | None] | None:
    if whole in triggers:
        return triggers[whole], None
    tag = triggers.get(f"[{name}]")
    if tag is None or variant is None or not {variant, "*"} & set(tag.variants):
        return None
    return tag, variant
