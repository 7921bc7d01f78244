"""Adapter for Aider, which has no machine-readable output. Tested with 0.86.2."""

import os
import re

from gitnexus.adapters.lines import OutputAccount, as_shown_text
from gitnexus.adapters.protocol import (
    HOME,
    AgentEnd,
    AgentEvent,
    AgentJob,
    AgentLaunch,
    Reason,
    Way,
    check_job,
    hosts_to_reach,
    private_path,
    prompt_text,
)
from gitnexus.base.errors import Invalid

# Read wherever it starts, with no option against it; they can name commands to run and another server for the model.
_READ_BY_ITSELF = (".aider.conf.yml", ".aider.model.settings.yml", ".aider.model.metadata.json", ".env")
_HOSTS = ("api.openai.com:443", "api.anthropic.com:443")
_OFF = (
    *("git", "gitignore", "auto-lint", "auto-test", "check-update", "show-model-warnings", "show-release-notes"),
    *("analytics", "pretty", "stream", "suggest-shell-commands", "detect-urls", "restore-chat-history"),
)
_TOKENS = re.compile(r"Tokens: ([\d.,]+)([kM]?) sent, (?:.*, )?([\d.,]+)([kM]?) received\.(?: Cost: \$([\d.]+))?")
_EDIT = re.compile(r"Applied edit to (.+)")
_SCALE = {"": 1, "k": 1000, "M": 1_000_000}


class AiderAdapter:
    name = "aider"
    program = "aider"
    harness = ""
    ways: tuple[Way, ...] = ("contained",)
    parses = "lines, edits, tokens, cost as printed"
    resumes = False

    def launch(self, job: AgentJob) -> AgentLaunch:
        """Return the launch. Raises: Invalid if the folder has settings that the program would read as its own."""
        check_job(self, job)
        there = [name for name in _READ_BY_ITSELF if os.path.lexists(f"{job.folder}/{name}")]
        if there:
            raise Invalid(
                f"aider would take {there[0]} of the repository as its own settings, which can start programs",
                hint="remove it from the branch of the run, or choose another agent",
            )
        argv = [
            job.program or self.program,
            f"--message-file={private_path(job, 'prompt.txt')}",
            "--yes-always",
            "--map-tokens=0",
        ]
        argv += [f"--no-{name}" for name in _OFF]
        argv += [
            f"--input-history-file={private_path(job, 'input')}",
            f"--chat-history-file={private_path(job, 'chat')}",
        ]
        argv += [f"--model={job.model}"] if job.model else []
        return AgentLaunch(
            argv=tuple(argv),
            env={"HOME": private_path(job, HOME), **({"OPENAI_API_BASE": job.address} if job.address else {})},
            keys=("OPENAI_API_KEY", "OPENAI_API_BASE", "ANTHROPIC_API_KEY"),
            files={"prompt.txt": prompt_text(job, with_instructions=True).encode()},
            network="full",
            hosts=hosts_to_reach(job, _HOSTS),
        )

    def reader(self) -> "AiderReader":
        return AiderReader()


class AiderReader:
    """Parses output that is meant for people: unknown lines are progress, and the exit status decides."""

    def __init__(self) -> None:
        self._account = OutputAccount()
        self._reason: Reason = "unfinished"

    def feed(self, line: bytes) -> list[AgentEvent]:
        told = as_shown_text(line[:8000].decode("utf-8", "replace").rstrip("\r\n"))
        if not told.strip():
            return []
        if found := _TOKENS.match(told):
            return self._take_usage(found)
        if found := _EDIT.match(told):
            return [AgentEvent(kind="tool_result", text=found[1], tool="edit")]
        self._account.message = told
        return [AgentEvent(kind="progress", text=told)]

    def end(self, status: int) -> AgentEnd:
        return self._account.ended(status, self._reason)

    def _take_usage(self, found: re.Match[str]) -> list[AgentEvent]:
        account = self._account
        account.turns += 1
        account.tokens_in += _parse_token_count(found[1], found[2])
        account.tokens_out += _parse_token_count(found[3], found[4])
        if found[5] and found[5].count(".") <= 1 and found[5] != ".":
            account.cost_usd = (account.cost_usd or 0.0) + float(found[5][:20])
        # It says this after an answer; without one it leaves with status 0 all the same.
        self._reason = "completed"
        return account.used()


def _parse_token_count(digits: str, scale: str) -> int:
    plain = digits.replace(",", "")[:15]
    return int(float(plain) * _SCALE[scale]) if re.fullmatch(r"\d+(\.\d+)?", plain) else 0
