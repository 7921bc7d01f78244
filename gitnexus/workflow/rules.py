"""Classifies the work that a prompt asks for by its words alone: deterministic, without a model or network."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gitnexus.catalog.markdown import code_and_quotation_ranges
from gitnexus.workflow import words
from gitnexus.workflow.words import Kind

LONGEST = 20_000
# A name with a dot, slash, underscore or digits inside is a file, a path or an identifier, and asks for nothing.
_NAME = re.compile(r"[/\\_\d]|\S\.[A-Za-z]")
_TOKEN = re.compile(r"\S+")
_BOUNDS = re.compile(
    r"[.;:!?\n,()—–]+|\b(?:and|then|afterwards|but|und|dann|danach|anschließend|aber)\b", re.IGNORECASE
)
_END = re.compile(r"[.!?\n;]")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
# "have it reviewed" asks somebody for a review, as "review it" does.
PASSIVE_REVIEW = r"\b(?:have|get|let)\s+(?:the\s+|all\s+of\s+)?\w+\s+(?:be\s+)?reviewed\b"
_PASSIVE = re.compile(PASSIVE_REVIEW, re.IGNORECASE)
_NOT = re.compile(r"\b(do|does|did|is|are|should|must|can)(?:n['’]t|nt)\b", re.IGNORECASE)


class RequestCue(NamedTuple):
    """One request in a prompt: `said` are its words, `sure` if a verb or question states it and not just a keyword."""

    kind: Kind
    said: str
    sure: bool


class RequestReading(NamedTuple):
    """The requests of a prompt in text order, what it excludes, and what may be meant in addition."""

    cues: tuple[RequestCue, ...]
    out: frozenset[Kind]
    perhaps: frozenset[Kind]

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of work requested, each once."""
        return tuple(dict.fromkeys(cue.kind for cue in self.cues if cue.kind not in self.out))


def prose_of_prompt(prompt: str) -> str:
    """Return a prompt with code, quotations, paths and identifiers blanked out. The length is kept."""
    text = prompt[:LONGEST]
    for start, end in code_and_quotation_ranges(text):
        text = text[:start] + " " * (end - start) + text[end:]
    text = _NOT.sub(lambda found: found[1].ljust(len(found[0]) - 4) + " not", text)
    return _TOKEN.sub(lambda found: _blank_out_name(found[0]) if _NAME.search(found[0]) else found[0], text)


def parse_request(text: str) -> RequestReading:
    """Return what a text from `prose_of_prompt` asks for."""
    cues: list[RequestCue] = []
    out: set[Kind] = set()
    perhaps: set[Kind] = set()
    text = _PASSIVE.sub("review it", text)
    for clause, asks in _split_clauses(text):
        found, ruled_out = _parse_clause(clause, asks)
        cues += found
        out |= ruled_out
        perhaps |= {kind for word in clause if (kind := _kind_of_keyword(word)) is not None}
    lowered = " ".join(text.lower().split())
    for phrase in words.RESEARCH_PHRASES:
        if phrase in lowered:
            cues.append(RequestCue("research", phrase, False))
    asked = {cue.kind for cue in cues}
    return RequestReading(
        tuple(cues), frozenset(out - {cue.kind for cue in cues if cue.sure}), frozenset(perhaps - asked - out)
    )


def _split_clauses(text: str) -> Iterator[tuple[list[str], bool]]:
    """Yield the clauses as lower-case words, and whether each is in a question."""
    at = 0
    ends = _END.finditer(text)
    closing = next(ends, None)
    for bound in [*_BOUNDS.finditer(text), None]:
        end = bound.start() if bound else len(text)
        found = [word.lower() for word in _WORD.findall(text[at:end])]
        if found:
            while closing is not None and closing.start() < end:
                closing = next(ends, None)
            yield found, closing is not None and closing[0] == "?"
        at = bound.end() if bound else end


