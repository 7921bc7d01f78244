"""The session of one worktree: the only file that knows where plan, tasks, artifacts and history are kept."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from gitnexus.base.canonical import document, parse
from gitnexus.base.clock import now
from gitnexus.base.errors import Invalid
from gitnexus.cycle.model import CycleRecord, History, Plan, TaskFile
from gitnexus.git.child import run
from gitnexus.state import Change, Snapshot
from gitnexus.state.format import new_tree
from gitnexus.state.intake import settle
from gitnexus.state.layout import SESSION_FOLDER
from gitnexus.state.local import Local

PLAN, TASKS, HISTORY = "plan.json", "tasks.json", "history.json"
ARTIFACTS = "artifacts"

R = TypeVar("R", bound=CycleRecord)


class Session(Local):
    """What the tools work on. Plan and tasks need no git at all; history needs the state ref."""

    def plan(self) -> Plan | None:
        """Return the plan, None if there is none. Raises: Invalid, and leaves the file as it is."""
        return self._read(PLAN, Plan)

    def tasks(self) -> TaskFile | None:
        """Return the tasks, None if there are none. Raises: Invalid, and leaves the file as it is."""
        return self._read(TASKS, TaskFile)

    def put(self, name: str, record: CycleRecord) -> None:
        """Write a session file at once."""
        self.put_bytes([SESSION_FOLDER], name, record.to_bytes())

    def rows(self, parts: list[str], name: str, kind: type[R]) -> list[R]:
        """Return the records of a session file that is a list. Raises: Invalid, and leaves the file as it is."""
        path = "/".join([SESSION_FOLDER, *parts, name])
        held = self.load(path)
        if held is None:
            return []
        try:
            value = parse(held)
        except Invalid as exc:
            raise Invalid(f".nexus/{path} is {exc.message}", hint="it is left as it is; repair it by hand") from exc
        if not isinstance(value, list):
            raise Invalid(f".nexus/{path} should be a list", hint="it is left as it is; repair it by hand")
        return [kind.from_value(item, f".nexus/{path}[{at}]") for at, item in enumerate(value)]

    def put_rows(self, parts: list[str], name: str, rows: Sequence[CycleRecord]) -> None:
        """Write a session file that is a list."""
        self.put_bytes([SESSION_FOLDER, *parts], name, document([row.plain() for row in rows]))

    def history(self) -> History:
        """Return the closed cycles, what was edited by hand taken in. Raises: Invalid, and leaves the file as it is."""
        if self.state.latest().commit is None:
            held = self.load(HISTORY)
            return History() if held is None else History.from_bytes(held, f".nexus/{HISTORY}")
        self._settled()
        return _history_in(self.state.latest())

    def append(self, decide: Callable[[History], tuple[History, str]]) -> History:
        """Publish what `decide` makes of the history, as one commit with its reason. Raises: what `decide` raises."""
        self.history()  # refuses a file that does not parse before anything is made
        if not self.state.exists:
            self.state.transact(_begin)
        self._settled()

        def change(snapshot: Snapshot) -> Change[History]:
            after, why = decide(_history_in(snapshot))
            return Change({HISTORY: after.to_bytes()} if why else {}, why, after)

        return self.state.transact(change)

    def branch(self) -> str:
        """Return the branch, or the short id where HEAD is detached; no git process in the usual case."""
        head = (self.repo.git_dir / "HEAD").read_text(encoding="utf-8", errors="replace").strip()
        if head == "ref: refs/heads/.invalid":  # reftable keeps HEAD elsewhere
            asked = run("symbolic-ref", "-q", "HEAD", git_dir=self.repo.git_dir)
            head = "ref: " + asked.stdout.decode("utf-8", "replace").strip()
        if head.startswith("ref: "):
            return head.removeprefix("ref: ").removeprefix("refs/heads/") or "HEAD"
        return head[:7]

    def _settled(self) -> None:
        held = settle(self.state).held
        if HISTORY in held:
            raise Invalid(f".nexus/{HISTORY} is {held[HISTORY]}", hint="it is left as it is; repair it by hand")

    def _read(self, name: str, kind: type[R]) -> R | None:
        held = self.load(f"{SESSION_FOLDER}/{name}")
        return None if held is None else kind.from_bytes(held, f".nexus/state/{name}")


def _history_in(snapshot: Snapshot) -> History:
    raw = snapshot.read(HISTORY)
    return History() if raw is None else History.from_bytes(raw, HISTORY)


def _begin(snapshot: Snapshot) -> Change[None]:
    if snapshot.commit is not None:
        return Change({}, "", None)
    return Change(new_tree("project", now()), "cycle: begin", None)
