"""One run, opened: its record, its log, its worktree and its gate. Two processes never drive it at once."""

import contextlib
import fcntl
import os
import signal
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitnexus.app.arrive import arrived, arrived_upto
from gitnexus.app.authorship import Stretch, sign_new, stretches_of
from gitnexus.app.gatekeeper import Gatekeeper
from gitnexus.app.origin import agreement, begun_in, is_foreign, note_signs, place_file, signs
from gitnexus.app.policy import policy_here
from gitnexus.app.recorder import Recorder, folder_of
from gitnexus.base.canonical import document, parse
from gitnexus.base.errors import Busy, Invalid, NotFound, VerificationFailed
from gitnexus.base.files import expand_home, make_private_folder, replace
from gitnexus.events.artifacts import Artifacts
from gitnexus.events.authors import NOBODY
from gitnexus.events.chain import walk
from gitnexus.events.checkpoint import checkpoint, load
from gitnexus.events.fold import fold
from gitnexus.events.log import RunLog
from gitnexus.events.model import definition_hash
from gitnexus.events.view import RunView
from gitnexus.git import Author, Repo
from gitnexus.git.commits import rooted
from gitnexus.git.config import of_the_user
from gitnexus.git.patchid import patch_id
from gitnexus.git.private import private
from gitnexus.git.stamps import Stamps
from gitnexus.policy.law import MODES
from gitnexus.policy.model import Mode, PatchRequest
from gitnexus.policy.place import mark
from gitnexus.policy.request import parsed
from gitnexus.projects.model import hash_of, real
from gitnexus.runs.definition import VERSION, Definition, difference
from gitnexus.runs.ids import branch_of
from gitnexus.runs.model import Run
from gitnexus.runs.store import read
from gitnexus.state import State
from gitnexus.state.format import id_of
from gitnexus.state.home import home_folder

if TYPE_CHECKING:
    from gitnexus.workflow.definition import WorkflowDefinition

WORKFLOW = "workflow.json"
WORKTREES = "nexus.worktreeDir"
SESSION = "session.json"
_DRIVER = "driver.lock"
# Who only looks whether a run is driven holds the lock for a moment: that must not turn a driver away.
_A_LOOK = 0.5
_SETTLED = ("executed", "denied")
_AN_ANSWER = 60.0


