"""Makes a repository that holds one of everything with an installed `git nexus`, for tests of later versions.

Usage: python tests/data/make_old_repository.py PROGRAM FOLDER

PROGRAM is the `git-nexus` of the version. Three files come into FOLDER: a bundle of all refs, a tar of what lies beside
them in the git folder and in $NEXUS_HOME, and a JSON document with the names of what was made. README.md tells more.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

# Paths are recorded in a registry and in worktrees: a folder that says nothing about the machine.
ROOT = Path("/tmp/nexus-old-repository")
PLACE, HOME, SERVER = ROOT / "shop", ROOT / "home", ROOT / "server.git"
DATE = "2026-02-01T12:00:00Z"
# Every Python process of the product begins on that day; what reads the time of files keeps the true clock.
CLOCK = f"""\
import datetime

_offset = datetime.datetime.fromisoformat({DATE!r}) - datetime.datetime.fromtimestamp({{start}}, datetime.UTC)


class _Shifted(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + _offset


datetime.datetime = _Shifted
"""
TODO = """\
# To do

- [ ] Raise the price

  ```diff
  --- a/shop.py
  +++ b/shop.py
  @@ -1 +1 @@
  -price = 10
  +price = 12
  ```

  ```sh
  cat shop.py
  ```
"""
NOTE = "Deployments begin with a dry run.\n\nThe second host answers late.\n"


class Maker:
    """The commands of one version, as a person types them."""

    def __init__(self, program: Path) -> None:
        self._program = program
        self._env = {
            "HOME": str(HOME),
            "NEXUS_HOME": str(HOME / "nexus"),
            "PATH": f"{program.parent}:/usr/local/bin:/usr/bin:/bin",
            "PYTHONPATH": str(ROOT / "clock"),
            "TMPDIR": str(ROOT / "tmp"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_DATE": DATE,
            "GIT_COMMITTER_DATE": DATE,
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
        }

    def git(self, *argv: str, place: Path = PLACE) -> str:
        return self._run(["git", *argv], place, {0})

    def nexus(self, *argv: str, statuses: frozenset[int] = frozenset({0}), place: Path = PLACE) -> str:
        """Run a command; waiting for an approval is status 21."""
        return self._run([str(self._program), *argv], place, statuses)

    def json(self, *argv: str, **said: Any) -> Any:
        return json.loads(self.nexus(*argv, "--json", **said))

    def start_run(self, *argv: str) -> str:
        """Start a run that ends with something that waits; return its id."""
        before = {run["id"] for run in self.json("runs", "--all")["runs"]}
        self.nexus("run", *argv, statuses=frozenset({21}))
        (started,) = {run["id"] for run in self.json("runs", "--all")["runs"]} - before
        return str(started)

    def approve_all(self, run: str) -> None:
        """Approve what waits until nothing does."""
        while self._waiting(run):
            self.nexus("review", run, statuses=frozenset({0, 21}))
            self.nexus("approve", run, statuses=frozenset({0, 21}))

    def _waiting(self, run: str) -> bool:
        return any(row["id"] == run and row["status"] == "waiting" for row in self.json("runs", "--all")["runs"])

    def _run(self, argv: list[str], place: Path, statuses: set[int] | frozenset[int]) -> str:
        done = subprocess.run(argv, cwd=place, env=self._env, capture_output=True, text=True, check=False)
        if done.returncode not in statuses:
            raise SystemExit(f"{' '.join(argv)} → {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout


def make_repository(maker: Maker) -> dict[str, str]:
    """Fill the folder; return the names of what was made."""
    maker.git("init", "-q", "--bare", str(SERVER), place=ROOT)
    maker.git("init", "-q", str(PLACE), place=ROOT)
    (PLACE / "shop.py").write_text("price = 10\n")
    (PLACE / "TODO.md").write_text(TODO)
    maker.git("add", ".")
    maker.git("commit", "-qm", "a shop")
    maker.git("remote", "add", "origin", str(SERVER))
    maker.nexus("init", "--name", "shop", "--alias", "store")
    _write_policy(maker)
    _write_backlog(maker)
    _write_memory(maker)
    _write_agenda(maker)
    _write_cycles(maker)
    maker.git("push", "-q", "origin", "main")
    maker.nexus("sync")
    names = _start_runs(maker)
    names["pack"] = maker.json("pack", "build", "file:shop.py#L1-L1", "memory:incident-deploy-order", "task:T2")[
        "pack"
    ]["hash"]
    maker.nexus("sync")
    return names


def _write_policy(maker: Maker) -> None:
    maker.nexus("policy", "add", "allow", "--write", "docs/**", "--name", "documents")
    maker.nexus("policy", "add", "deny", "--read", "customers/**", "--why", "personal data")
    settings: dict[str, Any] = {
        "memory": {"categories": ["incident"]},
        "audit": {"reads": True},
        "runs": {"checks": [["test", "-f", "shop.py"]]},
    }
    (PLACE / ".nexus" / "settings.json").write_text(json.dumps(settings, indent=2) + "\n")
    maker.nexus("status")
    shown = subprocess.run(
        ["sha256sum", "policy.md", "settings.json"], cwd=PLACE / ".nexus", capture_output=True, text=True, check=True
    )
    digests = [f"--confirm=sha256:{line.split()[0]}" for line in shown.stdout.splitlines()]
    maker.nexus("policy", "trust", *digests)


def _write_backlog(maker: Maker) -> None:
    maker.nexus("task", "add", "Sell things", "--type", "epic", "--label", "sales")
    maker.nexus("task", "add", "Raise the price", "--parent", "T1", "--file", "shop.py", "--priority", "high")
    maker.nexus("task", "add", "Print the new price", "--depends", "T2", "--acceptance", "the label reads 12")
    maker.nexus("task", "add", "Count the stock")
    maker.nexus("task", "add", "Throw it away")
    maker.nexus("task", "relate", "T3", "T4", "--type", "spawned-from", "--reason", "seen while counting")
    maker.nexus("task", "claim", "T2", "--agent", "builder", "--ttl", "1d")
    maker.nexus("task", "complete", "T4", "--note", "41 pieces")
    maker.nexus("task", "delete", "T5")


def _write_memory(maker: Maker) -> None:
    maker.nexus("memory", "add", "deploy-order", NOTE, "--category", "incident")
    maker.nexus("memory", "add", "forgotten-note", "Nobody reads this.", "--category", "external")
    maker.nexus("memory", "add", "price-labels", "Labels are printed at night.", "--category", "empirical")
    maker.nexus("memory", "show", "incident-deploy-order")
    maker.nexus("rule", "add", "Prices are whole numbers.", "--tag", "prices")


def _write_agenda(maker: Maker) -> None:
    maker.nexus("agenda", "init", "--title", "A shop")
    maker.nexus("agenda", "phase", "add", "opening")
    phase = PLACE / "docs" / "phases" / "opening.md"
    phase.write_text(phase.read_text() + "\n- [ ] open the door {#door}\n- [ ] light the sign {#sign}\n")
    maker.nexus("agenda", "phase", "start", "opening")
    maker.nexus("agenda", "tick", "opening#door")
    maker.git("add", ".")
    maker.git("commit", "-qm", "an agenda")


def _write_cycles(maker: Maker) -> None:
    maker.nexus("plan", "start", "the till", "which currency?")
    maker.nexus("plan", "decide", "1", "euros, in whole numbers")
    maker.nexus("plan", "tasks")
    maker.nexus("cycle", "close")
    maker.nexus("plan", "start", "the window", "which colour?", "how wide?", "--research", "others have blue ones")
    maker.nexus("plan", "decide", "1", "green")


def _start_runs(maker: Maker) -> dict[str, str]:
    def write(text: str, name: str) -> list[str]:
        return ["--", "sh", "-c", f"echo '{text}' > {name}"]

    names = {}
    names["archived"] = maker.start_run("--title", "Write a notice", *write("open", "notice.txt"))
    maker.approve_all(names["archived"])
    maker.nexus("land", names["archived"])
    maker.nexus("clean", names["archived"])
    names["landed"] = maker.start_run("--title", "Write the hours", "--task", "T3", *write("9 to 5", "hours.txt"))
    maker.approve_all(names["landed"])
    maker.nexus("land", names["landed"])
    names["denied"] = maker.start_run("--title", "Write a slogan", *write("cheap", "slogan.txt"))
    maker.nexus("deny", names["denied"], "--reason", "no slogans")
    names["cancelled"] = maker.start_run("--title", "Write a poem", *write("roses", "poem.txt"))
    maker.nexus("cancel", names["cancelled"], "--reason", "no poems")
    names["rescued"] = maker.start_run("--title", "Write a riddle", *write("what", "riddle.txt"))
    maker.nexus("cancel", names["rescued"])
    maker.nexus("clean", names["rescued"])
    names["workflow"] = maker.start_run("compare, plan and implement the steps in TODO.md")
    maker.approve_all(names["workflow"])
    names["asking"] = maker.start_run("/plan-exec add a licence")
    names["waiting"] = maker.start_run("--title", "Write the address", *write("High Street 1", "address.txt"))
    for run in names.values():
        maker.nexus("checkpoint", run)
    maker.nexus("run", "--queue", "--labels", "till", "--", "true")
    names["queued"] = maker.json("queue")["queue"][0]["id"]
    return names


def keep_refs(maker: Maker, target: Path) -> None:
    """Write the bundle: refs of the repository as they are, those of the server below refs/server/."""
    maker.git("fetch", "-q", "origin", "+refs/*:refs/server/*")
    maker.git("bundle", "create", "-q", str(target), "--all")


def keep_files(program: Path, target: Path) -> None:
    """Write the tar: git's folder without what the bundle carries, the checkout of the state, and $NEXUS_HOME."""
    hook = PLACE / ".git" / "nexus" / "hook"
    hook.write_text(hook.read_text().replace(str(program), "git-nexus"))

    def keep(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        first, *rest = Path(entry.name).parts
        git_folder = first == "git" and rest and rest[0] not in ("nexus", "worktrees", "config", "hooks", "info")
        cached = first == "home" and rest and rest[0] == "cache"
        if git_folder or cached or entry.name.endswith(".sample") or not (entry.isfile() or entry.isdir()):
            return None
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mtime = 1_769_947_200  # DATE
        return entry

    with tarfile.open(target, "w:xz") as tar:
        tar.add(PLACE / ".git", "git", filter=keep)
        tar.add(PLACE / ".nexus", "checkout", filter=keep)
        tar.add(HOME / "nexus", "home", filter=keep)


def main() -> None:
    program, folder = Path(sys.argv[1]).absolute(), Path(sys.argv[2])
    if ROOT.exists():
        raise SystemExit(f"{ROOT} is there already: another one at work, or left over")
    for made in (HOME, ROOT / "tmp", ROOT / "clock"):
        made.mkdir(parents=True)
    try:
        (ROOT / "clock" / "sitecustomize.py").write_text(CLOCK.format(start=time.time()))
        (HOME / ".gitconfig").write_text(
            "[user]\n\tname = Old Person\n\temail = old@example.com\n[init]\n\tdefaultBranch = main\n"
        )
        maker = Maker(program)
        version = maker.nexus("--version", place=ROOT).split()[-1]
        names = make_repository(maker)
        keep_refs(maker, ROOT / "bundle")
        folder.mkdir(exist_ok=True)
        shutil.copy(ROOT / "bundle", folder / f"nexus-{version}.bundle")
        keep_files(program, folder / f"nexus-{version}.tar.xz")
        (folder / f"nexus-{version}.json").write_text(json.dumps(names, indent=2, sort_keys=True) + "\n")
    finally:
        if "KEEP" not in os.environ:
            shutil.rmtree(ROOT)


if __name__ == "__main__":
    main()
