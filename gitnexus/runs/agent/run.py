"""The agent of a run at work: started in the sandbox on the run's worktree, listened to, and never believed."""

import contextlib
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitnexus.adapters.lines import Lines
from gitnexus.adapters.live import WIRES, Wire, wire_for
from gitnexus.adapters.protocol import Budget, Ended, Job, Reader, Said
from gitnexus.adapters.table import adapter_named
from gitnexus.app.commandrules import refuse_run_command
from gitnexus.app.confine import Sandbox
from gitnexus.app.privatehome import lent, put
from gitnexus.app.purse import OverBudget, Purse, cut_short, over, purse, usd_left
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.runend import without_secrets
from gitnexus.app.runnews import news
from gitnexus.app.runspec import MOST_OUTPUT, refuse_hosts, spec_of
from gitnexus.base.errors import DeniedByPolicy, Invalid
from gitnexus.base.files import make_private_folder
from gitnexus.events.kinds import short
from gitnexus.git.config import of_the_user
from gitnexus.policy.model import Network, Way
from gitnexus.redaction.hide import Redactor, mask
from gitnexus.redaction.stored import known_values
from gitnexus.runs.definition import Definition, Node
from gitnexus.sandbox.hatch import hatch
from gitnexus.sandbox.run import run

if TYPE_CHECKING:
    from gitnexus.app.live import Live

# What is worth an event of its own; the rest is in the artifact with the whole output.
_MOST_EVENTS = 200
Show = Callable[[Said], None]
# Names the command that serves our tools on its standard input and output, for agents that nobody tells of it.
TOOLS = "NEXUS_TOOLS"


class Duty(NamedTuple):
    """What a role is told to be, and the classes of tools that it may not use."""

    words: str = ""
    denied: tuple[str, ...] = ()


class _Given(NamedTuple):
    """What an agent is given besides its work: the door to our tools, a folder, a session, its duty, its purses."""

    server: tuple[str, ...]
    private: Path
    session: str
    duty: Duty
    purses: tuple[Purse, ...]


_PROPOSER = (
    "You cannot change files or run programs yourself. Read with the tools of the server nexus, and propose what you "
    "want with its propose_patch and propose_command; ask a person with its ask."
)


def worked(
    desk: RunDesk, definition: Definition, node: Node, show: Show, network: Network | None = None,
    duty: Duty | None = None, purses: tuple[Purse, ...] = (),
) -> Ended:  # fmt: skip
    """Let the agent of a node work, and return how that ended by its own account. Raises: NexusError.

    `duty` is what its role is told, and what that may not do; `purses` what it may spend besides the run's budget.
    """
    view = desk.view()
    purses = (purse(definition.budgets, view.input_tokens + view.output_tokens, view.cost), *purses)
    if empty := over(purses, 0, None):
        return cut_short(Ended(ok=False, reason="limit"), empty)
    private = _private(desk, definition, node)
    session = _session(desk, definition, node)
    make_private_folder(private / "home")
    # A process of its own for each caller, and only when it calls: it has the user's rights, and reads what agents say.
    # Which step it is stands here, where the agent cannot say anything: its role goes by that.
    argv = (sys.executable, "-P", "-m", "gitnexus", "-C", str(desk.repo.place), "mcp", "--run", desk.run.id,
            "--node", node.id)  # fmt: skip
    with hatch(private, argv, desk.folder / "server.log") as server:
        given = _Given(server, private, session, duty or Duty(), purses)
        return without_secrets(_worked(desk, definition, node, show, network, given))


def _worked(
    desk: RunDesk, definition: Definition, node: Node, show: Show, network: Network | None, given: _Given
) -> Ended:
    server, private, session, duty, purses = given
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
        instructions="\n\n".join(filter(None, [duty.words, _PROPOSER if way == "proposer" else ""])),
        denied=duty.denied if adapter.harness else (),
        server=server,
        command=node.argv,
        model=node.model,
        session=session if adapter.resumes else "",
        address=address_of(desk, node),
        live=asks_live(desk, node, way),
        budget=Budget(usd=usd_left(purses)),
    )
    launch = adapter.launch(job)
    refuse_hosts(desk, launch, adapter.name, network, node.role)
    is_command = adapter.name == "command"
    refuse_run_command(
        desk,
        launch.argv,
        network or launch.network,
        "the command" if is_command else "the program of this agent,",
        role=node.role,
        program_only=not is_command,
    )
    for name, data in launch.files.items():
        put(private, name, data)
    sandbox = Sandbox(desk.worktree, law)
    spec = spec_of(desk, sandbox, launch, private, definition, network)
    env = {**spec.env, TOOLS: shlex.join(server)}
    # All of it is heard, to the last line, which tells how it ended; how much is kept is bounded by the ears.
    limits = spec.limits.changed(output=spec.limits.flood)
    spec = spec.changed(env=env, root_writable=way != "proposer", limits=limits)
    wire = wire_for(adapter.name, job) if job.live else None
    live = _live(desk, node, adapter.harness, wire, spec.network) if wire else None
    ears = _Ears(desk, node, live or adapter.reader(), show, purses)
    with lent(private, Path.home(), launch.login if signs_in(desk, node) else ()) as sign_ins:
        for name in sign_ins:
            text = f"your sign-in ~/{name} is lent to it until it ends"
            desk.log.append("agent.progress", "nexus", {"text": text, "node": node.id})
        try:
            with live.conversation() if live else contextlib.nullcontext():
                done = run(spec, ears.hear, ears.hear_errors, live.voice if live else None)
        except OverBudget as exc:
            ears.finish()
            return cut_short(ears.reader.end(0), exc.message)
        ears.finish()
    desk.log.append("agent.progress", "nexus", {"text": f"sandbox {done.level}", "node": node.id})
    status = done.status if done.status is not None else 128 + (done.signal or 0)
    # Gemini CLI stays after its last word, with nothing more to hear: how it was ended says nothing of its work.
    status = 0 if done.dismissed else status
    ended = ears.reader.end(status)
    if done.ended_by:
        return cut_short(ended, f"ended by the limit on {done.ended_by}")
    # Some tell only at the end what they took.
    too_much = over(purses, ended.tokens_in + ended.tokens_out, ended.cost_usd)
    return cut_short(ended, too_much) if too_much else ended


