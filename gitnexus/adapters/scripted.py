"""An agent that does what a file says, step by step: for tests, the demo, and trying out a policy without a model.

As a program: python -P -m gitnexus.adapters.scripted FILE [--state FILE] [--server ARGV-AS-JSON]
"""

import json
import sys
from typing import Any

from gitnexus.adapters.lines import Account, mapping, number, object_in, text, word
from gitnexus.adapters.protocol import HOME, Ended, Job, Launch, Reason, Said, Way, below, checked
from gitnexus.base.errors import Invalid


class Scripted:
    name = "scripted"
    program = ""
    harness = ""
    ways: tuple[Way, ...] = ("proposer", "contained")
    parses = "messages, tool calls, tokens, turns, session"
    resumes = True

    def launch(self, job: Job) -> Launch:
        """Return how to play the file that `command` names; -P, so that no module of the repository is imported."""
        checked(self, job)
        if len(job.command) != 1:
            raise Invalid("the scripted agent takes one file", hint="the file holds its steps, in JSON or TOML")
        argv = [sys.executable, "-P", "-m", "gitnexus.adapters.scripted"]
        argv += [f"--state={below(job, 'scripted.json')}", f"--server={json.dumps(job.server)}", f"--way={job.way}"]
        argv += ["--resume"] if job.session else []
        return Launch(
            argv=(*argv, "--", job.command[0]),
            env={"HOME": below(job, HOME)},
            stdin=job.prompt.encode(),
            network="full" if job.hosts else "none",
            hosts=job.hosts,
        )

    def reader(self) -> "ScriptedReader":
        return ScriptedReader()


class ScriptedReader:
    """Reads the lines of `play`."""

    def __init__(self) -> None:
        self._account = Account()
        self._reason: Reason = "unfinished"

    def feed(self, line: bytes) -> list[Said]:
        found = object_in(line)
        if found is None:
            return self._account.noted(line)
        match found.get("type"):
            case "start":
                self._account.named(found.get("session"))
                return [Said(kind="progress", text="started")]
            case "say":
                return self._account.said(found.get("text"))
            case "call":
                return [Said(kind="tool_call", text=text(found.get("input")), tool=word(found.get("tool")))]
            case "result":
                ok = found.get("ok") is True
                return [Said(kind="tool_result", text=text(found.get("text")), tool=word(found.get("tool")), ok=ok)]
            case "used":
                return self._used(found)
            case "end":
                return self._end(found)
        return self._account.noted(line)

    def end(self, status: int) -> Ended:
        return self._account.ended(status, self._reason)

    def _used(self, found: dict[str, Any]) -> list[Said]:
        usage = mapping(found.get("usage"))
        self._account.tokens_in, self._account.tokens_out = number(usage.get("in")), number(usage.get("out"))
        return self._account.used()

    def _end(self, found: dict[str, Any]) -> list[Said]:
        used = self._used(found) if "usage" in found else self._account.used()
        self._account.turns = number(found.get("steps"))
        self._reason = "completed" if found.get("ok") is True else "failed"
        failed = [] if found.get("ok") is True else self._account.failed(found.get("text"))
        return [*failed, *used]


if __name__ == "__main__":
    from gitnexus.adapters.play import main

    sys.exit(main(sys.argv[1:]))
