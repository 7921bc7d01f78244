"""`OpenRun`: one run with its record, event log, worktree, policy gate and locks, as all run operations use it."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gitnexus.base.canonical import json_document, parse_json
from gitnexus.base.errors import Invalid, NexusError, NotFound, VerificationFailed
from gitnexus.base.files import expand_home, make_private_folder, replace_file
from gitnexus.events.artifacts import Artifacts
from gitnexus.events.authors import NOBODY
from gitnexus.events.chain import ChainLink, LogHead, walk_chain
from gitnexus.events.checkpoint import Proposals, load_checkpoint, write_checkpoint
from gitnexus.events.fold import fold
from gitnexus.events.inforce import Claimed, in_force
from gitnexus.events.log import RunLog
from gitnexus.events.model import Event, definition_hash
from gitnexus.events.view import RunView
from gitnexus.gateway.recorder import Recorder, run_folder
from gitnexus.git import Repo
from gitnexus.git.checkout import is_worktree_linked
from gitnexus.git.config import user_config_value
from gitnexus.git.file_stamps import Stamps
from gitnexus.git.locks import break_worktree_locks
from gitnexus.git.patchid import patch_id
from gitnexus.git.private import private_git
from gitnexus.policy.compiled_rules import MODES, CompiledPolicy
from gitnexus.policy.gatekeeper import Gatekeeper
from gitnexus.policy.in_force import read_policy_in_force
from gitnexus.policy.model import Mode, PatchRequest
from gitnexus.policy.repo_key import repository_key
from gitnexus.projects.model import hash_of, real_path
from gitnexus.runs.ids import run_branch_ref
from gitnexus.runs.import_log import import_log_if_missing, last_imported_event
from gitnexus.runs.locks import RunLocks
from gitnexus.runs.log_signatures import Stretch, log_signer, stretches_of
from gitnexus.runs.logs import kept_log
from gitnexus.runs.model import Run
from gitnexus.runs.origin import is_foreign, mark_log_signed, origin_clone_mark, origin_file, read_agreement, signs_log
from gitnexus.runs.policy_changes import log_policy_change
from gitnexus.runs.store import read_run
from gitnexus.runs.withheld import ProposalSorter
from gitnexus.sandbox.callers import remove_left_folders
from gitnexus.state import State
from gitnexus.state.format import project_id_of
from gitnexus.state.home import home_folder
from gitnexus.workflow.run_definition import VERSION, RunDefinition, definition_differences

if TYPE_CHECKING:
    from gitnexus.workflow.definition import WorkflowDefinition

WORKFLOW = "workflow.json"
WORKTREES = "nexus.worktreeDir"
SESSION = "session.json"


class _FoldedLog(NamedTuple):
    """The first `end` bytes of a log: their digest, their last event and the state of the run after them."""

    end: int = 0
    digest: bytes = b""
    head: LogHead | None = None
    view: RunView = RunView()

    def is_start_of(self, raw: bytes) -> bool:
        """True if a log begins with these bytes."""
        return sha256(memoryview(raw)[: self.end]).digest() == self.digest

    def after(self, raw: bytes, links: Sequence[ChainLink], view: RunView) -> "_FoldedLog":
        """Return what is known of a log after more events of it."""
        if not links:
            return self
        end = self.end + links[-1].end
        head = LogHead(links[-1].event.seq, links[-1].digest)
        return _FoldedLog(end, sha256(memoryview(raw)[:end]).digest(), head, view)


class OpenRun(RunLocks):
    """An opened run: reads its log and definition, and gives access to its worktree, gate and locks."""

    def __init__(self, state: State, run: Run) -> None:
        self.state = state
        self.record = run
        self.folder = run_folder(state.repo.common_dir, run.id)
        self.noted = notes_folder(state)
        self.head_file = _log_head_file(self.noted, run.id, repository_key(state.repo.common_dir))
        self.log = RunLog(self.folder, head=self.head_file)
        self.artifacts = Artifacts(self.folder)
        self._sorter = ProposalSorter(state.repo, run.id, self.artifacts)
        self.branch = run_branch_ref(run.id)
        # Shows a card while the agent works and acts on the answer; returns False if the action is left waiting.
        self.reviewer: Callable[[OpenRun, str], bool] | None = None
        # The step whose agent this process serves, if any.
        self.caller = ""
        # Puts a question (its name, its text) to a person who is there; None where nobody is.
        self.asker: Callable[[OpenRun, str, str], str] | None = None
        # The last imported event, and the claimed parts up to it (cache).
        self._claimed: tuple[tuple[int, str], Sequence[Claimed]] | None = None
        # The view of the log so far (cache).
        self._folded: _FoldedLog | None = None
        # Stat data of the files that this process wrote to the worktree.
        self.stamps: Stamps = {}

    @property
    def repo(self) -> Repo:
        """The repository as seen from the current folder."""
        return self.state.repo

    @cached_property
    def worktree_path(self) -> Path:
        """The path of the run's worktree, existing or not; for a program's session, the folder it works in."""
        if self.record.session:
            return self._session_folder()
        named = user_config_value(self.repo, WORKTREES)
        above = expand_home(named) if named else home_folder() / "worktrees"
        return Path(real_path(above)) / hash_of(real_path(self.repo.main_folder)) / self.record.id

    def _session_folder(self) -> Path:
        with contextlib.suppress(OSError, Invalid):
            kept = parse_json((self.folder / SESSION).read_bytes())
            if isinstance(kept, dict) and isinstance(kept.get("folder"), str):
                return Path(kept["folder"])
        return self.repo.folder  # a session on another machine

    @property
    def private(self) -> Path:
        """The agent's private home and settings, outside any repository: programs search the folders above."""
        return Path(real_path(home_folder())) / "private" / self.record.id

    def has_worktree(self) -> bool:
        """True if the worktree and git's folder for it are there and whole."""
        return is_worktree_linked(self.repo, self.worktree_path)

    @property
    def worktree(self) -> Repo:
        """The repository as seen from the run's worktree. Raises: NotFound."""
        found = self.repo.common_dir / "worktrees" / self.record.id
        if not self.has_worktree():
            raise NotFound(
                f"the worktree of {self.record.id} is gone", hint=f"git nexus resume {self.record.id} creates it again"
            )
        return Repo(found, self.repo.common_dir, self.worktree_path, self.repo.object_format)

    def view(self) -> RunView:
        """Return the state of the run, folded from the events that count. Raises: NotFound, VerificationFailed.

        Only events that came since the last call are folded, if the bytes before them are the same.
        """
        raw, claimed = self.log.raw(), self.claimed_here()
        if claimed:
            return fold(in_force((link.event for link in walk_chain(raw, self.record.id)), claimed))
        known = self._folded if self._folded and self._folded.is_start_of(raw) else _FoldedLog()
        links = list(walk_chain(raw[known.end :], self.record.id, known.head))
        if links or known.head is None:
            view = fold((link.event for link in links), known.view)
            known = known.after(raw, links, view)
        self._folded = known
        return known.view

    def events(self) -> Iterator[Event]:
        """Yield the events that count, without claimed decisions. Raises: NotFound, VerificationFailed."""
        return in_force(self.log.read(), self.claimed_here())

    def claimed_here(self) -> Sequence[Claimed]:
        """Return the claimed parts of the local log; cached until more events are imported."""
        came = last_imported_event(self.folder)
        if not came[0]:
            return ()
        if self._claimed is None or self._claimed[0] != came:
            self._claimed = came, claimed_stretches(self, self.log.raw(), came[0])
        return self._claimed[1]

    def agent_of_node(self, node: str) -> str:
        """Return the agent of a step, by default the run's agent."""
        found = self.view().nodes.get(node)
        return (found.agent if found else "") or self.record.agent

    def record_origin_clone(self) -> None:
        """Record in the user's home that the run began in this clone, unless an origin is recorded already."""
        file = origin_file(self.noted, self.record.id)
        if file.exists():
            return
        make_private_folder(file.parent)
        replace_file(file, repository_key(self.repo.common_dir).encode() + b"\n", 0o600)
        mark_log_signed(self.noted, self.record.id)

    def write_definition(self, definition: "RunDefinition | WorkflowDefinition") -> None:
        """Write the run's definition to its folder."""
        replace_file(self.folder / WORKFLOW, json_document(definition.plain()), 0o600)

    def definition(self) -> RunDefinition:
        """Return the run's definition. Raises: VerificationFailed if it was changed after the start."""
        found = self._read_definition()
        if isinstance(found, RunDefinition):
            return found
        from gitnexus.workflow.definition import run_from_workflow  # imports all adapters: only needed for workflows

        return run_from_workflow(found)

    def workflow(self) -> "WorkflowDefinition | None":
        """Return the run's workflow, None for a run with a single agent. Raises: as `definition`."""
        found = self._read_definition()
        return None if isinstance(found, RunDefinition) else found

    def _read_definition(self) -> "RunDefinition | WorkflowDefinition":
        try:
            raw = (self.folder / WORKFLOW).read_bytes()
        except FileNotFoundError as exc:
            raise NotFound(
                f"the run {self.record.id} was not started here, and its log is not here either",
                hint="git nexus sync brings the log, if the clone where it was started has synced it",
            ) from exc
        found = parse_definition(parse_json(raw))
        if definition_hash(found.plain()) != self.record.definition:
            raise VerificationFailed(
                f"the definition of {self.record.id} is not the one that it was started with",
                hint="; ".join(self._definition_differences(found))[:400] or "start a new run for it",
            )
        return found

    def _definition_differences(self, found: "RunDefinition | WorkflowDefinition") -> list[str]:
        kept = load_checkpoint(self.state.objects, self.record.id)
        if kept is None:
            return []
        with contextlib.suppress(Invalid):
            return definition_differences(parse_definition(parse_json(kept.workflow())).plain(), found.plain())
        return []

    @property
    def foreign(self) -> bool:
        """True for a run that another person began: settings in its definition that loosen the policy do not apply."""
        if self.record.session:
            return not (self.folder / SESSION).exists()
        return is_foreign(self.noted, self.record.id, repository_key(self.repo.common_dir))

    @property
    def came(self) -> bool:
        """True if part of the run's log was imported: unsigned decisions in that part are only claims."""
        return not self.log.path.exists() or last_imported_event(self.folder)[0] > 0

    @property
    def mode(self) -> Mode | None:
        """The approval mode of the run; None if its definition is on another machine.

        Raises: VerificationFailed, Invalid.

        A run from elsewhere is never laxer than the local mode. An approver's order counts like a policy signed by
        them, and the user's own mode applies if it is stricter.
        """
        with contextlib.suppress(NotFound):
            mode = self.definition().mode
            if not self.foreign:
                return mode
            policy = read_policy_in_force(self.state)
            known = read_agreement(self.noted, self.record.id)
            ordered = known is not None and known.by == "order"
            most = (policy.user.mode or mode) if ordered else policy.compiled.mode
            return min(mode, most, key=MODES.index)
        return None

    def make_gatekeeper(self, action: str = "") -> Gatekeeper:
        """Return the gate of this run. Raises: Invalid for a policy that cannot be read."""
        found = Gatekeeper(
            self.state,
            self.record.id,
            str(self.worktree_path),
            mode=self.mode,
            workflow=self.record.definition,
            patch_id=self.patch_id,
        )
        found.action = action
        return found

    def policy(self) -> CompiledPolicy:
        """Return the policy in force, for those who ask it nothing that needs the gate. Raises: Invalid."""
        return read_policy_in_force(self.state).compiled

    def make_recorder(self, gatekeeper: Gatekeeper, actor: str, node: str = "") -> Recorder:
        """Return the recorder that logs the gate's decisions, after it logged that the policy changed, if it did."""
        log_policy_change(self.log, self.view().policy, gatekeeper.here, self.state)
        return Recorder(self.log, gatekeeper, actor, node)

    def patch_id(self, request: PatchRequest) -> str:
        """Return the patch id of a request: what it changes, independent of line numbers."""
        with private_git(self.repo) as git:
            return patch_id(git, request.base_tree, request.result_tree)

    def write_checkpoint(self) -> None:
        """Write the log to the run's ref, with waiting patches without secrets. Raises: Busy, VerificationFailed."""
        workflow, who = self._read_definition().plain(), self.state.author
        sign = log_signer(self.state, self.record.id, self.folder)
        write_checkpoint(self.log, workflow, self.state.objects, who, self._sort_proposals, sign)

    def stretches(self, raw: bytes) -> list[Stretch]:
        """Return which machine wrote each part of the log `raw`. Raises: NexusError."""
        kept = kept_log(self.state.objects, self.record.id)
        return stretches_of(
            self.state,
            self.record.id,
            raw,
            kept.authors() if kept else NOBODY,
            on_ref=kept.head.seq if kept else 0,
            arrived=last_imported_event(self.folder)[0] if self.log.path.exists() else raw.count(b"\n"),
            unsigned="claimed" if self.foreign or signs_log(self.noted, self.record.id) else "before",
        )

    def _sort_proposals(self, raw: bytes) -> Proposals:
        events = [link.event for link in walk_chain(raw, self.record.id)]
        return self._sorter.sort(events, fold(in_force(events, self.claimed_here())).actions)


