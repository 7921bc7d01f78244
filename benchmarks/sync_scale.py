"""What runs cost on the way between clones, for 10, 1,000 and 100,000 of them: refs, objects, bytes, seconds.

Prints the table of docs/explanation/sync.md. Logs lie on a ref each, as runs leave them, or folded into the archives of
twelve months, as `git nexus clean` leaves them; each run has its record in the state.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from gitnexus.base.clock import now
from gitnexus.state.format import new_tree

WHO = "bench <bench@example.com> 1794000000 +0000"
EVENTS = "".join(f'{{"body":{{"text":"event {n} of a run of ordinary length"}},"seq":{n}}}\n' for n in range(14))


def run_id(number: int) -> str:
    letters = "0123456789bcdfghjkmnpqrstvwxyz"
    tail = "".join(letters[number // 30**at % 30] for at in (3, 2, 1, 0))
    return f"26{number % 12 + 1:02d}01-0000-{tail}"


def stream(count: int, folded: bool, first: int = 0) -> Iterator[str]:
    """Yield what `git fast-import` makes the state and the logs of."""

    def file(path: str, text: str) -> str:
        return f"M 100644 inline {path}\ndata {len(text.encode())}\n{text}\n"

    def commit(ref: str, more: str = "") -> str:
        return f"commit {ref}\ncommitter {WHO}\ndata 2\nx\n\n{more}"

    runs = [run_id(number) for number in range(first, first + count)]
    yield commit("refs/nexus/state", "from refs/nexus/state^0\n" if first else "")
    if not first:
        for path, raw in new_tree("project", now()).items():
            yield file(path, raw.decode())
    for run in runs:
        yield file(f"runs/{run}.json", f'{{"agent":"claude","id":"{run}","status":"completed","title":"Mend it"}}\n')
    months = sorted({run[:4] for run in runs})
    for month in months if folded else ():
        ref = f"refs/nexus/archive/20{month[:2]}-{month[2:]}"
        yield commit(ref, f"from {ref}^0\n" if first else "")
        for run in (one for one in runs if one.startswith(month)):
            yield from (file(f"{run}/{name}", text) for name, text in log_of(run))
    for run in () if folded else runs:
        yield commit(f"refs/nexus/runs/{run}")
        yield from (file(name, text) for name, text in log_of(run))


def log_of(run: str) -> list[tuple[str, str]]:
    return [("workflow.json", '{"name":"sh"}\n'), ("head.json", f'{{"run":"{run}"}}\n'),
            ("events/0001.jsonl", EVENTS.replace("of a run", f"of {run}"))]  # fmt: skip


def git(place: Path, *argv: str, stdin: bytes | None = None) -> str:
    done = subprocess.run(["git", "-C", str(place), *argv], input=stdin, capture_output=True, check=True)
    return done.stdout.decode()


def timed(place: Path, *argv: str) -> float:
    start = time.perf_counter()
    git(place, *argv)
    return time.perf_counter() - start


def measure(count: int, folded: bool, scratch: Path) -> list[str]:
    for name in ("one", "hub", "two"):
        subprocess.run(["git", "init", "-q", "--bare", str(scratch / name)], check=True)
    one, hub, two = (scratch / name for name in ("one", "hub", "two"))
    git(one, "fast-import", "--quiet", stdin="".join(stream(count, folded)).encode())
    refs = len(git(one, "for-each-ref", "--format=%(refname)").split())
    push = timed(one, "push", "-q", str(hub), "refs/nexus/*:refs/nexus/*")
    fetch = timed(two, "fetch", "-q", str(hub), "+refs/nexus/*:refs/nexus/*")
    counts = dict(line.split(": ") for line in git(hub, "count-objects", "-v").splitlines())
    git(one, "fast-import", "--quiet", stdin="".join(stream(1, folded, (count // 12 + 1) * 12)).encode())
    ask = timed(one, "ls-remote", "-q", str(hub), "refs/nexus/*")
    more_push = timed(one, "push", "-q", str(hub), "refs/nexus/*:refs/nexus/*")
    more_fetch = timed(two, "fetch", "-q", str(hub), "+refs/nexus/*:refs/nexus/*")
    objects = int(counts["in-pack"]) + int(counts["count"])
    size = int(counts["size-pack"]) + int(counts["size"])
    words = "archives" if folded else "a ref each"
    seconds = [f"{one:.2f} s" for one in (push, fetch, ask, more_push, more_fetch)]
    return [f"{count:,}", words, f"{refs:,}", f"{objects:,}", f"{size / 1024:.1f} MiB", *seconds]


def main() -> None:
    sizes = [int(word) for word in sys.argv[1:]] or [10, 1000, 100_000]
    head = [
        "runs",
        "logs in",
        "refs",
        "objects",
        "size",
        "first push",
        "first fetch",
        "asking",
        "one more: push",
        "fetch",
    ]
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for count in sizes:
        for folded in (False, True):
            with tempfile.TemporaryDirectory() as scratch:
                print("| " + " | ".join(measure(count, folded, Path(scratch))) + " |", flush=True)


if __name__ == "__main__":
    main()
