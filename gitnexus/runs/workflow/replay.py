"""Replays a run's workflow and its exchanges with models from its log, here or in any clone with the run's ref."""

from collections.abc import Callable, Sequence
from typing import Any

from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Invalid, NotFound, VerificationFailed
from gitnexus.base.text import one_line
from gitnexus.events.checkpoint import load_checkpoint
from gitnexus.events.model import Event
from gitnexus.prompts.exchange import replay_exchange
from gitnexus.runs.open_run import WORKFLOW, OpenRun
from gitnexus.runs.story import read_events
from gitnexus.runs.workflow.model_session import EXCHANGE
from gitnexus.runs.workflow.model_tools import model_tool_name
from gitnexus.workflow.definition import WorkflowDefinition, parse_workflow, workflow_hash
from gitnexus.workflow.replay import ReplayResult, replay_log

Fetch = Callable[[str], bytes]


def replay_workflow(run: OpenRun) -> ReplayResult | None:
    """Return the engine's result from the log alone, None for a run with one agent. Raises: VerificationFailed."""
    definition = _workflow_definition(run)
    if definition is None:
        return None
    events, fetch = list(read_events(run)), _artifact_reader(run)
    return replay_log(definition, events, fetch)._replace(calls=replay_model_exchanges(events, fetch))


def replay_model_exchanges(events: Sequence[Event], fetch: Fetch) -> int:
    """Go through what was said with models again, and compare it with the log; return how many tools were called.

    Raises: VerificationFailed.
    """
    called: dict[tuple[str, str], list[tuple[str, bool]]] = {}
    count = 0
    for event in events:
        body = event.body
        if event.kind == "tool.called":
            of = (body["node"], body.get("step", ""))
            called.setdefault(of, []).append((model_tool_name(body["tool"]), body["ok"]))
        elif event.kind == "artifact.written" and str(body["name"]).startswith(EXCHANGE) and event.actor == "nexus":
            exchange = _parse_exchange(fetch(body["digest"]), body["name"])
            made = [(name, ok) for name, was_made, ok in replay_exchange(exchange).calls if was_made]
            # A process that was killed left events of calls before, and no exchange.
            logged = called.pop((exchange.get("node", ""), exchange.get("step", "")), [])
            if made != logged[len(logged) - len(made) :]:
                raise VerificationFailed(
                    f"{one_line(body['name'], 80)} tells of other calls of tools than the log",
                    context={"line": event.seq},
                )
            count += len(made)
    return count


def _parse_exchange(raw: bytes, name: str) -> dict[str, Any]:
    try:
        value = parse_json(raw)
    except Invalid as exc:
        raise VerificationFailed(f"{one_line(name, 80)}: {exc.message}") from exc
    if not isinstance(value, dict):
        raise VerificationFailed(f"{one_line(name, 80)} is not an exchange with a model")
    return value


def _artifact_reader(run: OpenRun) -> Fetch:
    kept = load_checkpoint(run.state.objects, run.record.id)

    def fetch(digest: str) -> bytes:
        try:
            return run.artifacts.read(digest)
        except NotFound:
            if kept is None:
                raise
            return kept.artifact(digest)

    return fetch


def _workflow_definition(run: OpenRun) -> WorkflowDefinition | None:
    try:
        return run.workflow()
    except NotFound:
        kept = load_checkpoint(run.state.objects, run.record.id)
        if kept is None:
            raise
    value = parse_json(kept.workflow())
    if not isinstance(value, dict) or (value.get("version") == 1 and type(value["version"]) is int):
        return None
    found = parse_workflow(value, WORKFLOW)
    if workflow_hash(found) != run.record.definition:
        raise VerificationFailed(f"the definition of {run.record.id} is not the one that it was started with")
    return found
