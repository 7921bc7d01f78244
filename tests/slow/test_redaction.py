"""Redaction at size: ordinary source is left in peace, and hostile text takes time linear in its length."""

import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitnexus.redaction import Redactor
from gitnexus.redaction.rules import RULES
from gitnexus.redaction.scan import find_spans

pytestmark = pytest.mark.slow

HOSTILE = {
    "176-words-of-rules": b" ".join(sorted(word.encode() for rule in RULES for word in rule.keywords)) + b"\n",
    "176-begun-tokens": b"".join(rule.example[:-3].encode() + b" " for rule in RULES if "BEGIN" not in rule.example),
    "176-dots-of-web-tokens": b"eyJ" + b"a" * 12 + b".eyJ" + b"-eyJ" * 64,
    "176-assignments": b"password = secret = token: key=" * 8 + b"\n",
    "176-addresses": b"http://a:b:c@d:" * 16,
    "176-escapes": b"%41\\u0041\x1b[1m" * 16,
    "176-one-letter": b"a" * 64,
    "176-keys": b"-----BEGIN " + b"PRIVATE KEY-----x-----END " + b"PRIVATE KEY-----\n",
}


def seconds(pattern: bytes, size: int) -> float:
    chunk = (pattern * (65536 // len(pattern) + 1))[:65536]
    stream = Redactor()
    start = time.process_time()
    for _ in range(size // len(chunk)):
        stream.feed(chunk)
    stream.finish()
    return time.process_time() - start


@pytest.mark.parametrize("name", HOSTILE)
def test_four_times_the_hostile_text_takes_about_four_times_as_long(name: str) -> None:
    seconds(HOSTILE[name], 1 << 18)  # the patterns are compiled
    small, large = seconds(HOSTILE[name], 1 << 20), seconds(HOSTILE[name], 1 << 22)

    # Sixteen times would be the square; the rest is for a busy machine.
    assert large < 10 * max(small, 0.01)


def source() -> Iterator[bytes]:
    library = Path(sysconfig.get_path("stdlib"))
    for path in sorted(library.rglob("*.py")):
        if "site-packages" not in path.parts:
            yield from path.read_bytes().split(b"\n")


def test_fewer_than_one_in_ten_thousand_lines_of_the_standard_library_is_taken_for_a_secret() -> None:
    lines = hits = 0
    for line in source():
        lines += 1
        hits += bool(find_spans(line))

    assert lines > 100_000
    assert hits * 10_000 < lines
