"""The gateway of one worktree, joined: the law in force, the approvers' tokens, the sandbox, the mask and the log."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from gitnexus.app.confine import Sandbox
from gitnexus.app.gatekeeper import Gatekeeper
from gitnexus.app.recorder import Recorder, folder_of
from gitnexus.base.errors import DeniedByPolicy
from gitnexus.base.text import one_line
from gitnexus.events.log import RunLog
from gitnexus.events.model import definition_hash
from gitnexus.gateway.bench import Bench
from gitnexus.gateway.door import Door
from gitnexus.gateway.testrun.table import RUNNERS
from gitnexus.git import Repo
from gitnexus.policy.law import unreadable_under
from gitnexus.policy.model import Decision, Mode, Request, Scope
from gitnexus.policy.request import digest
from gitnexus.redaction.hide import Redactor, mask
from gitnexus.redaction.result import Reveal
from gitnexus.redaction.stored import known_values
from gitnexus.runs.shown import was_shown
from gitnexus.state import State
from gitnexus.state.format import id_of

if TYPE_CHECKING:
    from gitnexus.app.cards import Card

TERMINAL = "terminal"
# Makes the card again with its secrets shown, for the reason given, which is recorded.
RevealCard = Callable[[str], "Card"]
# Asks a person about a card; returns the scope of their yes, or None to leave it waiting. Raises: DeniedByPolicy.
AskPerson = Callable[["Card", RevealCard], Scope | None]


def terminal_log(repo: Repo) -> RunLog:
    """Return the log of what is done through the gateway outside of any run."""
    log = RunLog(folder_of(repo.common_dir, TERMINAL))
    if log.last() is None:
        log.append("workflow.started", "user", {"run": TERMINAL, "definition": definition_hash({})})
    return log


def terminal_bench(state: State, ask: AskPerson | None, role: str = "", mode: Mode | None = None) -> Bench:
    """Return the bench of who calls a tool of the gateway by hand, in their own worktree. Raises: NexusError."""
    repo = state.repo
    keeper = Gatekeeper(state, TERMINAL, str(repo.worktree or repo.place), mode=mode)
    recorder = Recorder(terminal_log(repo), keeper, "user")
    return bench_of(state, keeper, recorder, ask, TERMINAL, role)


def bench_of(
    state: State, keeper: Gatekeeper, recorder: Recorder, ask: AskPerson | None, run: str, role: str, by: str = ""
) -> Bench:
    """Return a bench at which every tool goes through the gate. Raises: NexusError."""
    repo, values = state.repo, known_values()
    inputs: dict[str, bytes] = {}
    who = by or state.author.name

    def asked(request: Request, of: str, decision: Decision, summary: str) -> str | None:
        if ask is None:
            return None

        from gitnexus.app.cards import card_of  # 20 ms: only where somebody is asked

        def card(reveal: Reveal | None = None) -> "Card":
            return card_of(repo, request, decision, keeper.mode, summary, keeper.around, reveal, inputs)

        def revealed(why: str) -> "Card":
            recorder.revealed(who, why)
            return card(Reveal(why))

        try:
            scope = ask(card(), revealed)
        except DeniedByPolicy as exc:
            recorder.denied(who, exc.message)
            raise
        return keeper.approve(request, of, scope, unseen=not was_shown(of)) if scope else None

    def spend(token: str, request: Request, of: str) -> None:
        keeper.spend(token, request, of)
        recorder.granted(of, who, "once")

    door = Door(
        judge=keeper,
        digest=digest,
        spend=spend,
        mask=lambda text: mask(text, values),
        stream=lambda: Redactor(values),
        note=recorder.note,
        ask=asked if ask else None,
    )
    return Bench(
        repo=repo,
        project=id_of(state.latest()) or "",
        run=run,
        role=role,
        door=door,
        confine=Sandbox(repo, keeper.here.law),
        artifacts=recorder.artifacts.folder,
        denied=unreadable_under(keeper.here.law),
        runners=RUNNERS,
        inputs=inputs,
    )


def refused(words: str) -> DeniedByPolicy:
    """Return the error for what a person said no to."""
    return DeniedByPolicy(one_line(f"you said no{': ' + words if words else ''}", 300))
