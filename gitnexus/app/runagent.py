"""The agent of a run at work: started in the sandbox on the run's worktree, listened to, and never believed."""

import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from gitnexus.adapters.protocol import Ended, Job, Launch, Reader, Said
from gitnexus.adapters.table import adapter_named
from gitnexus.app.bench import known_values
from gitnexus.app.confine import Sandbox
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.runnews import news
from gitnexus.base.errors import NotFound
from gitnexus.base.files import replace
from gitnexus.events.kinds import short
from gitnexus.policy.model import Network
from gitnexus.redaction.hide import Redactor, mask
from gitnexus.runs.definition import Definition, Node
from gitnexus.sandbox.environment import environment
from gitnexus.sandbox.hatch import hatch, libraries
from gitnexus.sandbox.program import resolved
from gitnexus.sandbox.run import run
from gitnexus.sandbox.spec import Limits, Spec

# What is worth an event of its own; the rest is in the artifact with the whole output.
_MOST_EVENTS = 200
_MOST_OUTPUT = 8 * 1024 * 1024
_LONGEST_LINE = 1024 * 1024
Show = Callable[[Said], None]
# Names the command that serves our tools on its standard input and output, for agents that nobody tells of it.
TOOLS = "NEXUS_TOOLS"
_PROPOSER = (
    "You cannot change files or run programs yourself. Read with the tools of the server nexus, and propose what you "
    "want with its propose_patch and propose_command; ask a person with its ask."
)


def worked(desk: RunDesk, definition: Definition, node: Node, show: Show, network: Network | None = None) -> Ended:
    """Let the agent of a node work, and return how that ended by its own account. Raises: NexusError."""
    private = _private(desk, definition, node)
    (private / "home").mkdir(parents=True, exist_ok=True, mode=0o700)
    # A process of its own for each caller, and only when it calls: it has the user's rights, and reads what agents say.
    argv = (sys.executable, "-P", "-m", "gitnexus", "-C", str(desk.repo.place), "mcp", "--run", desk.run.id)
    with hatch(private, argv, desk.folder / "server.log") as server:
        return _worked(desk, definition, node, show, network, server, private)


def _worked(
    desk: RunDesk, definition: Definition, node: Node, show: Show, network: Network | None, server: tuple[str, ...],
    private: Path,
) -> Ended:  # fmt: skip
    adapter = adapter_named(node.adapter)
    law = desk.keeper().here.law
    # The policy may have become stricter since the run was begun; it cannot have become looser for it.
    way = "proposer" if law.way == "proposer" else node.way
    job = Job(
        prompt=node.prompt + news(desk),
        way=way,
        folder=str(desk.place),
        private=str(private),
        role=node.role,
        instructions=_PROPOSER if way == "proposer" else "",
        server=server,
        command=node.argv,
        model=node.model,
        session=_session(desk, node) if adapter.resumes else "",
    )
    launch = adapter.launch(job)
    for name, data in launch.files.items():
        replace(private / name, data, 0o600)
    sandbox = Sandbox(desk.worktree, law)
    spec = spec_of(desk, sandbox, launch, private, definition, network)
    env = {**spec.env, TOOLS: shlex.join(server)}
    spec = spec.changed(env=env, root_writable=way != "proposer")
    ears = _Ears(desk, node, adapter.reader(), show)
    done = run(spec, ears.hear)
    ears.finish()
    desk.log.append("agent.progress", node.adapter, {"text": f"sandbox {done.level}", "node": node.id})
    status = done.status if done.status is not None else 128 + (done.signal or 0)
    ended = ears.reader.end(status)
    if done.ended_by:
        ended = ended.changed(ok=False, reason="limit", message=f"ended by the limit on {done.ended_by}")
    return ended


def goes_on(desk: RunDesk, node: Node) -> bool:
    """True if the agent of a node takes up where it was, instead of beginning again."""
    return adapter_named(node.adapter).resumes and bool(_session(desk, node))


def _session(desk: RunDesk, node: Node) -> str:
    """Return the session that the agent of a step has; who takes over from another begins its own."""
    known = desk.view().nodes.get(node.id)
    return known.session if known else ""


def _private(desk: RunDesk, definition: Definition, node: Node) -> Path:
    """Return the folder of a step's agent: who takes over finds no settings that the one before laid out for it."""
    own = node.id not in {one.id for one in definition.nodes}
    return desk.private.with_name(f"{desk.run.id}.{node.id}") if own else desk.private


