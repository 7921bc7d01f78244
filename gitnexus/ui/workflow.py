"""Formats workflows for people: the card of a proposal, and the rows of its nodes."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.argvtext import escape_word
from gitnexus.base.text import frame_text, make_visible, one_line
from gitnexus.ui.output import format_columns
from gitnexus.workflow.graph import parallel_waves

if TYPE_CHECKING:
    from gitnexus.prompts.model import ResearchBundle
    from gitnexus.workflow.definition import WorkflowBudgets, WorkflowDefinition, WorkflowNode
    from gitnexus.workflow.packing import PackedPlan
    from gitnexus.workflow.proposal import WorkflowProposal

_BY = {"macro": "by its name", "delegation": "by who you named", "rules": "by the rules", "model": "by the small model"}


def format_proposal_card(proposal: "WorkflowProposal", *, offer: bool = True) -> str:
    """Return a proposal as a card: the steps, who carries them out, the limits, and alternatives.

    With `offer` it ends with the command for an alternative.
    """
    from gitnexus.workflow.definition import workflow_hash

    definition = proposal.definition
    sure = click.style(f"{proposal.confidence}% sure", fg="yellow" if proposal.is_ambiguous else "green")
    head = [
        [
            "Workflow",
            f"{click.style(one_line(definition.name, 100), bold=True)}, chosen {_BY[proposal.source]}, {sure}",
        ],
        ["Why", one_line(proposal.why, 300)],
    ]
    head += [["No model", one_line(f"{proposal.fallback}; the rules chose", 300)]] if proposal.fallback else []
    for at, choice in enumerate(proposal.agents):
        line = f"{choice.node} by {choice.agent}: {choice.why}"
        head.append(["Agents" if at == 0 else "", one_line(line, 300)])
    tail = [["Budgets", _format_budgets(definition.budgets)], ["Hash", workflow_hash(definition)]]
    for at, other in enumerate(proposal.alternatives):
        tail.append(["Or" if at == 0 else "", f"{one_line(other.name, 60)}: {one_line(other.about, 120)}"])
    text = "\n\n".join(
        [format_columns(head, indent=""), format_workflow_nodes(definition), format_columns(tail, indent="")]
    )
    if not offer:
        return text
    end = "Nothing was run."
    if proposal.alternatives:
        end += f' For another one begin with its name: git nexus route "/{proposal.alternatives[0].name} …"'
    return f"{text}\n\n{end}"


def format_workflow_nodes(definition: "WorkflowDefinition") -> str:
    """Return the nodes, one per row; those with the same number may run in parallel."""
    by_id = {one.id: one for one in definition.nodes}
    rows = [["", "node", "work", "who", "after", "makes"]]
    for number, group in enumerate(parallel_waves(list(by_id), definition.edges, definition.budgets.parallel), 1):
        for id_ in group:
            after = ", ".join(first for first, second in definition.edges if second == id_)
            made = ", ".join(by_id[id_].outputs)
            rows.append([str(number), id_, by_id[id_].type, _agent_of_node(by_id[id_]), after or "-", made or "-"])
    return format_columns(rows)


def format_workflow_texts(definition: "WorkflowDefinition") -> str:
    """Return the prompts and commands of a workflow file, each whole, behind a gutter that it cannot imitate."""
    found = [("prompt", definition.prompt)]
    for node in definition.nodes:
        found += [(f"prompt of {node.id}", node.prompt)]
        found += [(f"{node.id} runs", "\n".join(map(escape_word, node.argv)))]
    lines = []
    for title, text in found:
        lines += [f"{title}:", *frame_text(text)] if text else []
    return "\n".join(lines)


def format_research_answer(bundle: "ResearchBundle") -> str:
    """Return an answer as text: the summary, its evidence with references, and the open questions."""
    lines = [make_visible(bundle.summary.strip()) or "Nothing was found."]
    for claim in bundle.claims:
        lines += ["", f"- {one_line(claim.text, 2000)}"]
        lines += [f"  {one_line(ref, 200)}" for ref in claim.citations]
    lines += ["", "Open:"] if bundle.unresolved else []
    return "\n".join([*lines, *(f"- {one_line(one, 500)}" for one in bundle.unresolved)])


def format_batches(packed: "PackedPlan") -> str:
    """Return a plan in batches, and the steps that have to be split first."""
    rows = [
        [
            f"batch {at}",
            ", ".join(one_line(step, 40) for step in one.steps),
            f"{one.cu} CU",
            f"{one.ctx_kib} KiB",
            f"risk {one.risk}",
        ]
        for at, one in enumerate(packed.batches, 1)
    ]
    lines = [format_columns(rows, indent="")] if rows else []
    for split in packed.splits:
        lines.append(f"{click.style('split', fg='yellow')}  {one_line(split.why, 200)}")
        lines += [f"         {at}: {one_line(', '.join(part), 160)}" for at, part in enumerate(split.parts, 1)]
    if packed.held:
        lines.append(f"waits  {one_line(', '.join(packed.held), 200)}: until the plan is changed")
    return "\n".join(lines) or "The plan has no steps."


def _agent_of_node(one: "WorkflowNode") -> str:
    if one.type == "command":
        return one_line(" ".join(one.argv), 40)
    return f"{one.specialist}: {one.adapter}" if one.adapter else one.specialist


def _format_budgets(budgets: "WorkflowBudgets") -> str:
    limits = [
        f"{budgets.seconds} s" if budgets.seconds else "",
        f"{budgets.tokens} tokens" if budgets.tokens else "",
        f"{budgets.cents} cents" if budgets.cents else "",
        f"{budgets.handoffs} handoffs",
    ]
    batch = (
        f"a batch {budgets.max_batch_cu} CU, {budgets.max_batch_steps} steps, {budgets.max_ctx_kib} KiB, "
        f"risk {budgets.max_batch_risk}"
    )
    return ", ".join([*filter(None, limits), batch, f"{budgets.parallel} side by side"])
