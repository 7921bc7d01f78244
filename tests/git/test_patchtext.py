"""What is refused before git sees it, and that nothing honest is."""

import zlib
from base64 import b85encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.git.binaryparts import blob_ids_in_patch
from gitnexus.git.objects import blob_id
from gitnexus.git.patchtext import says_binary, why_patch_refused


def part(kind: str, data: bytes, size: int | None = None) -> bytes:
    packed = zlib.compress(data)
    lines = [f"{kind} {len(data) if size is None else size}".encode()]
    for at in range(0, len(packed), 52):
        piece = packed[at : at + 52]
        lines.append(bytes([len(piece) + (64 if len(piece) <= 26 else 70)]) + b85encode(piece, pad=True))
    return b"GIT binary patch\n" + b"\n".join(lines) + b"\n\n"


def number(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"@@ -1,2 +1 @@\n a\n", "as many lines"),
        (b"@@ -1 +1 @@\n-a\n+b\nhello\n@@ -x +1 @@\n", "proper header"),
        (b"@@ -1,2 +1,2 @@\n a\n\\ No newline at end of file\n b\n", "middle of a hunk"),
        (b"@@ -1 +1,2 @@\n-a\n+b\n\\ No newline at end of file\n+c\n", "middle of a hunk"),
        (b"@@ -1 +1 @@\n\\ No newline at end of file\n-a\n+b\n", "middle of a hunk"),
        (b"+++ b/x\0y\n", "NUL"),
        (b'rename to "x\\000y"\n', "NUL"),
        (part("literal", b"x", 2**32), "larger than"),
        (part("literal", b"x", 2**25) + part("literal", b"x", 2**25), "larger than"),
        (part("delta", number(5) + number(2**40)), "larger than"),
        (b"x" * (16 * 2**20 + 1), "larger than"),
    ],
)
def test_what_is_refused(text: bytes, words: str) -> None:
    assert words in str(why_patch_refused(text))


@pytest.mark.parametrize(
    "text",
    [
        b"@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n",
        b"@@ -1,2 +1,2 @@ def f():\n a\n-b\n+c\n\\ No newline at end of file\n-- \n2.39\n",
        b"@@ -0,0 +1,2 @@\n+@@ -1 +1 @@\n+literal 99999999999\n",
        b"@@ -1,3 +1,2 @@\n a\n-b\n\n",
        b"@@ -1 +0,0 @@\n--- a/x\0y\n",
        part("literal", b"x" * 100_000),
    ],
)
def test_what_is_not(text: bytes) -> None:
    assert why_patch_refused(text) is None


@given(st.binary(max_size=300))
def test_any_bytes_have_an_answer(data: bytes) -> None:
    why_patch_refused(data)
    why_patch_refused(b"@@ -1,3 +1,3 @@\n" + data)
    why_patch_refused(b"delta 9\n" + data)
    blob_ids_in_patch(b"GIT binary patch\ndelta 9\n" + data + part("delta", data), [b"", data], "sha1")


def test_contents_that_a_patch_brings_are_known_by_their_ids() -> None:
    source = bytes(range(200)) * 3
    delta = number(600) + number(105) + b"\x91\x0a\x64" + b"\x05hello"

    found = blob_ids_in_patch(part("literal", b"whole") + part("delta", delta), [b"other", source], "sha1")

    assert found == {blob_id(b"whole", "sha1"), blob_id(source[10:110] + b"hello", "sha1")}
    assert says_binary(part("literal", b"x"))
    assert not says_binary(b"+GIT binary patch\n Binary files\n")
