"""Renders the parts of a card: facts, file rows, texts and bytes of a request, complete and safe to display."""

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gitnexus.base.argvtext import escape_word, format_pairs, format_words
from gitnexus.base.text import make_visible, one_line, visible_bytes
from gitnexus.git import Repo
from gitnexus.git.binaries import describe_blob
from gitnexus.git.diff_text import changed_line_counts, diff_size, diff_text
from gitnexus.git.private import PrivateGit, private_git
from gitnexus.policy.model import (
    CommandRequest,
    DocumentRequest,
    HandoffRequest,
    MemoryDeleteRequest,
    NetworkRequest,
    PatchRequest,
    PatchRow,
    Request,
)
from gitnexus.redaction.hide import redact
from gitnexus.redaction.result import Reveal, SecretLocation

# Longer content is not shown: approval then needs the digest.
MOST_BYTES = 8 * 1024 * 1024
MOST_BINARY = 1024 * 1024
_MOST_COUNTED = 512 * 1024 * 1024
_ROW = 16
_HUNK = re.compile(rb"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")

Facts = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class FileRow:
    """One file of a patch."""

    path: str
    what: str
    added: int | None = None
    removed: int | None = None


@dataclass(frozen=True, slots=True)
class CardPart:
    """Bytes named by a digest, such as a command's input: title, size, and all of them as lines."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CardContent:
    """Everything a request binds. `missing` lists what is unavailable with its size.

    `places` where secrets are masked.
    """

    facts: Facts
    files: tuple[FileRow, ...] = ()
    raw: bytes = b""
    binaries: tuple[tuple[str, bytes], ...] = ()
    missing: tuple[str, ...] = ()


def request_content(repo: Repo, request: Request, inputs: Mapping[str, bytes]) -> CardContent:
    """Return everything that a request binds; `inputs` are texts by digest. Raises: GitFailed."""
    if isinstance(request, PatchRequest):
        return _patch_content(repo, request)
    facts: Facts
    match request:
        case CommandRequest():
            return _command_content(request, inputs)
        case HandoffRequest():
            facts = [("from", request.sender), ("to", request.receiver), ("message", request.message_digest)]
            facts += [("workflow", request.workflow)] if request.workflow else []
        case DocumentRequest():
            facts = [("document", request.path), ("now", request.old_digest), ("then", request.new_digest)]
        case MemoryDeleteRequest():
            facts = [(name, held) for name, held in request.notes.items()]
        case NetworkRequest():
            facts = [("hosts", ", ".join(request.hosts)), ("for", request.purpose)]
        case _:
            facts = []
    return CardContent([*facts, *_origin_facts(request)])


def make_card_part(
    title: str, raw: bytes, reveal: Reveal | None, *, binary: bool = False
) -> tuple[CardPart, list[str]]:
    """Return bytes as a card part, and where secrets in it are masked."""
    masked = redact(raw, reveal=reveal)
    lines = hex_lines(masked.text) if binary else visible_bytes(masked.text).split("\n")
    return CardPart(f"{title}, {len(raw)} bytes", tuple(lines)), [*find_hidden_in_text(masked.places, raw, title)]


def hex_lines(raw: bytes) -> list[str]:
    """Return a hex dump with sixteen bytes per line."""
    lines = []
    for at in range(0, len(raw), _ROW):
        row = raw[at : at + _ROW]
        letters = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        lines.append(f"{at:08x}  {row.hex(' ').ljust(3 * _ROW)} {letters}")
    return lines


def find_hidden_in_diff(places: Sequence[SecretLocation], raw: bytes) -> Iterator[str]:
    """Yield the file and line of each masked secret in a diff."""
    waiting = deque(places)
    path, hunk, end = "", _Hunk(), 0
    for number, line in enumerate(raw.split(b"\n") if places else (), 1):
        end += len(line) + 1
        if line.startswith(b"diff --git "):
            names = visible_bytes(line.removeprefix(b"diff --git "), keep="")
            path, hunk = redact(names[: len(names) // 2].strip('"').removeprefix("a/")).text, _Hunk()
        at = hunk.line_of(line)
        while waiting and waiting[0].start < end:
            place = waiting.popleft()
            where = at and f"{at[0]} of {path}{at[1]}" if path else f"line {number}"
            yield f"{place.rule}, {place.size} bytes, {where or f'above the lines of {path}'}"


def find_hidden_in_text(places: Sequence[SecretLocation], raw: bytes, name: str = "") -> Iterator[str]:
    """Yield the line of each masked secret in a text."""
    number, start = 1, 0
    for place in places:
        number += raw.count(b"\n", start, place.start)
        start = place.start
        yield f"{place.rule}, {place.size} bytes, line {number}{f' of {name}' if name else ''}"


class _Hunk:
    """Counts old and new line numbers in a diff."""

    def __init__(self) -> None:
        self._old, self._new, self._begun = 0, 0, False

    def line_of(self, line: bytes) -> tuple[str, str] | None:
        """Return the line number in the file, and whether in the old file; None if the diff line is not a file line."""
        if begins := _HUNK.match(line):
            self._old, self._new, self._begun = int(begins[1]), int(begins[2]), True
            return None
        if not self._begun or line[:1] not in (b"+", b"-", b" "):
            return None
        old, new = self._old, self._new
        self._old += line[:1] != b"+"
        self._new += line[:1] != b"-"
        return (f"line {old}", " as it was") if line[:1] == b"-" else (f"line {new}", "")


def mask_command_words(argv: Sequence[str], reveal: Reveal | None) -> Iterator[str]:
    """Yield the words of a command one by one, with secrets masked."""
    before = ""
    for word in argv:
        # Words masked by themselves, or by the word before them, as in --token XYZ.
        masked, beside = redact(word, reveal=reveal).text, redact(f"{before} {word}", reveal=reveal).text
        hides = masked == word and not beside.endswith(f" {word}")
        yield escape_word(beside.rpartition(" ")[2] if hides else masked)
        before = word


def _command_content(request: CommandRequest, inputs: Mapping[str, bytes]) -> CardContent:
    facts = [
        ("program", f"{request.program} ({request.program_digest})"),
        ("in", request.cwd),
        ("network", request.network),
        ("sandbox", request.sandbox),
        ("limits", ", ".join(f"{name} {value}" for name, value in request.limits.items())),
        ("env", format_pairs(request.env)),
    ]
    facts += [("base", request.base)] if request.base else []
    facts += [(f"file {name}", held) for name, held in sorted((request.files or {}).items())]
    for verb, paths in (("reads only", request.reads), ("writes only", request.writes)):
        facts += [(verb, ", ".join(paths) or "nothing")] if paths is not None else []
    missing: tuple[str, ...] = ()
    if request.stdin_digest:
        given = inputs.get(request.stdin_digest)
        size = "" if given is None else f", {len(given)} bytes"
        facts.append(("input", f"{request.stdin_digest}{size}"))
        missing = (f"the input {request.stdin_digest}, which is not on this machine",) if given is None else ()
    raw = format_words(request.argv).encode()
    return CardContent([*facts, *_origin_facts(request)], raw=raw, missing=missing)


def _origin_facts(request: Request) -> Facts:
    role = [("role", request.role)] if request.role else []
    return [*role, ("project", request.project), ("run", request.run)]


def _patch_content(repo: Repo, request: PatchRequest) -> CardContent:
    missing: list[str] = []
    with private_git(repo) as git:
        raw, cut = diff_text(git, request.base_tree, request.result_tree, MOST_BYTES)
        lines = {row.path: row for row in changed_line_counts(git, request.base_tree, request.result_tree)}
        unseen = [
            change for change in request.changes if change.new_blob and _is_binary(lines.get(change.path), change)
        ]
        told = {change.path: describe_blob(git, change.new_blob) for change in unseen}
        binaries = list(_read_binary_blobs(git, unseen, missing))
        missing += [rest_of_difference(git, request)] if cut else []
    files = []
    for change in request.changes:
        count = lines.get(change.path)
        files.append(
            FileRow(
                make_visible(change.path, keep=""),
                ", ".join(filter(None, (_describe_change(change), told.get(change.path, "")))),
                count.added if count else None,
                count.removed if count else None,
            )
        )
    facts = [("base", request.base), ("tree", f"{request.base_tree} → {request.result_tree}"), *_origin_facts(request)]
    return CardContent(facts, tuple(files), raw, tuple(binaries), tuple(missing))


def rest_of_difference(git: PrivateGit, request: PatchRequest) -> str:
    """Return what is not shown of a long diff, with its size. Raises: GitFailed."""
    size, more = diff_size(git, request.base_tree, request.result_tree, _MOST_COUNTED)
    rest = f"{'more than ' if more else ''}{size - MOST_BYTES} bytes"
    return f"the difference after its first {MOST_BYTES} bytes, {rest}"


def _is_binary(count: object, change: PatchRow) -> bool:
    """True if git shows no lines for it, except for a submodule, whose diff shows the commit."""
    return getattr(count, "added", 0) is None and change.new_mode != "160000"


def _read_binary_blobs(git: PrivateGit, changes: Sequence[PatchRow], missing: list[str]) -> Iterator[tuple[str, bytes]]:
    room = MOST_BINARY
    for change in changes:
        raw, more = git.read_beginning("cat-file", "blob", change.new_blob, most=room) if room else (b"", True)
        if more:
            size = int(git.must("cat-file", "-s", change.new_blob))
            missing.append(f"the bytes of {one_line(change.path, 200)}, {size} bytes")
            continue
        room -= len(raw)
        yield make_visible(change.path, keep=""), raw


def _describe_change(change: PatchRow) -> str:
    kinds = {"100755": "executable", "120000": "link", "160000": "submodule"}
    what = "new" if not change.old_mode else "deleted" if not change.new_mode else "changed"
    notes: Sequence[str] = [kinds[change.new_mode]] if change.new_mode in kinds else []
    if change.old_mode and change.new_mode and change.old_mode != change.new_mode:
        notes = [f"mode {change.old_mode} → {change.new_mode}"]
    if change.link_target:
        notes = [*notes, f"to {make_visible(change.link_target, keep='')}"]
    if change.binary:
        notes = [*notes, "binary"]
    return ", ".join((what, *notes))