def claimed_stretches(run: OpenRun, raw: bytes, upto: int) -> Sequence[Claimed]:
    """Return the unsigned parts of a log up to event `upto`; the whole log if that cannot be determined."""
    try:
        found = [Claimed(one.since, one.upto) for one in run.stretches(raw) if one.status == "claimed"]
    except NexusError:
        found = [Claimed(0, upto)] if run.foreign else []
    return [one._replace(upto=min(one.upto, upto)) for one in found if one.since < upto]


def notes_folder(state: State) -> Path:
    """Return the folder in the user's home with notes about the project's runs."""
    return home_folder() / "runs" / (project_id_of(state.snapshot) or "unknown")


def _log_head_file(above: Path, run: str, here: str) -> Path:
    """Path of the file that records the log head. Clones other than the originating one get a separate file."""
    began = origin_clone_mark(above, run)
    return above / (f"{run}.head" if began in ("", here) else f"{run}.{here}.head")


def parse_definition(value: Any) -> "RunDefinition | WorkflowDefinition":
    """Parse a stored definition, of a single agent or a workflow. Raises: Invalid."""
    if isinstance(value, dict) and value.get("version") == VERSION and type(value["version"]) is int:
        return RunDefinition.from_value(value, WORKFLOW)
    from gitnexus.workflow.definition import parse_workflow

    return parse_workflow(value, WORKFLOW)


def open_run(state: State, word: str) -> OpenRun:
    """Open the run that a word names; imports a run from another clone. Raises: NotFound, Failed."""
    run = OpenRun(state, read_run(state.required(), word))
    remove_left_folders(run.private)
    break_worktree_locks(state.repo.common_dir, run.record.id)
    if not run.record.session:
        import_log_if_missing(state.repo.common_dir, state.objects, run.record, run.head_file)
    return run


# Asks about an action; True if it was answered, False if it still waits.
Review = Callable[[OpenRun, str], bool]
# Puts a question (its name, its text) to a person who is there; the answer, nothing if it is left open.
Ask = Callable[[OpenRun, str, str], str]
