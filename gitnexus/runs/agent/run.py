"""Runs the agent of a node in the sandbox on the run's worktree, logs its output, and returns how it ended."""

import contextlib
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitnexus.adapters.lines import LineSplitter
from gitnexus.adapters.live import CONVERSATIONS, LiveConversation, conversation_for
from gitnexus.adapters.protocol import AgentBudget, AgentEnd, AgentEvent, AgentJob, OutputReader
from gitnexus.adapters.table import find_adapter
from gitnexus.base.errors import DeniedByPolicy, Invalid
from gitnexus.base.files import make_private_folder
from gitnexus.events.kinds import shorten_text
from gitnexus.gateway.sandboxed import WorktreeSandbox
from gitnexus.git.config import user_config_value
from gitnexus.policy.model import Network, Way
from gitnexus.redaction.hide import MessageRedactor, Redactor
from gitnexus.redaction.stored import known_secret_values
from gitnexus.runs.agent.attempts import without_secrets_in_end
from gitnexus.runs.agent.budget import (
    OverBudget,
    SpendingLimit,
    ended_over_budget,
    limit_from_budget,
    usd_left,
    why_over_budget,
)
from gitnexus.runs.agent.home import lent_sign_ins, write_private_file
from gitnexus.runs.agent.launch import MOST_OUTPUT, refuse_denied_hosts, sandbox_spec
from gitnexus.runs.agent.resume_note import render_resume_note
from gitnexus.runs.agent.session_usage import tokens_before_call, usage_of_call
from gitnexus.runs.command_rules import refuse_run_command
from gitnexus.runs.open_run import OpenRun
from gitnexus.sandbox.run import run_in_sandbox
from gitnexus.sandbox.tool_relay import open_tool_relay
from gitnexus.workflow.run_definition import RunDefinition, RunNode

if TYPE_CHECKING:
    from gitnexus.runs.agent.live import LiveReader

# Messages that become events; the artifact has the complete output.
_MOST_EVENTS = 200
Show = Callable[[AgentEvent], None]
# Environment variable with the command of our tool server, for agents without other configuration.
TOOLS = "NEXUS_TOOLS"


class RoleBrief(NamedTuple):
    """The instructions of a role, and the classes of tools it may not use."""

    words: str = ""
    denied: tuple[str, ...] = ()


class _AgentInputs(NamedTuple):
    """What an agent gets besides its prompt: our tool server, a folder, a session, its role and spending limits."""

    server: tuple[str, ...]
    private: Path
    session: str
    duty: RoleBrief
    budgets: tuple[SpendingLimit, ...]


_PROPOSER = (
    "You cannot change files or run programs yourself. Read with the tools of the server nexus, and propose what you "
    "want with its propose_patch and propose_command; ask a person with its ask."
)


def run_agent(
    run: OpenRun,
    definition: RunDefinition,
    node: RunNode,
    show: Show,
    network: Network | None = None,
    duty: RoleBrief | None = None,
    budgets: tuple[SpendingLimit, ...] = (),
    session: str | None = None,
) -> AgentEnd:
    """Run the agent of a node; return how it ended by its own account. Raises: NexusError.

    `duty` is the role's instructions and restrictions; `budgets` are spending limits besides the run's budget.
    `session` is taken up, "" begins a new one; None takes up the one of the node, if there is one.
    """
    view = run.view()
    budgets = (limit_from_budget(definition.budgets, view.input_tokens + view.output_tokens, view.cost), *budgets)
    if empty := why_over_budget(budgets, 0, None):
        return ended_over_budget(AgentEnd(ok=False, reason="limit"), empty)
    private = _private_folder(run, definition, node)
    session = _known_session(run, definition, node) if session is None else session
    make_private_folder(private / "home")
    # A process of its own for each caller, and only when it calls: it has the user's rights, and reads what agents say.
    # The step is set here, where the agent has no influence: its role depends on it.
    argv = (
        sys.executable,
        "-P",
        "-m",
        "gitnexus",
        "-C",
        str(run.repo.folder),
        "mcp",
        "--run",
        run.record.id,
        "--node",
        node.id,
    )
    with open_tool_relay(private, argv, run.folder / "server.log") as server:
        given = _AgentInputs(server, private, session, duty or RoleBrief(), budgets)
        return without_secrets_in_end(_run_with_inputs(run, definition, node, show, network, given))