def spec_of(
    desk: RunDesk, sandbox: Sandbox, launch: Launch, private: Path, definition: Definition, network: Network | None
) -> Spec:
    """Return how a program runs in the worktree of a run. Raises: NotFound, Invalid."""
    root, level = str(desk.place), sandbox.level
    folders = sandbox.folders
    program = _program(launch.argv[0], root, folders)
    env = environment({}, os.environ, folders) | dict(launch.env)
    for name in launch.keys:
        if name in os.environ:
            env[name] = os.environ[name]
    place = root
    if launch.place == "empty":
        (private / "empty").mkdir(exist_ok=True, mode=0o700)
        place = str(private / "empty")
    seconds = definition.budgets.seconds or Limits().seconds
    return Spec(
        argv=launch.argv,
        program=program,
        cwd=place,
        root=root,
        env={name: value for name, value in env.items() if name != "HOME"},
        readable=_readable(program, folders),
        writable=(str(private),),
        hidden=sandbox.hidden(level, private),
        network=network or launch.network,
        limits=Limits(seconds=seconds, cpu_seconds=seconds, output=_MOST_OUTPUT),
        stdin=launch.stdin,
        level=level,
        home=str(private / "home"),
    )


def _program(name: str, root: str, folders: tuple[str, ...]) -> str:
    """Return the file that the user's own command means: looked up on their PATH, never in the worktree."""
    path = ":".join((*folders, os.environ.get("PATH", os.defpath)))
    try:
        return resolved(name, path, root, root).path
    except NotFound as exc:
        raise NotFound(f"there is no program {name[:80]}", hint="is it on your PATH? a path works too") from exc


def _readable(program: str, folders: tuple[str, ...]) -> tuple[str, ...]:
    """Return where a program outside of the system's folders has its libraries: beside its `bin`."""
    homes = [folder.removesuffix("/bin") for folder in folders]
    above = Path(program).parent
    if above.name == "bin" and len(above.parts) > 3:  # not /usr/bin, which is within reach anyway
        homes.append(str(above.parent))
    if program == os.path.realpath(sys.executable):
        homes += [sys.prefix, str(Path(__file__).resolve().parents[2])]
    homes += libraries()  # for the way to our tools
    return tuple(dict.fromkeys(os.path.realpath(home) for home in homes if home not in ("", "/")))


class _Ears:
    """Listens to a program: lines to its reader, what it says to the log and the screen, all of it to an artifact."""

    def __init__(self, desk: RunDesk, node: Node, reader: Reader, show: Show) -> None:
        self.reader = reader
        self._desk, self._node, self._show = desk, node, show
        self._redactor, self._kept, self._rest = Redactor(known_values()), bytearray(), b""
        self._left = _MOST_EVENTS

    def hear(self, piece: bytes) -> None:
        """Take in a piece of output."""
        self._keep(self._redactor.feed(piece))
        *lines, self._rest = (self._rest + piece).split(b"\n")
        if len(self._rest) > _LONGEST_LINE:
            lines, self._rest = [*lines, self._rest], b""
        for line in lines:
            self._said(line)

    def finish(self) -> None:
        """Take in what is left, and keep the whole."""
        if self._rest:
            self._said(self._rest)
        self._keep(self._redactor.finish())
        if self._kept:
            kept = self._desk.artifacts.write(f"output-{self._node.id}.log", bytes(self._kept))
            body = {"name": kept.name, "digest": kept.digest, "size": kept.size, "node": self._node.id}
            self._desk.log.append("artifact.written", "nexus", body)

    def _keep(self, piece: bytes) -> None:
        self._kept += piece[: max(0, _MOST_OUTPUT - len(self._kept))]

    def _said(self, line: bytes) -> None:
        for said in self.reader.feed(line):
            text = mask(said.text, known_values())
            self._show(said.changed(text=text))
            if self._left > 0 and said.kind in ("progress", "message", "tool_call", "error") and text.strip():
                self._left -= 1
                words = f"{said.tool}: {text}" if said.tool else text
                self._desk.log.append(
                    "agent.progress", self._node.adapter, {"text": short(words, 1000), "node": self._node.id}
                )
