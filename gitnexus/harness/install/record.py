"""Stores the record of an installation in the repository or the user's home, and that of an unfinished one."""

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

from gitnexus.base.errors import Busy, Invalid
from gitnexus.base.files import make_private_folder, replace_file
from gitnexus.harness.install.edits import text_digest
from gitnexus.harness.install.model import HeldFile, InstallRecord


class InstallStore:
    """A folder with `installed.json`; `pending.json` exists while files are written, or after a kill."""

    def __init__(self, folder: Path, root: Path) -> None:
        """`root` is the folder that recorded paths are relative to, so that a repository can be moved."""
        self.folder, self.root = folder, root
        self._installed, self._pending = folder / "installed.json", folder / "pending.json"

    def read(self) -> InstallRecord:
        """Return the record. After a kill it is corrected by what each file really contains. Raises: Invalid."""
        done = _read_install_record(self._installed) or InstallRecord(harnesses={})
        meant = _read_install_record(self._pending)
        return done if meant is None else self._merge_interrupted_install(done, meant)

    def named(self, path: Path) -> str:
        """Return the name of a file in the record."""
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else str(path)

    @property
    def interrupted(self) -> bool:
        """True after a kill."""
        return self._pending.exists()

    def begin(self, meant: InstallRecord) -> None:
        """Write the intended record before the first file is touched."""
        replace_file(self._pending, meant.to_bytes(), mode=0o600)

    def finish(self, done: InstallRecord) -> None:
        """Write the final record; remove it if nothing is installed."""
        if done.harnesses or done.files:
            replace_file(self._installed, done.to_bytes(), mode=0o600)
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
        """Lock out other processes while files are written. Raises: Busy."""
        make_private_folder(self.folder)
        with (self.folder / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as exc:
                raise Busy("another git nexus harness command is at work here", hint="try again in a moment") from exc
            yield

    def _merge_interrupted_install(self, done: InstallRecord, meant: InstallRecord) -> InstallRecord:
        """Return the record after a kill: written files from the new record, the others from the old one."""
        paths = dict.fromkeys([*(held.path for held in done.files), *(held.path for held in meant.files)])
        files = [held for path in paths if (held := self._actual_held_file(path, done, meant)) is not None]
        harnesses = {
            name: program.changed(whole=False) if meant.harnesses.get(name) != done.harnesses.get(name) else program
            for name, program in {**done.harnesses, **meant.harnesses}.items()
        }
        folders = tuple(dict.fromkeys([*done.folders, *meant.folders]))
        return InstallRecord(harnesses=harnesses, files=tuple(files), folders=folders)

    def _actual_held_file(self, path: str, done: InstallRecord, meant: InstallRecord) -> HeldFile | None:
        now, old, new = text_digest(read_text_or_none(self.root / path)), done.held(path), meant.held(path)
        if new is None:
            return old if now is not None else None
        if old is None:
            return None if now == new.before else new
        return old if now == old.after else new


def _read_install_record(path: Path) -> InstallRecord | None:
    try:
        return InstallRecord.from_bytes(path.read_bytes(), str(path))
    except FileNotFoundError:
        return None


def read_text_or_none(path: Path) -> str | None:
    """Return a file's text with its line endings, None if it does not exist. Raises: Invalid if it is not UTF-8."""
    try:
        return path.read_bytes().decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except IsADirectoryError as exc:
        raise Invalid(f"{path} is a folder", hint="nothing was changed; move it away, then try again") from exc
    except UnicodeDecodeError as exc:
        raise Invalid(
            f"{path} is not UTF-8 (byte {exc.start})", hint="nothing was changed; correct the file, then try again"
        ) from exc
