"""What the gate said to the same call under the same law: remembered, since a program asks before every tool.

A judgement takes a tenth of a second, most of it to load the gate. It is a pure function of the law, the call and a few
facts of the disk; so its answer is kept under the name of all three, and looked up with nothing loaded at all. An index
tells which law holds: it names the tip of the state, the ids of the files there that the law was made of, and the files
of the user, each with what `stat` says of it. Whatever differs is judged anew. A yes that a person gave is never
remembered; that a call waits for one is, as long as nothing has happened to the files in which the answer would stand.

All of it lies in the user's home, which tools and sandboxes may not write: whoever could, could take the key as well.
"""

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from gitnexus import __version__

STATE_REF = "refs/nexus/state"
_LARGEST = 64 * 1024
_MOST_ENTRIES = 4000


class Place(NamedTuple):
    """Where a call happens: the top of a worktree of a project, its git folders, and the run that it belongs to."""

    top: str
    git_dir: str
    common: str
    run: str = ""


class Law(NamedTuple):
    """A law to remember answers under: its sources, the files of state and user among them, its part on plain calls."""

    made_of: list[bytes]
    paths: tuple[str, ...]
    files: list[str]
    plain: Callable[[], dict[str, Any] | None]


class Known(NamedTuple):
    """An answer, and what of the disk must still be so: a program found on PATH, where a path leads, or a `stamp`."""

    verdict: str
    reason: str
    facts: tuple[tuple[str, str, str], ...] = ()


def place_of(folder: str) -> Place | None:
    """Return the project that a folder lies in, None where there is none. No child, and nothing is believed of it."""
    top = os.path.realpath(folder)
    while True:
        place = _at(top) if os.path.lexists(os.path.join(top, ".git")) else None
        above = os.path.dirname(top)
        # A repository that lies in a project and is none itself belongs to that: else to make one would be a way out.
        if place is not None or above == top:
            return place
        top = above


def _at(top: str) -> Place | None:
    """Return the project whose worktree begins here, None for a repository that is none."""
    git_dir = found = os.path.join(top, ".git")
    if os.path.isfile(found):
        named = _line(found).removeprefix("gitdir:").strip()
        git_dir = os.path.realpath(os.path.join(top, named))
    common = git_dir
    with contextlib.suppress(OSError):
        common = os.path.realpath(os.path.join(git_dir, _line(os.path.join(git_dir, "commondir"))))
    if not _is_project(common):
        return None
    run = os.path.basename(git_dir) if os.path.exists(os.path.join(git_dir, "nexus", "run")) else ""
    return Place(top, git_dir, common, run)


def _is_project(common: str) -> bool:
    """True where state was begun: by its lock, or by its ref, loose or packed."""
    if os.path.exists(os.path.join(common, "nexus", "lock")) or os.path.exists(os.path.join(common, STATE_REF)):
        return True
    with contextlib.suppress(OSError), open(os.path.join(common, "packed-refs"), "rb") as file:
        return STATE_REF.encode() + b"\n" in file.read()
    return False


def home() -> str:
    """Return the user's home of git nexus, as `state.home` does, without what that needs to be loaded."""
    given = os.environ.get("NEXUS_HOME")
    if given:
        return os.path.abspath(os.path.expanduser(given))
    if not sys.platform.startswith("linux"):
        from gitnexus.state.home import home_folder

        return str(home_folder())
    data = os.environ.get("XDG_DATA_HOME", "").strip() or os.path.expanduser("~/.local/share")
    return os.path.join(data, "git-nexus")


def found_on_path(program: str) -> str:
    """Return the file that a shell would run for a name, empty if there is none."""
    if "/" in program:
        return ""
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        file = os.path.join(folder, program)
        if folder.startswith("/") and os.path.isfile(file) and os.access(file, os.X_OK):
            return os.path.realpath(file)
    return ""


def program_of(word: str, cwd: str) -> str:
    """Return the file that the first word of a command means in a folder, empty if there is none on PATH."""
    return os.path.realpath(os.path.join(cwd, word)) if "/" in word else found_on_path(word)


def nowhere(word: str) -> str:
    """Return where a program that is not there would lie: what is not installed can be judged as well."""
    return f"/usr/bin/{word.rpartition('/')[2] or 'nothing'}"


