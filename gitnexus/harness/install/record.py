"""The record of an installation, beside the repository or in the home of the person; and the one that is being made."""

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

from gitnexus.base.errors import Busy, Invalid
from gitnexus.base.files import replace
from gitnexus.harness.install.edits import digest
from gitnexus.harness.install.model import Held, Installed


class Shelf:
    """A folder with `installed.json`; `pending.json` is there while files are written, or after a kill."""

    def __init__(self, folder: Path, root: Path) -> None:
        """`root` is what paths are named from, so that a repository can be moved."""
        self.folder, self.root = folder, root
        self._installed, self._pending = folder / "installed.json", folder / "pending.json"

    def read(self) -> Installed:
        """Return what is installed. After a kill: of each file what it really holds. Raises: Invalid."""
        done = _read(self._installed) or Installed(harnesses={})
        meant = _read(self._pending)
        return done if meant is None else self._healed(done, meant)

    def named(self, path: Path) -> str:
        """Return how a file is called in the record."""
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else str(path)

    @property
    def interrupted(self) -> bool:
        """True after a kill."""
        return self._pending.exists()

    def begin(self, meant: Installed) -> None:
        """Write down what is about to be, before the first file is touched."""
        replace(self._pending, meant.to_bytes(), mode=0o600)

    def finish(self, done: Installed) -> None:
        """Write down what is; with nothing installed, nothing stays."""
        if done.harnesses or done.files:
            replace(self._installed, done.to_bytes(), mode=0o600)
        else:
            self._installed.unlink(missing_ok=True)
        self._pending.unlink(missing_ok=True)
        if not done.harnesses and not done.files:
            with contextlib.suppress(OSError):
                (self.folder / "lock").unlink()
                self.folder.rmdir()
                self.folder.parent.rmdir()  # in a repository that is no project it was made for this

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep others out while files are written. Raises: Busy."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as exc:
                raise Busy("another git nexus harness command is at work here", hint="try again in a moment") from exc
            yield

    def _healed(self, done: Installed, meant: Installed) -> Installed:
        """Return what is there after a kill: a file that was written by the new record, one that was not by the old."""
        paths = dict.fromkeys([*(held.path for held in done.files), *(held.path for held in meant.files)])
        files = [held for path in paths if (held := self._really(path, done, meant)) is not None]
        harnesses = {
            name: program.changed(whole=False) if meant.harnesses.get(name) != done.harnesses.get(name) else program
            for name, program in {**done.harnesses, **meant.harnesses}.items()
        }
        folders = tuple(dict.fromkeys([*done.folders, *meant.folders]))
        return Installed(harnesses=harnesses, files=tuple(files), folders=folders)

    def _really(self, path: str, done: Installed, meant: Installed) -> Held | None:
        now, old, new = digest(read_text(self.root / path)), done.held(path), meant.held(path)
        if new is None:
            return old if now is not None else None
        if old is None:
            return None if now == new.before else new
        return old if now == old.after else new


def _read(path: Path) -> Installed | None:
    try:
        return Installed.from_bytes(path.read_bytes(), str(path))
    except FileNotFoundError:
        return None


def read_text(path: Path) -> str | None:
    """Return a file's text with its line endings, None where there is none. Raises: Invalid if it is no UTF-8."""
    try:
        return path.read_bytes().decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except IsADirectoryError as exc:
        raise Invalid(f"{path} is a folder", hint="nothing was changed; move it away, then try again") from exc
    except UnicodeDecodeError as exc:
        raise Invalid(
            f"{path} is not UTF-8 (byte {exc.start})", hint="nothing was changed; mend the file, then try again"
        ) from exc
