"""Caches the gate's answers to equal tool calls under the same policy, in the user's home, to answer hooks quickly.

A judgement takes a tenth of a second, mostly to import the gate. It is a pure function of the policy, the call and a
few facts of the disk, so its answer is stored under a key of all three and looked up without importing the gate. An
index identifies the policy in force by the tip of the state, the ids of the policy's files there, and the `stat` data
of the user's files. Any difference means a new judgement. A person's approval is never cached; that a call waits for
one is, until a file changes in which the answer would appear.

Tools and sandboxes cannot write to the user's home: whoever could, could take the key as well.
"""

import contextlib
import json
import os
import re
import sys
from _blake2 import blake2b
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from gitnexus import __version__
from gitnexus.base.file_stamp import file_stamp
from gitnexus.git.git_folders import read_first_line
from gitnexus.git.ls_tree_fast import list_tree_rows
from gitnexus.state.locate import STATE_REF, ProjectLocation

if TYPE_CHECKING:
    from gitnexus.harness.calls import Call
    from gitnexus.harness.model import HarnessEvent

_LARGEST = 64 * 1024
_MOST_ENTRIES = 4000


class PolicySources(NamedTuple):
    """Cache key of a policy.

    Content of its sources, the state paths and user files it was read from, and the precomputed fast rules.
    """

    made_of: list[bytes]
    paths: tuple[str, ...]
    files: list[str]
    plain: Callable[[], dict[str, Any] | None]


class CachedAnswer(NamedTuple):
    """An answer, and the disk facts it depends on: a program found on PATH, the target of a path, or a `stamp`."""

    verdict: str
    reason: str
    facts: tuple[tuple[str, str, str], ...] = ()


def nexus_home() -> str:
    """Return git nexus's home folder like `state.home`, without its imports."""
    given = os.environ.get("NEXUS_HOME")
    if given:
        return os.path.abspath(os.path.expanduser(given))
    if not sys.platform.startswith("linux"):
        from gitnexus.state.home import home_folder

        return str(home_folder())
    data = os.environ.get("XDG_DATA_HOME", "").strip() or os.path.expanduser("~/.local/share")
    return os.path.join(data, "git-nexus")


def find_on_path(program: str) -> str:
    """Return the file that a shell would run for a program name, "" if there is none."""
    if "/" in program:
        return ""
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        file = os.path.join(folder, program)
        if folder.startswith("/") and os.path.isfile(file) and os.access(file, os.X_OK):
            return os.path.realpath(file)
    return ""


def resolve_command_word(word: str, cwd: str) -> str:
    """Return the file that the first word of a command names in a folder, "" if it is not on PATH."""
    return os.path.realpath(os.path.join(cwd, word)) if "/" in word else find_on_path(word)


def path_below_top(location: ProjectLocation, path: str) -> str | None:
    """Return a real path relative to the top of the worktree, None if it is outside."""
    top = location.top.rstrip("/") + "/"
    return path[len(top) :] if path.startswith(top) else "" if path + "/" == top else None


def question_cache_key(event: "HarnessEvent", call: "Call", key: str) -> str:
    """Return what the answer to a waiting call depends on besides the policy: the session and the complete call."""
    return repr((key, event.session, event.headless, os.environ.get("CLAUDE_CODE_ENTRYPOINT"), call))


