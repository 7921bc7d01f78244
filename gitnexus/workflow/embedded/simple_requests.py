"""Parses requests that need no model: replace a text, rename, move or delete files, run tests or a command. Pure.

A prompt is understood only as a whole: if one of its clauses says anything else, none of it is returned.
"""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from gitnexus.workflow.embedded.argv import parse_command_line

LONGEST = 2000
_MOST_CLAUSES = 20
# Quoted text is replaced by a numbered mark first, so that no pattern matches inside it.
_QUOTED = re.compile(
    r"`([^`\n]+)`|\"([^\"\n]+)\"|“([^”\n]+)”|„([^“”\n]+)[“”]|‘([^’\n]+)’|«([^»\n]+)»|(?<!\w)'([^'\n]+)'(?!\w)"
)
_MARK = re.compile("\ue000([0-9]+)\ue001")
_ARROW = r"\s*(?:→|⇒|->|=>)\s*"
_POLITE = re.compile(
    r"^(?:(?:please|kindly|now|then|and|also|first|next|finally|afterwards|just|can you|could you|would you|bitte|dann|"
    r"und|hey|ok|okay|nur)\b[\s,:]*)+",
    re.IGNORECASE,
)
_VERB = (
    r"(?:please\s+|then\s+|also\s+)*(?:rename|move|delete|remove|replace|substitute|change|fix|correct|run|execute|test|"
    r"benenne|verschiebe|lösche|entferne|ersetze|führe|korrigiere)"
)
_CLAUSES = re.compile(
    r"\n+|;\s*|(?<=[.!])\s+|,?\s+(?:and\s+then|then|und\s+dann|danach)\s+"
    rf"|,?\s+(?:and|und)\s+(?={_VERB}\b)|,\s+(?={_VERB}\b)",
    re.IGNORECASE,
)
_FILE_WORD = r"(?:(?:the|this|die|den|das|der)\s+)?(?:(?:files?|folders?|director(?:y|ies)|datei(?:en)?|ordner)\s+)?"
_RENAME = re.compile(
    rf"(?P<verb>rename|move|benenne|verschiebe)\s+(?P<old>.+?)(?:\s+(?:to|into|as|in|nach|zu)\s+|{_ARROW})(?P<new>.+?)"
    r"(?:\s+um)?",
    re.IGNORECASE,
)
_DELETE = re.compile(rf"(?:delete|remove|lösche|entferne)\s+(?P<word>{_FILE_WORD})(?P<paths>.+)", re.IGNORECASE)
_TESTS = re.compile(
    r"(?:(?:re-?)?run|execute|start)\s+(?:all\s+)?(?:(?:the|our|my|your|its|of|whole|full|entire|unit|complete)\s+)*"
    r"(?:tests?|test\s*suite|suite)(?:\s+(?:again|once|now|all))*(?:\s+in\s+(?P<paths>.+))?"
    r"|test\s+(?:it|this|everything|the\s+project)|(?:führe|lass)\s+(?:(?:die|alle)\s+)*tests\s+(?:aus|laufen)",
    re.IGNORECASE,
)
_COMMAND = re.compile(
    "(?:(?:run|execute|call|start|führe)\\s+)?(?:the\\s+command\\s+|command\\s+)?\ue000([0-9]+)\ue001(?:\\s+aus)?",
    re.IGNORECASE,
)
_WHAT = r"(?:(?:the|a|this|all|every|each|any|das|den|die|word|words|text|string|typos?|spelling|phrase|name|of)\s+)*"
_BY = r"\s+(?:by|with|to|through|durch|into|mit|zu)\s+"
_EVERYWHERE = re.compile(
    r"everywhere|all\s+files|every\s+file|the\s+(?:whole\s+)?(?:repository|repo|project|code\s*base)|überall",
    re.IGNORECASE,
)
# replace OLD by NEW in FILES; rename OLD to NEW in FILES; fix the typo OLD → NEW in FILES
_REPLACE_IN = re.compile(
    r"(?:replace|substitute|change|rename|fix|correct|ersetze|korrigiere)\s+(?P<pairs>.+?)"
    r"(?:\s+(?:in|inside|within|throughout|across)\s+(?P<files>.+)|\s+(?P<all>everywhere|überall))",
    re.IGNORECASE,
)
# fix the typo in FILES: OLD → NEW, OLD → NEW; in FILES, replace OLD by NEW; FILES: OLD → NEW
_IN_REPLACE = re.compile(
    rf"(?:(?:fix|correct|change|replace|korrigiere)\s+{_WHAT}(?:mistakes?\s+)?)?(?:in|of)?\s*(?P<files>[^:]+?)"
    r"(?::\s*|,?\s+(?=(?:replace|change|substitute|ersetze)\b))(?:(?:replace|change|substitute|ersetze)\s+)?"
    r"(?P<pairs>.+)",
    re.IGNORECASE,
)
# OLD in FILES should be NEW
_SHOULD_BE = re.compile(
    rf"(?:(?:fix|correct)\s+)?{_WHAT}(?P<old>\S+)\s+in\s+(?P<files>.+?)\s*[,:]?\s+(?:it\s+)?(?:should|must)\s+"
    r"(?:be|read)\s+(?P<new>.+)",
    re.IGNORECASE,
)


