"""A small project with a bit of everything, and a view of it, for the tests of specialists."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gitnexus.app.init import init_project
from gitnexus.git import discover
from gitnexus.git.private import PrivateGit, private_git
from gitnexus.git.revisions import resolve_commit
from gitnexus.packs import Library
from gitnexus.packs.find import RunArtifact
from gitnexus.packs.tree import BaseTree
from gitnexus.policy import denied_by
from gitnexus.state import Change, State
from gitnexus.workflow.definition import NodeInputs, NodeType, make_node
from gitnexus.workflow.specialist import HistoryCommit, WorkOrder
from tests.conftest import run_git

FILES = {
    "AGENDA.md": "---\nID: agenda\n---\n\n# Agenda\n\nGOAL:\n- ship\n\nGLOBAL_CONSTRAINTS:\n- no network at import\n\n"
    "PHASES:\n- [ ] [Core](docs/phases/core.md)\n",
    "docs/phases/core.md": "---\nID: phase.core\nSTATUS: active\n---\n\n# Core\n\nGOAL:\n- a loop\n\nCONSTRAINTS:\n"
    "- keep it under 500 lines\n\nDELIVERABLES:\n- [x] the reader {#reader}\n"
    "- [ ] write `src/loop.py` {#loop}\n- [ ] `make test` passes {#green}\n",
    "docs/retries.md": "# Retries\n\nHow often a request is repeated.\n\n## Backoff\n\nThe retry "
    "backoff doubles, up to a minute.\n",
    "src/client.py": "import time\n\n\ndef fetch(url, tries=3):\n    for attempt in range(tries):\n"
    "        delay = backoff(attempt)\n        time.sleep(delay)\n\n\ndef backoff(attempt):\n"
    '    """Return the seconds to wait."""\n    return min(60, 2 ** attempt)\n',
    "src/loop.py": "def loop():\n    pass\n",
    "todo.md": "# To do\n\n- [x] old\n- [ ] rename the loop\n",
    "Makefile": "test:\n\ttrue\n",
    ".env": "backoff=secret\n",
}
STATE = {
    "memory/backoff-choice.md": "# Backoff\n\nWe chose exponential backoff after the outage.\n",
    "rules/requests.md": "# Requests\n\nNever set a backoff above a minute.\n",
    "history.json": '{"cycles":[{"branch":"main","completed_at":"2026-01-02T00:00:00Z","plan":{"created_at":"x","id":1,'
    '"issues":[{"decision":"use backoff","id":1,"status":"decided","title":"How to retry?"}],"topic":"Retries"},'
    '"tasks":[]}]}\n',
    "research/own.md": '---\nID: own\nBY: "researcher/embedded"\n---\n\n# Research: how does the retry backoff grow?\n',
    "research/asked.md": '---\nID: asked\nBY: "researcher/model"\n---\n\n# Research: jitter and thundering herds\n',
    "backlog/T1.json": '{"acceptance":["`make test` passes","docs/retries.md tells about jitter"],'
    '"files":["src/client.py"],"id":"T1","title":"Add jitter to the backoff"}\n',
    "backlog/T2.json": '{"depends":["T1"],"id":"T2","title":"Measure it"}\n',
}


class Seen:
    """A view over one commit."""

    def __init__(self, git: PrivateGit, library: Library) -> None:
        self._git = git
        self.library = library

    def log(self, most: int) -> Sequence[HistoryCommit]:
        return self._commits(f"-{most}", self.library.base.commit)

    def touched(self, path: str, most: int) -> Sequence[HistoryCommit]:
        return self._commits(f"-{most}", self.library.base.commit, "--", path)

    def _commits(self, *argv: str) -> list[HistoryCommit]:
        rows = self._git.must("log", "--format=%H%x00%ct%x00%s", *argv).decode().splitlines()
        return [HistoryCommit(id_, int(time), said) for id_, time, said in (row.split("\0") for row in rows)]


def made(place: Path) -> Path:
    """Make the project in an empty folder."""
    run_git(place, "init", "-q")
    run_git(place, "config", "user.name", "T")
    run_git(place, "config", "user.email", "t@example.com")
    for name, text in FILES.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    run_git(place, "add", "-f", ".")
    run_git(place, "commit", "-qm", "client: double the backoff")
    init_project(place, name=None, aliases=(), with_hooks=False, local=True).nexus.close()
    state = State.open(place)
    files = {path: text.encode() for path, text in STATE.items()}
    state.transact(lambda snapshot: Change(files, "a scene", None))
    state.close()
    return place


@contextmanager
def seen(place: Path) -> Iterator[Seen]:
    """Open a view of HEAD."""
    repo = discover(place)
    state = State.open(place)
    kept = RunArtifact("run", "sha256:" + "a" * 64, "todo.md", b"- [ ] from a run\n", "b" * 40)
    with private_git(repo) as git:
        base = BaseTree(git, resolve_commit(repo, git, "HEAD"), denied_by)
        yield Seen(git, Library(base, state.latest(), lambda run, word: kept))
    state.close()


def order(
    type_: NodeType, prompt: str, view: Seen | None = None, *, refs: Sequence[str] = (), **given: object
) -> WorkOrder:
    """Return an order with a prompt."""
    one = make_node("N", type_, inputs=NodeInputs(refs=tuple(refs)))
    return WorkOrder(node=one, goal=prompt, prompt=prompt, view=view, **given)  # type: ignore[arg-type]
