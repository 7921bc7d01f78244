"""Start a run: reserve its id, write its record and log, create its branch and worktree."""

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitnexus.base.clock import format_timestamp, utc_now
from gitnexus.base.errors import Failed, NotFound
from gitnexus.base.files import make_private_folder
from gitnexus.base.text import one_line
from gitnexus.events.kinds import LONGEST_NAME, shorten_text
from gitnexus.events.model import definition_hash
from gitnexus.gateway.recorder import run_folder
from gitnexus.gateway.sandboxed import probe_sandbox_early
from gitnexus.git.branches import current_branch as branch_here
from gitnexus.git.checkout import add_worktree
from gitnexus.git.child import run_git as git_run
from gitnexus.git.refs import plain_head_commit
from gitnexus.policy.in_force import read_policy_in_force
from gitnexus.policy.model import Mode
from gitnexus.redaction.stored import redact_text
from gitnexus.runs.ids import new_run_id
from gitnexus.runs.model import Run
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.policy_changes import note_policy
from gitnexus.runs.storable import storable_definition
from gitnexus.runs.store import run_ids, write_run
from gitnexus.state import State
from gitnexus.state.format import project_id_of
from gitnexus.workflow.run_definition import RunDefinition

if TYPE_CHECKING:
    from gitnexus.workflow.definition import WorkflowDefinition


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a new run should do: definition, title, base revision, mode and task."""

    definition: "RunDefinition | WorkflowDefinition"
    title: str
    base: str = "HEAD"
    mode: Mode | None = None
    task: str = ""


def start_run(state: State, request: RunRequest) -> OpenRun:
    """Start a run: write its record and log, create its branch and worktree. Raises: NexusError."""
    base = resolve_revision(state, request.base)
    # The mode is part of the hashed definition, so that a later change is detected.
    policy = read_policy_in_force(state).compiled
    definition = storable_definition(request.definition).changed(mode=request.mode or policy.mode)
    hash_ = definition_hash(definition.plain())
    snapshot = state.required()
    run = Run(
        id=reserve_run_id(state, run_ids(snapshot)),
        title=one_line(redact_text(request.title), 200),
        agent=main_agent_name(request.definition),
        base=base,
        definition=hash_,
        created=format_timestamp(utc_now()),
        onto=branch_here(state.repo),
        task=request.task,
    )
    return create_run(state, run, definition)


def create_run(state: State, run: Run, definition: "RunDefinition | WorkflowDefinition") -> OpenRun:
    """Start a run with a given record and definition. Raises: NexusError."""
    open_run = OpenRun(state, run)
    make_private_folder(open_run.folder)
    open_run.write_definition(definition)
    open_run.record_origin_clone()
    policy = read_policy_in_force(state)
    body = {
        "run": run.id,
        "definition": run.definition,
        "task": shorten_text(run.title),
        "agent": run.agent,
        "project": project_id_of(state.snapshot) or "unknown",
        "base": run.base,
        "branch": run.branch,
        "policy": note_policy(open_run.folder, policy),
        **({} if isinstance(definition, RunDefinition) else {"workflow": definition.name}),
        # For a clone that gets the log without the record.
        **{
            name: shorten_text(word, LONGEST_NAME) for name, word in (("onto", run.onto), ("backlog", run.task)) if word
        },
    }
    open_run.log.append("workflow.started", "user", body)
    write_run(state, run, f"runs: begin {run.id}")
    open_run.stamps = add_worktree(
        state.repo,
        open_run.worktree_path,
        open_run.branch,
        run.base,
        run.id,
        lambda: probe_sandbox_early(policy.compiled),
    )
    return open_run


def main_agent_name(definition: "RunDefinition | WorkflowDefinition") -> str:
    """Return the name of the main agent; in a workflow the first node that changes files, else the last."""
    if isinstance(definition, RunDefinition):
        return definition.nodes[0].adapter
    from gitnexus.workflow.definition import run_from_workflow

    nodes = {one.id: one.adapter for one in run_from_workflow(definition).nodes}
    return nodes[next((one.id for one in definition.nodes if one.type == "exec"), definition.nodes[-1].id)]


def reserve_run_id(state: State, taken: list[str]) -> str:
    """Reserve a new run id by creating its folder; draws again if another process took it. Raises: Failed."""
    for _ in range(100):
        found = new_run_id(utc_now(), taken)
        place = run_folder(state.repo.common_dir, found)
        make_private_folder(place.parent)
        with contextlib.suppress(FileExistsError):
            place.mkdir(mode=0o700)
            return found
    raise Failed("no free name for a run was found")


def resolve_revision(state: State, revision: str) -> str:
    """Return the commit that a revision names. Raises: NotFound."""
    if revision == "HEAD" and (head := plain_head_commit(state.repo)):
        return head
    asked = git_run(
        "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}", git_dir=state.repo.git_dir
    )
    if asked.returncode != 0:
        hint = "make a first commit" if revision == "HEAD" else "name a commit, a branch or a tag"
        raise NotFound(f"there is no commit {one_line(revision, 80)}", hint=hint)
    return asked.stdout.decode("ascii").strip()
