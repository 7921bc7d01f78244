"""Holds the state of a run while its events are folded into it, and computes the status that they amount to. Pure."""

from collections.abc import Mapping
from typing import Any

from gitnexus.events.model import Event
from gitnexus.events.view import ActionView, NodeView, RunView, Status

# An action of these kinds that was begun and has no recorded end is completed: nobody outside of the run notices.
MENDED = ("patch", "handoff", "plan_patch", "agenda_patch")
_ENDS = ("completed", "failed", "cancelled", "landed")


class ViewBuilder:
    """A view under construction, made of plain dicts: a frozen record per event would cost more than reading them."""

    def __init__(self, view: RunView) -> None:
        self.begin = view
        self.run: dict[str, Any] = {}
        self.ended: Status | None = view.status if view.status in _ENDS else None
        self.nodes: dict[str, dict[str, Any]] = {name: dict(vars(node)) for name, node in view.nodes.items()}
        self.actions: dict[str, dict[str, Any]] = {name: dict(vars(one)) for name, one in view.actions.items()}
        self.questions = dict(view.questions)
        self.disputed = dict(view.disputed)
        self.input, self.output, self.cost = view.input_tokens, view.output_tokens, view.cost
        self.commits = list(view.commits)
        self.artifacts = list(view.artifacts)
        self.nonces = dict.fromkeys(view.nonces)
        self.odd = list(view.odd)

    def mark_odd(self, event: Event, what: str) -> None:
        self.odd.append(f"event {event.seq}: {what}")

    def action(self, event: Event) -> dict[str, Any] | None:
        """Return the action that an event refers to; one that was never proposed is listed as odd and has no effect."""
        found = self.actions.get(event.body["action"])
        if found is None:
            self.mark_odd(event, f"{event.kind} for an action that was never proposed")
        return found

    def view(self, last: Event | None) -> RunView:
        """Return the frozen view."""
        if last is not None:
            self.run |= {"last": last.time, "seq": last.seq}
        return self.begin.changed(
            **self.run,
            status=self.ended or self._current_status(),
            nodes={name: NodeView(**node) for name, node in self.nodes.items()},
            actions={name: ActionView(**action) for name, action in self.actions.items()},
            questions=self.questions,
            disputed=self.disputed,
            input_tokens=self.input,
            output_tokens=self.output,
            cost=self.cost,
            commits=tuple(self.commits),
            artifacts=tuple(self.artifacts),
            nonces=tuple(self.nonces),
            odd=tuple(self.odd),
        )

    def _current_status(self) -> Status:
        if self.questions or any(map(_is_waiting, self.actions.values())):
            return "waiting"
        steps = {node["status"] for node in self.nodes.values()}
        if "blocked" in steps or (self._is_handed_over() and "started" not in steps):
            return "blocked"
        return "running"

    def _is_handed_over(self) -> bool:
        """Return True if a handoff was approved and its agent has not started."""
        return any(
            action["kind"] == "handoff" and action["status"] == "executed" and handoff_step_name(name) not in self.nodes
            for name, action in self.actions.items()
        )


def handoff_step_name(handoff: str) -> str:
    """Return the name of the step that an approved handoff becomes."""
    return f"handoff-{handoff}"


def _is_waiting(action: Mapping[str, Any]) -> bool:
    # A begun action without a recorded end needs a person, except where git nexus completes it itself.
    begun = action["status"] == "unknown" and action["kind"] not in MENDED
    return begun or action["status"] == "waiting"
