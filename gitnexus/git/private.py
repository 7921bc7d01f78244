"""Runs git on an agent's objects or worktree with a temporary GIT_DIR, so that nothing an agent wrote is executed.

The repository supplies data only: its objects as an alternate, its refs and HEAD for resolving names. Its config,
hooks, attributes, filters, replacements and grafts are never opened. What is written stays in the temporary folder and
is deleted with it, unless `keep` copies it into the repository.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gitnexus.base.errors import Failed
from gitnexus.base.randomness import random_hex
from gitnexus.git.child import GitFailed, git_error_line
from gitnexus.git.discovery import Repo
from gitnexus.git.loose import read_verified_loose

EMPTY_TREE = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
# A patch can ask git to copy one large file ten thousand times: what git may take is bounded from outside too.
_PIECE = 1024 * 1024
_SECONDS = 120
_MEMORY = 2**30


@dataclass(frozen=True, slots=True)
class PrivateGit:
    """A temporary GIT_DIR beside a repository; created by `private_git`."""

    folder: Path
    real_objects: Path
    object_format: str
    environment: Mapping[str, str]

    @property
    def zero(self) -> str:
        """The all-zero object id, which means that there is no object."""
        return "0" * len(EMPTY_TREE[self.object_format])

    def run(
        self, *argv: str, stdin: bytes = b"", meanwhile: Callable[[], object] | None = None
    ) -> "subprocess.CompletedProcess[bytes]":
        """Run git to its end and return its status and output; the caller checks the status.

        `meanwhile` is called while git works; only for a git command that prints next to nothing.
        """
        with self._start_git(argv, subprocess.PIPE) as child:
            try:
                if meanwhile is not None:
                    meanwhile()
                said, complaint = child.communicate(stdin, timeout=_SECONDS)
            except subprocess.TimeoutExpired as exc:
                child.kill()
                child.communicate()
                raise GitFailed(f"git {argv[0]} took longer than {_SECONDS} seconds and was ended") from exc
        return subprocess.CompletedProcess(list(argv), child.returncode, said, complaint)

    def must(self, *argv: str, stdin: bytes = b"") -> bytes:
        """Run git and return its output. Raises: GitFailed."""
        done = self.run(*argv, stdin=stdin)
        if done.returncode != 0:
            raise GitFailed(f"git {argv[0]} failed: {git_error_line(done.stderr)}")
        return done.stdout

    def read_beginning(self, *argv: str, most: int) -> tuple[bytes, bool]:
        """Return the first `most` bytes that git prints, and whether there is more. Raises: GitFailed."""
        with self._start_git(argv, subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
            said = child.stdout.read(most + 1) if child.stdout else b""
            if len(said) > most:
                child.kill()
                return said[:most], True
        if child.returncode != 0:
            raise GitFailed(f"git {argv[0]} failed with status {child.returncode}")
        return said, False

    def count(self, *argv: str, most: int) -> tuple[int, bool]:
        """Return how many bytes git prints, counted up to `most`, and whether there is more. Raises: GitFailed."""
        size = 0
        with self._start_git(argv, subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
            while child.stdout and (piece := child.stdout.read(_PIECE)):
                size += len(piece)
                if size > most:
                    child.kill()
                    return most, True
        if child.returncode != 0:
            raise GitFailed(f"git {argv[0]} failed with status {child.returncode}")
        return size, False

    def started(self, *argv: str) -> "subprocess.Popen[bytes]":
        """Start git with pipes for a longer exchange; its stderr is dropped."""
        return self._start_git(argv, subprocess.PIPE, stderr=subprocess.DEVNULL)

    def read_loose(self, oid: str) -> tuple[str, bytes] | None:
        """Return kind and bytes of a loose object; None if git has to be asked.

        The bytes are verified against the id.
        """
        return read_verified_loose(self.folder / "objects", oid) or read_verified_loose(self.real_objects, oid)

    def clear_index(self) -> None:
        """Begin with an empty index: git takes a missing one for that, and no child is needed."""
        (self.folder / "index").unlink(missing_ok=True)

    def keep_object(self, oid: str) -> None:
        """Copy one object written here into the repository; what it refers to must be there already."""
        if self.fresh(oid):
            _copy_object(self.folder / "objects" / oid[:2] / oid[2:], self.real_objects / oid[:2] / oid[2:])

    def fresh(self, oid: str) -> bool:
        """Return True if the object was written here and is not in the repository."""
        return (self.folder / "objects" / oid[:2] / oid[2:]).exists()

    def keep(self, tree: str) -> int:
        """Copy a tree written here, and all it contains, into the repository; return the number of objects.

        No ref moves: until one does, `git gc` removes them after its usual two weeks.
        """
        rows = self.must("ls-tree", "-r", "-t", "-z", "--full-tree", tree).split(b"\0")[:-1]
        made = [oid for oid in {row.split(b"\t")[0].split(b" ")[2].decode() for row in rows} if self.fresh(oid)]
        # The tree last: if it exists, all its objects exist.
        for oid in [*made, *([tree] if self.fresh(tree) else [])]:
            _copy_object(self.folder / "objects" / oid[:2] / oid[2:], self.real_objects / oid[:2] / oid[2:])
        return len(made) + self.fresh(tree)

    def _start_git(self, argv: tuple[str, ...], stdin: int, stderr: int = subprocess.PIPE) -> "subprocess.Popen[bytes]":
        try:
            child = subprocess.Popen(
                ["git", "--literal-pathspecs", *argv],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=stderr,
                cwd=self.folder,
                env=dict(self.environment),
            )
        except FileNotFoundError as exc:
            raise Failed("git is not on PATH", hint="install git 2.34 or newer") from exc
        _limit_memory(child.pid)
        return child


@contextlib.contextmanager
def private_git(repo: Repo) -> Iterator[PrivateGit]:
    """Create a private GIT_DIR for `repo`, and remove it afterwards with everything written and not kept."""
    with tempfile.TemporaryDirectory(prefix="git-nexus-") as name:
        folder = Path(name).resolve()
        objects = repo.common_dir / "objects"
        _write_git_dir(folder, repo, objects)
        yield PrivateGit(folder, objects, repo.object_format, _git_environment(folder, repo))


def _write_git_dir(folder: Path, repo: Repo, objects: Path) -> None:
    (folder / "objects" / "info").mkdir(parents=True)
    stores = [objects, *_quarantine_folders(objects)]
    (folder / "objects" / "info" / "alternates").write_bytes(b"".join(os.fsencode(one) + b"\n" for one in stores))
    reftable = (repo.common_dir / "reftable").is_dir()
    extensions = [f"objectformat = {repo.object_format}"] if repo.object_format != "sha1" else []
    extensions += ["refstorage = reftable"] if reftable else []
    lines = [
        "[core]",
        f"repositoryformatversion = {1 if extensions else 0}",
        "bare = true",
        "autocrlf = false",
        "protectHFS = true",
        "protectNTFS = true",
        "quotePath = false",
        "hooksPath = /dev/null",
        "fsmonitor = false",
        "logAllRefUpdates = false",
        "[protocol]",
        "allow = never",
        "[gc]",
        "auto = 0",
    ]
    lines += ["[extensions]", *extensions] if extensions else []
    (folder / "config").write_text("\n".join(lines) + "\n", encoding="ascii")
    (folder / "info").mkdir()
    # Read only, to look names up: links, for a copy of ten thousand refs would cost more than the question.
    for shared in ("refs", "packed-refs", "reftable", "shallow"):
        if (repo.common_dir / shared).exists():
            (folder / shared).symlink_to(repo.common_dir / shared)
    try:
        head = (repo.git_dir / "HEAD").read_bytes()[:4096]
    except OSError as exc:
        raise GitFailed(f"HEAD cannot be read: {exc.strerror}") from exc
    (folder / "HEAD").write_bytes(head)


def _quarantine_folders(objects: Path) -> list[Path]:
    """Return the folders in which git holds pushed objects during a hook that may still refuse them."""
    told = os.environ.get("GIT_QUARANTINE_PATH", "")
    place = Path(told)
    return [place] if told and place.is_absolute() and place.parent.resolve() == objects.resolve() else []


def _git_environment(folder: Path, repo: Repo) -> dict[str, str]:
    """Return a complete environment: of ours only PATH, without entries inside the worktree."""
    search = [
        entry for entry in os.environ.get("PATH", os.defpath).split(os.pathsep) if _is_outside_worktree(entry, repo)
    ]
    return {
        "PATH": os.pathsep.join(search) or os.defpath,
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
        "TMPDIR": str(folder),
        "LC_ALL": "C.UTF-8",
        "LANGUAGE": "C",
        "GIT_DIR": str(folder),
        "GIT_INDEX_FILE": str(folder / "index"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ATTR_SOURCE": EMPTY_TREE[repo.object_format],  # newer git takes attributes from HEAD in a bare folder
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
        "GIT_EDITOR": "false",
    }


def _is_outside_worktree(entry: str, repo: Repo) -> bool:
    if not Path(entry).is_absolute():
        return False
    return repo.worktree is None or not Path(entry).resolve().is_relative_to(repo.worktree.resolve())


def _limit_memory(pid: int) -> None:
    """Limit the child's memory. Linux can do that from outside; elsewhere only the time is limited."""
    import resource  # not on every system

    if hasattr(resource, "prlimit"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            # Not the address space: packs are mapped, and may be larger than any limit.
            resource.prlimit(pid, resource.RLIMIT_DATA, (_MEMORY, _MEMORY))


def _copy_object(made: Path, place: Path) -> None:
    """Copy an object file into the store atomically; an existing one is the same."""
    if place.exists():
        return
    place.parent.mkdir(exist_ok=True)
    temporary = place.parent / f"tmp_obj_{random_hex(12)}"  # git gc removes what is left under this name
    try:
        with temporary.open("xb") as handle:
            with made.open("rb") as source:
                shutil.copyfileobj(source, handle)
            handle.flush()
            os.fsync(handle.fileno())
        temporary.chmod(0o444)
        temporary.replace(place)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
