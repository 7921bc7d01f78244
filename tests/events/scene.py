"""A run's log with a little story in it, for all tests of the room."""

from pathlib import Path
from typing import Any

from gitnexus.events import RunLog
from gitnexus.events.log import Draft
from gitnexus.events.model import definition_hash

RUN = "0101-tidy"
WORKFLOW: dict[str, Any] = {"workflow_id": "one", "nodes": [{"id": "N1", "agent": "executor"}], "edges": []}
DEFINITION = definition_hash(WORKFLOW)
ASKED = "sha256:" + "a" * 64
COMMIT = "c" * 40
STARTED = Draft("workflow.started", "person:ann", {"run": RUN, "definition": DEFINITION, "task": "tidy up"})
STORY = [
    STARTED,
    Draft("node.started", "nexus", {"node": "N1", "agent": "claude"}),
    Draft("agent.progress", "agent:claude", {"text": "looking around"}),
    Draft(
        "action.proposed",
        "agent:claude",
        {"action": "a1", "actionKind": "patch", "summary": "remove dead code", "digest": ASKED, "node": "N1"},
    ),
    Draft("action.judged", "nexus", {"action": "a1", "verdict": "ask", "rule": "writes", "why": "it writes src"}),
    Draft("permission.granted", "person:ann", {"action": "a1", "digest": ASKED, "by": "ann", "scope": "once"}),
    Draft("tool.intended", "nexus", {"action": "a1", "tool": "repo.commit", "digest": ASKED, "nonce": "n1"}),
    Draft("run.committed", "nexus", {"action": "a1", "commit": COMMIT, "tree": "d" * 40}),
    Draft("tool.executed", "nexus", {"action": "a1", "tool": "repo.commit", "ok": True}),
    Draft("agent.spent", "agent:claude", {"input": 100, "output": 20, "cost": 7}),
    Draft("node.completed", "nexus", {"node": "N1"}),
    Draft("run.finished", "nexus", {"ok": True}),
]


def begun(place: Path, count: int = 1, **options: Any) -> RunLog:
    """Return a log with the first `count` events of the story."""
    log = RunLog(place / "runs" / RUN, **options)
    log.append_many(STORY[:count])
    return log


def says(log: RunLog, text: str = "on it") -> None:
    log.append("agent.progress", "agent:claude", {"text": text})
