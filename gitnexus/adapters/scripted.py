"""Adapter for an agent that follows a script file: for tests, the demo, and trying a policy without a model.

As a program: python -P -m gitnexus.adapters.scripted FILE [--state FILE] [--server ARGV-AS-JSON]
"""

import json
import sys
from typing import Any

from gitnexus.adapters.lines import OutputAccount, as_count, as_mapping, as_shown_text, as_single_line, parse_json_line
from gitnexus.adapters.protocol import (
    HOME,
    AgentEnd,
    AgentEvent,
    AgentJob,
    AgentLaunch,
    Reason,
    Way,
    check_job,
    private_path,
)
from gitnexus.base.errors import Invalid


class ScriptedAdapter:
    name = "scripted"
    program = ""
    harness = ""
    ways: tuple[Way, ...] = ("proposer", "contained")
    parses = "messages, tool calls, tokens, turns, session"
    resumes = True

    def launch(self, job: AgentJob) -> AgentLaunch:
        """Return the command that plays the file in `command`; -P prevents imports of modules of the repository."""
        check_job(self, job)
        if len(job.command) != 1:
            raise Invalid("the scripted agent takes one file", hint="the file holds its steps, in JSON or TOML")
        argv = [sys.executable, "-P", "-m", "gitnexus.adapters.scripted"]
        argv += [
            f"--state={private_path(job, 'scripted.json')}",
            f"--server={json.dumps(job.server)}",
            f"--way={job.way}",
        ]
        argv += ["--resume"] if job.session else []
        return AgentLaunch(
            argv=(*argv, "--", job.command[0]),
            env={"HOME": private_path(job, HOME)},
            stdin=job.prompt.encode(),
            network="full" if job.hosts else "none",
            hosts=job.hosts,
        )

    def reader(self) -> "ScriptedReader":
        return ScriptedReader()


class ScriptedReader:
    """Parses the lines that `play` prints."""

    def __init__(self) -> None:
        self._account = OutputAccount()
        self._reason: Reason = "unfinished"

    def feed(self, line: bytes) -> list[AgentEvent]:
        found = parse_json_line(line)
        if found is None:
            return self._account.noted(line)
        match found.get("type"):
            case "start":
                self._account.keep_session(found.get("session"))
                return [AgentEvent(kind="progress", text="started")]
            case "say":
                return self._account.said(found.get("text"))
            case "call":
                return [
                    AgentEvent(
                        kind="tool_call", text=as_shown_text(found.get("input")), tool=as_single_line(found.get("tool"))
                    )
                ]
            case "result":
                ok = found.get("ok") is True
                return [
                    AgentEvent(
                        kind="tool_result",
                        text=as_shown_text(found.get("text")),
                        tool=as_single_line(found.get("tool")),
                        ok=ok,
                    )
                ]
            case "used":
                return self._take_usage(found)
            case "end":
                return self._take_end(found)
        return self._account.noted(line)

    def end(self, status: int) -> AgentEnd:
        return self._account.ended(status, self._reason)

    def _take_usage(self, found: dict[str, Any]) -> list[AgentEvent]:
        usage = as_mapping(found.get("usage"))
        self._account.tokens_in, self._account.tokens_out = as_count(usage.get("in")), as_count(usage.get("out"))
        return self._account.used()

    def _take_end(self, found: dict[str, Any]) -> list[AgentEvent]:
        used = self._take_usage(found) if "usage" in found else self._account.used()
        self._account.turns = as_count(found.get("steps"))
        self._reason = "completed" if found.get("ok") is True else "failed"
        failed = [] if found.get("ok") is True else self._account.failed(found.get("text"))
        return [*failed, *used]


if __name__ == "__main__":
    from gitnexus.adapters.play import main

    sys.exit(main(sys.argv[1:]))
