"""Implements the engine's `Stage` protocol for a real run.

Event log, artifacts, specialists, approvals, progress output.
"""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from gitnexus.adapters.protocol import AgentEvent
from gitnexus.base.errors import Invalid
from gitnexus.base.text import one_line
from gitnexus.events.artifacts import ArtifactRef
from gitnexus.events.log import EventDraft
from gitnexus.events.model import Event
from gitnexus.events.view_builder import MENDED
from gitnexus.git.private import private_git
from gitnexus.policy.model import HandoffRequest, Network
from gitnexus.projects.open_state import open_state
from gitnexus.prompts.model import ExecResult, Plan, PlanChanges
from gitnexus.redaction.hide import mask
from gitnexus.redaction.stored import known_secret_values
from gitnexus.runs.actions import approve
from gitnexus.runs.actions.commit import branch_tip
from gitnexus.runs.actions.propose import read_proposed_request
from gitnexus.runs.actions.rebase import rebase_waiting_patch
from gitnexus.runs.agent.run import Show
from gitnexus.runs.open_run import Ask, OpenRun, Review
from gitnexus.runs.workflow import actions
from gitnexus.runs.workflow.agent_node import answer_by_agent, run_agent_node
from gitnexus.runs.workflow.context import with_context_pack
from gitnexus.runs.workflow.found_research import research_or_reuse
from gitnexus.runs.workflow.proofs import proposed_tree, prove_change, prove_commit
from gitnexus.runs.workflow.routing import file_sizes_at, workflow_settings
from gitnexus.runs.workflow.specialists import opened_view_at, specialist_for_node
from gitnexus.runs.workflow.takeover import next_agents, work_or_take_over
from gitnexus.workflow.budget import CostWeights, CountedPlan, files_matching
from gitnexus.workflow.definition import WorkflowDefinition, WorkflowNode
from gitnexus.workflow.engine_protocol import CommitProof, NodeAction
from gitnexus.workflow.flow import Flow, runs_in_worktree
from gitnexus.workflow.packing import BatchLimits, PackedPlan, pack_plan
from gitnexus.workflow.plan_order import why_order_is_wrong
from gitnexus.workflow.planchange import apply_plan_changes
from gitnexus.workflow.progress import WorkflowProgress
from gitnexus.workflow.run_definition import BACKINGS
from gitnexus.workflow.specialist import Output, StepLimits, UnusableAnswer, WorkOrder, WorkResult


