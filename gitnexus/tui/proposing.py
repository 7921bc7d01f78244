"""Holds the workflows that the chat proposed and that wait for an approval: made by the router, edited by keys."""

from pathlib import Path
from typing import Any

from gitnexus.base.errors import Invalid, NexusError
from gitnexus.base.files import replace_file
from gitnexus.runs.workflow.answer import only_reads
from gitnexus.runs.workflow.beyond_rules import refuse_beyond_rules
from gitnexus.runs.workflow.routing import route_prompt, workflow_settings
from gitnexus.state import State
from gitnexus.tui.cards import card_for_workflow
from gitnexus.tui.chat_store import ChatStore
from gitnexus.tui.model import CardKey, ChatCard
from gitnexus.tui.prompt_context import EarlierRequest, prompt_with_context, references_in_text, references_to_last_run
from gitnexus.workflow.definition import WorkflowDefinition, check_workflow, render_workflow, workflow_hash
from gitnexus.workflow.edit import with_node_agent, with_node_order, without_node
from gitnexus.workflow.proposal import WorkflowProposal
from gitnexus.workflow.run_definition import EMBEDDED


class ChatProposals:
    """The open proposals by the name on their card; stored, so that closing the terminal loses none."""

    def __init__(self, state: State, keeper: ChatStore) -> None:
        self.state = state
        self._store = keeper
        self._open: dict[str, tuple[WorkflowProposal, int]] = {}
        self._count = 0
        for name, value in keeper.proposals().items():
            try:
                self._open[name] = (WorkflowProposal.from_value(value, name), 0)
            except NexusError:
                continue  # of another version
            self._count = max(self._count, int(name[1:]) if name[1:].isdecimal() else 0)

    def cards(self) -> list[ChatCard]:
        """Return the cards of all open proposals."""
        return [self._proposal_card(name) for name in self._open]

    def add(
        self, text: str, asked: list[EarlierRequest], own: frozenset[str], skills: tuple[str, ...] = ()
    ) -> ChatCard:
        """Return the card of the workflow for a request, using `skills` if any. Raises: NexusError."""
        found = route_prompt(self.state, text)
        if found.source != "macro":  # who names a workflow has decided
            refuse_beyond_rules(self.state, found.definition, "HEAD")
        has_model = self._has_model_node(found.definition)
        # A rule that answers a question would cite the answer to the last one.
        answers = not has_model and all(one.type == "research" for one in found.definition.nodes)
        last = () if answers else references_to_last_run(asked)
        definition = _with_references(found.definition, (*skills, *references_in_text(text, own), *last))
        # Rules would search for every word, so only models and programs get the previous requests.
        if has_model:
            definition = definition.changed(prompt=prompt_with_context(definition.prompt, asked))
        definition = check_workflow(definition, "the workflow")
        self._count += 1
        name = f"w{self._count}"
        self._open[name] = (found.changed(definition=definition), 0)
        self._store_proposals()
        return self._proposal_card(name)

    def _has_model_node(self, definition: WorkflowDefinition) -> bool:
        """Return True if an agent or a model works on a node."""
        backing = workflow_settings(self.state).specialists
        return any((one.adapter or backing.get(one.specialist) or EMBEDDED) != EMBEDDED for one in definition.nodes)

    def only_reads(self, name: str) -> bool:
        """Return True if a workflow only reads, so that nobody is asked before it starts."""
        return only_reads(self.state, self._open[name][0].definition)

    def changed(self, name: str, key: CardKey, said: str) -> ChatCard:
        """Return the card after a key that changes the workflow. Raises: NexusError."""
        proposal, chosen = self._open[name]
        definition = proposal.definition
        node = definition.nodes[chosen].id
        match key.means:
            case "choose":
                chosen = (chosen + 1) % len(definition.nodes)
            case "drop":
                definition = without_node(definition, node)
                chosen = min(chosen, len(definition.nodes) - 1)
            case "earlier" | "later":
                definition = with_node_order(
                    definition, _moved_node_order(definition, chosen, -1 if key.means == "earlier" else 1)
                )
                chosen = next(at for at, one in enumerate(definition.nodes) if one.id == node)
            case "backing":
                definition = with_node_agent(definition, node, said.strip())
            case _:
                raise Invalid(f"a workflow cannot be changed by {key.letter}")
        self._open[name] = (proposal.changed(definition=definition), chosen)
        self._store_proposals()
        return self._proposal_card(name)

    def file(self, name: str, digest: str) -> Path:
        """Write a workflow to a file and return its path. Raises: Invalid if it is not the one that was shown."""
        definition = self._open[name][0].definition
        if workflow_hash(definition) != digest:
            raise Invalid("this workflow is not the one on the card", hint="look at the card again")
        path = self._store.folder / f"{name}.json"
        replace_file(path, render_workflow(definition).encode("utf-8", "replace"), 0o600)
        return path

    def title(self, name: str) -> str:
        """Return the request of a workflow without the conversation's context."""
        return self._open[name][0].definition.prompt.partition("\n\n> Before this")[0]

    def drop(self, name: str) -> None:
        """Remove a proposal that was started or refused."""
        self._open.pop(name, None)
        self._store_proposals()

    def _proposal_card(self, name: str) -> ChatCard:
        proposal, chosen = self._open[name]
        return card_for_workflow(name, proposal, workflow_hash(proposal.definition), chosen)

    def _store_proposals(self) -> None:
        kept: dict[str, Any] = {name: proposal.plain() for name, (proposal, _) in self._open.items()}
        self._store.keep_proposals(kept)


def _moved_node_order(definition: WorkflowDefinition, at: int, by: int) -> tuple[str, ...]:
    ids = [one.id for one in definition.nodes]
    ids.insert(min(max(0, at + by), len(ids) - 1), ids.pop(at))
    return tuple(ids)


def _with_references(definition: WorkflowDefinition, refs: tuple[str, ...]) -> WorkflowDefinition:
    """Return the workflow with references for the pack of every node."""
    nodes = tuple(
        one.changed(inputs=one.inputs.changed(refs=tuple(dict.fromkeys((*one.inputs.refs, *refs)))))
        for one in definition.nodes
    )
    return definition.changed(nodes=nodes)
