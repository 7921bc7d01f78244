"""Takes a reviewer's remarks back to who did the work: it is tried again with them, and then reviewed again.

In comes what a review found. The remarks of rules, which know no project, only stand in the review.
"""

from typing import TYPE_CHECKING

from gitnexus.base.text import first_line
from gitnexus.events.kinds import shorten_text
from gitnexus.events.log import EventDraft
from gitnexus.prompts.model import ResearchBundle
from gitnexus.workflow.definition import WorkflowNode
from gitnexus.workflow.flow import runs_in_worktree
from gitnexus.workflow.progress import WHOLE
from gitnexus.workflow.run_definition import EMBEDDED, MODEL
from gitnexus.workflow.specialist import Output

if TYPE_CHECKING:
    from gitnexus.workflow.engine import Engine

NEXUS = "nexus"
_BEGIN = "What you did so far is committed. Its reviewer has these remarks; propose what has to change:"


def take_remarks_back(engine: "Engine", review: WorkflowNode, output: Output, *, by_steps: bool) -> tuple[str, str]:
    """Record that reviewed work is tried again; return its node and step, or two empty texts if it is not.

    It is not where nothing was remarked, where the work is out of tries, or where something else builds on it already.
    `by_steps` says that the work follows the steps of its plan: the last of them is tried again.
    """
    work = reviewed_work(engine, review)
    if work is None or not isinstance(output, ResearchBundle) or not output.claims:
        return "", ""
    plan = engine.inputs.plan(work) if by_steps else None
    step = plan.steps[-1].id if plan else WHOLE
    if engine.progress.node(work.id).tries[step] > work.budget.retries:
        return "", ""
    told = engine.stage.remarks(review.id, shorten_text(_describe_remarks(output)))
    if not told:
        return "", ""
    engine.write(EventDraft("step.retried", NEXUS, {"node": work.id, "step": step, "why": told, "by": review.id}))
    engine.stage.show(review.id, f"{work.id} is tried again: {review.id} remarks {first_line(output.summary, 160)}")
    return work.id, step


def reviewed_work(engine: "Engine", review: WorkflowNode) -> WorkflowNode | None:
    """Return the one node whose work a node reviews, if its specialist can be told what to do better."""
    flow = engine.flow
    if review.type != "review" or review.adapter in ("", EMBEDDED) or review.id not in flow.nodes:
        return None
    before = [flow.nodes[one] for one, other in flow.definition.edges if other == review.id]
    works = [one for one in before if one.type == "exec" and (one.adapter == MODEL or runs_in_worktree(one))]
    if len(works) != 1:
        return None
    beside = [other for one, other in flow.definition.edges if one == works[0].id and other != review.id]
    return None if any(engine.progress.status(one) for one in beside) else works[0]


def _describe_remarks(found: ResearchBundle) -> str:
    claims = [f"- {one.text} ({', '.join(one.citations)})" for one in found.claims]
    return "\n".join([_BEGIN, found.summary, *claims, *(f"- {one}" for one in found.constraints)])
