"""Carries out simple requests on a copy of the files in memory, and renders the result as one unified diff."""

import difflib
import re
from collections.abc import Iterator, Sequence

from gitnexus.base.errors import Invalid
from gitnexus.base.text import is_utf8_name, one_line
from gitnexus.packs.tree import BaseTree
from gitnexus.workflow.embedded.simple_requests import FileDeletion, FileMove, WordReplacement

MOST_FILES = 500
_PLAIN_NAME = re.compile(r'[^"\\\x00-\x1f\x7f]*')


class FileEdits:
    """Edits on the files of one commit. Nothing is written: `diff` returns what would change."""

    def __init__(self, base: BaseTree) -> None:
        self._base = base
        self._known = frozenset(base.paths())
        # The path that each changed file had in the commit, by its present path; and the changed texts.
        self._origin: dict[str, str] = {}
        self._texts: dict[str, str] = {}
        self._gone: set[str] = set()

    def apply(self, request: WordReplacement | FileMove | FileDeletion) -> None:
        """Carry out a request. Raises: Invalid, saying why it cannot be."""
        if isinstance(request, WordReplacement):
            self._replace(request)
        elif isinstance(request, FileMove):
            self._move(request)
        else:
            for path in self._files_of(request.paths):
                self._drop(path)

    def diff(self) -> str:
        """Return all edits as a unified diff, empty if nothing changed."""
        moved = {origin: path for path, origin in self._origin.items()}
        rows = [self._diff_of_file(path, path) for path in sorted(self._texts.keys() - self._origin.keys())]
        rows += [self._diff_of_file(moved[origin], origin) for origin in sorted(moved)]
        rows += [self._diff_of_deletion(path) for path in sorted(self._gone - moved.keys())]
        return "".join(rows)

    def _present(self) -> frozenset[str]:
        return (self._known - self._gone) | self._origin.keys()

    def _files_of(self, paths: Sequence[str]) -> list[str]:
        present = self._present()
        found = [one for path in paths for one in (sorted(_below(path, present)) if path.endswith("/") else [path])]
        for path in found:
            if path not in present:
                raise Invalid(f"{path} no longer exists")
            if not is_utf8_name(path):
                raise Invalid(f"the name {path!r} is not UTF-8")
        if len(found) > MOST_FILES:
            raise Invalid(f"more than {MOST_FILES} files are meant")
        return list(dict.fromkeys(found))

    def _read_text(self, path: str) -> str:
        if path in self._texts:
            return self._texts[path]
        origin = self._origin.get(path, path)
        if reason := self._base.why_not(origin):
            raise Invalid(f"{origin} cannot be changed: {reason}")
        blob = self._base.read(origin)
        raw = blob.data if blob is not None else b""
        if b"\0" in raw:
            raise Invalid(f"{origin} is no text")
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as exc:
            raise Invalid(f"{origin} is not UTF-8 text") from exc

    def _replace(self, request: WordReplacement) -> None:
        paths = self._files_of(request.paths) if request.paths else self._files_with(request.old)
        changed = 0
        for path in paths:
            try:
                before = self._read_text(path)
            except Invalid:
                if request.many:
                    continue
                raise
            after = replace_words(before, request.old, request.new)
            if after != before:
                self._texts[path] = after
                changed += 1
            elif not request.many:
                raise Invalid(_why_not_replaced(path, before, request.old))
        if not changed:
            raise Invalid(f"“{one_line(request.old, 80)}”occurs in none of the files as a whole word")

    def _files_with(self, old: str) -> list[str]:
        wanted = old.encode("utf-8", "replace")
        found = {entry.path for entry, raw in self._base.texts("") if wanted in raw} | self._texts.keys()
        found |= {path for path, origin in self._origin.items() if origin in found}
        return self._files_of(sorted(found & self._present()))

    def _move(self, request: FileMove) -> None:
        if any(part in ("", ".", "..") for part in request.target.rstrip("/").split("/")):
            raise Invalid(f"{one_line(request.target, 80)} is not a path in this repository")
        for path in request.paths:
            name = path.rstrip("/")
            target = request.target + name.rpartition("/")[2] if request.target.endswith("/") else request.target
            for one in self._files_of([path]):
                self._move_file(one, target + one[len(name) :])

    def _move_file(self, path: str, target: str) -> None:
        present = self._present()
        if target in present or (self._base.has(target) and target not in self._gone):
            raise Invalid(f"{target} already exists")
        if any(parent in present for parent in _parents(target)):
            raise Invalid(f"a folder of {target} is a file")
        if reason := self._base.why_not(self._origin.get(path, path)):
            raise Invalid(f"{path} cannot be moved: {reason}")
        origin = self._origin.pop(path, path)
        if path in self._texts:
            self._texts[target] = self._texts.pop(path)
        self._gone.add(origin)
        if target == origin:  # back where it was
            self._gone.discard(origin)
        else:
            self._origin[target] = origin

    def _drop(self, path: str) -> None:
        origin = self._origin.pop(path, path)
        self._texts.pop(path, None)
        if reason := self._base.why_not(origin):
            raise Invalid(f"{path} cannot be deleted: {reason}")
        self._gone.add(origin)

    def _diff_of_file(self, path: str, origin: str) -> str:
        moved = path != origin
        head = [f"diff --git {_name('a/', origin)} {_name('b/', path)}"]
        if path not in self._texts:
            head += ["similarity index 100%"]
        if moved:
            head += [f"rename from {_name('', origin)}", f"rename to {_name('', path)}"]
        lines = "\n".join([*head, ""])
        if path not in self._texts:
            return lines
        blob = self._base.read(origin)
        before = blob.data.decode("utf-8") if blob is not None else ""
        return lines + "".join(_hunks(before, self._texts[path], _header("a/", origin), _header("b/", path)))

    def _diff_of_deletion(self, path: str) -> str:
        blob = self._base.read(path)
        raw = blob.data if blob is not None else b""
        head = f"diff --git {_name('a/', path)} {_name('b/', path)}\ndeleted file mode {self._base.mode(path)}\n"
        if not raw:
            return head
        try:
            text = raw.decode("utf-8") if b"\0" not in raw else None
        except UnicodeDecodeError:
            text = None
        if text is None:
            raise Invalid(f"{path} is not text: delete it with a command, as in `git rm {path}`")
        return head + "".join(_hunks(text, "", _header("a/", path), "/dev/null"))


