"""Finds which agent a prompt names for which part of the work: "have Codex analyse it, then send it to Claude"."""

import re
from typing import NamedTuple

from gitnexus.base.errors import NotFound
from gitnexus.base.spelling import closest_word
from gitnexus.workflow.definition import NodeType
from gitnexus.workflow.macros import MacroPart
from gitnexus.workflow.rules import PASSIVE_REVIEW, RequestCue, parse_request
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
    # @claude why …, @codex please …: what follows is theirs
    rf"(?<![\w@])@(?P<g>{_NAME})\b[,:]?(?=\s+\w)(?:\s+(?:please|bitte)\b)?",
)
_FOUND = re.compile("|".join(f"(?:{form})" for form in _FORMS), re.IGNORECASE)
# fix it with codex, fix it @codex: the text before the name is their task
_WITH = re.compile(rf"(?:\b(?:with|by|mit|durch)\s+@?|(?<![\w@])@)(?P<e>{_NAME})\b\s*$", re.IGNORECASE)

# have it reviewed by codex
_REVIEWED_BY = re.compile(rf"{PASSIVE_REVIEW}\s+by\s+@?(?P<who>{_NAME})\b", re.IGNORECASE)


# Where an agent is called to do something: at the beginning of a part.
_CALLED = re.compile(
    r"(?:^|[.,;:!?\n]\s*|\b(?:and|then|und|dann|danach)\s+)@([a-z][a-z0-9-]{2,19})\b(?=\s+\w)", re.IGNORECASE
)


class Delegation(NamedTuple):
    """The parts of the work in text order, the words that name them, and whether each says what to do."""

    parts: tuple[MacroPart, ...]
    said: tuple[str, ...]
    sure: bool


def find_delegation(text: str) -> Delegation | None:
    """Return which agent is named for what in a text from `prose_of_prompt`; None if it names none."""
    # Blanks are collapsed: ten thousand of them would make the patterns below backtrack.
    text = re.sub(r"\s+", lambda blank: "\n" if "\n" in blank[0] else " ", text)
    text = _REVIEWED_BY.sub(lambda said: f"have {said['who']} review it", text)
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
        (kind, AGENTS[own.lower()] if own else "")
        for kind in _kinds_of_work(head[: closing.start()] if closing else head)
    ]
    if closing:
        said.append(closing[0])
        steps = steps or [("exec", AGENTS[own.lower()])]
    for at, match in enumerate(found):
        agents = [AGENTS[" ".join(name.lower().split())] for name in match.groups() if name]
        end = found[at + 1].start() if at + 1 < len(found) else len(text)
        kinds = _kinds_of_work(text[match.end() : end])
        sure = sure and bool(kinds)
        kinds = kinds or [_following_kind(steps, text)]
        steps += [(kind, agent) for kind in kinds for agent in agents]
        said.append(" ".join(match[0].split()).strip(" .,;:!?"))
    parts = _parts_with_ids(_without_repeats(steps))
    return Delegation(tuple(parts), tuple(said), sure) if len(parts) <= MOST_PARTS else None


def refuse_misspelt_agents(text: str) -> None:
    """Refuse a prompt that calls an agent by a name that is nearly one of ours. Raises: NotFound."""
    known = [name for name in AGENTS if " " not in name]
    for called in _CALLED.findall(text):
        meant = closest_word(called, known)
        if meant and called.lower() not in known:
            raise NotFound(f"there is no agent @{called}", hint=f"did you mean @{meant}?")


def _kinds_of_work(text: str) -> list[Kind]:
    """Return the kinds of work in a part of the text, in text order."""
    third = re.sub(r"^\s*(\w+?)(?:es|s)\b", lambda found: found[1] if found[1].lower() in VERBS else found[0], text)
    cues: list[RequestCue] = [cue for cue in parse_request(third).cues if cue.sure] or list(parse_request(third).cues)
    if not cues:
        spoken = [VERBS[word] for word in re.findall(r"\w+", text.lower()) if word in VERBS]
        return list(dict.fromkeys(spoken))[:1]
    return list(dict.fromkeys(cue.kind for cue in cues))


def _following_kind(steps: list[tuple[Kind, str]], text: str) -> Kind:
    if steps:
        return NEXT[steps[-1][0]]
    kinds = parse_request(text).kinds
    return kinds[0] if kinds else "exec"


def _without_repeats(steps: list[tuple[Kind, str]]) -> list[tuple[Kind, str]]:
    """Return the steps without those that only repeat the step before."""
    found: list[tuple[Kind, str]] = []
    for step in steps:
        if not found or found[-1] != step:
            found.append(step)
    return found


def _parts_with_ids(steps: list[tuple[Kind, str]]) -> list[MacroPart]:
    types: dict[Kind, NodeType] = {"research": "research", "plan": "plan", "exec": "exec", "review": "review"}
    parts = []
    for at, (kind, agent) in enumerate(steps):
        again = sum(earlier == kind for earlier, _ in steps[:at])
        parts.append(MacroPart(f"{kind}{again + 1}" if again else kind, types[kind], agent))
    return parts
