"""Formats the events of a run as chat entries, one line each. Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from gitnexus.base.clock import parse_timestamp
from gitnexus.base.text import one_line
from gitnexus.events.model import Event
from gitnexus.events.timeline import describe_event
from gitnexus.events.view import RunView
from gitnexus.tui.model import ChatEntry

_OURS = ("nexus", "gate")
_LONGEST = 400


def entries_for_event(run: str, event: Event) -> list[ChatEntry]:
    """Return the entries for an event; empty for events that a card shows."""
    body = event.body
    if event.kind == "agent.progress":
        text = str(body["text"])
        return (
            [ChatEntry("nexus", f"{run}: {one_line(text, _LONGEST)}", run)]
            if event.actor in _OURS
            else [ChatEntry("agent", text, run)]
        )
    words = _describe_event(run, event)
    return [ChatEntry("nexus", one_line(words, _LONGEST), run)] if words else []


def _describe_event(run: str, event: Event) -> str:
    body = {name: one_line(str(value), 300) for name, value in event.body.items()}
    if event.kind.startswith(("node.", "batch.")):
        return _describe_step(run, event, body)
    if event.kind.startswith(("action.", "tool.")):
        return _describe_action(run, event, body)
    match event.kind:
        case "workflow.started":
            return f"{run} starts with {body.get('agent', 'an agent')}: {body.get('task', '')}"
        case "run.resumed":
            return f"{run} continues"
        case "run.committed":
            return f"{run}: {body['action']} is commit {body['commit'][:12]} on {body.get('branch', f'nexus/{run}')}"
        case "run.landed":
            return f"{run} landed on {body['into']} as {body['commit'][:12]}"
        case "run.cancelled":
            return f"{run} was cancelled by {body['by']}"
    return ""


def _describe_step(run: str, event: Event, body: dict[str, str]) -> str:
    match event.kind:
        case "node.started":
            again = f", attempt {body['attempt']}" if body.get("attempt", "1") != "1" else ""
            return f"{run}: {body['node']} begins, done by {body.get('agent') or body.get('adapter', '?')}{again}"
        case "node.completed":
            told_of = f": {body['summary']}" if body.get("summary") else ""
            return f"{run}: {body['node']} is done{told_of}"
        case "node.blocked":
            return f"{run}: {body['node']} is blocked: {body['why']}"
        case "batch.finished":
            return f"{run}: batch {body['batch']} {'is done' if event.body['ok'] else 'stopped'}, {body['cu']} units"
    return ""


def _describe_action(run: str, event: Event, body: dict[str, str]) -> str:
    action = body.get("action", "")
    match event.kind:
        case "action.judged" if body["verdict"] != "ask":
            return f"{run}: the policy says {body['verdict']} to {action} ({body['rule']}: {body['why']})"
        case "action.rejected":
            return f"{run}: {action} is refused: {body['why']}"
        case "tool.executed" if body["tool"] != "repo.apply_patch":
            done = "is done" if event.body["ok"] else f"failed with {body.get('status', '?')}"
            last = str(event.body.get("result", "")).strip().rpartition("\n")[2]
            result = f": {one_line(last, 300)}" if last else ""
            return f"{run}: {action} {done}{result}"
    return ""


def entries_for_end(run: str, view: RunView) -> list[ChatEntry]:
    """Return the entries for the end of a run, with the next steps."""
    if view.status == "completed":
        count = len(view.commits)
        if not count:
            return [ChatEntry("nexus", f"{run} is completed; nothing was changed", run)]
        commits = "1 commit" if count == 1 else f"{count} commits"
        return [ChatEntry("nexus", f"{run} is completed, {commits}. /diff {run} shows it, /land {run} merges it", run)]
    if view.status == "failed":
        return [ChatEntry("error", f"{run} failed: {one_line(view.why, _LONGEST)}", run)]
    return []


def trace_entries(run: str, events: Iterable[Event]) -> list[ChatEntry]:
    """Return every event of a run, worded like `replay`."""
    return [ChatEntry("trace", f"{run} {event.seq}  {describe_event(event)}", run) for event in events]


def format_delegation_graph(run: str, view: RunView, edges: Sequence[tuple[str, ...]], times: dict[str, float]) -> str:
    """Return the steps of a run with their dependencies, status and duration."""
    lines = [f"{run} {view.status}: {one_line(view.task, 80)}"]
    for name, node in view.nodes.items():
        after = [first for first, second in edges if second == name]
        took = f", {times[name]:.1f} s" if name in times else ""
        why = f": {one_line(node.why, 120)}" if node.why else ""
        behind = f", after {' and '.join(after)}" if after else ""
        who = node.agent or view.agent
        lines.append(f"  {name} [{who}] {node.status}, attempt {node.attempts}{behind}{took}{why}")
        lines += [
            f"      {name} proposes {action}, a {one.kind}: {one.status}"
            for action, one in view.actions.items()
            if one.node == name
        ]
    return "\n".join(lines)


class StepTimes:
    """Computes from the events how long each step worked."""

    def __init__(self) -> None:
        self._begun: dict[tuple[str, str], datetime] = {}
        self.seconds: dict[tuple[str, str], float] = {}

    def note(self, run: str, event: Event) -> None:
        """Process an event."""
        if not event.kind.startswith("node."):
            return
        key, at = (run, str(event.body["node"])), parse_timestamp(event.time)
        if at is None:
            return
        if event.kind == "node.started":
            self._begun[key] = at
        elif key in self._begun:
            self.seconds[key] = self.seconds.get(key, 0.0) + (at - self._begun.pop(key)).total_seconds()

    def of(self, run: str) -> dict[str, float]:
        """Return the seconds of each step of a run."""
        return {node: seconds for (one, node), seconds in self.seconds.items() if one == run}
