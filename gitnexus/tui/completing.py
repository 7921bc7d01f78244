"""Finds completions for the word before the cursor: slash commands, @files, tasks, runs, agents. Pure."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gitnexus.tui.slash import COMMANDS

MOST = 8
_OF_RUN = frozenset("land replay diff cancel resume stop review use approve deny show answer".split())
_CHOICES = {"trace": ("on", "off"), "mode": ("default", "acceptEdits", "autopilot", "bypass")}


class CompletionOffer(NamedTuple):
    """A replacement for the text between `start` and the cursor, with a short description."""

    text: str
    about: str
    start: int


class CompletionSources(NamedTuple):
    """The sources of names; each is called only when a matching word is typed."""

    files: Callable[[], Sequence[str]]
    tasks: Callable[[str], Sequence[tuple[str, str]]]
    runs: Callable[[], Sequence[tuple[str, str]]]
    macros: Callable[[], Sequence[tuple[str, str]]]


def find_completions(text: str, cursor: int, sources: CompletionSources) -> list[CompletionOffer]:
    """Return the replacements for the word before the cursor, best first."""
    before = text[:cursor]
    start = max(before.rfind(" "), before.rfind("\n")) + 1
    word = before[start:]
    if start == 0 and word.startswith("/"):
        return _complete_slash_command(word, sources)
    if word.startswith("@"):
        return [CompletionOffer(f"@{path}", "file", start) for path in _match_paths(word[1:], sources.files())]
    if before.startswith("/") and "\n" not in before:
        found = _complete_argument(before[1:].split(" ", 1)[0], word, start, sources)
        if found:
            return found
    name, colon, number = word.partition(":")
    if colon and name and (not number or number[:1] in "Tt"):
        rows = sources.tasks(name)
        return [CompletionOffer(ref, about, start) for ref, about in rows if ref.lower().startswith(word.lower())][
            :MOST
        ]
    return []


def _complete_slash_command(word: str, sources: CompletionSources) -> list[CompletionOffer]:
    rows = [(f"/{one.name}", one.about) for one in COMMANDS]
    rows += [(f"/{name}", about) for name, about in sources.macros()]
    return [CompletionOffer(name, about, 0) for name, about in rows if name.startswith(word)][:MOST]


def _complete_argument(command: str, word: str, start: int, sources: CompletionSources) -> list[CompletionOffer]:
    if command in _CHOICES:
        return [CompletionOffer(one, command, start) for one in _CHOICES[command] if one.startswith(word)]
    if command in _OF_RUN:
        return [CompletionOffer(name, about, start) for name, about in sources.runs() if name.startswith(word)][:MOST]
    return []


def _match_paths(word: str, paths: Sequence[str]) -> list[str]:
    """Return paths that begin with the word, then those whose file name does, then those that contain it."""
    low = word.lower()
    begins = [path for path in paths if path.lower().startswith(low)]
    if len(begins) >= MOST:
        return begins[:MOST]
    named = [path for path in paths if path.rpartition("/")[2].lower().startswith(low)]
    holds = [path for path in paths if low in path.lower()]
    return list(dict.fromkeys([*begins, *named, *holds]))[:MOST]
