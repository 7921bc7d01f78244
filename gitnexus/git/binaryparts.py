"""The binary parts of a patch, unpacked: which contents does the patch itself bring along?

Git does not look at a binary part if an object with the id that the part announces is in its store; so that what came
from the store can be told from what was sent, the parts are read here as well.
"""

import base64
import re
import zlib
from collections.abc import Iterable, Iterator

from gitnexus.git.objects import blob_id
from gitnexus.git.patchtext import LARGEST_BINARY, number

_PART = re.compile(rb"(literal|delta) (\d{1,12})\r?")


def brought(patch: bytes, preimages: Iterable[bytes], object_format: str) -> set[str]:
    """Return the ids of all contents that the binary parts make, deltas on any of `preimages`."""
    before = list(preimages)
    found = set()
    for kind, data in _parts(patch):
        made = [data] if kind == b"literal" else [result for one in before if (result := _delta(one, data)) is not None]
        found |= {blob_id(one, object_format) for one in made}
    return found


def _parts(patch: bytes) -> Iterator[tuple[bytes, bytes]]:
    lines = patch.split(b"\n")
    for at, line in enumerate(lines):
        if head := _PART.fullmatch(line):
            data = _inflated(lines, at + 1, min(int(head[2]), LARGEST_BINARY))
            if data is not None and len(data) == int(head[2]):
                yield head[1], data


def _inflated(lines: list[bytes], at: int, most: int) -> bytes | None:
    packed = bytearray()
    while at < len(lines) and lines[at].strip():
        code, text = lines[at][:1], lines[at][1:].rstrip(b"\r")
        length = code[0] - (ord("A") - 1 if code <= b"Z" else ord("a") - 27)
        try:
            packed += base64.b85decode(text)[: max(length, 0)]
        except ValueError:
            return None
        at += 1
    try:
        return zlib.decompressobj().decompress(bytes(packed), most + 1)
    except zlib.error:
        return None


def _delta(source: bytes, delta: bytes) -> bytes | None:
    """Return what a delta makes of `source`, None if it is not for it."""
    wanted, at = number(delta, 0)
    size, at = number(delta, at)
    if wanted != len(source) or size > LARGEST_BINARY:
        return None
    made = bytearray()
    while at < len(delta) and len(made) <= size:
        op = delta[at]
        at += 1
        if op & 0x80:
            start, at = _field(delta, at, op, 4)
            count, at = _field(delta, at, op >> 4, 3)
            made += source[start : start + (count or 0x10000)]
        else:
            made += delta[at : at + op]
            at += op
    return bytes(made) if len(made) == size else None


def _field(delta: bytes, at: int, flags: int, width: int) -> tuple[int, int]:
    value = 0
    for place in range(width):
        if flags >> place & 1 and at < len(delta):
            value |= delta[at] << (8 * place)
            at += 1
    return value, at