def _run_with_inputs(
    run: OpenRun, definition: RunDefinition, node: RunNode, show: Show, network: Network | None, inputs: _AgentInputs
) -> AgentEnd:
    server, private, session, duty, budgets = inputs
    adapter = find_adapter(node.adapter)
    policy = run.policy()
    # The policy may have become stricter since the run began; it cannot become looser for it.
    way = "proposer" if policy.way == "proposer" else node.way
    job = AgentJob(
        prompt=node.prompt + render_resume_note(run),
        way=way,
        folder=str(run.worktree_path),
        private=str(private),
        role=node.role,
        instructions="\n\n".join(filter(None, [duty.words, _PROPOSER if way == "proposer" else ""])),
        denied=duty.denied if adapter.harness else (),
        server=server,
        command=node.argv,
        model=node.model,
        session=session if adapter.resumes else "",
        address=model_address(run, node),
        live=asks_before_calls(run, node, way),
        budget=AgentBudget(usd=usd_left(budgets)),
    )
    launch = adapter.launch(job)
    refuse_denied_hosts(run, launch, adapter.name, network, node.role)
    is_command = adapter.name == "command"
    refuse_run_command(
        run,
        launch.argv,
        network or launch.network,
        "the command" if is_command else "the program of this agent,",
        role=node.role,
        program_only=not is_command,
    )
    for name, data in launch.files.items():
        write_private_file(private, name, data)
    sandbox = WorktreeSandbox(run.worktree, policy)
    spec = sandbox_spec(run, sandbox, launch, private, definition, network)
    env = {**spec.env, TOOLS: shlex.join(server)}
    # Read everything to the last line, which tells how it ended; the listener limits what is stored.
    limits = spec.limits.changed(output=spec.limits.flood)
    spec = spec.changed(env=env, root_writable=way != "proposer", limits=limits)
    remote = conversation_for(adapter.name, job) if job.live else None
    live = _live_reader(run, node, adapter.harness, remote, spec.network) if remote else None
    before = tokens_before_call(run, adapter.name, job.session)
    ears = _OutputListener(run, node, live or adapter.reader(), show, budgets, sum(before))
    with lent_sign_ins(private, Path.home(), launch.login if lends_sign_in(run, node) else ()) as sign_ins:
        for name in sign_ins:
            text = f"your sign-in ~/{name} is lent to it until it ends"
            run.log.append("agent.progress", "nexus", {"text": text, "node": node.id})
        try:
            with live.open_conversation() if live else contextlib.nullcontext():
                done = run_in_sandbox(spec, ears.hear, ears.hear_errors, live.stdin_pipe if live else None)
        except OverBudget as exc:
            ears.finish()
            return ended_over_budget(usage_of_call(run, adapter.name, ears.end(0), before), exc.message)
        ears.finish()
    run.log.append("agent.progress", "nexus", {"text": f"sandbox {done.level}", "node": node.id})
    status = done.status if done.status is not None else 128 + (done.signal or 0)
    # Gemini CLI keeps running after its last message: its exit status says nothing about its work.
    status = 0 if done.dismissed else status
    ended = usage_of_call(run, adapter.name, ears.end(status), before)
    if done.ended_by:
        return ended_over_budget(ended, f"ended by the limit on {done.ended_by}")
    # Some report their usage only at the end.
    too_much = why_over_budget(budgets, ended.tokens_in + ended.tokens_out, ended.cost_usd)
    return ended_over_budget(ended, too_much) if too_much else ended


def _live_reader(
    run: OpenRun, node: RunNode, harness: str, conversation: LiveConversation, network: Network
) -> "LiveReader":
    from gitnexus.runs.agent.live import LiveReader  # 30 ms: only to ask before each call

    return LiveReader(run, node.id, harness, conversation, network)


def model_address(run: OpenRun, node: RunNode) -> str:
    """Return the address of the agent's model, given for the run here or configured on this machine.

    An address in another person's definition is ignored: this machine's keys would be sent there.
    """
    return (
        (node.address if not run.foreign else "") or user_config_value(run.repo, f"nexus.{node.adapter}.modelUrl") or ""
    )


def asks_before_calls(run: OpenRun, node: RunNode, way: Way) -> bool:
    """True if the agent must ask before each call, by the policy or by request. Raises: Invalid."""
    if way != "contained" or not (node.live or run.policy().approval == "per-action"):
        return False
    if node.adapter not in CONVERSATIONS and not node.live and not find_adapter(node.adapter).program:
        return False  # the user named the command or script: that is the action
    refuse_unaskable_agent(node.adapter)
    return True


def refuse_unaskable_agent(adapter: str) -> None:
    """Raise an error for an agent that cannot ask before each call. Raises: Invalid."""
    if adapter not in CONVERSATIONS:
        raise Invalid(
            f"{adapter} cannot be asked before each action",
            hint=f"these can: {', '.join(CONVERSATIONS)}; or give up approval: per-action in the policy",
        )


