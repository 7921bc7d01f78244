"""`git nexus runs`, `review`, `approve`, `deny`, `answer`, `cancel`: how runs stand, and what a person says."""

import contextlib
from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.text import one_line
from gitnexus.cli.run import handed
from gitnexus.ui.asking import can_ask
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import answer, columns, note, with_nexus
from gitnexus.ui.runs import COLOURS, leave, reviewed, said_to_be, shown, summary, told, unanswered

if TYPE_CHECKING:
    from gitnexus.app import Nexus
    from gitnexus.app.rundesk import RunDesk
    from gitnexus.app.runlist import Row
    from gitnexus.base.errors import ApprovalNeeded
    from gitnexus.events.view import ActionView

_SCOPES = click.Choice(["once", "session", "repository", "path", "argv", "workflow"])


@click.command("runs", cls=NexusCommand)
@click.option("--all", "everything", is_flag=True, help="Also those that were landed, cancelled or put away.")
@with_nexus
def runs(nexus: "Nexus", everything: bool) -> None:
    """List runs: branch, status, age, agent, lines, and what waits for you.

    The branch names its run in every command; so does its end, such as k7fb.
    """
    from gitnexus.app.runlist import rows_of

    found = rows_of(nexus.state, everything=everything)
    table = [
        [row.branch or row.id, click.style(said_to_be(row.status, claimed=row.status_claimed),
                                           fg=COLOURS.get(row.status)), row.age, _agents(row), row.lines,
         row.waits, _foreign(row) + _bypass(row) + one_line(row.title, 60)]
        for row in found
    ]  # fmt: skip
    text = columns(table, indent="") if table else "No run. git nexus run -- CMD starts one."
    answer({"runs": [row.plain() for row in found]}, text, nexus.described)


@click.command("review", cls=NexusCommand)
@click.argument("run_id", metavar="[RUN]", required=False)
@with_nexus
def review(nexus: "Nexus", run_id: str | None) -> None:
    """Look at what waits for an answer, card by card."""
    from gitnexus.app.rundesk import open_run
    from gitnexus.app.runlist import waiting_runs
    from gitnexus.app.running import in_order

    desks = [open_run(nexus.state, run_id)] if run_id else waiting_runs(nexus.state)
    if not can_ask():
        _listed(nexus, desks)
        return
    for desk in desks:
        for name, one in in_order(desk.view()):
            if one.status in ("waiting", "unknown", "proposed"):
                reviewed(desk, name)
        _went_on(desk)
    rows = [told(desk, desk.view()) for desk in desks]
    text = "\n".join(summary(desk, desk.view()) for desk in desks) or "Nothing waits for an answer."
    answer({"runs": rows}, text, nexus.described)


@click.command("approve", cls=NexusCommand)
@click.argument("run_id", metavar="RUN")
@click.argument("actions", metavar="[ACTION[@DIGEST]…]", nargs=-1)
@click.option("--scope", type=_SCOPES, default="once", show_default=True, help="How far the yes reaches.")
@click.option("--digest", default="", metavar="DIGEST", help="Refuse if the one action is not this very request.")
@click.option("--unseen", is_flag=True, help="Approve also what you were not shown; log and token record that.")
@click.option("--queue", "server", is_flag=False, flag_value="", default=None, metavar="[REMOTE]",
              help="Then let a worker go on with it: put it into the queue of a server.")  # fmt: skip
@with_nexus
def approve(
    nexus: "Nexus", run_id: str, actions: tuple[str, ...], scope: Any, digest: str, unseen: bool, server: str | None
) -> None:
    """Say yes to actions of a run, all that wait if none is named, and carry them out.

    What you were not shown yet, by review, diff or the chat, is shown first; where nobody can be asked it is refused.
    ACTION@DIGEST says yes to exactly that; log and token record it if you were not shown it.
    """
    from gitnexus.app.rundesk import open_run

    desk = open_run(nexus.state, run_id)
    named = _digests(actions, digest)
    for name, of in named.items():
        _refuse_other(desk, name, of)
    later = []
    for name in _chosen(desk, tuple(dict.fromkeys(action.partition("@")[0] for action in actions))):
        if not _approved(desk, name, scope, named.get(name, ""), unseen=unseen):
            later.append(name)
    if later:
        raise _unseen(desk, later)
    if server is not None:
        handed(nexus, desk, server)
        return
    _went_on(desk)
    view = desk.view()
    answer(told(desk, view), lambda: summary(desk, view), nexus.described)


