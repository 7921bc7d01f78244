"""Reads and writes the session of one worktree: the only module that knows the paths of plan, tasks and history."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from gitnexus.base.canonical import json_document, parse_json
from gitnexus.base.clock import utc_now
from gitnexus.base.errors import Invalid
from gitnexus.cycle.model import CycleHistory, CycleRecord, PlanFile, TaskFile
from gitnexus.git.child import run_git
from gitnexus.state import Change, Snapshot
from gitnexus.state.format import new_state_files
from gitnexus.state.intake import settle_hand_edits
from gitnexus.state.layout import SESSION_FOLDER
from gitnexus.state.local import SessionFolder
from gitnexus.state.secrets import as_stored

PLAN, TASKS, HISTORY = "plan.json", "tasks.json", "history.json"
ARTIFACTS = "artifacts"

R = TypeVar("R", bound=CycleRecord)


class Session(SessionFolder):
    """What the tools work on. Plan and tasks need no git at all; history needs the state ref."""

    def plan(self) -> PlanFile | None:
        """Return the plan, None if there is none. Raises: Invalid; the file stays unchanged."""
        return self._read_record(PLAN, PlanFile)

    def tasks(self) -> TaskFile | None:
        """Return the tasks, None if there are none. Raises: Invalid; the file stays unchanged."""
        return self._read_record(TASKS, TaskFile)

    def put(self, name: str, record: CycleRecord) -> None:
        """Write a session file at once."""
        self.put_bytes([SESSION_FOLDER], name, json_document(as_stored(record.plain())))

    def rows(self, parts: list[str], name: str, kind: type[R]) -> list[R]:
        """Return the records of a session file that is a list. Raises: Invalid; the file stays unchanged."""
        path = "/".join([SESSION_FOLDER, *parts, name])
        held = self.load(path)
        if held is None:
            return []
        try:
            value = parse_json(held)
        except Invalid as exc:
            raise Invalid(f".nexus/{path} is {exc.message}", hint="it is left as it is; repair it by hand") from exc
        if not isinstance(value, list):
            raise Invalid(f".nexus/{path} should be a list", hint="it is left as it is; repair it by hand")
        return [kind.from_value(item, f".nexus/{path}[{at}]") for at, item in enumerate(value)]

    def put_rows(self, parts: list[str], name: str, rows: Sequence[CycleRecord]) -> None:
        """Write a session file that is a list."""
        self.put_bytes([SESSION_FOLDER, *parts], name, json_document(as_stored([row.plain() for row in rows])))

    def history(self) -> CycleHistory:
        """Return the closed cycles, with hand edits committed. Raises: Invalid; the file stays unchanged."""
        if self.state.latest().commit is None:
            held = self.load(HISTORY)
            return CycleHistory() if held is None else CycleHistory.from_bytes(held, f".nexus/{HISTORY}")
        self._take_in_hand_edits()
        return _history_in_snapshot(self.state.latest())

    def append(self, decide: Callable[[CycleHistory], tuple[CycleHistory, str]]) -> CycleHistory:
        """Publish what `decide` makes of the history, as one commit with its reason. Raises: what `decide` raises."""
        self.history()  # refuses a file that does not parse before anything is made
        if not self.state.exists:
            self.state.transact(_begin_state)
        self._take_in_hand_edits()

        def change(snapshot: Snapshot) -> Change[CycleHistory]:
            after, why = decide(_history_in_snapshot(snapshot))
            return Change({HISTORY: after.to_bytes()} if why else {}, why, after)

        return self.state.transact(change)

    def branch(self) -> str:
        """Return the branch, or the short id of a detached HEAD; usually without starting git."""
        head = (self.repo.git_dir / "HEAD").read_text(encoding="utf-8", errors="replace").strip()
        if head == "ref: refs/heads/.invalid":  # reftable keeps HEAD elsewhere
            asked = run_git("symbolic-ref", "-q", "HEAD", git_dir=self.repo.git_dir)
            head = "ref: " + asked.stdout.decode("utf-8", "replace").strip()
        if head.startswith("ref: "):
            return head.removeprefix("ref: ").removeprefix("refs/heads/") or "HEAD"
        return head[:7]

    def _take_in_hand_edits(self) -> None:
        held = settle_hand_edits(self.state).held
        if HISTORY in held:
            raise Invalid(f".nexus/{HISTORY} is {held[HISTORY]}", hint="it is left as it is; repair it by hand")

    def _read_record(self, name: str, kind: type[R]) -> R | None:
        held = self.load(f"{SESSION_FOLDER}/{name}")
        return None if held is None else kind.from_bytes(held, f".nexus/state/{name}")


def _history_in_snapshot(snapshot: Snapshot) -> CycleHistory:
    raw = snapshot.read(HISTORY)
    return CycleHistory() if raw is None else CycleHistory.from_bytes(raw, HISTORY)


def _begin_state(snapshot: Snapshot) -> Change[None]:
    if snapshot.commit is not None:
        return Change({}, "", None)
    return Change(new_state_files("project", utc_now()), "cycle: begin", None)