class Memo:
    """The answers of one repository."""

    def __init__(self, common: str) -> None:
        self._common = common
        self._folder = os.path.join(home(), "cache", "gate", _name(common))

    def law(self) -> dict[str, Any] | None:
        """Return what is remembered of the law in force: its name, and its part about plain calls."""
        try:
            index = self._read("index")
            if not isinstance(index, dict) or index.get("version") != __version__:
                return None
            if any(stamp(path) != seen for path, seen in index["files"].items()):
                return None
            return index if index["tip"] == self.tip() else self._moved(index)
        except (OSError, ValueError, LookupError, TypeError):
            return None

    def _moved(self, index: dict[str, Any]) -> dict[str, Any] | None:
        """Return the law if the state went on and left all that the law is made of as it was."""
        tip = self.tip()
        rows = self.rows(tip, tuple(index["paths"]))
        if not rows or rows != index["rows"]:
            return None
        index["tip"] = tip
        with contextlib.suppress(OSError):
            self._write("index", index)
        return index

    def rows(self, tip: str, paths: tuple[str, ...]) -> str:
        """Return what a commit of the state has of these files; empty if nobody can tell."""
        from gitnexus.git.atonce import rows_at

        return rows_at(self._common, tip, paths) if tip else ""

    def found(self, index: dict[str, Any], key: str) -> Known | None:
        """Return the answer to the same call under the law in force, None if it must be judged."""
        return self._kept(index, key, ("", "allow", "deny"))

    def is_settled(self, top: str) -> bool:
        """True if nobody touched the law's files in a worktree since they were last taken into the state."""
        try:
            return self._read(_edits_of(top)) == marks(top)
        except (OSError, ValueError):
            return False

    def settled(self, top: str, seen: list[str]) -> None:
        """Remember how the law's files in a worktree looked just before they were taken in."""
        with contextlib.suppress(OSError):
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            self._write(_edits_of(top), seen)

    def waits(self, index: dict[str, Any], key: str) -> Known | None:
        """Return what was said to the same call that waits for a person, None if it must be judged; never a yes."""
        return self._kept(index, f"waits {key}", ("ask", "defer", "deny"))

    def keep_waiting(self, key: str, law: Law, tip: str, known: Known) -> None:
        """Remember what is said to a call as long as it waits."""
        self.keep(f"waits {key}", law, tip, known)

    def _kept(self, index: dict[str, Any], key: str, verdicts: tuple[str, ...]) -> Known | None:
        try:
            entry = self._read(f"{index['law']}-{_name(key)}")
            if not isinstance(entry, list):
                return None
            known = Known(entry[0], entry[1], tuple((kind, name, value) for kind, name, value in entry[2]))
        except (OSError, ValueError, LookupError, TypeError):
            return None
        return known if known.verdict in verdicts and _still_so(known.facts) else None

    def keep(self, key: str, law: Law, tip: str, known: Known) -> None:
        """Remember an answer under a law: what it was made of, and the files whose change makes another of it."""
        name = _name(repr(law.made_of))
        known_law = self.law()
        with contextlib.suppress(OSError):
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            if len(os.listdir(self._folder)) > _MOST_ENTRIES:
                self._forget()
            self._write(f"{name}-{_name(key)}", [known.verdict, known.reason, [list(fact) for fact in known.facts]])
            if known_law is None or known_law.get("law") != name:
                files = {path: stamp(path) for path in law.files}
                rows = self.rows(tip, law.paths)
                about = {"version": __version__, "tip": tip, "paths": law.paths, "rows": rows}
                self._write("index", {**about, "law": name, "files": files, "plain": law.plain()})

    def tip(self) -> str:
        """Return the commit of the state; empty where only git can tell, and then nothing is remembered."""
        with contextlib.suppress(OSError):
            return _line(os.path.join(self._common, STATE_REF))
        with contextlib.suppress(OSError), open(os.path.join(self._common, "packed-refs"), "rb") as file:
            for line in file:
                if line.rstrip(b"\n").endswith(b" " + STATE_REF.encode()):
                    return line.split(b" ")[0].decode("ascii", "replace")
        return ""

    def _forget(self) -> None:
        for name in os.listdir(self._folder):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self._folder, name))

    def _read(self, name: str) -> object:
        fd = os.open(os.path.join(self._folder, name), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            seen = os.fstat(fd)
            if seen.st_uid != os.geteuid() or seen.st_mode & 0o022 or seen.st_size > _LARGEST:
                return None
            return json.loads(os.read(fd, _LARGEST))
        finally:
            os.close(fd)

    def _write(self, name: str, value: object) -> None:
        from pathlib import Path

        from gitnexus.base.files import replace

        raw = json.dumps(value).encode()
        if len(raw) <= _LARGEST:
            replace(Path(self._folder, name), raw, 0o600)


def marks(top: str) -> list[str]:
    """Return what tells whether somebody edited the law by hand in a worktree."""
    return [stamp(os.path.join(top, ".nexus", name)) for name in ("policy.md", "settings.json")]


def _edits_of(top: str) -> str:
    return f"edits-{_name(top)}"


def stamp(path: str) -> str:
    """Return what tells one state of a file from another, without reading it; empty if there is none."""
    try:
        seen = os.lstat(path)
    except OSError:
        return ""
    return f"{seen.st_ino}.{seen.st_size}.{seen.st_mtime_ns}.{seen.st_ctime_ns}"


_LOOKS: dict[str, Callable[[str], str]] = {"program": found_on_path, "real": os.path.realpath, "stamp": stamp}


def _still_so(facts: Iterable[tuple[str, str, str]]) -> bool:
    return all(_LOOKS[kind](name) == value for kind, name, value in facts)


def _name(text: str) -> str:
    # Not of hashlib, which loads all of OpenSSL: a third of the time that there is.
    from _blake2 import blake2b

    return str(blake2b(text.encode("utf-8", "surrogateescape"), digest_size=20).hexdigest())


def _line(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.readline(8192).strip()