@click.command("deny", cls=NexusCommand)
@click.argument("run_id", metavar="RUN")
@click.argument("actions", metavar="[ACTION…]", nargs=-1)
@click.option("--reason", default="", metavar="TEXT", help="Why; the agent is told when it goes on.")
@with_nexus
def deny(nexus: "Nexus", run_id: str, actions: tuple[str, ...], reason: str) -> None:
    """Say no to actions of a run, all that wait if none is named."""
    from gitnexus.app import runapproval
    from gitnexus.app.rundesk import open_run

    desk = open_run(nexus.state, run_id)
    for name in _chosen(desk, actions):
        note(f"{name}: {runapproval.deny(desk, name, reason)}")
    _went_on(desk)
    view = desk.view()
    answer(told(desk, view), lambda: summary(desk, view), nexus.described)


@click.command("answer", cls=NexusCommand)
@click.argument("run_id", metavar="RUN")
@click.argument("text", metavar="TEXT")
@click.option("--question", default="", metavar="ID", help="Which question, such as q1, if there are several.")
@click.option("--queue", "server", is_flag=False, flag_value="", default=None, metavar="[REMOTE]",
              help="Then let a worker go on with it: put it into the queue of a server.")  # fmt: skip
@with_nexus
def answer_command(nexus: "Nexus", run_id: str, text: str, question: str, server: str | None) -> None:
    """Answer what the agent of a run asked. If it ended to wait for that, git nexus resume lets it go on."""
    from gitnexus.app.proposing import answered
    from gitnexus.app.rundesk import open_run
    from gitnexus.app.running import recorded

    desk = open_run(nexus.state, run_id)
    note(f"{answered(desk, text, question)} is answered")
    if server is not None:
        handed(nexus, desk, server)
        return
    _went_on(desk)
    view = recorded(desk)
    answer(told(desk, view), lambda: summary(desk, view), nexus.described)


@click.command("cancel", cls=NexusCommand)
@click.argument("run_id", metavar="RUN")
@click.option("--reason", default="", metavar="TEXT", help="Why.")
@with_nexus
def cancel(nexus: "Nexus", run_id: str, reason: str) -> None:
    """End a run where it is. Its branch and its worktree stay; git nexus clean takes care of them."""
    from gitnexus.app.rundesk import open_run
    from gitnexus.app.running import cancelled

    desk = open_run(nexus.state, run_id)
    view = cancelled(desk, reason)
    answer(told(desk, view), lambda: summary(desk, view), nexus.described)


def _bypass(row: "Row") -> str:
    return click.style("bypass: nobody is asked  ", fg="red", bold=True) if row.mode == "bypass" else ""


def _foreign(row: "Row") -> str:
    words = [*(["foreign"] if row.foreign else []), *(["claimed"] if row.claimed else [])]
    return click.style(f"{', '.join(words)}  ", fg="magenta", bold=True) if words else ""


def _agents(row: "Row") -> str:
    return f"{row.agent} → {row.step}" if row.step else row.agent


def _chosen(desk: "RunDesk", actions: tuple[str, ...]) -> list[str]:
    from gitnexus.app.runlist import can_end
    from gitnexus.app.running import in_order
    from gitnexus.base.errors import Failed
    from gitnexus.runs.model import ENDED

    open_ = ("waiting", "unknown", "proposed", "approved")
    waits = [name for name, one in in_order(desk.view()) if one.status in open_]
    if not actions and (not waits or desk.view().status in ENDED) and not can_end(desk):
        raise Failed(f"nothing of {desk.run.id} waits for an answer", fix=f"git nexus replay {desk.run.id}")
    return list(actions) or waits


def _digests(actions: tuple[str, ...], digest: str) -> dict[str, str]:
    """Return the digests that were given with the actions, by `--digest` or as ACTION@DIGEST."""
    from gitnexus.base.errors import BadUsage

    if digest and (len(actions) != 1 or "@" in actions[0]):
        raise BadUsage("--digest is for one action, and that has to be named")
    pairs = [(actions[0], "@", digest)] if digest else [action.partition("@") for action in actions]
    return {name: of for name, sign, of in pairs if sign}


def _refuse_other(desk: "RunDesk", action: str, digest: str) -> None:
    """Refuse a yes to anything but what was looked at."""
    from gitnexus.app.runproposal import action_of
    from gitnexus.base.errors import Conflict

    known = action_of(desk, action).digest
    if known != digest:
        raise Conflict(f"{action} is {known}, and not what was looked at", hint=f"git nexus review {desk.run.id}")