def _live(desk: RunDesk, node: Node, harness: str, wire: Wire, network: Network) -> "Live":
    from gitnexus.app.live import Live  # 30 ms: only who asks before each call pays

    return Live(desk, node.id, harness, wire, network)


def address_of(desk: RunDesk, node: Node) -> str:
    """Return where the agent's model is served: what was said for the run here, or set for the agent on this machine.

    An address in somebody else's definition does not count: the keys of this machine would go there.
    """
    return (node.address if not desk.foreign else "") or of_the_user(desk.repo, f"nexus.{node.adapter}.modelUrl") or ""


def asks_live(desk: RunDesk, node: Node, way: Way) -> bool:
    """True if the agent is to ask before each call: by the policy, or because it was said so. Raises: Invalid."""
    if way != "contained" or not (node.live or desk.keeper().here.law.approval == "per-action"):
        return False
    if node.adapter not in WIRES and not node.live and not adapter_named(node.adapter).program:
        return False  # a command, or a script, is named by the person who starts it: that is the action
    refuse_unasked(node.adapter)
    return True


def refuse_unasked(adapter: str) -> None:
    """Refuse an agent that cannot be asked about before each call. Raises: Invalid."""
    if adapter not in WIRES:
        raise Invalid(
            f"{adapter} cannot be asked before each action",
            hint=f"these can: {', '.join(WIRES)}; or give up approval: per-action in the policy",
        )


def signs_in(desk: RunDesk, node: Node) -> bool:
    """True if the person's own sign-in is to be lent: as they said, nobody else. Raises: DeniedByPolicy."""
    law = desk.keeper().here.law
    if desk.foreign:
        return law.signin == "allow"
    if node.sign_in and law.signin == "deny":
        raise DeniedByPolicy("the policy denies lending a sign-in", hint="use a key in the environment")
    return law.signin == "allow" or (law.signin == "ask" and bool(node.sign_in))


def goes_on(desk: RunDesk, node: Node) -> bool:
    """True if the agent of a node takes up where it was, instead of beginning again."""
    return adapter_named(node.adapter).resumes and bool(_session(desk, desk.definition(), node))


def _session(desk: RunDesk, definition: Definition, node: Node) -> str:
    """Return the session that the agent of a step has here; on another machine nobody can take it up."""
    known = desk.view().nodes.get(node.id)
    return known.session if known and _private(desk, definition, node).is_dir() else ""


def _private(desk: RunDesk, definition: Definition, node: Node) -> Path:
    """Return the folder of a step's agent: who takes over finds no settings that the one before laid out for it."""
    own = len(definition.nodes) > 1 or node.id not in {one.id for one in definition.nodes}
    return desk.private.with_name(f"{desk.run.id}.{node.id}") if own else desk.private


class _Stream:
    def __init__(self) -> None:
        self.lines, self.redactor = Lines(), Redactor(known_values())


class _Ears:
    """Listens to a program: lines to its reader, what it says to the log and the screen, all of it to an artifact."""

    def __init__(self, desk: RunDesk, node: Node, reader: Reader, show: Show, purses: tuple[Purse, ...]) -> None:
        self.reader = reader
        self._purses = purses
        self._desk, self._node, self._show = desk, node, show
        self._kept = bytearray()
        self._out, self._err = _Stream(), _Stream()
        self._left = _MOST_EVENTS

    def hear(self, piece: bytes) -> None:
        """Take in a piece of output."""
        self._take(self._out, piece)

    def hear_errors(self, piece: bytes) -> None:
        """Take in a piece of what it complains: lines of their own, that never cut those of the output in two."""
        self._take(self._err, piece)

    def _take(self, stream: "_Stream", piece: bytes) -> None:
        self._keep(stream.redactor.feed(piece))
        for line in stream.lines.feed(piece):
            self._said(line)

    def finish(self) -> None:
        """Take in what is left, and keep the whole."""
        for stream in (self._out, self._err):
            for line in stream.lines.end():
                self._said(line)
            self._keep(stream.redactor.finish())
        if self._kept:
            kept = self._desk.artifacts.write(f"output-{self._node.id}.log", bytes(self._kept))
            body = {"name": kept.name, "digest": kept.digest, "size": kept.size, "node": self._node.id}
            self._desk.log.append("artifact.written", "nexus", body)

    def _keep(self, piece: bytes) -> None:
        self._kept += piece[: max(0, MOST_OUTPUT - len(self._kept))]

    def _said(self, line: bytes) -> None:
        for said in self.reader.feed(line):
            if said.kind == "cost" and (why := over(self._purses, said.tokens_in + said.tokens_out, said.cost_usd)):
                raise OverBudget(why)
            text = mask(said.text, known_values())
            self._show(said.changed(text=text))
            if self._left > 0 and said.kind in ("progress", "message", "tool_call", "error") and text.strip():
                self._left -= 1
                words = f"{said.tool}: {text}" if said.tool else text
                self._desk.log.append(
                    "agent.progress", self._node.adapter, {"text": short(words, 1000), "node": self._node.id}
                )