def replace_words(text: str, old: str, new: str) -> str:
    """Return a text with `old` replaced wherever it is not part of a longer word."""
    before = r"(?<!\w)" if re.match(r"\w", old) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", old) else ""
    return re.sub(f"{before}{re.escape(old)}{after}", lambda _: new, text)


def _why_not_replaced(path: str, text: str, old: str) -> str:
    shown = one_line(old, 80)
    if old in text:
        return f"“{shown}” occurs in {path} only inside longer words; give more of the text"
    if old.lower() in text.lower():
        return f"“{shown}” occurs in {path} only with other capital letters"
    return f"“{shown}” does not occur in {path}"


def _hunks(before: str, after: str, old_name: str, new_name: str) -> Iterator[str]:
    for line in difflib.unified_diff(_lines(before), _lines(after), old_name, new_name, lineterm="\n"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    """Return the lines as git sees them: only a line feed ends one."""
    found = [f"{line}\n" for line in text.split("\n")]
    found[-1] = found[-1][:-1]
    return found if found[-1] else found[:-1]


def _name(prefix: str, path: str) -> str:
    """Return a path as git writes it in a header."""
    named = f"{prefix}{path}"
    if _PLAIN_NAME.fullmatch(named):
        return named
    return '"' + "".join(_escape_character(ch) for ch in named) + '"'


def _escape_character(ch: str) -> str:
    if ch in '"\\':
        return f"\\{ch}"
    return "".join(f"\\{byte:03o}" for byte in ch.encode()) if ord(ch) < 32 or ord(ch) == 127 else ch


def _header(prefix: str, path: str) -> str:
    # git ends a name with a blank in it by a tab.
    named = _name(prefix, path)
    return f"{named}\t" if " " in named and not named.startswith('"') else named


def _below(folder: str, paths: frozenset[str]) -> list[str]:
    return [path for path in paths if path.startswith(folder)]


def _parents(path: str) -> Iterator[str]:
    parts = path.split("/")
    for at in range(1, len(parts)):
        yield "/".join(parts[:at])
