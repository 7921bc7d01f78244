"""Who is named for which part of the work: "have Codex analyse it, then send it to Claude"."""

import re
from typing import NamedTuple

from gitnexus.workflow.definition import NodeType
from gitnexus.workflow.macros import Part
from gitnexus.workflow.rules import Cue, reading
from gitnexus.workflow.words import VERBS, Kind

# As people call them; longer names first, so that "claude code" is one.
AGENTS: dict[str, str] = {
    "claude code": "claude",
    "gemini cli": "gemini",
    "open code": "opencode",
    "claude": "claude",
    "codex": "codex",
    "gemini": "gemini",
    "opencode": "opencode",
    "aider": "aider",
}
MOST_PARTS = 12
# What comes after a step that was given away without a word about it.
NEXT: dict[Kind, Kind] = {"research": "plan", "plan": "exec", "exec": "review", "review": "exec"}
_NAME = "|".join(AGENTS)
_WHO = rf"@?(?P<{{}}>{_NAME})\b"
_ALSO = rf"(?:\s+(?:and|und)\s+@?(?P<{{0}}2>{_NAME})\b(?:\s+(?:both|beide)\b)?)?"
_MODAL = r"(?:should|shall|must|can|will|to|for|soll|kann|muss)"
# Verbs as a third person says them: "Gemini implements the parser".
_THIRD = "|".join(sorted({verb + end for verb in VERBS for end in ("", "s", "es") if verb.isascii()}))
_FORMS = (
    # have Codex analyse …, ask Gemini to …, lass Claude …
    rf"\b(?:have|let|get|ask|tell|lass|lasse|frage|bitte)\s+{_WHO.format('a')}{_ALSO.format('a')}(?:\s+(?:to|dann|danach)\b)?",
    # send it to Claude, hand the findings over to Claude for …
    rf"\b(?:send|hand|pass|give|forward|delegate|gib|schicke|sende)\b(?:\s+(?!to\b|an\b)\w+){{0,4}}?\s+(?:to|an)\s+"
    rf"{_WHO.format('b')}(?:\s+(?:to|for|for\s+a|zum)\b)?",
    # use aider to …
    rf"\b(?:use|using|via|nimm|verwende)\s+{_WHO.format('c')}{_ALSO.format('c')}(?:\s+(?:to|for|um)\b)?",
    # Claude should fix …, Codex reviews it; at the beginning of a part only
    rf"(?:^|[.,;:!?\n]\s*|\b(?:and|then|und|dann|danach)\s+){_WHO.format('d')}{_ALSO.format('d')}"
    rf"(?=\s*:|\s+(?:{_MODAL}|{_THIRD})\b)(?:\s+{_MODAL}\b)?",
    # Codex, please write …
    rf"^\s*{_WHO.format('f')}\s*,(?=\s*(?:(?:please|bitte)\s+)?(?:{_THIRD})\b)",
)
_FOUND = re.compile("|".join(f"(?:{form})" for form in _FORMS), re.IGNORECASE)
# fix it with codex: what stands before it is theirs
_WITH = re.compile(rf"\b(?:with|by|mit|durch)\s+{_WHO.format('e')}\s*$", re.IGNORECASE)


class Delegated(NamedTuple):
    """The parts of the work in the order of the text, the words that say so, and whether each says what to do."""

    parts: tuple[Part, ...]
    said: tuple[str, ...]
    sure: bool


def delegated(text: str) -> Delegated | None:
    """Return who is named for what in a text as `prose` leaves it; None if it names nobody."""
    # One blank for many: else whoever sends ten thousand of them makes the patterns below try all their ways.
    text = re.sub(r"\s+", lambda blank: "\n" if "\n" in blank[0] else " ", text)
    found = list(_FOUND.finditer(text))
    # Nobody hands work on so often in one breath: it is a text about agents, and the rules read it.
    if len(found) > MOST_PARTS:
        return None
    steps: list[tuple[Kind, str]] = []
    said = []
    sure = True
    head = text[: found[0].start()] if found else text
    closing = _WITH.search(head.rstrip(" .!,;"))
    if not found and closing is None:
        return None
    own = closing["e"] if closing else ""
    steps += [
        (kind, AGENTS[own.lower()] if own else "") for kind in _kinds(head[: closing.start()] if closing else head)
    ]
    if closing:
        said.append(closing[0])
        steps = steps or [("exec", AGENTS[own.lower()])]
    for at, match in enumerate(found):
        agents = [AGENTS[" ".join(name.lower().split())] for name in match.groups() if name]
        end = found[at + 1].start() if at + 1 < len(found) else len(text)
        kinds = _kinds(text[match.end() : end])
        sure = sure and bool(kinds)
        kinds = kinds or [_follows(steps, text)]
        steps += [(kind, agent) for kind in kinds for agent in agents]
        said.append(" ".join(match[0].split()).strip(" .,;:!?"))
    parts = _named(_merged(steps))
    return Delegated(tuple(parts), tuple(said), sure) if len(parts) <= MOST_PARTS else None


def _kinds(text: str) -> list[Kind]:
    """Return the kinds of work in a part of the text, in its order."""
    third = re.sub(r"^\s*(\w+?)(?:es|s)\b", lambda found: found[1] if found[1].lower() in VERBS else found[0], text)
    cues: list[Cue] = [cue for cue in reading(third).cues if cue.sure] or list(reading(third).cues)
    if not cues:
        spoken = [VERBS[word] for word in re.findall(r"\w+", text.lower()) if word in VERBS]
        return list(dict.fromkeys(spoken))[:1]
    return list(dict.fromkeys(cue.kind for cue in cues))


def _follows(steps: list[tuple[Kind, str]], text: str) -> Kind:
    if steps:
        return NEXT[steps[-1][0]]
    kinds = reading(text).kinds
    return kinds[0] if kinds else "exec"


def _merged(steps: list[tuple[Kind, str]]) -> list[tuple[Kind, str]]:
    """Return the steps without one that only repeats what the step before it says."""
    found: list[tuple[Kind, str]] = []
    for step in steps:
        if not found or found[-1] != step:
            found.append(step)
    return found


def _named(steps: list[tuple[Kind, str]]) -> list[Part]:
    types: dict[Kind, NodeType] = {"research": "research", "plan": "plan", "exec": "exec", "review": "review"}
    parts = []
    for at, (kind, agent) in enumerate(steps):
        again = sum(earlier == kind for earlier, _ in steps[:at])
        parts.append(Part(f"{kind}{again + 1}" if again else kind, types[kind], agent))
    return parts
