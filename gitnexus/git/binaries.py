"""Describes a blob that a diff cannot show: its size, its guessed file type and its object id."""

from gitnexus.git.private import PrivateGit

# How a file of a kind begins.
_BEGINNINGS: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "zip archive"),
    (b"\x1f\x8b", "gzip archive"),
    (b"BZh", "bzip2 archive"),
    (b"\xfd7zXZ\x00", "xz archive"),
    (b"\x28\xb5\x2f\xfd", "zstd archive"),
    (b"\x7fELF", "Linux program (ELF)"),
    (b"MZ", "Windows program"),
    (b"\xca\xfe\xba\xbe", "Java class or macOS program"),
    (b"\xcf\xfa\xed\xfe", "macOS program"),
    (b"\x00asm", "WebAssembly"),
    (b"SQLite format 3\x00", "SQLite database"),
    (b"wOFF", "font"),
    (b"wOF2", "font"),
    (b"#!", "script"),
)
_LOOKED_AT = 16


def describe_blob(git: PrivateGit, blob: str) -> str:
    """Return the type, size and id of a blob as text. Raises: GitFailed."""
    size = int(git.must("cat-file", "-s", blob))
    head, _ = git.read_beginning("cat-file", "blob", blob, most=_LOOKED_AT)
    return f"{guess_file_type(head)}, {size} bytes, blob {blob}"


def guess_file_type(head: bytes) -> str:
    """Return the type of a file, guessed from its first bytes."""
    return next((words for start, words in _BEGINNINGS if head.startswith(start)), "unknown type")
