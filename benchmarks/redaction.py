"""Redaction of logs with all rules beside one pattern of re2, and how much of ordinary source is taken for secrets."""

import random
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from measure import Ratio, compare

from gitnexus.redaction import Redactor, Values, redact
from gitnexus.redaction.rules import RULES

ROOT = Path(__file__).parents[1]
SUFFIXES = (".py", ".pyi", ".md", ".txt", ".toml", ".json", ".c", ".h", ".sh", ".cfg")


def _log(lines: int) -> bytes:
    source = random.Random(7)
    words = ["".join(source.choices("abcdefghijklmnoprstuvw", k=source.randint(3, 9))) for _ in range(3000)]
    rows = (
        f"2026-01-02T03:{n % 60:02}:{n % 59:02}Z INFO worker[{n % 97}] {' '.join(source.choices(words, k=8))} "
        f"id={n * 7919} path=/v1/items/{n} status=200 in {n % 89} ms"
        for n in range(lines)
    )
    return "\n".join(rows).encode()


def _streamed(text: bytes, values: Values | None) -> None:
    stream = Redactor(values)
    for at in range(0, len(text), 65536):
        stream.feed(text[at : at + 65536])
    stream.finish()


def ratios() -> Iterator[Ratio]:
    log, one = _log(100_000), RULES[0].linear
    megabytes = f"{len(log) / 1e6:.0f} MB of logs"
    values = Values.of(f"{n}-known-Value-{n * 7919}" for n in range(20))
    yardstick = "one pattern of re2"

    def search() -> object:
        return one.search(log)

    yield compare(f"{megabytes} with {len(RULES)} rules", lambda: redact(log), yardstick, search, 8.0, 7)
    yield compare("the same in chunks of 64 KiB", lambda: _streamed(log, None), yardstick, search, 8.0, 7)
    yield compare("the same, and 20 known values", lambda: _streamed(log, values), yardstick, search, 8.0, 7)
    yield _started()
    for name, files in _trees():
        yield _taken_for_secrets(name, files)


def _started() -> Ratio:
    import_it = [sys.executable, "-c", "import gitnexus.redaction as r; r.find_secrets([(1, 'token = None')])"]
    bare = [sys.executable, "-c", "import re, json, dataclasses, urllib.parse, base64"]
    return compare(
        "import and look at one line",
        lambda: subprocess.run(import_it, check=True),
        "a bare Python",
        lambda: subprocess.run(bare, check=True),
        1.5,
        15,
    )


def _trees() -> Iterator[tuple[str, list[Path]]]:
    library = Path(sysconfig.get_path("stdlib"))
    packages = Path(sysconfig.get_path("purelib"))
    ours = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    yield "the standard library", [path for path in library.rglob("*") if "site-packages" not in path.parts]
    yield "the installed packages", list(packages.rglob("*"))
    yield "this repository", [ROOT / name for name in ours.split("\0") if name]


def _taken_for_secrets(name: str, files: list[Path]) -> Ratio:
    lines = hits = 0
    for path in files:
        if path.suffix in SUFFIXES and path.is_file():
            text = path.read_bytes()
            lines += text.count(b"\n") + 1
            # Of the whole file, since the name of a secret may stand on a line above it.
            stream = Redactor()
            stream.feed(text)
            stream.finish()
            hits += sum(each.count for each in stream.hidden)
    return Ratio(f"lines of {name} taken for secrets", "tens of thousands of lines", hits, lines / 10_000, 1.0, "")
