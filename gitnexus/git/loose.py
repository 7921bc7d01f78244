"""Reads and writes blobs, trees and commits as loose object files below `objects/`, in git's own format.

Writing three or four objects in this process costs a tenth of a `git fast-import` child with its `unpack-objects`.
"""

import contextlib
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gitnexus.base.randomness import random_hex
from gitnexus.git.child import GitFailed
from gitnexus.git.objects import FOLDER, Entry

_LARGEST_FILE = 2**20
_LARGEST_OBJECT = 16 * 2**20
# Settings that change how git writes loose objects; an included file may hold any of them.
_SPECIAL = (b"fsync", b"sharedrepository", b"createobject", b"[include")


def is_plainly_written(common_dir: Path) -> bool:
    """Return False if the git configuration asks for fsync, sharing or another way of writing objects.

    Searches for the words only, in the usual files: a false alarm costs one child process.
    """
    return not any(word in text for text in _config_texts(common_dir) for word in _SPECIAL)


def write_loose(objects: Path, object_format: str, kind: str, body: bytes, *, durable: bool = False) -> str:
    """Write one object unless it exists as a loose object, and return its id; `durable`: once it is on the disk.

    Raises: GitFailed.
    """
    raw = _object_bytes(kind, body)
    oid = _hash_object_bytes(raw, object_format)
    folder = objects / oid[:2]
    with contextlib.suppress(OSError):
        os.utime(folder / oid[2:])  # as git does: what is written again is young again, and no prune takes it
        return oid
    try:
        _write_file(folder, oid[2:], zlib.compress(raw, 1), durable=durable)
    except OSError as exc:
        raise GitFailed(f"git could not write the objects: {exc.strerror or exc}") from exc
    return oid


def read_loose(objects: Path, oid: str) -> tuple[str, bytes] | None:
    """Return the kind and bytes of a loose object; None if it is packed, missing or damaged, which git can tell."""
    try:
        with (objects / oid[:2] / oid[2:]).open("rb") as file:
            packed = file.read(_LARGEST_FILE + 1)
        unpack = zlib.decompressobj()
        head, _, body = unpack.decompress(packed, _LARGEST_OBJECT).partition(b"\0")
        kind, size = head.decode("ascii").split(" ")
        # What is larger than that is not unpacked either, whatever a short file unfolds to.
        return (kind, body) if unpack.eof and len(body) == int(size) else None
    except (OSError, ValueError, zlib.error):
        return None


def read_verified_loose(objects: Path, oid: str) -> tuple[str, bytes] | None:
    """Return the kind and bytes of a loose object; None also if the bytes do not match the id."""
    found = read_loose(objects, oid)
    return (
        found
        if found is not None
        and _hash_object_bytes(_object_bytes(*found), "sha1" if len(oid) == 40 else "sha256") == oid
        else None
    )


def _object_bytes(kind: str, body: bytes) -> bytes:
    return b"%s %d\0%b" % (kind.encode(), len(body), body)


def _hash_object_bytes(raw: bytes, object_format: str) -> str:
    import hashlib  # 3 ms, and a plain command hashes nothing

    digest = hashlib.sha256 if object_format == "sha256" else hashlib.sha1
    return digest(raw, usedforsecurity=False).hexdigest()


def tree_object_bytes(rows: Mapping[str, Entry]) -> bytes:
    """Return the bytes of a tree object with these entries."""
    named = [(name.encode("utf-8", "surrogateescape"), entry) for name, entry in rows.items()]
    named.sort(key=lambda row: row[0] + b"/" if row[1].mode == FOLDER else row[0])
    return b"".join(b"%o %b\0%b" % (entry.mode, name, bytes.fromhex(entry.oid)) for name, entry in named)


def _write_file(folder: Path, name: str, data: bytes, *, durable: bool) -> None:
    # `git prune` takes files of such a name for what a killed process left behind.
    temporary = folder / f"tmp_obj_{random_hex(8)}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir()
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
    try:
        with os.fdopen(fd, "wb") as handle:
            handle.write(data)
            if durable:
                handle.flush()
                os.fsync(handle.fileno())
        temporary.rename(folder / name)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _config_texts(common_dir: Path) -> Iterator[bytes]:
    """Yield the texts of git's usual configuration files, in lower case."""
    home = Path(os.environ.get("HOME", "/nonexistent"))
    users: Sequence[Path] = (
        home / ".gitconfig",
        Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config", "git/config"),
    )
    for file in (common_dir / "config", *users, Path("/etc/gitconfig")):
        with contextlib.suppress(OSError):
            yield file.read_bytes().lower()
