"""Workflows that were proposed in the chat and wait for a yes: made by the router, changed by keys, started so."""

from pathlib import Path
from typing import Any

from gitnexus.app.workflow import proposed, workflow_settings
from gitnexus.base.errors import Invalid, NexusError
from gitnexus.base.files import replace
from gitnexus.state import State
from gitnexus.tui.cards import of_workflow
from gitnexus.tui.keeping import Keeper
from gitnexus.tui.model import ChatCard, Key
from gitnexus.tui.talk import Asked, carried, refs_in, request
from gitnexus.workflow.definition import EMBEDDED, WorkflowDefinition, checked, hash_of, written
from gitnexus.workflow.edit import dropped, given_to, reordered
from gitnexus.workflow.proposal import Proposal


class Proposals:
    """Those that are open, by their name on the card; kept, so that a closed terminal loses none."""

    def __init__(self, state: State, keeper: Keeper) -> None:
        self.state = state
        self._keeper = keeper
        self._open: dict[str, tuple[Proposal, int]] = {}
        self._count = 0
        for name, value in keeper.proposals().items():
            try:
                self._open[name] = (Proposal.from_value(value, name), 0)
            except NexusError:
                continue  # of another version
            self._count = max(self._count, int(name[1:]) if name[1:].isdecimal() else 0)

    def cards(self) -> list[ChatCard]:
        """Return the cards of all that wait."""
        return [self._card(name) for name in self._open]

    def add(self, text: str, asked: list[Asked], own: frozenset[str], skills: tuple[str, ...] = ()) -> ChatCard:
        """Return the card of the workflow that a request would become, by `skills` if any. Raises: NexusError."""
        found = proposed(self.state, text)
        definition = _given(found.definition, (*skills, *refs_in(text, own), *carried(asked)))
        # Rules take every word for one to look for: only who understands is told what came before.
        if self._understands(definition):
            definition = definition.changed(prompt=request(definition.prompt, asked))
        definition = checked(definition, "the workflow")
        self._count += 1
        name = f"w{self._count}"
        self._open[name] = (found.changed(definition=definition), 0)
        self._keep()
        return self._card(name)

    def _understands(self, definition: WorkflowDefinition) -> bool:
        """True if a node is done by an agent or a model, and not by rules."""
        backing = workflow_settings(self.state).specialists
        return any((one.adapter or backing.get(one.specialist) or EMBEDDED) != EMBEDDED for one in definition.nodes)

    def changed(self, name: str, key: Key, said: str) -> ChatCard:
        """Return the card after a key that changes the workflow. Raises: NexusError."""
        proposal, chosen = self._open[name]
        definition = proposal.definition
        node = definition.nodes[chosen].id
        match key.means:
            case "choose":
                chosen = (chosen + 1) % len(definition.nodes)
            case "drop":
                definition = dropped(definition, node)
                chosen = min(chosen, len(definition.nodes) - 1)
            case "earlier" | "later":
                definition = reordered(definition, _shifted(definition, chosen, -1 if key.means == "earlier" else 1))
                chosen = next(at for at, one in enumerate(definition.nodes) if one.id == node)
            case "backing":
                definition = given_to(definition, node, said.strip())
            case _:
                raise Invalid(f"a workflow cannot be changed by {key.letter}")
        self._open[name] = (proposal.changed(definition=definition), chosen)
        self._keep()
        return self._card(name)

    def file(self, name: str, digest: str) -> Path:
        """Write a workflow for who starts it, and return where. Raises: Invalid if it is not the one that was shown."""
        definition = self._open[name][0].definition
        if hash_of(definition) != digest:
            raise Invalid("this workflow is not the one on the card", hint="look at the card again")
        path = self._keeper.folder / f"{name}.json"
        replace(path, written(definition).encode("utf-8", "replace"), 0o600)
        return path

    def title(self, name: str) -> str:
        """Return what a workflow is for, without what came before it."""
        return self._open[name][0].definition.prompt.partition("\n\n> Before this")[0]

    def drop(self, name: str) -> None:
        """Forget one that was started or refused."""
        self._open.pop(name, None)
        self._keep()

    def _card(self, name: str) -> ChatCard:
        proposal, chosen = self._open[name]
        return of_workflow(name, proposal, hash_of(proposal.definition), chosen)

    def _keep(self) -> None:
        kept: dict[str, Any] = {name: proposal.plain() for name, (proposal, _) in self._open.items()}
        self._keeper.keep_proposals(kept)


def _shifted(definition: WorkflowDefinition, at: int, by: int) -> tuple[str, ...]:
    ids = [one.id for one in definition.nodes]
    ids.insert(min(max(0, at + by), len(ids) - 1), ids.pop(at))
    return tuple(ids)


def _given(definition: WorkflowDefinition, refs: tuple[str, ...]) -> WorkflowDefinition:
    """Return the workflow with references for the pack of every node."""
    nodes = tuple(
        one.changed(inputs=one.inputs.changed(refs=tuple(dict.fromkeys((*one.inputs.refs, *refs)))))
        for one in definition.nodes
    )
    return definition.changed(nodes=nodes)
