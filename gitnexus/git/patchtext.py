"""Checks the text of a patch before git reads it: refuses false sizes, names cut at a NUL byte, and torn hunks.

Nothing here decides which files a patch changes: only trees do. Misreading a text here can only cause a refusal.
"""

import base64
import re
import zlib

LARGEST_PATCH = 16 * 2**20
LARGEST_BINARY = 32 * 2**20
_HUNK = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_NAMES = (b"diff --git ", b"--- ", b"+++ ", b"rename ", b"copy ")
_BINARY = re.compile(rb"(literal|delta) (\d+)")
# The three lines that make git take a section for binary; it then takes the new content from any object it can find.
_SAYS_BINARY = re.compile(rb"^(?:GIT binary patch|Binary files |Files )", re.MULTILINE)


def says_binary(patch: bytes) -> bool:
    """Return True if git might treat a part of this patch as binary."""
    return _SAYS_BINARY.search(patch) is not None


def why_patch_refused(patch: bytes) -> str | None:
    """Return why `patch` is refused without asking git, or None."""
    if len(patch) > LARGEST_PATCH:
        return f"it is larger than {LARGEST_PATCH // 2**20} MiB"
    lines = patch.split(b"\n")
    at, binary = 0, 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith(b"@@ -"):
            at, torn = _after_hunk(lines, at)
            if torn:
                return torn
        elif line.startswith(_NAMES) and (b"\0" in line or b"\\000" in line):
            return "a name in it holds a NUL"
        elif found := _BINARY.match(line):
            binary += _claimed_size(found, lines[at : at + 2])
            if binary > LARGEST_BINARY:
                return f"its binary parts would be larger than {LARGEST_BINARY // 2**20} MiB"
    return None


def _after_hunk(lines: list[bytes], at: int) -> tuple[int, str | None]:
    """Return the index of the line after the hunk whose header is just above `at`, and the error in the hunk if any."""
    header = _HUNK.match(lines[at - 1])
    if header is None:
        return at, f"the hunk at line {at} has no proper header"
    old, new = (int(header[group]) if header[group] is not None else 1 for group in (2, 4))
    last = b""
    while at < len(lines):
        kind = lines[at][:1] or b" "  # an empty line is an empty line of context whose blank was lost
        if kind == b"\\":
            if (last in b" -" and old) or (last in b" +" and new) or not last:
                return at, f"line {at + 1} says in the middle of a hunk that the file ends there"
        elif not (old or new) or kind not in b" +-":
            break
        else:
            old -= kind in b" -"
            new -= kind in b" +"
            last = kind
        at += 1
    return at, "a hunk has not as many lines as its header says" if old or new else None


def _claimed_size(found: re.Match[bytes], body: list[bytes]) -> int:
    """Return the size that a binary part claims."""
    if len(found[2]) > 12:
        return LARGEST_BINARY + 1
    return int(found[2]) + (_delta_result_size(body) if found[1] == b"delta" else 0)


def _delta_result_size(body: list[bytes]) -> int:
    """Return the result size that a delta claims: a few bytes of delta can ask for terabytes."""
    packed = b""
    for line in body:
        try:
            packed += base64.b85decode(line[1:])
        except ValueError:
            break
    try:
        start = zlib.decompressobj().decompress(packed, 32)
    except zlib.error:
        return 0  # git will refuse it
    _, at = read_delta_number(start, 0)
    return read_delta_number(start, at)[0]


def read_delta_number(raw: bytes, at: int) -> tuple[int, int]:
    """Return a number in git's delta encoding, seven bits a byte, and the offset after it."""
    value, shift = 0, 0
    while at < len(raw):
        value |= (raw[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not raw[at - 1] & 0x80:
            break
    return value, at
