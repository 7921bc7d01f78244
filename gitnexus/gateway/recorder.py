"""What happens at the door becomes events of a run's log; a request is kept as an artifact, to be reviewed later."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gitnexus.app.gatekeeper import Gatekeeper
from gitnexus.base.canonical import canonical
from gitnexus.events.artifacts import Artifacts
from gitnexus.events.kinds import short
from gitnexus.events.log import Draft, RunLog
from gitnexus.policy.request import VERSION

GATE = "gate"
# What tests came to, as the gateway counted them.
TESTS = "tests.json"
# What a person has not answered yet is no rejection.
_WAITS = "E_APPROVAL_NEEDED"


class Recorder:
    """Writes for one actor into one log. `keeper` knows the action that is being dealt with."""

    def __init__(self, log: RunLog, keeper: Gatekeeper, actor: str, node: str = "") -> None:
        self.log = log
        self.artifacts = Artifacts(log.folder)
        self._keeper = keeper
        self._actor = actor
        self._node = node

    def note(self, kind: str, fields: Mapping[str, Any]) -> None:
        """Write down what the door tells; it is durable when this returns. Raises: NexusError."""
        action = self._keeper.action
        match kind:
            case "action.proposed":
                self._proposed(action, fields)
            case "action.started":
                body = {"action": action, "tool": _tool(fields["kind"]), "digest": fields["digest"]}
                body |= {"sandbox": fields["sandbox"]} if fields.get("sandbox") else {}
                self.log.append("tool.intended", GATE, body)
            case "action.completed":
                self._executed(action, fields["kind"], fields["answer"], ok=True)
            case "action.failed":
                self._executed(action, fields.get("kind", "command"), fields, ok=False)
            case "action.rejected" if fields["error"] != _WAITS and action:
                body = {"action": action, "why": short(fields["message"]), "error": fields["error"]}
                self.log.append("action.rejected", GATE, body)
                self._keeper.action = ""
            case "artifact.written":
                body = {"name": short(fields["filename"], 200), "digest": fields["digest"], "size": fields["size"]}
                self.log.append("artifact.written", self._actor, body)
            case "tests.counted":
                kept = self.artifacts.write(TESTS, json.dumps(dict(fields), ensure_ascii=True).encode())
                body = {"name": kept.name, "digest": kept.digest, "size": kept.size}
                self.log.append("artifact.written", self._actor, body)
            case "tool.read":
                rest = {key: value for key, value in fields.items() if key != "tool"}
                what = short(json.dumps(rest, ensure_ascii=True, default=str), 1000)
                self.log.append("tool.read", self._actor, {"tool": fields["tool"], "what": what})

    def granted(self, digest: str, by: str, scope: str, why: str = "") -> None:
        """Write down that somebody, or a rule, said yes. Raises: NexusError."""
        body = {
            "action": self._keeper.action,
            "digest": digest,
            "by": short(by, 200),
            "scope": scope,
            "why": short(why),
        }
        self.log.append("permission.granted", GATE, body)

    def denied(self, by: str, why: str) -> None:
        """Write down that somebody said no. Raises: NexusError."""
        body = {"action": self._keeper.action, "by": short(by, 200), "why": short(why)}
        self.log.append("permission.denied", GATE, body)

    def revealed(self, by: str, why: str) -> None:
        """Write down that somebody had the secrets of a card shown. Raises: NexusError."""
        body = {"action": self._keeper.action, "by": short(by, 200), "why": short(why)}
        self.log.append("secret.revealed", GATE, body)

    def _proposed(self, action: str, fields: Mapping[str, Any]) -> None:
        raw = canonical({"v": VERSION, "kind": fields["kind"], **fields["request"]})
        kept = self.artifacts.write(f"request-{action}.json", raw, exact=True)
        proposal = {
            "action": action,
            "actionKind": fields["kind"],
            "summary": short(fields["summary"] or fields["kind"]),
            "digest": fields["digest"],
            "artifact": kept.digest,
            **({"node": self._node} if self._node else {}),
            **{name: fields[name] for name in ("claims", "replaces", "by") if fields.get(name)},
        }
        verdict = {
            "action": action,
            "verdict": fields["verdict"],
            "rule": short(fields["rule"], 200),
            "why": short(fields["why"]),
            "risk": fields["risk"],
            "tags": list(fields["tags"]),
        }
        self.log.append_many([Draft("action.proposed", self._actor, proposal), Draft("action.judged", GATE, verdict)])

    def _executed(self, action: str, kind: str, answer: Mapping[str, Any], *, ok: bool) -> None:
        status = answer.get("status")
        told = answer.get("message") or json.dumps(answer, ensure_ascii=True, default=str)
        body: dict[str, Any] = {
            "action": action,
            "tool": _tool(kind),
            "ok": ok and status in (None, 0),
            "result": short(str(told), 2000),
        }
        if isinstance(status, int):
            body["status"] = status
        self.log.append("tool.executed", GATE, body)
        self._keeper.action = ""


def _tool(kind: str) -> str:
    return {"patch": "repo.apply_patch", "command": "cmd.run"}.get(kind, kind)


def folder_of(common_dir: Path, run: str) -> Path:
    """Return where a run's log and artifacts lie, outside every worktree."""
    return common_dir / "nexus" / "runs" / run