def _parse_clause(clause: list[str], asks: bool) -> tuple[list[RequestCue], set[Kind]]:
    """Return what one clause asks for, and what it excludes."""
    body = _without_opening(clause)
    out = _kinds_ruled_out(body)
    if out is not None:
        return [], out
    if body[:1] == ["stop"] and {*body[1:]} <= words.FILLERS | {"there", "here"}:
        return [], set()  # "plan it, then stop" asks for nothing after the plan
    lead = _cue_of_verb(body)
    if lead is not None:
        found = [lead]
    elif body and (body[0] in words.QUESTIONS or (asks and body[0] in words.ASKING)):
        planned = next((word for word in body if word in words.PLAN_KEYWORDS), None)
        found = [RequestCue("plan", planned, True) if planned else RequestCue("research", body[0], True)]
    else:
        found = [RequestCue(kind, word, False) for word in body if (kind := _kind_of_keyword(word)) is not None]
    # What only the world outside knows is looked up, whatever the verb.
    found += [
        RequestCue("research", word, False) for word in body if word in words.RESEARCH_KEYWORDS and lead is not None
    ]
    return found, set()


def _without_opening(clause: Sequence[str]) -> list[str]:
    """Return a clause without polite openings."""
    body = list(clause)
    changed = True
    while changed and body:
        changed = False
        while len(body) > 1 and body[0] in words.FILLERS:
            del body[0]
            changed = True
        for opening in words.OPENINGS:
            if tuple(body[: len(opening)]) == opening and len(body) > len(opening):
                del body[: len(opening)]
                changed = True
    return body


def _cue_of_verb(body: Sequence[str]) -> RequestCue | None:
    """Return the request of the verb that a clause begins with."""
    if not body:
        return None
    first, rest = body[0], body[1:]
    if rest and rest[0] in words.MODALS and first not in words.MAKERS:
        return None
    for word in rest[:4]:
        if (kind := words.PHRASES.get((first, word))) is not None:
            return RequestCue(kind, f"{first} {word}", True)
    planned = next((word for word in rest if word in words.PLANNED), None)
    if planned is not None and _asks_for_plan(first, rest, planned):
        return RequestCue("plan", f"{first} … {planned}", True)
    told = next((word for word in rest if word in words.TOLD), None)
    if first in words.TELLERS and told is not None:
        return RequestCue("research", f"{first} … {told}", True)
    kind = words.VERBS.get(first)
    if kind is None and rest and rest[-1].endswith("en"):  # German says the verb last: die Tests reparieren
        first, kind = rest[-1], words.VERBS.get(rest[-1])
        kind = "plan" if first in words.MAKERS and planned is not None else kind
    if first == "tell" and "me" not in rest[:1]:
        return None
    return RequestCue(kind, first, True) if kind is not None else None


def _asks_for_plan(verb: str, rest: Sequence[str], planned: str) -> bool:
    """Return True if a verb asks for the plan, steps or design among the words after it."""
    if verb in words.SHOWERS:
        return bool({"first", "before", "beforehand"} & {*rest})  # before anything is done
    if verb == "describe" and rest.index(planned) > 0:
        # The design is there already; a design has to be made.
        return rest[rest.index(planned) - 1] not in words.DEFINITE
    return verb in words.MAKERS


def _kinds_ruled_out(body: Sequence[str]) -> set[Kind] | None:
    """Return what a negated clause excludes; None for a clause without negation."""
    at = next((at for at, word in enumerate(body) if word in words.NEGATIONS), None)
    if at is None or at > 1:
        return None
    rest = body[at + 1 :]
    kinds = {kind for word in rest if (kind := _kind_of_keyword(word) or words.VERBS.get(word)) is not None}
    return kinds | ({"exec"} if "code" in rest else set())


def _kind_of_keyword(word: str) -> Kind | None:
    if word in words.RESEARCH_KEYWORDS:
        return "research"
    if word in words.PLAN_KEYWORDS:
        return "plan"
    return "exec" if word in words.EXEC_KEYWORDS else None


def _blank_out_name(name: str) -> str:
    """Return blanks for a name; punctuation that ends a sentence stays."""
    kept = name.rstrip(".,;:!?")
    return " " * len(kept) + name[len(kept) :]