class RunDesk:
    """What everything about one run works with."""

    def __init__(self, state: State, run: Run) -> None:
        self.state = state
        self.run = run
        self.folder = folder_of(state.repo.common_dir, run.id)
        self.noted = notes_folder(state)
        self.head_file = _head_file(self.noted, run.id, mark(state.repo.common_dir))
        self.log = RunLog(self.folder, head=self.head_file)
        self.artifacts = Artifacts(self.folder)
        self.branch = branch_of(run.id)
        # Who can be asked while the agent works: shows a card and acts on the answer, False if it is left waiting.
        self.reviewer: Callable[[RunDesk, str], bool] | None = None
        # The step whose agent this process serves, if it serves one.
        self.caller = ""
        # Puts a question (its name, its text) to a person who is there; None where nobody is.
        self.asker: Callable[[RunDesk, str, str], str] | None = None
        # The files that this very process put into the worktree.
        self.stamps: Stamps = {}

    @property
    def repo(self) -> Repo:
        """The repository as seen from where the command was called."""
        return self.state.repo

    @cached_property
    def place(self) -> Path:
        """Where the run's worktree lies or would lie; for a session of a program, where that works."""
        if self.run.session:
            return self._session_folder()
        named = of_the_user(self.repo, WORKTREES)
        above = expand_home(named) if named else home_folder() / "worktrees"
        return Path(real(above)) / hash_of(real(self.repo.main_place)) / self.run.id

    def _session_folder(self) -> Path:
        with contextlib.suppress(OSError, Invalid):
            kept = parse((self.folder / SESSION).read_bytes())
            if isinstance(kept, dict) and isinstance(kept.get("folder"), str):
                return Path(kept["folder"])
        return self.repo.place  # a session of another machine

    @property
    def private(self) -> Path:
        """The folder that only this run's agent sees: its home and settings. In no repository: programs look above."""
        return Path(real(home_folder())) / "private" / self.run.id

    @property
    def worktree(self) -> Repo:
        """The repository as seen from the run's worktree. Raises: NotFound."""
        found = self.repo.common_dir / "worktrees" / self.run.id
        if not (self.place / ".git").exists() or not found.is_dir():
            raise NotFound(
                f"the worktree of {self.run.id} is gone", hint=f"git nexus resume {self.run.id} makes it anew"
            )
        return Repo(found, self.repo.common_dir, self.place, self.repo.object_format)

    def view(self) -> RunView:
        """Return the run as its log tells it. Raises: NotFound, VerificationFailed."""
        return fold(self.log.read())

    def agent_at(self, node: str) -> str:
        """Return the agent of a step, or the one that the run began with."""
        found = self.view().nodes.get(node)
        return (found.agent if found else "") or self.run.agent

    def begun_here(self) -> None:
        """Note in the user's home that the run began in this clone, if it did not begin in another before."""
        file = place_file(self.noted, self.run.id)
        if file.exists():
            return
        make_private_folder(file.parent)
        replace(file, mark(self.repo.common_dir).encode() + b"\n", 0o600)
        note_signs(self.noted, self.run.id)

    def write_definition(self, definition: "Definition | WorkflowDefinition") -> None:
        """Keep what the run is to do."""
        replace(self.folder / WORKFLOW, document(definition.plain()), 0o600)

    def definition(self) -> Definition:
        """Return what the run is to do. Raises: VerificationFailed where somebody changed it since it began."""
        found = self._read_definition()
        if isinstance(found, Definition):
            return found
        from gitnexus.workflow.definition import lowered  # what knows all adapters: only a workflow pays

        return lowered(found)

    def workflow(self) -> "WorkflowDefinition | None":
        """Return the workflow of the run, None for one that is of one agent alone. Raises: as `definition`."""
        found = self._read_definition()
        return None if isinstance(found, Definition) else found

    def _read_definition(self) -> "Definition | WorkflowDefinition":
        try:
            raw = (self.folder / WORKFLOW).read_bytes()
        except FileNotFoundError as exc:
            raise NotFound(f"the run {self.run.id} was not started here") from exc
        found = definition_in(parse(raw))
        if definition_hash(found.plain()) != self.run.definition:
            raise VerificationFailed(
                f"the definition of {self.run.id} is not the one that it was started with",
                hint="; ".join(self._differs(found))[:400] or "start a new run for it",
            )
        return found

    def _differs(self, found: "Definition | WorkflowDefinition") -> list[str]:
        kept = load(self.state.objects, self.run.id)
        if kept is None:
            return []
        with contextlib.suppress(Invalid):
            return difference(definition_in(parse(kept.workflow())), found)
        return []

    @property
    def foreign(self) -> bool:
        """True for a run that somebody else began: what its definition loosens does not count here."""
        if self.run.session:
            return not (self.folder / SESSION).exists()
        return is_foreign(self.noted, self.run.id, mark(self.repo.common_dir))

    @property
    def came(self) -> bool:
        """True if some of the run's log came from elsewhere: what of that nobody known signed is only claimed."""
        return not self.log.path.exists() or arrived_upto(self.folder)[0] > 0

    @property
    def mode(self) -> Mode | None:
        """The mode of the run, None for one of another machine that is not here. Raises: VerificationFailed, Invalid.

        What somebody else began is asked about at least as much as what is begun here. The order of an approver counts
        like a policy that they signed: the user's own mode is stricter, or it holds.
        """
        with contextlib.suppress(NotFound):
            mode = self.definition().mode
            if not self.foreign:
                return mode
            policy = policy_here(self.state)
            known = agreement(self.noted, self.run.id)
            ordered = known is not None and known.by == "order"
            most = (policy.user.mode or mode) if ordered else policy.law.mode
            return min(mode, most, key=MODES.index)
        return None

    def keeper(self, action: str = "") -> Gatekeeper:
        """Return the gate of this run. Raises: Invalid for a policy that cannot be read."""
        found = Gatekeeper(
            self.state,
            self.run.id,
            str(self.place),
            mode=self.mode,
            workflow=self.run.definition,
            patch_id=self.patch_id,
        )
        found.action = action
        return found

    def recorder(self, keeper: Gatekeeper, actor: str, node: str = "") -> Recorder:
        """Return who writes down what happens at the gate."""
        return Recorder(self.log, keeper, actor, node)

    def patch_id(self, request: PatchRequest) -> str:
        """Return what a patch changes, apart from where."""
        with private(self.repo) as git:
            return patch_id(git, request.base_tree, request.result_tree)

    def checkpointed(self) -> None:
        """Put the log on the run's ref, with the trees that wait for an answer. Raises: Busy, VerificationFailed."""
        workflow, who = self._read_definition().plain(), self.state.author
        sign = sign_new(self.state, self.run.id, self.folder)
        checkpoint(self.log, workflow, self.state.objects, who, self._open_trees, sign)

    def stretches(self, raw: bytes) -> list[Stretch]:
        """Return who wrote which part of the run's log, which is `raw`. Raises: NexusError."""
        kept = load(self.state.objects, self.run.id)
        return stretches_of(
            self.state,
            self.run.id,
            raw,
            kept.authors() if kept else NOBODY,
            on_ref=kept.head.seq if kept else 0,
            arrived=arrived_upto(self.folder)[0] if self.log.path.exists() else raw.count(b"\n"),
            unsigned="claimed" if self.foreign or signs(self.noted, self.run.id) else "before",
        )

    def _open_trees(self, raw: bytes) -> list[str]:
        """Return a commit for each patch that a log leaves open: nothing else holds its tree, here or elsewhere."""
        events = [link.event for link in walk(raw, self.run.id)]
        known = fold(iter(events)).actions
        open_ = {name for name, one in known.items() if one.kind == "patch" and one.status not in _SETTLED}
        found = []
        for event in events if open_ else ():
            if event.kind == "action.proposed" and event.body["action"] in open_:
                request = parsed(self.artifacts.read(event.body["artifact"]))
                if isinstance(request, PatchRequest):
                    who = Author("git nexus", "git-nexus@localhost", 0)
                    text = f"proposed: {self.run.id} {event.body['action']}\n"
                    found.append(rooted(self.repo, request.result_tree, [request.base], text, who))
        return found

    @contextlib.contextmanager
    def driving(self) -> Iterator[None]:
        """Be the one that drives the run. Raises: Busy if another process does, VerificationFailed."""
        with self._locked(_DRIVER, f"another process drives {self.run.id}", _A_LOOK) as fd:
            os.ftruncate(fd, 0)
            os.pwrite(fd, process(os.getpid()).encode(), 0)
            self.log.last()  # what was cut off is found before anything is decided on what is left
            yield

    @contextlib.contextmanager
    def deciding(self) -> Iterator[None]:
        """Be the one that answers and executes: of two people who approve at once, one does.

        Raises: Busy, VerificationFailed.
        """
        with self._locked("decision.lock", f"somebody else answers for {self.run.id} right now", _AN_ANSWER):
            self.log.last()
            yield

    @contextlib.contextmanager
    def proposing(self) -> Iterator[None]:
        """Be the one that gives the next action its name. Raises: Busy."""
        with self._locked("proposal.lock", f"somebody else proposes for {self.run.id} right now", _AN_ANSWER):
            yield

    @contextlib.contextmanager
    def asking(self, action: str) -> Iterator[None]:
        """Be the program that asked and waits: a yes is handed to it, instead of being carried out by who says it.

        Entered by whoever is `proposing`, so that nobody can answer before. Raises: Busy.
        """
        name = f"asking-{action}.lock"
        with self._locked(name, f"{action} is asked about already", 0):
            try:
                yield
            finally:
                (self.folder / name).unlink(missing_ok=True)

    def is_asked_live(self, action: str) -> bool:
        """True if a program that lives waits for the answer to an action, or does what was approved."""
        if not (self.folder / f"asking-{action}.lock").exists():
            return False
        try:
            with self._locked(f"asking-{action}.lock", "", 0):
                return False
        except Busy:
            return True

    def is_driven(self) -> bool:
        """True if a process that lives drives the run."""
        try:
            with self._locked(_DRIVER, "", 0):
                return False
        except Busy:
            return True

    def stop_driver(self) -> None:
        """End the process that drives the run, if there is one; its agent ends with it."""
        with contextlib.suppress(OSError, ValueError):
            words = (self.folder / _DRIVER).read_text(encoding="ascii")
            number = int(words.split()[0]) if words else 0
            # Without /proc nobody knows if the number still means the same process: then it is left alone.
            if (
                number not in (0, os.getpid())
                and not words.endswith("?")
                and self.is_driven()
                and process(number) == words
            ):
                os.kill(number, signal.SIGTERM)

    @contextlib.contextmanager
    def _locked(self, name: str, words: str, patience: float) -> Iterator[int]:
        make_private_folder(self.folder)
        fd = os.open(self.folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            deadline = time.monotonic() + patience
            while not _taken(fd):
                if time.monotonic() >= deadline:
                    raise Busy(words, hint="git nexus runs shows what it does")
                time.sleep(0.01)
            yield fd
        finally:
            os.close(fd)


def notes_folder(state: State) -> Path:
    """Return where the user's home notes what it knows of a project's runs."""
    return home_folder() / "runs" / (id_of(state.snapshot) or "unknown")


def _head_file(above: Path, run: str, here: str) -> Path:
    """Return where the end of a run's log is noted: in a clone that it was not begun in, apart from where it was."""
    began = begun_in(above, run)
    return above / (f"{run}.head" if began in ("", here) else f"{run}.{here}.head")


def definition_in(value: Any) -> "Definition | WorkflowDefinition":
    """Return what a stored definition means: of one agent, or a workflow. Raises: Invalid."""
    if isinstance(value, dict) and value.get("version") == VERSION:
        return Definition.from_value(value, WORKFLOW)
    from gitnexus.workflow.definition import definition_of

    return definition_of(value, WORKFLOW)


def process(number: int) -> str:
    """Return a process's number and when it began, which no other process of that number has."""
    try:
        rest = Path(f"/proc/{number}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return f"{number} ?"
    return f"{number} {rest[19]}"


def _taken(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def open_run(state: State, word: str) -> RunDesk:
    """Return the run that a word means; one that came from another clone is made at home. Raises: NotFound, Failed."""
    desk = RunDesk(state, read(state.required(), word))
    if not desk.run.session:
        arrived(state.repo.common_dir, state.objects, desk.run, desk.head_file)
    return desk