def lends_sign_in(run: OpenRun, node: RunNode) -> bool:
    """True if the user's sign-in is to be lent, which only the user can decide. Raises: DeniedByPolicy."""
    policy = run.policy()
    if run.foreign:
        return policy.signin == "allow"
    if node.sign_in and policy.signin == "deny":
        raise DeniedByPolicy("the policy denies lending a sign-in", hint="use a key in the environment")
    return policy.signin == "allow" or (policy.signin == "ask" and bool(node.sign_in))


def resumes_session(run: OpenRun, node: RunNode) -> bool:
    """True if a node's agent resumes its session instead of starting again."""
    return find_adapter(node.adapter).resumes and bool(_known_session(run, run.definition(), node))


def _known_session(run: OpenRun, definition: RunDefinition, node: RunNode) -> str:
    """Return the session id of a step's agent on this machine, "" if there is none."""
    known = run.view().nodes.get(node.id)
    return known.session if known and _private_folder(run, definition, node).is_dir() else ""


def _private_folder(run: OpenRun, definition: RunDefinition, node: RunNode) -> Path:
    return node_private_folder(run, definition.nodes, node.id)


def node_private_folder(run: OpenRun, nodes: Sequence[RunNode], node: str) -> Path:
    """Return the private folder of a step's agent, apart from settings left by an earlier agent."""
    own = len(nodes) > 1 or node not in {one.id for one in nodes}
    return run.private.with_name(f"{run.record.id}.{node}") if own else run.private


class _OutputStream:
    def __init__(self) -> None:
        values = known_secret_values()
        self.lines, self.redactor, self.messages = LineSplitter(), Redactor(values), MessageRedactor(values)


class _OutputListener:
    """Processes a program's output: lines to its reader, messages to log and screen, everything to an artifact."""

    def __init__(
        self,
        run: OpenRun,
        node: RunNode,
        reader: OutputReader,
        show: Show,
        budgets: tuple[SpendingLimit, ...],
        tokens_before: int,
    ) -> None:
        self.reader = reader
        self._budgets = budgets
        self._tokens_before = tokens_before
        self._run, self._node, self._show = run, node, show
        self._kept = bytearray()
        self._out, self._err = _OutputStream(), _OutputStream()
        self._left = _MOST_EVENTS
        self._last = ("", "")

    def hear(self, piece: bytes) -> None:
        """Process a piece of output."""
        self._take_piece(self._out, piece)

    def hear_errors(self, piece: bytes) -> None:
        """Process a piece of error output as separate lines, which never split lines of the output."""
        self._take_piece(self._err, piece)

    def _take_piece(self, stream: "_OutputStream", piece: bytes) -> None:
        self._keep_output(stream.redactor.feed(piece))
        for line in stream.lines.feed(piece):
            self._hear_line(stream, line)

    def finish(self) -> None:
        """Process the remaining output, and store all of it."""
        for stream in (self._out, self._err):
            for line in stream.lines.end():
                self._hear_line(stream, line)
            self._keep_output(stream.redactor.finish())
        if self._kept:
            kept = self._run.artifacts.write(f"output-{self._node.id}.log", bytes(self._kept))
            body = {"name": kept.name, "digest": kept.digest, "size": kept.size, "node": self._node.id}
            self._run.log.append("artifact.written", "nexus", body)

    def _keep_output(self, piece: bytes) -> None:
        self._kept += piece[: max(0, MOST_OUTPUT - len(self._kept))]

    def end(self, status: int) -> AgentEnd:
        """Return how the program ended; its last message without what the messages before it tell to be a secret."""
        ended = self.reader.end(status)
        raw, masked = self._last
        return ended.changed(message=masked) if ended.message == raw != masked else ended

    def _hear_line(self, stream: "_OutputStream", line: bytes) -> None:
        for said in self.reader.feed(line):
            if said.kind == "cost" and (
                why := why_over_budget(
                    self._budgets, max(0, said.tokens_in + said.tokens_out - self._tokens_before), said.cost_usd
                )
            ):
                raise OverBudget(why)
            text = stream.messages.mask(said.text) if said.text else ""
            self._last = (said.text, text or "…") if said.text else self._last
            self._show(said.changed(text=text))
            if self._left > 0 and said.kind in ("progress", "message", "tool_call", "error") and text.strip():
                self._left -= 1
                words = f"{said.tool}: {text}" if said.tool else text
                self._run.log.append(
                    "agent.progress", self._node.adapter, {"text": shorten_text(words, 1000), "node": self._node.id}
                )