class AnswerCache:
    """The cached answers of one repository."""

    def __init__(self, common: str) -> None:
        self._common = common
        self._folder = os.path.join(nexus_home(), "cache", "gate", _hash_name(common))

    def policy_entry(self) -> dict[str, Any] | None:
        """Return the cached entry of the policy in force: its key and its fast rules; None if unknown."""
        try:
            index = self._read_entry("index")
            if not isinstance(index, dict) or index.get("version") != __version__:
                return None
            if any(file_stamp(path) != seen for path, seen in index["files"].items()):
                return None
            return index if index["tip"] == self.tip() else self._policy_if_unchanged(index)
        except (OSError, ValueError, LookupError, TypeError):
            return None

    def _policy_if_unchanged(self, index: dict[str, Any]) -> dict[str, Any] | None:
        """Return the cached policy if the state moved but the policy's files did not change."""
        tip = self.tip()
        rows = self.rows(tip, tuple(index["paths"]))
        if not rows or rows != index["rows"]:
            return None
        index["tip"] = tip
        with contextlib.suppress(OSError):
            self._write_entry("index", index)
        return index

    def rows(self, tip: str, paths: tuple[str, ...]) -> str:
        """Return the tree entries of these files in a commit of the state; "" if unknown."""
        return list_tree_rows(self._common, tip, paths) if tip else ""

    def found(self, index: dict[str, Any], key: str) -> CachedAnswer | None:
        """Return the cached answer to the same call under the policy in force, None if it must be judged."""
        return self._read_answer(index, key, ("", "allow", "deny"))

    def is_settled(self, top: str) -> bool:
        """True if the policy files in a worktree are unchanged since they were last imported into the state."""
        try:
            return self._read_entry(_edits_entry_name(top)) == policy_file_stamps(top)
        except (OSError, ValueError):
            return False

    def remember_policy_files(self, top: str, seen: list[str]) -> None:
        """Store the stamps of a worktree's policy files, taken just before they were imported."""
        with contextlib.suppress(OSError):
            self._make_folder()
            self._write_entry(_edits_entry_name(top), seen)

    def _make_folder(self) -> None:
        # Each folder by itself: `makedirs` gives its mode to the last one alone, and pathlib is not imported here.
        cache = os.path.dirname(os.path.dirname(self._folder))
        for folder in (os.path.dirname(cache), cache, os.path.dirname(self._folder), self._folder):
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, 0o700)

    def waits(self, index: dict[str, Any], key: str) -> CachedAnswer | None:
        """Return the cached answer to a call that waits for a person, None if it must be judged; never an approval."""
        return self._read_answer(index, f"waits {key}", ("ask", "defer", "deny"))

    def remember_waiting(self, key: str, sources: PolicySources, tip: str, known: CachedAnswer) -> None:
        """Cache the answer to a call while it waits."""
        self.keep(f"waits {key}", sources, tip, known)

    def _read_answer(self, index: dict[str, Any], key: str, verdicts: tuple[str, ...]) -> CachedAnswer | None:
        try:
            entry = self._read_entry(f"{index['law']}-{_hash_name(key)}")
            if not isinstance(entry, list):
                return None
            known = CachedAnswer(entry[0], entry[1], tuple((kind, name, value) for kind, name, value in entry[2]))
        except (OSError, ValueError, LookupError, TypeError):
            return None
        return known if known.verdict in verdicts and _facts_still_hold(known.facts) else None

    def keep(self, key: str, sources: PolicySources, tip: str, known: CachedAnswer) -> None:
        """Cache an answer under a policy, with the policy's sources and the files it depends on."""
        name = _hash_name(repr(sources.made_of))
        known_rules = self.policy_entry()
        with contextlib.suppress(OSError):
            self._make_folder()
            if len(os.listdir(self._folder)) > _MOST_ENTRIES:
                self._delete_entries()
            entry = [known.verdict, known.reason, [list(fact) for fact in known.facts]]
            if _holds_secret(entry):
                return  # judged again each time: nothing is stored that could be wrong
            self._write_entry(f"{name}-{_hash_name(key)}", entry)
            if known_rules is None or known_rules.get("law") != name:
                files = {path: file_stamp(path) for path in sources.files}
                rows = self.rows(tip, sources.paths)
                about = {"version": __version__, "tip": tip, "paths": sources.paths, "rows": rows}
                self._write_entry("index", {**about, "law": name, "files": files, "plain": sources.plain()})

    def tip(self) -> str:
        """Return the commit of the state; "" if only git can tell, and then nothing is cached."""
        with contextlib.suppress(OSError):
            return read_first_line(os.path.join(self._common, STATE_REF))
        with contextlib.suppress(OSError), open(os.path.join(self._common, "packed-refs"), "rb") as file:
            for line in file:
                if line.rstrip(b"\n").endswith(b" " + STATE_REF.encode()):
                    return line.split(b" ")[0].decode("ascii", "replace")
        return ""

    def _delete_entries(self) -> None:
        for name in os.listdir(self._folder):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self._folder, name))

    def _read_entry(self, name: str) -> object:
        fd = os.open(os.path.join(self._folder, name), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            seen = os.fstat(fd)
            if seen.st_uid != os.geteuid() or seen.st_mode & 0o022 or seen.st_size > _LARGEST:
                return None
            return json.loads(os.read(fd, _LARGEST))
        finally:
            os.close(fd)

    def _write_entry(self, name: str, value: object) -> None:
        from pathlib import Path

        from gitnexus.base.files import replace_file

        raw = json.dumps(value).encode()
        if len(raw) <= _LARGEST:
            replace_file(Path(self._folder, name), raw, 0o600, durable=False)


def _holds_secret(entry: object) -> bool:
    # The rules take 20 ms to load, and few paths and reasons have a long run of letters with a digit, or such a word.
    if not re.search(r"(?i)(?=[a-z_+/-]*[0-9])[a-z0-9_+-]{16}|passw|secret|token|key|://", json.dumps(entry)):
        return False
    from gitnexus.redaction.stored import redact_value

    return bool(redact_value(entry) != entry)


def policy_file_stamps(top: str) -> list[str]:
    """Return stamps that change when somebody edits the policy files in a worktree."""
    return [file_stamp(os.path.join(top, ".nexus", name)) for name in ("policy.md", "settings.json")]


def _edits_entry_name(top: str) -> str:
    return f"edits-{_hash_name(top)}"


_LOOKS: dict[str, Callable[[str], str]] = {"program": find_on_path, "real": os.path.realpath, "stamp": file_stamp}


def _facts_still_hold(facts: Iterable[tuple[str, str, str]]) -> bool:
    return all(_LOOKS[kind](name) == value for kind, name, value in facts)


def _hash_name(text: str) -> str:
    # Not from hashlib, which loads all of OpenSSL: a third of the time budget.

    return str(blake2b(text.encode("utf-8", "surrogateescape"), digest_size=20).hexdigest())
