"""Saves and reads how an agent's attempt at a step ended, so that a later kill does not repeat the work."""

import json

from gitnexus.adapters.protocol import AgentEnd
from gitnexus.base.canonical import parse_json
from gitnexus.events.kinds import shorten_text
from gitnexus.events.log import EventDraft
from gitnexus.redaction.stored import redact_text
from gitnexus.runs.open_run import OpenRun
from gitnexus.workflow.run_definition import RunNode


def without_secrets_in_end(ended: AgentEnd) -> AgentEnd:
    """Return the agent's end with secrets in its last message masked, before it is cut, stored or shown."""
    return ended.changed(message=redact_text(ended.message), session=redact_text(ended.session, values=False))


def save_attempt_end(run: OpenRun, node: RunNode, attempt: int, ended: AgentEnd) -> None:
    """Save how an attempt ended and what it cost. Raises: NexusError."""
    kept = run.artifacts.write(_artifact_name(node, attempt), json.dumps(ended.plain(), ensure_ascii=True).encode())
    spent = {"input": ended.tokens_in, "output": ended.tokens_out, "node": node.id}
    if ended.cost_usd is not None:
        spent["cost"] = int(ended.cost_usd * 1_000_000)
    if ended.session:
        spent["session"] = shorten_text(ended.session, 200)
    drafts = (
        [EventDraft("agent.spent", node.adapter, spent)]
        if spent.keys() > {"input", "output", "node"} or ended.tokens_in or ended.tokens_out
        else []
    )
    body = {"name": kept.name, "digest": kept.digest, "size": kept.size, "node": node.id}
    run.log.append_many([*drafts, EventDraft("artifact.written", "nexus", body)])


def read_attempt_end(run: OpenRun, node: RunNode, attempt: int) -> AgentEnd | None:
    """Return how an attempt ended, None if it was killed before its end. Raises: NexusError."""
    for kept in reversed(run.view().artifacts):
        if kept.name == _artifact_name(node, attempt):
            return AgentEnd.from_value(parse_json(run.artifacts.read(kept.digest)), kept.name)
    return None


def _artifact_name(node: RunNode, attempt: int) -> str:
    return f"end-{node.id}-{attempt}.json"
