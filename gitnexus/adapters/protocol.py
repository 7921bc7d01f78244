"""Defines an adapter: it turns a job into a launch (argv, environment), and output lines into agent events.

Nothing here starts a program; the caller starts it in a sandbox. A program's output is a claim: it is limited in size,
made safe to show, and never counted as a result.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal, Protocol

from gitnexus.base.errors import Invalid
from gitnexus.base.record import Record
from gitnexus.policy.model import Network

Way = Literal["proposer", "contained"]
Heard = Literal["progress", "tool_call", "tool_result", "message", "cost", "error", "noise"]
Reason = Literal["completed", "failed", "limit", "killed", "unfinished"]
StartFolder = Literal["folder", "empty"]

# Values allowed in a command line: they begin like a word, so that no program takes them for an option.
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+\[\]-]{0,199}")
# No name and password before the host: the address is kept in the run's definition.
_ADDRESS = re.compile(
    r"(https?)://([A-Za-z0-9.-]{1,253}|\[[0-9a-fA-F:.]{2,45}\])(?::([0-9]{1,5}))?(?:/[A-Za-z0-9._~%/-]{0,500})?"
)
# A home of its own, and nothing else of the machine's: the runner gives the rest (PATH, LANG, a terminal's name).
HOME = "home"


@dataclass(frozen=True, slots=True)
class AgentBudget:
    """The limits of a job; None means no limit."""

    usd: float | None = None
    tokens: int | None = None
    turns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentJob:
    """The work for one agent. `denied` are semantic classes of the catalog, `server` the argv of our tool server.

    `folder` is the worktree, `private` a folder of this job outside of it. `command` is for adapters that start a given
    command. `program` is the file that `found` returned; without it the name is looked up. `address` is the model
    server, if it is not the program's default. With `live`, the program must ask before each call, on its standard
    input and output (adapters/live).
    """

    prompt: str
    way: Way
    folder: str
    private: str
    role: str = ""
    denied: tuple[str, ...] = ()
    instructions: str = ""
    server: tuple[str, ...] = ()
    session: str = ""
    model: str = ""
    budget: AgentBudget = AgentBudget()
    hosts: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    program: str = ""
    address: str = ""
    live: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLaunch:
    """How to start a program. Paths in `files` and `login` are below the private folder.

    `env` is set unchanged. `keys` are variables that may be copied from the user's environment, and `login` files below
    the user's home that contain a sign-in, each with its path below the private folder; the policy decides whether they
    are copied. `place` is the folder to start in: the job's, or a new empty one.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    login: tuple[tuple[str, str], ...] = ()
    stdin: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)
    network: Network = "none"
    hosts: tuple[str, ...] = ()
    start_in: StartFolder = "folder"


class AgentEvent(Record):
    """One report of a program; `text` and `tool` are bounded and safe to show, `count` is for lines without content."""

    kind: Heard
    text: str = ""
    tool: str = ""
    call: str = ""
    ok: bool = True
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float | None = None
    count: int = 1


class AgentEnd(Record):
    """How the work ended, by the program's report and exit status. `message` is a claim, not a result."""

    ok: bool
    reason: Reason
    message: str = ""
    session: str = ""
    cost_usd: float | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    turns: int = 0
    denials: int = 0
    noise: int = 0


class OutputReader(Protocol):
    """Parses the output of one run of a program, line by line; never raises, whatever bytes arrive."""

    def feed(self, line: bytes) -> list[AgentEvent]: ...

    def end(self, status: int) -> AgentEnd: ...


class Adapter(Protocol):
    """One program. `harness` is its row in the catalog's table of tools, "" if it has none."""

    name: str
    program: str
    harness: str
    ways: tuple[Way, ...]
    parses: str
    resumes: bool

    def launch(self, job: AgentJob) -> AgentLaunch: ...

    def reader(self) -> OutputReader: ...


