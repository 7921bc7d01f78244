"""Builds the `ToolContext` of a worktree from the policy, the tokens, the sandbox, the secret masking and the log."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from gitnexus.base.errors import DeniedByPolicy
from gitnexus.base.text import one_line
from gitnexus.events.log import RunLog
from gitnexus.events.model import definition_hash
from gitnexus.gateway.execute import ExecutionGate
from gitnexus.gateway.recorder import Recorder, run_folder
from gitnexus.gateway.sandboxed import WorktreeSandbox
from gitnexus.gateway.testrun.table import RUNNERS
from gitnexus.gateway.tool_context import ToolContext
from gitnexus.git import Repo
from gitnexus.policy.compiled_rules import make_read_check
from gitnexus.policy.gatekeeper import Gatekeeper
from gitnexus.policy.model import GateDecision, Mode, Request, Scope
from gitnexus.policy.request import request_digest
from gitnexus.policy.shown_cards import was_shown
from gitnexus.redaction.hide import Redactor, mask
from gitnexus.redaction.result import Reveal
from gitnexus.redaction.stored import known_secret_values
from gitnexus.state import State
from gitnexus.state.format import project_id_of

if TYPE_CHECKING:
    from gitnexus.gateway.card import Card

TERMINAL = "terminal"
# Rebuilds the card with its secrets shown, for the given reason, which is logged.
RevealCard = Callable[[str], "Card"]
# Asks a person about a card; returns the scope of the approval, None to leave it waiting. Raises: DeniedByPolicy.
AskPerson = Callable[["Card", RevealCard], Scope | None]


def terminal_log(repo: Repo) -> RunLog:
    """Return the log for gateway tools that are called outside any run."""
    log = RunLog(run_folder(repo.common_dir, TERMINAL))
    if log.last() is None:
        log.append("workflow.started", "user", {"run": TERMINAL, "definition": definition_hash({})})
    return log


def terminal_tool_context(state: State, ask: AskPerson | None, role: str = "", mode: Mode | None = None) -> ToolContext:
    """Return the tool context for a user who calls a gateway tool in their own worktree. Raises: NexusError."""
    repo = state.repo
    gatekeeper = Gatekeeper(state, TERMINAL, str(repo.worktree or repo.folder), mode=mode)
    recorder = Recorder(terminal_log(repo), gatekeeper, "user")
    return build_tool_context(state, gatekeeper, recorder, ask, TERMINAL, role)


def agent_tool_context(state: State, agent: str) -> ToolContext:
    """Return the tool context for an agent outside any run: what the policy asks about is refused, as nobody is asked.

    Raises: NexusError.
    """
    repo = state.repo
    gatekeeper = Gatekeeper(state, TERMINAL, str(repo.worktree or repo.folder))
    recorder = Recorder(terminal_log(repo), gatekeeper, agent)
    return build_tool_context(state, gatekeeper, recorder, None, TERMINAL, "")


def build_tool_context(
    state: State, gatekeeper: Gatekeeper, recorder: Recorder, ask: AskPerson | None, run: str, role: str, by: str = ""
) -> ToolContext:
    """Return a tool context in which every tool goes through the gate. Raises: NexusError."""
    repo, values = state.repo, known_secret_values()
    inputs: dict[str, bytes] = {}
    who = by or state.author.name

    def asked(request: Request, of: str, decision: GateDecision, summary: str) -> str | None:
        if ask is None:
            return None

        from gitnexus.gateway.card import build_card  # 20 ms: only imported when asking

        def card(reveal: Reveal | None = None) -> "Card":
            return build_card(repo, request, decision, gatekeeper.mode, summary, gatekeeper.around, reveal, inputs)

        def log_secret_reveal(why: str) -> "Card":
            recorder.log_secret_reveal(who, why)
            return card(Reveal(why))

        try:
            scope = ask(card(), log_secret_reveal)
        except DeniedByPolicy as exc:
            recorder.log_denial(who, exc.message)
            raise
        return gatekeeper.approve_request(request, of, scope, unseen=not was_shown(of)) if scope else None

    def spend(token: str, request: Request, of: str) -> None:
        gatekeeper.spend(token, request, of)
        recorder.log_granted(of, who, "once")

    gate = ExecutionGate(
        judge=gatekeeper,
        digest=request_digest,
        spend=spend,
        mask=lambda text: mask(text, values),
        stream=lambda: Redactor(values),
        note=recorder.note,
        ask=asked if ask else None,
    )
    return ToolContext(
        repo=repo,
        project=project_id_of(state.latest()) or "",
        run=run,
        role=role,
        gate=gate,
        confine=WorktreeSandbox(repo, gatekeeper.here.compiled),
        artifacts=recorder.artifacts.folder,
        denied=make_read_check(gatekeeper.here.compiled),
        runners=RUNNERS,
        inputs=inputs,
    )


def refusal_error(words: str) -> DeniedByPolicy:
    """Return the error for a request that a person denied."""
    return DeniedByPolicy(one_line(f"you said no{': ' + words if words else ''}", 300))
