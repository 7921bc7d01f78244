"""What an agent may try to bring a secret past redaction, by the numbers of the list of attacks."""

import base64
import gzip
import json
from urllib.parse import quote

import pytest

from gitnexus.redaction import Redactor, Values, mask, redact
from gitnexus.redaction.lines import WINDOW

AWS = "AKIA" + "QXZ7" * 4
SECRET = "wJalrXUt" * 5
KNOWN = Values.from_environment({"AWS_SECRET_ACCESS_KEY": SECRET, "AWS_ACCESS_KEY_ID": AWS})
BEGIN, END = "-----BEGIN OPENSSH " + "PRIVATE KEY-----", "-----END OPENSSH " + "PRIVATE KEY-----"


def streamed(*chunks: bytes, values: Values | None = None) -> bytes:
    stream = Redactor(values)
    return b"".join([*(stream.feed(chunk) for chunk in chunks), stream.finish()])


@pytest.mark.parametrize(
    ("chunks", "values"),
    [
        pytest.param([AWS[:7], AWS[7:]], None, id="170-two-reads"),
        pytest.param([*AWS], None, id="170-a-read-for-each-letter"),
        pytest.param(["x" * (WINDOW - 9) + " " + AWS[:8], AWS[8:] + " y\n"], None, id="170-over-64-kib"),
        pytest.param(["x" * (WINDOW - 9) + " " + AWS], None, id="170-over-64-kib-in-one-read"),
        pytest.param([AWS[:9] + "\n" + AWS[9:]], KNOWN, id="170-known-over-two-lines"),
        pytest.param([SECRET[:9] + "\r\n", SECRET[9:30], "\n" + SECRET[30:]], KNOWN, id="170-known-over-three-lines"),
    ],
)
def test_a_secret_that_is_split_does_not_leak(chunks: list[str], values: Values | None) -> None:
    shown = streamed(*(chunk.encode() for chunk in chunks), values=values).decode()

    bare = shown.replace("\r", "").replace("\n", "")
    assert AWS not in bare
    assert SECRET not in bare
    assert AWS[-6:] not in shown


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(base64.b64encode(SECRET.encode()).decode(), id="171-base64"),
        pytest.param(base64.b64encode(b"a" + SECRET.encode()).decode(), id="171-base64-one-further"),
        pytest.param(base64.b64encode(b"ab" + SECRET.encode() + b"c").decode(), id="171-base64-two-further"),
        pytest.param(base64.encodebytes(b"x" + SECRET.encode() * 3).decode(), id="171-base64-wrapped"),
        pytest.param(SECRET.encode().hex(), id="171-hex"),
        pytest.param(SECRET.encode().hex().upper(), id="171-hex-upper-case"),
        pytest.param(quote(SECRET, safe=""), id="171-url"),
        pytest.param("".join(f"%{byte:02x}" for byte in SECRET.encode()), id="171-url-every-letter"),
        pytest.param(json.dumps({"a": SECRET}), id="171-json"),
        pytest.param("".join(f"\\u{ord(letter):04x}" for letter in SECRET), id="171-json-every-letter"),
        pytest.param("\\u0077" + SECRET[1:], id="171-json-one-letter"),
        pytest.param("".join(f"\x1b[3{n % 8}m{letter}" for n, letter in enumerate(SECRET)), id="171-a-colour-each"),
    ],
)
def test_a_known_value_does_not_leak_encoded(text: str) -> None:
    shown = redact(f"before {text} after", KNOWN)

    assert shown.count >= 1
    for piece in (text[i : i + 16] for i in range(8, len(text) - 24, 8)):
        assert piece not in shown.text


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\\u0041" + AWS[1:], id="171-rule-json"),
        pytest.param("%41" + AWS[1:], id="171-rule-url"),
        pytest.param("\x1b[01;31m\x1b[KAKIA\x1b[m\x1b[K" + AWS[4:], id="171-rule-coloured-by-grep"),
        pytest.param('{"log": "one\\n' + AWS + '\\ntwo"}', id="171-rule-in-json-after-a-line-break"),
    ],
)
def test_a_token_does_not_leak_behind_escapes(text: str) -> None:
    assert AWS[5:] not in mask(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(gzip.compress(SECRET.encode()), id="171-not-covered-gzip"),
        pytest.param(SECRET[::-1].encode(), id="171-not-covered-reversed"),
        pytest.param(AWS.encode()[:9] + b"\n" + AWS.encode()[9:], id="171-not-covered-unknown-over-two-lines"),
    ],
)
def test_what_the_page_says_is_not_covered_is_not(text: bytes) -> None:
    """If one of these is hidden one day, docs/explanation/redaction.md is to say so."""
    assert redact(text).text == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param(f"a\n{BEGIN}\nb3Bl\nbnNz", "a\n[private-key]", id="173-no-end"),
        pytest.param(f"a\n{BEGIN}", "a\n[private-key]", id="173-nothing-after-the-first-line"),
        pytest.param(f"a\n{BEGIN}\nb3Bl\n-----END OPENSSH PRIV", "a\n[private-key]", id="173-end-cut-off"),
        pytest.param(f"a\n{BEGIN}\nb3Bl\n{END}\nz", "a\n[private-key]\nz", id="173-whole"),
        pytest.param(f'"{BEGIN}\\nb3Bl\\n{END}\\n"\nz', '"[private-key]\\n"\nz', id="173-in-json"),
        pytest.param(f"+{BEGIN}\n+b3Bl\n+{END}\n z", "+[private-key]\n z", id="173-in-a-diff"),
        pytest.param(f"{BEGIN}\nx\n{END}\n{BEGIN}\ny", "[private-key]\n[private-key]", id="173-the-second-cut-off"),
        pytest.param(f"1:02 x {BEGIN}\n1:03 x b3Bl\n1:04 x {END}\nz", "1:02 x [private-key]\nz", id="behind-a-time"),
        pytest.param(f'"{BEGIN}\\n" +\n"b3Bl\\n" +\n"{END}\\n"\nz', '"[private-key]\\n"\nz', id="in-pieces"),
        pytest.param(f"{BEGIN}\nProc-Type: 4,ENCRYPTED\n\nb3Bl\n{END}\nz", "[private-key]\nz", id="encrypted"),
        pytest.param(f"{BEGIN} b3Bl {END} z", "[private-key] z", id="on-one-line"),
    ],
)
def test_a_private_key_is_hidden_to_its_end(text: str, shown: str) -> None:
    assert mask(text) == shown
    assert streamed(*(text[at : at + 5].encode() for at in range(0, len(text), 5))).decode() == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param(f"+{BEGIN}\n+import os\n+z()\n", "+[private-key]\n+import os\n+z()\n", id="code"),
        pytest.param(f'X = "{BEGIN}"\ny = 1\n', 'X = "[private-key]"\ny = 1\n', id="constant"),
        pytest.param(f"+{BEGIN}\n+b3Bl\ndiff --git a/x b/x\n", "+[private-key]\ndiff --git a/x b/x\n", id="file"),
        pytest.param(f"+{BEGIN}\n+rm -r x\n+{END}\n", f"+[private-key]\n+rm -r x\n+{END}\n", id="code-before-the-end"),
        pytest.param(f"{BEGIN} is one; {BEGIN}b3Bl{END} too", "[private-key] is one; [private-key] too", id="line"),
        pytest.param(f"{BEGIN}\n" + "A" * 70_000 + "\nz = 1", "[private-key]\nz = 1", id="line-longer-than-a-window"),
    ],
)  # fmt: skip
def test_what_is_no_key_is_not_hidden_by_the_first_line_of_one(text: str, shown: str) -> None:
    assert mask(text) == shown
    assert streamed(*(text[at : at + 977].encode() for at in range(0, len(text), 977))).decode() == shown


@pytest.mark.parametrize("reading", [pytest.param(redact, id="175-whole"), pytest.param(streamed, id="175-stream")])
def test_redaction_gives_a_copy_and_leaves_the_bytes_to_be_applied(reading: object) -> None:
    patch = f"+++ b/x\n+key = '{AWS}'\n".encode() + b"+\xff\xfe\r\n"
    before = bytes(patch)

    shown = redact(patch).text if reading is redact else streamed(patch)

    assert shown == b"+++ b/x\n+key = '[aws-access-key-id]'\n+\xff\xfe\r\n"
    assert patch == before