class WordReplacement(NamedTuple):
    """Replace a text by another in some files; no `paths` means all files that may be read."""

    old: str
    new: str
    paths: tuple[str, ...]
    # A folder or "everywhere" was meant: a file without the text is then no mistake.
    many: bool = False
    # Without quotes, several words may be a description and not text of a file.
    sure: bool = True


class FileMove(NamedTuple):
    """Move files or folders to a path, or into a folder if the target ends with /."""

    paths: tuple[str, ...]
    target: str


class FileDeletion(NamedTuple):
    """Delete files or folders."""

    paths: tuple[str, ...]


class RunCommandRequest(NamedTuple):
    """Run a command."""

    argv: tuple[str, ...]


class RunTestsRequest(NamedTuple):
    """Run the project's tests, or those in some paths."""

    paths: tuple[str, ...] = ()


SimpleRequest = WordReplacement | FileMove | FileDeletion | RunCommandRequest | RunTestsRequest


def parse_simple_requests(text: str, known: Collection[str]) -> tuple[SimpleRequest, ...]:
    """Return the requests of a text in order, empty if a part of it is none; `known` are the existing files."""
    text = text.strip()
    if not text or len(text) > LONGEST or "```" in text or "\ue000" in text:
        return ()
    quoted: list[re.Match[str]] = []

    def set_aside(match: re.Match[str]) -> str:
        quoted.append(match)
        return f"\ue000{len(quoted) - 1}\ue001"

    marked = _QUOTED.sub(set_aside, text)
    return _RequestParser(quoted, known).parse(marked)