def check_job(adapter: Adapter, job: AgentJob) -> AgentJob:
    """Return the job if this adapter supports it and no value in it could be taken for an option. Raises: Invalid."""
    if job.way not in adapter.ways:
        raise Invalid(
            f"{adapter.name} cannot work as {job.way}",
            hint=f"it supports {' or '.join(adapter.ways)}; choose another agent",
        )
    if job.session and not (adapter.resumes and is_session_name(job.session)):
        raise Invalid(f"{adapter.name} cannot continue the session {job.session[:60]!r}", hint="start afresh")
    if job.model and not _MODEL.fullmatch(job.model):
        raise Invalid(f"{job.model[:60]!r} is not the name of a model", hint="letters, digits and . _ : / @ + - [ ]")
    if job.address:
        hosts_of_address(job.address)
    _check_job_folders(Path(job.folder), Path(job.private))
    if job.denied and not adapter.harness:
        # It has one way to work, and no tool in it can be taken away.
        raise Invalid(f"{adapter.name} cannot enforce the limits of a role", hint="choose another agent for this role")
    if any("\0" in word for word in (job.folder, job.private, job.program, *job.server, *job.command)):
        raise Invalid("a command line cannot contain a NUL byte")
    return job


def hosts_of_address(address: str) -> tuple[str, ...]:
    """Return the host and port of an address. Raises: Invalid."""
    found = _ADDRESS.fullmatch(address)
    if found is None:
        raise Invalid(
            f"{address[:80]!r} is not the address of a model",
            hint="for instance http://127.0.0.1:11434/v1, without a password",
        )
    return (f"{found[2].lower()}:{found[3] or (443 if found[1] == 'https' else 80)}",)


def hosts_to_reach(job: AgentJob, usual: tuple[str, ...]) -> tuple[str, ...]:
    """Return the hosts that a program connects to: the address's, the job's, or its default ones."""
    return hosts_of_address(job.address) if job.address else job.hosts or usual


def _check_job_folders(folder: Path, private: Path) -> None:
    if not (folder.is_absolute() and private.is_absolute()) or ".." in (*folder.parts, *private.parts):
        raise Invalid("the folders of a job should be absolute paths without ..")
    if private == folder or folder in private.parents:
        raise Invalid(
            "the private folder is inside the folder of the work", hint="an agent could write its own settings"
        )
    # Programs look for settings in all folders above the one they start in, up to a repository and beyond. A person
    # may keep their home in git; what lies there is theirs.
    above = [one for one in private.parents if one != Path.home() and os.path.lexists(one / ".git")]
    if ".git" in private.parts or above:
        raise Invalid(
            "the private folder is inside a repository, whose settings would apply there",
            hint="put it below a folder of the user, such as the cache",
        )


def is_session_name(text: str) -> bool:
    """Return True for a session name that may be passed back to a program."""
    return _SESSION.fullmatch(text) is not None


def prompt_text(job: AgentJob, *, with_instructions: bool = False) -> str:
    """Return the text for the model. It never begins with / ! @ or -, which programs treat as a command."""
    parts = [job.instructions] if with_instructions and job.instructions else []
    return "\n\n".join(["Your task:", *parts, job.prompt]) + "\n"


def private_path(job: AgentJob, *names: str) -> str:
    """Return an absolute path below the private folder."""
    return str(PurePosixPath(job.private, *names))


def denied_tools(adapter: Adapter, job: AgentJob) -> tuple[str, ...]:
    """Return the program's names of tools that the role may not use. Raises: Invalid for an unknown class."""
    from gitnexus.catalog.harnesses import KNOWN_CLASSES, find_harness

    unknown = [name for name in job.denied if name not in KNOWN_CLASSES]
    if unknown:
        # Not to be passed over: it may be a restriction misspelt.
        raise Invalid(f"{unknown[0][:60]!r} is not a class of tools", hint=f"there are: {', '.join(KNOWN_CLASSES)}")
    harness = find_harness(adapter.harness)
    return tuple(dict.fromkeys(tool for name in job.denied for tool in harness.tools_of_class(name)))


def why_budget_exceeded(budget: AgentBudget, spent: AgentEnd | AgentEvent) -> str | None:
    """Return which limit is exceeded, or None. A cost that a program does not report counts as 0."""
    if budget.usd is not None and (spent.cost_usd or 0) > budget.usd:
        return f"it cost {spent.cost_usd:.2f} USD of {budget.usd:.2f}"
    used = spent.tokens_in + spent.tokens_out
    if budget.tokens is not None and used > budget.tokens:
        return f"it used {used} tokens of {budget.tokens}"
    return None
