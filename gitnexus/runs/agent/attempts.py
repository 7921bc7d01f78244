"""How an agent's work on a step ended, kept: a kill after it does not let the agent do its work again."""

import json

from gitnexus.adapters.protocol import Ended
from gitnexus.app.rundesk import RunDesk
from gitnexus.base.canonical import parse
from gitnexus.events.kinds import short
from gitnexus.events.log import Draft
from gitnexus.redaction.stored import redact_text
from gitnexus.runs.definition import Node


def without_secrets(ended: Ended) -> Ended:
    """Return how an agent ended with the secrets of its last words hidden: before anything is cut, stored or shown."""
    return ended.changed(message=redact_text(ended.message), session=redact_text(ended.session, values=False))


def keep_end(desk: RunDesk, node: Node, attempt: int, ended: Ended) -> None:
    """Keep how an attempt ended, and what it took. Raises: NexusError."""
    kept = desk.artifacts.write(_name(node, attempt), json.dumps(ended.plain(), ensure_ascii=True).encode())
    spent = {"input": ended.tokens_in, "output": ended.tokens_out, "node": node.id}
    if ended.cost_usd is not None:
        spent["cost"] = int(ended.cost_usd * 1_000_000)
    if ended.session:
        spent["session"] = short(ended.session, 200)
    drafts = (
        [Draft("agent.spent", node.adapter, spent)]
        if spent.keys() > {"input", "output", "node"} or ended.tokens_in or ended.tokens_out
        else []
    )
    body = {"name": kept.name, "digest": kept.digest, "size": kept.size, "node": node.id}
    desk.log.append_many([*drafts, Draft("artifact.written", "nexus", body)])


def read_end(desk: RunDesk, node: Node, attempt: int) -> Ended | None:
    """Return how an attempt ended, None if it was killed before. Raises: NexusError."""
    for kept in reversed(desk.view().artifacts):
        if kept.name == _name(node, attempt):
            return Ended.from_value(parse(desk.artifacts.read(kept.digest)), kept.name)
    return None


def _name(node: Node, attempt: int) -> str:
    return f"end-{node.id}-{attempt}.json"
