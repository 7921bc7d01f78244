"""What runs cost on the way between clones, for 10, 1,000 and 100,000 of them: refs, objects, bytes, seconds.

Prints the table of docs/explanation/sync.md. Logs lie on a ref each, as runs leave them, or folded into the archives of
twelve months, as `git nexus clean` leaves them; each run has its record in the state.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

WHO = "bench <bench@example.com> 1794000000 +0000"
EVENTS = "".join(f'{{"body":{{"text":"event {n} of a run of ordinary length"}},"seq":{n}}}\n' for n in range(14))


def run_id(number: int) -> str:
    letters = "0123456789bcdfghjkmnpqrstvwxyz"
    tail = "".join(letters[number // 30**at % 30] for at in (3, 2, 1, 0))
    return f"26{number % 12 + 1:02d}01-0000-{tail}"


def made(place: Path, count: int, folded: bool, first: int = 0) -> None:
    """Make the state and the logs of `count` runs: blobs by fast-import, trees by mktree, refs by update-ref."""
    runs = [run_id(number) for number in range(first, first + count)]
    texts = [
        text for run in runs for text in (EVENTS.replace("of a run", f"of {run}"), f'{{"run":"{run}"}}\n', record(run))
    ]
    oids = blobs(place, ['{"name":"sh"}\n', *texts])
    workflow, rest = oids[0], iter(oids[1:])
    rows = [(run, next(rest), next(rest), next(rest)) for run in runs]
    events = trees(place, [f"100644 blob {row[1]}\t0001.jsonl\n" for row in rows])
    logs = trees(place, [
        f"040000 tree {tree}\tevents\n100644 blob {row[2]}\thead.json\n100644 blob {workflow}\tworkflow.json\n"
        for tree, row in zip(events, rows, strict=True)
    ])  # fmt: skip
    records = "".join(f"100644 blob {row[3]}\t{row[0]}.json\n" for row in rows)
    orders = [("refs/nexus/state", records)]
    if folded:
        for month in sorted({run[:4] for run in runs}):
            held = "".join(
                f"040000 tree {log}\t{run}\n" for run, log in zip(runs, logs, strict=True) if run[:4] == month
            )
            orders.append((f"refs/nexus/archive/20{month[:2]}-{month[2:]}", held))
    else:
        orders += [(f"refs/nexus/runs/{run}", log) for run, log in zip(runs, logs, strict=True)]
    text = "".join(committed(place, ref, tree, bool(first)) for ref, tree in orders)
    git(place, "fast-import", "--quiet", stdin=text.encode())


def committed(place: Path, ref: str, rows: str, again: bool) -> str:
    """Return the order for a commit of these rows, over what the ref holds; a bare tree is taken as it is."""
    tree, goes_on = rows, again and not ref.startswith("refs/nexus/runs/")
    if "\t" in rows:
        inner = "runs" if ref.endswith("state") else ""
        held = git(place, "ls-tree", f"{ref}:{inner}") if goes_on else ""
        tree = git(place, "mktree", stdin=(held + rows).encode()).strip()
        tree = git(place, "mktree", stdin=f"040000 tree {tree}\truns\n".encode()).strip() if inner else tree
    parent = f"from {ref}^0\n" if goes_on else ""
    return f'commit {ref}\ncommitter {WHO}\ndata 2\nx\n{parent}M 040000 {tree} ""\n\n'


def blobs(place: Path, texts: list[str]) -> list[str]:
    marks = place / "marks"
    parts = [f"blob\nmark :{at}\ndata {len(text.encode())}\n{text}\n" for at, text in enumerate(texts, 1)]
    git(place, "fast-import", "--quiet", f"--export-marks={marks}", stdin="".join(parts).encode())
    found = dict(line.split() for line in marks.read_text().splitlines())
    return [found[f":{at}"] for at in range(1, len(texts) + 1)]


def trees(place: Path, rows: list[str]) -> list[str]:
    return git(place, "mktree", "--batch", stdin="\n".join(rows).encode() + b"\n").split()


def events_of(run: str) -> str:
    return EVENTS.replace("of a run", f"of {run}")


def record(run: str) -> str:
    return f'{{"agent":"claude","id":"{run}","status":"completed","title":"Mend it"}}\n'


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
    made(one, count, folded)
    refs = len(git(one, "for-each-ref", "--format=%(refname)").split())
    push = timed(one, "push", "-q", str(hub), "refs/nexus/*:refs/nexus/*")
    fetch = timed(two, "fetch", "-q", str(hub), "+refs/nexus/*:refs/nexus/*")
    counts = dict(line.split(": ") for line in git(hub, "count-objects", "-v").splitlines())
    made(one, 1, folded, (count // 12 + 1) * 12)
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
