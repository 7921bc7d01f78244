"""Decodes the binary parts of a patch and returns the ids of the blobs that the patch itself contains.

Git skips a binary part if an object with the announced id is already in the object store. Decoding the parts here shows
which contents came with the patch and which came from the store.
"""

import base64
import re
import zlib
from collections.abc import Iterable, Iterator

from gitnexus.git.objects import blob_id
from gitnexus.git.patchtext import LARGEST_BINARY, read_delta_number

_PART = re.compile(rb"(literal|delta) (\d{1,12})\r?")


def blob_ids_in_patch(patch: bytes, preimages: Iterable[bytes], object_format: str) -> set[str]:
    """Return the ids of all contents that the binary parts produce; deltas may be based on any of `preimages`."""
    before = list(preimages)
    found = set()
    for kind, data in _binary_parts(patch):
        made = (
            [data]
            if kind == b"literal"
            else [result for one in before if (result := _apply_delta(one, data)) is not None]
        )
        found |= {blob_id(one, object_format) for one in made}
    return found


def _binary_parts(patch: bytes) -> Iterator[tuple[bytes, bytes]]:
    lines = patch.split(b"\n")
    for at, line in enumerate(lines):
        if head := _PART.fullmatch(line):
            data = _inflate_part(lines, at + 1, min(int(head[2]), LARGEST_BINARY))
            if data is not None and len(data) == int(head[2]):
                yield head[1], data


def _inflate_part(lines: list[bytes], at: int, most: int) -> bytes | None:
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


def _apply_delta(source: bytes, delta: bytes) -> bytes | None:
    """Return the result of applying a delta to `source`, or None if the delta has another source."""
    wanted, at = read_delta_number(delta, 0)
    size, at = read_delta_number(delta, at)
    if wanted != len(source) or size > LARGEST_BINARY:
        return None
    made = bytearray()
    while at < len(delta) and len(made) <= size:
        op = delta[at]
        at += 1
        if op & 0x80:
            start, at = _read_delta_field(delta, at, op, 4)
            count, at = _read_delta_field(delta, at, op >> 4, 3)
            made += source[start : start + (count or 0x10000)]
        else:
            made += delta[at : at + op]
            at += op
    return bytes(made) if len(made) == size else None


def _read_delta_field(delta: bytes, at: int, flags: int, width: int) -> tuple[int, int]:
    value = 0
    for place in range(width):
        if flags >> place & 1 and at < len(delta):
            value |= delta[at] << (8 * place)
            at += 1
    return value, at
