"""Writes gateway events to a run's log, and stores each request as an artifact for review."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gitnexus.base.canonical import canonical_json
from gitnexus.events.artifacts import Artifacts
from gitnexus.events.kinds import shorten_text
from gitnexus.events.log import EventDraft, RunLog
from gitnexus.policy.gatekeeper import Gatekeeper
from gitnexus.policy.request import VERSION

GATE = "gate"
# Test results, as counted by the gateway.
TESTS = "tests.json"
# A waiting action is not a rejection.
_WAITS = "E_APPROVAL_NEEDED"


class Recorder:
    """Logs for one actor into one log. `keeper` knows the current action."""

    def __init__(self, log: RunLog, gatekeeper: Gatekeeper, actor: str, node: str = "") -> None:
        self.log = log
        self.artifacts = Artifacts(log.folder)
        self._gatekeeper = gatekeeper
        self._actor = actor
        self._node = node

    def note(self, kind: str, fields: Mapping[str, Any]) -> None:
        """Log an event of the gateway; durable when this returns. Raises: NexusError."""
        action = self._gatekeeper.action
        match kind:
            case "action.proposed":
                self._log_proposal(action, fields)
            case "action.started":
                body = {"action": action, "tool": _tool_name(fields["kind"]), "digest": fields["digest"]}
                body |= {"sandbox": fields["sandbox"]} if fields.get("sandbox") else {}
                self.log.append("tool.intended", GATE, body)
            case "action.completed":
                self._log_execution(action, fields["kind"], fields["answer"], ok=True)
            case "action.failed":
                self._log_execution(action, fields.get("kind", "command"), fields, ok=False)
            case "action.rejected" if fields["error"] != _WAITS and action:
                body = {"action": action, "why": shorten_text(fields["message"]), "error": fields["error"]}
                self.log.append("action.rejected", GATE, body)
                self._gatekeeper.action = ""
            case "artifact.written":
                body = {
                    "name": shorten_text(fields["filename"], 200),
                    "digest": fields["digest"],
                    "size": fields["size"],
                }
                self.log.append("artifact.written", self._actor, body)
            case "tests.counted":
                kept = self.artifacts.write(TESTS, json.dumps(dict(fields), ensure_ascii=True).encode())
                body = {"name": kept.name, "digest": kept.digest, "size": kept.size}
                self.log.append("artifact.written", self._actor, body)
            case "tool.read":
                rest = {key: value for key, value in fields.items() if key != "tool"}
                what = shorten_text(json.dumps(rest, ensure_ascii=True, default=str), 1000)
                self.log.append("tool.read", self._actor, {"tool": fields["tool"], "what": what})

    def log_granted(self, digest: str, by: str, scope: str, why: str = "") -> None:
        """Log an approval by a person or a rule. Raises: NexusError."""
        body = {
            "action": self._gatekeeper.action,
            "digest": digest,
            "by": shorten_text(by, 200),
            "scope": scope,
            "why": shorten_text(why),
        }
        self.log.append("permission.granted", GATE, body)

    def log_denial(self, by: str, why: str) -> None:
        """Log a person's denial. Raises: NexusError."""
        body = {"action": self._gatekeeper.action, "by": shorten_text(by, 200), "why": shorten_text(why)}
        self.log.append("permission.denied", GATE, body)

    def log_secret_reveal(self, by: str, why: str) -> None:
        """Log that somebody had a card's secrets shown. Raises: NexusError."""
        body = {"action": self._gatekeeper.action, "by": shorten_text(by, 200), "why": shorten_text(why)}
        self.log.append("secret.revealed", GATE, body)

    def _log_proposal(self, action: str, fields: Mapping[str, Any]) -> None:
        raw = canonical_json({"v": VERSION, "kind": fields["kind"], **fields["request"]})
        kept = self.artifacts.write(f"request-{action}.json", raw, exact=True)
        proposal = {
            "action": action,
            "actionKind": fields["kind"],
            "summary": shorten_text(fields["summary"] or fields["kind"]),
            "digest": fields["digest"],
            "artifact": kept.digest,
            **({"node": self._node} if self._node else {}),
            **{name: fields[name] for name in ("claims", "replaces", "by", "proofs") if fields.get(name)},
        }
        verdict = {
            "action": action,
            "verdict": fields["verdict"],
            "rule": shorten_text(fields["rule"], 200),
            "why": shorten_text(fields["why"]),
            "risk": fields["risk"],
            "tags": list(fields["tags"]),
        }
        self.log.append_many(
            [EventDraft("action.proposed", self._actor, proposal), EventDraft("action.judged", GATE, verdict)]
        )

    def _log_execution(self, action: str, kind: str, answer: Mapping[str, Any], *, ok: bool) -> None:
        status = answer.get("status")
        told = answer.get("message") or json.dumps(answer, ensure_ascii=True, default=str)
        body: dict[str, Any] = {
            "action": action,
            "tool": _tool_name(kind),
            "ok": ok and status in (None, 0),
            "result": shorten_text(str(told), 2000),
        }
        if isinstance(status, int):
            body["status"] = status
        self.log.append("tool.executed", GATE, body)
        self._gatekeeper.action = ""


def _tool_name(kind: str) -> str:
    return {"patch": "repo.apply_patch", "command": "cmd.run"}.get(kind, kind)


def run_folder(common_dir: Path, run: str) -> Path:
    """Return the folder of a run's log and artifacts, outside every worktree."""
    return common_dir / "nexus" / "runs" / run