class _RequestParser:
    """Parses a text from which the quoted parts were set aside."""

    def __init__(self, quoted: Sequence[re.Match[str]], known: Collection[str]) -> None:
        self._quoted = quoted
        self._known = known

    def parse(self, text: str) -> tuple[SimpleRequest, ...]:
        if whole := self._parse_clause(text):
            return tuple(whole)
        clauses = [clause for clause in _CLAUSES.split(text) if clause and clause.strip()]
        if not 1 < len(clauses) <= _MOST_CLAUSES:
            return ()
        parsed = [self._parse_clause(clause) for clause in clauses]
        return tuple(request for requests in parsed for request in requests) if all(parsed) else ()

    def _parse_clause(self, clause: str) -> list[SimpleRequest]:
        body = _POLITE.sub("", clause.strip()).rstrip(" !,")
        body = body.removesuffix(".") if not body.endswith("..") else body
        if not body or body.endswith("?"):
            return []
        if match := _TESTS.fullmatch(body):
            paths = self._parse_paths(match["paths"], folders=True) if match["paths"] else ()
            return [RunTestsRequest(paths)] if paths or not match["paths"] else []
        if match := _COMMAND.fullmatch(body):
            return self._parse_command(self._quoted[int(match[1])])
        return self._parse_deletion(body) or self._parse_move(body) or self._parse_replacement(body)

    def _parse_command(self, quoted: re.Match[str]) -> list[SimpleRequest]:
        argv = parse_command_line(quoted[1]) if quoted[1] else ""
        return [RunCommandRequest(argv)] if not isinstance(argv, str) else []

    def _parse_deletion(self, body: str) -> list[SimpleRequest]:
        match = _DELETE.fullmatch(body)
        if match is None:
            return []
        said = bool(re.search(r"file|folder|director|datei|ordner", match["word"], re.IGNORECASE))
        paths = self._parse_paths(match["paths"], folders=said)
        return [FileDeletion(paths)] if paths else []

    def _parse_move(self, body: str) -> list[SimpleRequest]:
        match = _RENAME.fullmatch(body)
        if match is None:
            return []
        paths = self._parse_paths(_without_file_word(match["old"]), folders=True)
        new = _without_file_word(match["new"])
        target = self._text_of(new).removeprefix("./")
        if not paths or not target or (not self._is_quoted(new) and re.search(r"\s", target)):
            return []
        into = self._is_folder(target) or (target.endswith("/") and not paths[0].endswith("/"))
        if len(paths) > 1 and not (into or target.endswith("/")):
            return []
        first = paths[0].rstrip("/")
        # Who renames `docs/x.md` to `y.md` means the name and not the folder.
        if match["verb"].lower() in ("rename", "benenne") and "/" not in target and "/" in first and not into:
            target = f"{first.rpartition('/')[0]}/{target}"
        return [FileMove(paths, f"{target.rstrip('/')}/" if into or len(paths) > 1 else target.rstrip("/"))]

    def _parse_replacement(self, body: str) -> list[SimpleRequest]:
        for pattern in (_SHOULD_BE, _IN_REPLACE, _REPLACE_IN):
            match = pattern.fullmatch(body)
            if match is None:
                continue
            named = match.groupdict()
            files = (named["files"] or "").strip()
            everywhere = bool(named.get("all") or _EVERYWHERE.fullmatch(files))
            paths = () if everywhere else self._parse_paths(_without_file_word(files), folders=True)
            pairs = [(named["old"], named["new"])] if "old" in named else _split_pairs(named["pairs"])
            if (paths or everywhere) and pairs:
                many = everywhere or any(path.endswith("/") for path in paths)
                found = [self._replacement(old.strip(), new.strip(), paths, many) for old, new in pairs]
                return list(found) if all(one.old and one.old != one.new for one in found) else []
        return []

    def _replacement(self, old: str, new: str, paths: tuple[str, ...], many: bool) -> WordReplacement:
        sure = self._is_quoted(old) or not re.search(r"\s", old)
        return WordReplacement(self._text_of(old), self._text_of(new), paths, many, sure)

    def _parse_paths(self, text: str, *, folders: bool = False) -> tuple[str, ...]:
        """Return the existing files and folders that a list names, folders with / at the end; empty if one is none.

        A bare word is a folder only with a / in it, or where the text says that it is one (`folders`).
        """
        if whole := self._existing_path(text, folders=folders):
            return (whole,)
        parts = re.split(r"\s*,\s*(?:(?:and|und)\s+)?|\s+(?:and|und|&)\s+", text.strip())
        found = [self._existing_path(part, folders=folders) for part in parts]
        return tuple(dict.fromkeys(found)) if found and all(found) else ()

    def _existing_path(self, word: str, *, folders: bool) -> str:
        path = self._text_of(word).removeprefix("./")
        if path in self._known:
            return path
        if (folders or "/" in path) and self._is_folder(path):
            return f"{path.rstrip('/')}/"
        return ""

    def _is_folder(self, path: str) -> bool:
        below = f"{path.removeprefix('./').rstrip('/')}/"
        return below != "/" and any(one.startswith(below) for one in self._known)

    def _is_quoted(self, word: str) -> bool:
        return _MARK.fullmatch(word.strip()) is not None

    def _text_of(self, word: str) -> str:
        """Return a word without the quotes around it; quotes inside of it are part of it."""
        word = word.strip()
        if whole := _MARK.fullmatch(word):
            return next(text for text in self._quoted[int(whole[1])].groups() if text)
        return _MARK.sub(lambda mark: self._quoted[int(mark[1])][0], word)


def _without_file_word(text: str) -> str:
    return re.sub(rf"^{_FILE_WORD}", "", text.strip(), flags=re.IGNORECASE)


def _split_pairs(text: str) -> list[tuple[str, str]]:
    """Return the pairs of old and new text; none if a part is no pair, or can be taken apart in two ways."""
    parts = re.split(r"\s*[,;]\s*(?:(?:and|und)\s+)?", text)
    if not all(re.search(_ARROW, part) for part in parts):
        parts = [text]
    found = [_sides_of_pair(re.sub(rf"^{_WHAT}(?=\S)", "", part.strip(), flags=re.IGNORECASE)) for part in parts]
    return [sides for sides in found if sides is not None] if all(found) else []


def _sides_of_pair(body: str) -> tuple[str, str] | None:
    for separator in (_ARROW, _BY):
        sides = [side.strip() for side in re.split(separator, body, flags=re.IGNORECASE)]
        if len(sides) > 1:
            return (sides[0], sides[1]) if len(sides) == 2 and all(sides) else None
    return None
