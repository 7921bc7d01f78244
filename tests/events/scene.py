"""A run's log with a little story in it, for all tests of the room."""

from pathlib import Path
from typing import Any

from gitnexus.events import RunLog
from gitnexus.events.log import EventDraft
from gitnexus.events.model import definition_hash

RUN = "0101-tidy"
WORKFLOW: dict[str, Any] = {"workflow_id": "one", "nodes": [{"id": "N1", "agent": "executor"}], "edges": []}
DEFINITION = definition_hash(WORKFLOW)
ASKED = "sha256:" + "a" * 64
COMMIT = "c" * 40
STARTED = EventDraft("workflow.started", "person:ann", {"run": RUN, "definition": DEFINITION, "task": "tidy up"})
STORY = [
    STARTED,
    EventDraft("node.started", "nexus", {"node": "N1", "agent": "claude"}),
    EventDraft("agent.progress", "agent:claude", {"text": "looking around"}),
    EventDraft(
        "action.proposed",
        "agent:claude",
        {"action": "a1", "actionKind": "patch", "summary": "remove dead code", "digest": ASKED, "node": "N1"},
    ),
    EventDraft("action.judged", "nexus", {"action": "a1", "verdict": "ask", "rule": "writes", "why": "it writes src"}),
    EventDraft("permission.granted", "person:ann", {"action": "a1", "digest": ASKED, "by": "ann", "scope": "once"}),
    EventDraft("tool.intended", "nexus", {"action": "a1", "tool": "repo.commit", "digest": ASKED, "nonce": "n1"}),
    EventDraft("run.committed", "nexus", {"action": "a1", "commit": COMMIT, "tree": "d" * 40}),
    EventDraft("tool.executed", "nexus", {"action": "a1", "tool": "repo.commit", "ok": True}),
    EventDraft("agent.spent", "agent:claude", {"input": 100, "output": 20, "cost": 7}),
    EventDraft("node.completed", "nexus", {"node": "N1"}),
    EventDraft("run.finished", "nexus", {"ok": True}),
]


def begun(place: Path, count: int = 1, **options: Any) -> RunLog:
    """Return a log with the first `count` events of the story."""
    log = RunLog(place / "runs" / RUN, **options)
    log.append_many(STORY[:count])
    return log


def says(log: RunLog, text: str = "on it") -> None:
    log.append("agent.progress", "agent:claude", {"text": text})
