"""Call programs as a person would: in a folder, with what they printed at hand when they fail."""

import os
import pty
import re
import select
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

Done = subprocess.CompletedProcess[str]


def call(argv: Sequence[str | Path], place: Path, env: Mapping[str, str] | None = None, seconds: int = 120) -> Done:
    """Run a program to its end; stdout and stderr come back as one text, in the order they were written."""
    return subprocess.run(
        [str(word) for word in argv],
        cwd=place,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=seconds,
        check=False,
    )


def must(argv: Sequence[str | Path], place: Path, env: Mapping[str, str] | None = None, seconds: int = 120) -> str:
    """Run a program that has to succeed, and return what it printed."""
    done = call(argv, place, env, seconds)
    assert done.returncode == 0, f"{' '.join(map(str, argv))} → {done.returncode}\n{done.stdout}"
    return done.stdout


def copy_of_the_working_tree(target: Path) -> Path:
    """Copy what git would commit of this checkout, uncommitted work included, into a new folder."""
    source = Path(__file__).resolve().parents[2]
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=source,
        capture_output=True,
        check=True,
    ).stdout
    for name in filter(None, os.fsdecode(listed).split("\0")):
        if (source / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, target / name)
    return target


class Terminal:
    """A program at the other end of a terminal: type, and read until it has shown what was waited for."""

    def __init__(self, argv: Sequence[str | Path], place: Path, env: Mapping[str, str]) -> None:
        self._master, slave = pty.openpty()
        self._process = subprocess.Popen(
            [str(word) for word in argv],
            cwd=place,
            env={**env, "TERM": "dumb", "COLUMNS": "200", "LINES": "50"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)

    def type(self, text: str) -> None:
        """Press these keys."""
        os.write(self._master, text.encode())

    def read_until(self, *words: str, seconds: float = 20.0) -> str:
        """Return what was shown since the last call, once each of `words` stands in it as a word of its own."""
        wanted = [re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])") for word in words]
        raw, shown = b"", ""
        deadline = time.monotonic() + seconds
        while not all(word.search(shown) for word in wanted):
            ready, _, _ = select.select([self._master], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"waited for {', '.join(words)}, and saw:\n{shown}"
            raw += os.read(self._master, 4096)
            shown = raw.decode("utf-8", "replace")
        return shown

    def close(self) -> None:
        """Hang up."""
        self._process.kill()
        self._process.wait()
        os.close(self._master)