def _approved(desk: "RunDesk", action: str, scope: Any, digest: str, *, unseen: bool) -> bool:
    """Approve an action that its digest names, that was shown, or that need not be; False if nobody has seen it."""
    from gitnexus.app import runapproval
    from gitnexus.app.runmove import moved
    from gitnexus.events.fold import POLICY
    from gitnexus.runs.shown import was_shown

    name = action if digest else moved(desk, action)
    known = desk.view().actions[name]
    _refuse_denied(desk, name)
    agreed = known.by not in ("", POLICY)  # a person said yes to this before
    seen = known.status == "executed" or agreed or was_shown(known.digest)
    if not seen and not unseen and not digest:
        if not can_ask():
            return False
        reviewed(desk, name)
        return True
    status = runapproval.approve(desk, name, scope, shown=digest, unseen=not seen)
    _refuse_denied(desk, name)
    note(f"{name}: {status}{'' if seen else ', unseen'}, {known.digest}")
    return True


def _refuse_denied(desk: "RunDesk", action: str) -> None:
    """Refuse a yes to what was denied, or given up for something else: it comes too late."""
    from gitnexus.base.errors import Conflict

    known = desk.view().actions
    if known[action].status != "denied":
        return
    later = next((name for name, one in known.items() if one.replaces == action), "")
    words = f"{later} stands in its place" if later else _told_no(known[action])
    raise Conflict(f"{action} of {desk.run.id} is denied and cannot be approved: {words}",
                   hint=f"git nexus review {desk.run.id} shows what waits")  # fmt: skip


def _told_no(action: "ActionView") -> str:
    """Return who said no, and why."""
    return one_line(f"{action.by or 'the policy'} said no{f', {action.why}' if action.why else ''}", 200)


def _unseen(desk: "RunDesk", names: list[str]) -> "ApprovalNeeded":
    """Return the refusal of a yes to what nobody was shown, with the command that says yes to exactly that."""
    from gitnexus.base.errors import ApprovalNeeded
    from gitnexus.runs.shown import was_shown

    run, known = desk.run.id, desk.view().actions
    waiting = [name for name, one in known.items() if one.status == "waiting" and not was_shown(one.digest)]
    meant = " ".join(f"{name}@{known[name].digest}" for name in waiting or names)
    by_digest = f"git nexus approve {run} {meant} approves exactly that, and records that you were not shown it"
    for name in waiting or names:
        if found := _why_not_whole(desk, name):
            reason, way = found
            return ApprovalNeeded(f"{name} of {run} cannot be shown whole, so nothing approves it by its run alone: "
                                  f"{reason}", hint=f"{way}; {by_digest}")  # fmt: skip
    return ApprovalNeeded(
        f"{', '.join(waiting or names)} of {run} was never shown to you, so nothing approves it by its run alone",
        hint=f"git nexus review {run} shows it; {by_digest}",
    )


def _why_not_whole(desk: "RunDesk", action: str) -> tuple[str, str] | None:
    """Return why no card shows all of an action, and how to see it all the same; None if one does."""
    from gitnexus.app.runcard import run_card

    card, _ = run_card(desk, action)
    if card.missing:
        trees = dict(card.facts).get("tree", "").replace(" →", "")
        look = f"git diff {trees} shows it" if trees else f"git nexus review {desk.run.id} shows the rest"
        return one_line("; ".join(card.missing), 400), look
    if card.hidden_at:
        places = one_line("; ".join(card.hidden_at), 300)
        return (
            f"{card.hidden}: {places}",
            f"at a terminal, git nexus review {desk.run.id} and u show it, which is recorded",
        )
    return None


def _went_on(desk: "RunDesk") -> None:
    """Let a run end that had only waited for answers, and a workflow go on that starts no program and asks no model.

    One whose agent still has work to do is left to `resume`.
    """
    from gitnexus.app.runlist import can_end, goes_on_by_itself
    from gitnexus.app.running import driven
    from gitnexus.base.errors import Busy

    if desk.run.session:
        from gitnexus.app.sessions import closed

        closed(desk)
    elif (ends := can_end(desk)) or goes_on_by_itself(desk):
        with contextlib.suppress(Busy):  # who came first brings it to its end
            driven(desk, shown, None, ends=ends)


def _listed(nexus: "Nexus", desks: "list[RunDesk]") -> None:
    from gitnexus.runs.shown import remember_shown

    rows = [told(desk, desk.view()) for desk in desks]
    shown_whole: list[str] = []

    def text() -> str:
        texts = []
        for desk in desks:
            words, digests = unanswered(desk, desk.view())
            texts.append(words)
            shown_whole.extend(digests)
        return "\n\n".join(texts) or "Nothing waits for an answer."

    answer({"runs": rows}, text, nexus.described)
    for digest in shown_whole:  # only now is it printed
        remember_shown(digest)
    for desk in desks:
        leave(desk.view())