@dataclass(slots=True)
class LiveStage:
    """The stage of one run that is being driven."""

    run: OpenRun
    definition: WorkflowDefinition
    look: Show
    review: Review | None
    network: Network | None
    weights: CostWeights
    asking: Ask | None = None
    at_completion: Callable[[WorkflowNode], None] = lambda node: None
    # Agents that were found to be down, with the reason: they are not asked again.
    down: dict[str, str] = field(default_factory=dict)

    def events(self, after: int) -> Iterable[Event]:
        """Return the events after a given one."""
        return [event for event in self.run.events() if event.seq > after]

    def write(self, drafts: Sequence[EventDraft]) -> list[Event]:
        """Append events to the log."""
        return self.run.log.append_many(drafts)

    def keep(self, name: str, data: bytes) -> ArtifactRef:
        """Store an artifact."""
        return self.run.artifacts.write(name, data)

    def read(self, digest: str) -> bytes:
        """Return an artifact."""
        return self.run.artifacts.read(digest)

    def handoff_of(self, action: str) -> tuple[str, str]:
        """Return the receiver of a handoff and its message."""
        return receiver_and_message(self.run, action)

    def call(self, order: WorkOrder) -> WorkResult:
        """Run a specialist. Raises: Unfit, NexusError."""
        if order.node.type == "command":
            return run_agent_node(self.run, order, self.look, self.network)
        settings = workflow_settings(self.run.state)
        if not next_agents(order.node, settings, {}):
            return self._call_agent(order)
        # A log of its own: several calls run in parallel.
        own = OpenRun(self.run.state, self.run.record)
        return work_or_take_over(own, order, settings, self.down, self._call_agent, partial(self.show, order.node.id))

    def _call_agent(self, order: WorkOrder) -> WorkResult:
        tip = branch_tip(self.run)
        # Opened again: several calls run in parallel, and each needs its own object reader.
        with contextlib.closing(open_state(self.run.repo)) as state:
            run = OpenRun(state, self.run.record)
            whole = with_context_pack(run, self.definition, order, tip)
            if not runs_in_worktree(order.node):
                found = self._answer_in_form(run, whole, tip)
                _refuse_wrong_order(order, found)
                return replace(found, output=_without_secrets(found.output))
        return run_agent_node(self.run, whole, self.look, self.network)

    def _answer_in_form(self, run: OpenRun, order: WorkOrder, tip: str) -> WorkResult:
        """Run a specialist that changes no files and answers in the node's output format."""
        with opened_view_at(run, tip) as view:
            whole = replace(order, view=view)

            def ask(asked: WorkOrder) -> WorkResult:
                if order.node.adapter in ("", *BACKINGS):
                    return specialist_for_node(run, order.node, tip, self.look).work(asked)
                return answer_by_agent(run, asked, self.look, self.network)

            return research_or_reuse(run, whole, view, ask)

    def act(self, node: WorkflowNode, step: str, node_action: NodeAction) -> str:
        """Propose an action, then execute it or ask about it."""
        action, why = actions.propose_workflow_action(
            self.run, node, node_action, self.paper(node.id) if node_action.change else ""
        )
        if action and not why:
            self.settle(action)
        return why

    def agent_takes_steps(self, node: str) -> bool:
        """Return True: a plan is carried out step by step."""
        return True

    def asks_about_new_plan(self, node: str) -> bool:
        """Return True: it is asked about before it is used, as a change of a plan is."""
        return True

    def asks_again(self, node: str) -> bool:
        """Return True: a node that gave up again asks again."""
        return True

    def remarks(self, node: str, text: str) -> str:
        """Return the remarks without secrets."""
        return mask(text, known_secret_values())

    def agent_questions(self, node: str) -> Sequence[tuple[str, str]]:
        """Return the open questions of a node's agent."""
        mine = {
            one.body["question"]
            for one in self.run.events()
            if one.kind == "question.asked" and one.body.get("node") == node
        }
        return [(name, text) for name, text in self.run.view().questions.items() if name in mine]

    def prove(
        self, node: WorkflowNode, node_action: NodeAction, commands: Sequence[Sequence[str]], limits: StepLimits
    ) -> str:
        """Check the size, and run the commands that the policy allows on exactly the proposed tree."""
        return prove_change(self.run, node_action, commands, limits, role=node.role)

    def prove_commit(self, node: WorkflowNode, commands: Sequence[Sequence[str]]) -> CommitProof:
        """Run the commands on the branch that did not prove it yet; return what failed, and what needs a yes."""
        return prove_commit(self.run, node.id, commands, role=node.role)

    def retry(self, why: str) -> str:
        """Return the feedback for a specialist that tries a step again."""
        return mask(why, known_secret_values())

    def settle(self, action: str) -> None:
        """Execute what is allowed or approved, and ask about the rest."""
        run, known = self.run, self.run.view().actions[action]
        if known.kind == "patch" and known.status == "waiting":
            action = rebase_waiting_patch(run, action) or action
            known = run.view().actions[action]
        if known.status == "unknown" and known.kind in MENDED:
            approve.finish_interrupted(run, action)
        elif known.status in ("proposed", "approved"):
            approve.execute_if_allowed(run, action)
        if self.review is not None and run.view().actions[action].status in ("proposed", "waiting", "unknown"):
            self.review(run, action)

    def paper(self, node: str) -> str:
        """Return the node whose plan a node changes."""
        progress = WorkflowProgress()
        progress.fold(self.run.events())
        return Flow(self.definition, self.handoff_of).paper(progress, node)

    def ask(self, question: str, text: str) -> None:
        """Ask the user, if present."""
        from gitnexus.runs.actions.ask import answer_question

        said = self.asking(self.run, question, text) if self.asking else ""
        if said.strip():
            answer_question(self.run, said, question)

    def surprise(self, action: NodeAction, files: Sequence[str]) -> str:
        """Return what is unexpected in a patch: files that its step does not name."""
        with private_git(self.run.worktree) as git:
            proposed = proposed_tree(self.run, git, action)
        if proposed is None:
            return ""  # it changes nothing, or will be refused with a message
        named = set(files_matching(files, self._branch_file_sizes()))
        beyond = sorted({row.path for row in proposed.changes} - named)
        return f"it changes {one_line(', '.join(beyond), 200)}, which the plan does not name" if beyond else ""

    def packed(self, plan: CountedPlan, limits: BatchLimits) -> PackedPlan:
        """Return a plan in batches, sized by the files of the run's branch."""
        return pack_plan(plan, self._branch_file_sizes(), self.weights, limits)

    def _branch_file_sizes(self) -> Mapping[str, int]:
        return file_sizes_at(self.run.state, branch_tip(self.run))

    def show(self, node: str, text: str) -> None:
        """Show progress."""
        self.look(AgentEvent(kind="progress", text=mask(text, known_secret_values())))

    def on_completed(self, node: WorkflowNode) -> None:
        """Save a node's results that outlive the run."""
        self.at_completion(node)


def receiver_and_message(run: OpenRun, action: str) -> tuple[str, str]:
    """Return the receiver of a handoff and its message. Raises: NexusError."""
    request = read_proposed_request(run, action)
    if not isinstance(request, HandoffRequest):
        return "", ""
    return request.receiver, run.artifacts.read(request.message_digest).decode("utf-8", "replace")


def _refuse_wrong_order(order: WorkOrder, result: WorkResult) -> None:
    """Refuse a plan, or a change of one, that changes a step that is done, or whose order is wrong.

    Raises: UnusableAnswer.
    """
    output, why = result.output, ""
    if isinstance(output, PlanChanges) and order.plan is not None:
        done = next((one.step for one in output.changes if one.op != "add" and one.step in order.done), "")
        why = f"the answer: the step {one_line(done, 40)} is done already and cannot be changed" if done else ""
        try:
            output = output if why else apply_plan_changes(order.plan, output)
        except Invalid:
            return  # the engine says what is wrong with it
    if isinstance(output, Plan):
        why = why_order_is_wrong(output.steps)
    if why:
        refused = UnusableAnswer(why)
        refused.usage = result.usage
        raise refused


def _without_secrets(output: Output) -> Output:
    """Return an output with masked secrets. Raises: Unfit for actions with a secret, which cannot be changed."""
    plain = output.plain()
    hidden = _mask_strings(plain)
    if hidden == plain:
        return output
    if isinstance(output, ExecResult) and hidden.get("actions") != plain.get("actions"):
        raise UnusableAnswer(
            "an action contains what looks like a secret, and would be stored in the log; leave it out"
        )
    return type(output).from_value(hidden, "the answer")


def _mask_strings(value: Any) -> Any:
    if isinstance(value, str):
        return mask(value, known_secret_values())
    if isinstance(value, dict):
        return {key: _mask_strings(item) for key, item in value.items()}
    return [_mask_strings(item) for item in value] if isinstance(value, list) else value
