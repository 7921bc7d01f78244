"""Twelve figures about a project with many runs, 5,000 unless told otherwise, each beside its yardstick.

    python benchmarks/soak.py [--strict] [RUNS]

The runs have a record, a log on a ref and a branch each, as real ones leave them; twenty real ones tell what a run
costs on disk. Takes some minutes, so that `benchmarks/run.py` does not call it.
"""

import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

if os.environ.pop("PYTHONDONTWRITEBYTECODE", None) is not None:
    os.execv(sys.executable, [sys.executable, *sys.argv])

from measure import Ratio, compare

from gitnexus.base.clock import format_timestamp, utc_now
from gitnexus.events.log import EventDraft
from gitnexus.runs.ids import new_run_id
from gitnexus.runs.model import Run
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.store import read_all_runs, record_path
from gitnexus.state import State
from gitnexus.state.format import project_id_of

RUNS, REAL = 5000, 20
# What the objects of a run, 46, may cost beside their bytes: a pack rounds nothing up to 4 KB.
LOOSE_AT_MOST = 1300


class Soak:
    """A project, its server, and a home of its own, in a scratch folder."""

    def __init__(self, top: Path) -> None:
        self.place, self.server, home = top / "project", top / "server.git", top / "home"
        home.mkdir()
        self.env = {name: text for name, text in os.environ.items() if not name.startswith(("GIT_", "NEXUS_", "XDG_"))}
        self.env |= {"HOME": str(home), "NEXUS_HOME": str(home / "nexus"), "GIT_CONFIG_NOSYSTEM": "1"}
        self.env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{self.env['PATH']}"
        os.environ |= self.env
        (home / ".gitconfig").write_text(
            "[user]\n\tname = B\n\temail = b@example.com\n[init]\n\tdefaultBranch = main\n"
        )
        self.place.mkdir()
        self.git("init", "-q")
        (self.place / "readme.txt").write_text("hello\n")
        self.git("add", ".")
        self.git("commit", "-qm", "first")
        self.git("nexus", "init", "--name", "soak")

    def git(self, *argv: str, stdin: str = "") -> str:
        done = subprocess.run(
            ["git", *argv],
            cwd=self.place,
            env=self.env,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            input=stdin,
        )
        if done.returncode not in (0, 21):
            raise SystemExit(f"git {' '.join(argv[:6])} → {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def seconds(self, *argv: str) -> float:
        start = time.perf_counter()
        self.git(*argv)
        return time.perf_counter() - start

    def disk(self) -> int:
        """Return the KB that the repository takes, without the folders in the trash."""
        trash = self.place / ".git" / "nexus" / "trash"
        files = [path for path in (self.place / ".git").rglob("*") if not path.is_relative_to(trash)]
        return sum(path.lstat().st_blocks for path in files) // 2

    def loose(self) -> int:
        return int(self.git("count-objects").split()[0])

    def make_real_runs(self, count: int) -> None:
        for number in range(count):
            made = self.git("nexus", "run", "--json", "--", "sh", "-c", f"echo {number} > made-{number}.txt")
            run = json.loads(made)["run"]["id"]
            self.git("nexus", "approve", "--unseen", run)
            self.git("nexus", "land", run)

    def make_runs(self, count: int) -> None:
        """Make runs that landed: each with a record, a log that ended on a ref of its own, and a branch."""
        state = State.open(self.place, "long")
        sample = read_all_runs(state.required())[0]
        definition = OpenRun(state, sample).definition()
        project = project_id_of(state.snapshot) or "unknown"
        begun, records, branches = utc_now() - timedelta(days=28), dict[str, bytes](), list[str]()
        for number in range(count):
            at = begun + timedelta(minutes=7 * number % 40_000)
            run = sample.changed(id=new_run_id(at, ()), created=format_timestamp(at), title=f"mend part {number}")
            self._write_log(state, run, definition, project)
            records[record_path(run.id)] = run.to_bytes()
            branches.append(f"create refs/heads/{run.branch} {run.head}\n")
        state.write(records, why="runs: many")
        state.close()
        self.git("update-ref", "--stdin", stdin="".join(branches))

    @staticmethod
    def _write_log(state: State, run: Run, definition: object, project: str) -> None:
        open_run = OpenRun(state, run)
        open_run.folder.mkdir(parents=True)
        open_run.write_definition(definition)  # type: ignore[arg-type]
        open_run.record_origin_clone()
        body = {"run": run.id, "definition": run.definition, "task": run.title, "agent": run.agent,
                "project": project, "base": run.base, "branch": run.branch}  # fmt: skip
        landed = {"commit": run.head, "into": "main", "how": "merge"}
        open_run.log.append_many([
            EventDraft("workflow.started", "user", body),
            EventDraft("run.finished", "nexus", {"ok": True}),
            EventDraft("run.landed", "user", landed),
        ])  # fmt: skip
        open_run.write_checkpoint()

    def read_refs_and_records(self) -> None:
        """List the refs of runs and read all records, by git: what no list of runs can do without."""
        self.git("for-each-ref", "--format=%(objectname) %(refname)", "refs/nexus", "refs/heads/nexus")
        rows = self.git("ls-tree", "--format=%(objectname)", "refs/nexus/state:runs")
        self.git("cat-file", "--batch", stdin=rows)

    def make_server(self) -> None:
        subprocess.run(["git", "init", "-q", "--bare", str(self.server)], check=True, env=self.env)
        self.git("remote", "add", "origin", str(self.server))
        self.git("push", "-q", "origin", "main")
        self.git("nexus", "sync")

    def ask_server(self) -> None:
        self.git("ls-remote", "--quiet", "origin", "refs/nexus/*", "refs/heads/nexus/*")


def costs_of_real_runs(soak: Soak) -> Iterator[Ratio]:
    before = soak.disk()
    soak.make_real_runs(REAL)
    cost, loose = (soak.disk() - before) / REAL, soak.loose()
    packed = f"the loose objects of {REAL} runs, and the limit after which they are packed"
    yield Ratio(f"loose objects after {REAL} real runs", packed, loose, LOOSE_AT_MOST, 1.0, "objects")
    soak.git("repack", "-d", "-l", "-q")
    after = (soak.disk() - before) / REAL
    yield Ratio("a run on disk", "348 KB, what it took once", cost, 348, 1.0, "KB")
    yield Ratio("a run on disk once packed", "348 KB, what it took once", after, 348, 0.25, "KB")


def listed(soak: Soak, words: str) -> Iterator[Ratio]:
    theirs = f"for-each-ref and one read of the records, {words}"
    for argv, limit in ((("runs", "--all"), 3.0), (("runs",), 3.0)):
        ours = functools.partial(soak.git, "nexus", *argv)
        yield compare(f"git nexus {' '.join(argv)}, {words}", ours, theirs, soak.read_refs_and_records, limit, 5)


def idle_sync(soak: Soak, words: str) -> Ratio:
    soak.git("nexus", "sync")
    start = "one ls-remote and the start of git nexus"

    def theirs() -> None:
        soak.ask_server()
        soak.git("nexus", "--version")

    return compare(f"an idle sync, {words}", lambda: soak.git("nexus", "sync"), start, theirs, 3.0, 5)


def figures(soak: Soak, count: int) -> Iterator[Ratio]:
    yield from costs_of_real_runs(soak)
    small = count // 5
    soak.make_runs(small)
    dry_small = soak.seconds("nexus", "clean", "--dry-run")
    clean_small = soak.seconds("nexus", "clean")
    soak.make_runs(count)
    first = soak.seconds("nexus", "runs", "--all")
    start = time.perf_counter()
    soak.read_refs_and_records()
    soak.git("cat-file", "--batch-all-objects", "--batch")
    yield Ratio(
        "the first runs --all", "a read of the records and all objects", first, time.perf_counter() - start, 6.0
    )
    yield from listed(soak, "a ref each")
    soak.make_server()
    yield idle_sync(soak, "a ref each")
    dry = soak.seconds("nexus", "clean", "--dry-run")
    yield Ratio(f"clean --dry-run of {count} runs", f"five times that of {small}", dry, 5 * dry_small, 1.5)
    clean = soak.seconds("nexus", "clean")
    yield Ratio(f"clean of {count} runs", f"five times that of {small}", clean, 5 * clean_small, 1.5)
    archived = list(listed(soak, "archived"))
    yield replace(archived[0])
    yield idle_sync(soak, "archived")
    refs = len(soak.git("for-each-ref", "--format=%(refname)").split())
    yield Ratio("refs after clean", "branch, state and archives of two months", refs, 5, 1.5, "refs")


def main() -> int:
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    over = 0
    with tempfile.TemporaryDirectory(prefix="nexus-soak-") as folder:
        for ratio in figures(Soak(Path(folder).resolve()), int(words[0]) if words else RUNS):
            print(ratio.line(), flush=True)
            over += ratio.value > ratio.limit
    print(f"{over} over their limit" if over else "every figure within its limit")
    return 1 if over and "--strict" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
