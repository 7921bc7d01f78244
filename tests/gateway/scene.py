"""A repository with secrets in it, and a door whose rooms are honest and small: every token is for one digest, once."""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gitnexus.base.errors import NotFound, VerificationFailed
from gitnexus.gateway.execute import ExecutionGate
from gitnexus.gateway.protocols import CommandResult
from gitnexus.gateway.tool_context import ToolContext
from gitnexus.git import discover
from gitnexus.policy.model import CommandRequest, GateDecision, Request, Verdict
from gitnexus.redaction import mask
from tests.conftest import run_git

SECRET = "DATABASE=verysecretvalue\n"
TEXT = "one\ntwo\nthree\nfour\nfive\n"
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


def digest(request: Request) -> str:
    body = json.dumps({"kind": request.kind, **request.plain()}, sort_keys=True)
    return f"sha256:{hashlib.sha256(body.encode()).hexdigest()}"


class Law:
    """Gate, person and ledger in one: `verdict` is what the gate says, `between` happens while a person looks."""

    def __init__(self, verdict: Verdict = "allow") -> None:
        self.verdict: Verdict = verdict
        self.judged: list[Request] = []
        self.open: dict[str, str] = {}
        self.spent: list[str] = []
        self.events: list[tuple[str, Mapping[str, Any]]] = []
        self.between: Callable[[], None] = lambda: None

    def decide(self, request: Request) -> GateDecision:
        self.judged.append(request)
        return GateDecision(verdict=self.verdict, rule="the test's rule", why="the test says so", risk=1, tags=())

    def issue(self, request: Request, digest: str, decision: GateDecision) -> str:
        token = f"token-{len(self.open)}"
        self.open[token] = digest
        self.between()
        return token

    def ask(self, request: Request, digest: str, decision: GateDecision, summary: str) -> str | None:
        return self.issue(request, digest, decision)

    def spend(self, token: str, request: Request, found: str) -> None:
        if self.open.pop(token, None) != digest(request):
            raise VerificationFailed("the token is not for this")
        self.spent.append(token)

    def note(self, kind: str, fields: Mapping[str, Any]) -> None:
        json.dumps(fields)
        self.events.append((kind, fields))

    @property
    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.events]


class Whole:
    """Masks when everything is there."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, piece: bytes) -> bytes:
        self._held += piece
        return b""

    def finish(self) -> bytes:
        return mask(self._held.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


class Bare:
    """Runs a command as it is, in exactly its environment: what confines is tested in its own room."""

    level = "L0"

    def environment(self, wanted: Mapping[str, str]) -> dict[str, str]:
        return {"PATH": SYSTEM_PATH, "LC_ALL": "C.UTF-8", "GIT_PAGER": "cat", "GIT_EDITOR": "false", **wanted}

    def resolved(self, name: str, cwd: Path) -> tuple[str, str]:
        found = str(cwd / name) if "/" in name else shutil.which(name, path=SYSTEM_PATH)
        if found is None or not os.path.isfile(found):
            raise NotFound(f"there is no program {name!r}")
        return found, hashlib.sha256(Path(found).read_bytes()).hexdigest()

    def run(self, request: CommandRequest, stdin: bytes, sink: Callable[[bytes], None]) -> CommandResult:
        done = subprocess.run(
            list(request.argv), executable=request.program, cwd=request.cwd, env=request.env, input=stdin,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        sink(done.stdout)
        return CommandResult(status=done.returncode, seconds=0.0, level="L0")


def repository_at(place: Path, *, object_format: str = "sha1") -> Path:
    place.mkdir(parents=True, exist_ok=True)
    run_git(place, "init", "-q", f"--object-format={object_format}")
    (place / "src").mkdir()
    (place / "a.txt").write_text(TEXT)
    (place / "src" / "main.py").write_text("print('hello')\n")
    (place / "data.bin").write_bytes(bytes(range(256)) * 4)
    (place / ".env").write_text(SECRET)
    (place / ".gitignore").write_text("ignored/\n*.log\n")
    (place / "link").symlink_to("src/main.py")
    run_git(place, "add", "-A")
    run_git(place, "commit", "-qm", "first")
    return place


def bench_at(place: Path, law: Law, **more: Any) -> ToolContext:
    door = ExecutionGate(law, digest, law.spend, mask, Whole, law.note, law.ask)
    return ToolContext(
        discover(place), "project-1", "run-1", "executor", door, Bare(), place.parent / "artifacts", **more
    )


def diff_of(place: Path, *argv: str) -> str:
    """Return what git itself makes a patch of, from what is staged; the worktree is put back."""
    run_git(place, "add", "-A")
    made = subprocess.run(
        ["git", "diff", "--cached", "--binary", "--full-index", *argv], cwd=place, capture_output=True, check=True
    ).stdout
    run_git(place, "reset", "-q", "--hard")
    run_git(place, "clean", "-qfd")
    return made.decode("utf-8", "surrogateescape")


def everything(place: Path) -> dict[str, tuple[int, bytes]]:
    """Return all files below a folder, .git left out, with mode and content."""
    found = {}
    for at, folders, names in os.walk(place):
        if ".git" in folders:
            folders.remove(".git")
        for name in [*names, *(one for one in folders if os.path.islink(os.path.join(at, one)))]:
            path = os.path.join(at, name)
            data = os.readlink(path).encode() if os.path.islink(path) else Path(path).read_bytes()
            found[os.path.relpath(path, place)] = (os.lstat(path).st_mode, data)
    return found
