"""The environment of one fixture: a new git repository and an isolated home in a temporary folder."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Failed, Invalid

_OURS = (".git", ".nexus")
_GITCONFIG = "[user]\n\tname = Conformance\n\temail = conformance@example.com\n[init]\n\tdefaultBranch = main\n"


@dataclass(frozen=True, slots=True)
class FixtureSandbox:
    """The folder of one fixture, and the environment of all that is started in it."""

    root: Path
    environment: Mapping[str, str]

    @property
    def repository(self) -> Path:
        """The repository that the tools are called in."""
        return self.root / "repository"

    @property
    def log(self) -> Path:
        """The file for error messages of a server."""
        return self.root / "server.log"

    def write_seed(self, path: str, content: Any) -> None:
        """Make a file as a precondition says: null deletes, all else is written as JSON, a .jsonl line by line."""
        place = self.repository / path
        if content is None:
            place.unlink(missing_ok=True)
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        lines = content if place.suffix == ".jsonl" and isinstance(content, list) else [content]
        place.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")

    def exists(self, path: str) -> bool:
        """True if anything is at the path, a broken link too."""
        return os.path.lexists(self.repository / path)

    def load(self, path: str) -> Any:
        """Return the JSON in a file, of a .jsonl the list of its lines. Raises: Invalid."""
        try:
            raw = (self.repository / path).read_bytes()
        except OSError as exc:
            raise Invalid(f"cannot be read: {exc.strerror}") from exc
        return [parse_json(line) for line in raw.splitlines()] if path.endswith(".jsonl") else parse_json(raw)

    def files_outside_state(self) -> frozenset[str]:
        """Return every file that is not state, git's or a cache: no tool may create one."""
        found: set[str] = set()
        for folder, names, files in os.walk(self.root):
            if folder == str(self.repository):
                names[:] = [name for name in names if name not in _OURS]
            elif folder == self.environment["NEXUS_HOME"]:
                names[:] = [name for name in names if name != "cache"]
            found.update(os.path.relpath(Path(folder, name), self.root) for name in files)
        return frozenset(found - {self.log.name})


@contextmanager
def opened_sandbox(harness: str) -> Iterator[FixtureSandbox]:
    """Create a sandbox for one fixture; it is removed afterwards. Raises: Failed without a working git."""
    with tempfile.TemporaryDirectory(prefix="nexus-conformance-", ignore_cleanup_errors=True) as folder:
        made = FixtureSandbox(Path(folder).resolve(), _child_environment(Path(folder).resolve() / "home", harness))
        (made.root / "home").mkdir()
        (made.root / "home" / ".gitconfig").write_text(_GITCONFIG)
        _run_git(made, made.root, "init", "-q", made.repository.name)
        _run_git(made, made.repository, "commit", "-q", "--allow-empty", "-m", "begin")
        yield made


def _child_environment(home: Path, harness: str) -> dict[str, str]:
    """Return the environment of a child: of the user's own variables only the search path."""
    return {
        # The command beside this very Python comes first: it is what should be judged.
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "NEXUS_HOME": str(home / "nexus"),
        "NEXUS_HARNESS": harness,
        "NEXUS_CHECK_RESULTS": "1",  # an answer that is not what its class says is a bug, and ends the call
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    }


def _run_git(made: FixtureSandbox, place: Path, *argv: str) -> None:
    done = subprocess.run(["git", *argv], cwd=place, env=made.environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"git {argv[0]} failed in a fresh folder: {done.stderr.strip()}")
