"""Adapter for any command as an agent: its output is progress, its exit status decides."""

from gitnexus.adapters.lines import OutputAccount, as_shown_text
from gitnexus.adapters.protocol import HOME, AgentEnd, AgentEvent, AgentJob, AgentLaunch, Way, check_job, private_path
from gitnexus.base.errors import Invalid


class CommandAdapter:
    name = "command"
    program = ""
    harness = ""
    ways: tuple[Way, ...] = ("contained",)
    parses = "lines"
    resumes = False

    def launch(self, job: AgentJob) -> AgentLaunch:
        """Return the given command; a prompt becomes its standard input."""
        check_job(self, job)
        if not job.command or not job.command[0]:
            raise Invalid("there is no command to run", hint="give it after --")
        return AgentLaunch(
            argv=job.command,
            env={"HOME": private_path(job, HOME)},
            stdin=job.prompt.encode(),
            network="full" if job.hosts else "none",
            hosts=job.hosts,
        )

    def reader(self) -> "CommandReader":
        return CommandReader()


class CommandReader:
    """Treats every line as progress and the last non-blank line as the message."""

    def __init__(self) -> None:
        self._account = OutputAccount()

    def feed(self, line: bytes) -> list[AgentEvent]:
        told = as_shown_text(line[:8000].decode("utf-8", "replace").rstrip("\r\n"))
        if not told.strip():
            return []
        self._account.message = told
        return [AgentEvent(kind="progress", text=told)]

    def end(self, status: int) -> AgentEnd:
        return self._account.ended(status, "completed")
