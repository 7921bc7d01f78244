"""Any command as an agent: what it prints is progress, its exit status decides."""

from gitnexus.adapters.lines import Account, text
from gitnexus.adapters.protocol import HOME, Ended, Job, Launch, Said, Way, below, checked
from gitnexus.base.errors import Invalid


class Command:
    name = "command"
    program = ""
    harness = ""
    ways: tuple[Way, ...] = ("contained",)
    parses = "lines"
    resumes = False

    def launch(self, job: Job) -> Launch:
        """Return the command as it was given; the prompt, if there is one, on its standard input."""
        checked(self, job)
        if not job.command or not job.command[0]:
            raise Invalid("there is no command to run", hint="give it after --")
        return Launch(
            argv=job.command,
            env={"HOME": below(job, HOME)},
            stdin=job.prompt.encode(),
            network="full" if job.hosts else "none",
            hosts=job.hosts,
        )

    def reader(self) -> "CommandReader":
        return CommandReader()


class CommandReader:
    """Every line is progress; the last one that is not blank stands for a message."""

    def __init__(self) -> None:
        self._account = Account()

    def feed(self, line: bytes) -> list[Said]:
        told = text(line[:8000].decode("utf-8", "replace").rstrip("\r\n"))
        if not told.strip():
            return []
        self._account.message = told
        return [Said(kind="progress", text=told)]

    def end(self, status: int) -> Ended:
        return self._account.ended(status, "completed")
