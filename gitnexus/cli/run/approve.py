"""`git nexus approve`: approve actions of a run, or all that wait if none is named, and execute them."""

from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.errors import ApprovalNeeded, BadUsage, Conflict
from gitnexus.base.text import one_line
from gitnexus.cli.run.decisions import (
    checkpoint_decision,
    choose_actions,
    continue_run,
    exit_if_followed,
    find_last_answer,
)
from gitnexus.cli.run.handover import hand_over_run, run_after_queue
from gitnexus.cli.run.options import going_on_options, queue_option
from gitnexus.events.fold import POLICY
from gitnexus.policy.shown_cards import was_shown
from gitnexus.runs.actions import approve as actions_approve
from gitnexus.runs.actions.propose import find_action
from gitnexus.runs.actions.relocate import repropose_command_here
from gitnexus.runs.open_run import OpenRun, open_run
from gitnexus.ui.approval_prompt import is_person_at_terminal
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, print_note, with_nexus
from gitnexus.ui.runs import format_run_summary, review_action, run_as_json

if TYPE_CHECKING:
    from gitnexus.app import Nexus
    from gitnexus.cli.run.options import Then
    from gitnexus.events.view import ActionView

_SCOPES = click.Choice(["once", "session", "repository", "path", "argv", "workflow"])


@click.command("approve", cls=NexusCommand)
@click.argument("run_id", metavar="RUN", required=False)
@click.argument("actions", metavar="[ACTION[@DIGEST]…]", nargs=-1)
@click.option("--scope", type=_SCOPES, default="once", show_default=True, help="What the approval covers.")
@click.option("--digest", default="", metavar="DIGEST", help="Fail if the action is not exactly this request.")
@click.option("--unseen", is_flag=True, help="Also approve what you were not shown; log and token record that.")
@queue_option("Then queue it on a server, so that a worker continues it.")
@going_on_options
@with_nexus
def approve_actions(
    nexus: "Nexus",
    run_id: str | None,
    actions: tuple[str, ...],
    scope: Any,
    digest: str,
    unseen: bool,
    server: str | None,
    then: "Then",
) -> None:
    """Approve actions of a run, or all that wait if none is named, and execute them. The run continues by itself.

    Actions that you have not seen yet (in review, diff or the chat) are shown first; without a terminal they are
    refused. ACTION@DIGEST approves exactly that request; log and token record that you were not shown it.
    """
    server, (run, *named_actions) = run_after_queue(nexus, server, (*((run_id,) if run_id else ()), *actions))
    opened_run, actions = open_run(nexus.state, run), tuple(named_actions)
    named = _given_digests(actions, digest)
    for name, of in named.items():
        _refuse_other_digest(opened_run, name, of)
    later = []
    chosen = choose_actions(opened_run, tuple(dict.fromkeys(action.partition("@")[0] for action in actions)))
    for name in chosen:
        if not _approve_action(opened_run, name, scope, named.get(name, ""), unseen=unseen):
            later.append(name)
    if later:
        raise _unseen_error(opened_run, later)
    if server is not None:
        hand_over_run(nexus, opened_run, server)
        return
    continue_run(opened_run, then)
    checkpoint_decision(opened_run)
    answered, yes = find_last_answer(opened_run)
    if answered and not chosen and not yes:  # another process said no after this one was asked for
        _refuse_denied(opened_run, answered)
    view = opened_run.view()
    print_answer(run_as_json(opened_run, view), lambda: format_run_summary(opened_run, view), nexus.described)
    exit_if_followed(opened_run, then)


def _given_digests(actions: tuple[str, ...], digest: str) -> dict[str, str]:
    """Return the digests given with the actions, by `--digest` or as ACTION@DIGEST."""
    if digest and (len(actions) != 1 or "@" in actions[0]):
        raise BadUsage("--digest approves one action, which you have to name")
    pairs = [(actions[0], "@", digest)] if digest else [action.partition("@") for action in actions]
    return {name: of for name, sign, of in pairs if sign}


def _refuse_other_digest(run: "OpenRun", action: str, digest: str) -> None:
    """Refuse an approval whose digest is not that of the action."""
    known = find_action(run, action).digest
    if known != digest:
        raise Conflict(f"{action} is {known}, not what you looked at", hint=f"git nexus review {run.record.id}")


def _approve_action(run: "OpenRun", action: str, scope: Any, digest: str, *, unseen: bool) -> bool:
    """Approve an action that was named by digest, was shown, or needs no look; return False if nobody has seen it."""
    name = action if digest else repropose_command_here(run, action)
    known = run.view().actions[name]
    _refuse_denied(run, name)
    agreed = known.by not in ("", POLICY)  # a person said yes to this before
    seen = known.status == "executed" or agreed or was_shown(known.digest)
    if not seen and not unseen and not digest:
        if not is_person_at_terminal():
            return False
        review_action(run, name)
        return True
    status = actions_approve.approve_action(run, name, scope, shown=digest, unseen=not seen)
    _refuse_denied(run, name)
    print_note(f"{name}: {status}{'' if seen else ', unseen'}, {known.digest}")
    return True


def _refuse_denied(run: "OpenRun", action: str) -> None:
    """Refuse to approve an action that was denied or replaced: it is too late."""
    known = run.view().actions
    if known[action].status != "denied":
        return
    later = next((name for name, one in known.items() if one.replaces == action), "")
    words = f"{later} replaces it" if later else _describe_denial(known[action])
    raise Conflict(
        f"{action} of {run.record.id} is denied and cannot be approved: {words}",
        hint=f"git nexus review {run.record.id} shows what waits",
    )


def _describe_denial(action: "ActionView") -> str:
    """Return who denied an action, and why."""
    return one_line(f"{action.by or 'the policy'} said no{f', {action.why}' if action.why else ''}", 200)


def _unseen_error(opened_run: "OpenRun", names: list[str]) -> "ApprovalNeeded":
    """Return the error for approving an action that nobody was shown, with the command that approves exactly it."""
    run, known = opened_run.record.id, opened_run.view().actions
    asked = {name: known[name] for name in names or known}
    waiting = [name for name, one in asked.items() if one.status == "waiting" and not was_shown(one.digest)]
    meant = " ".join(f"{name}@{known[name].digest}" for name in waiting or names)
    by_digest = f"git nexus approve {run} {meant} approves exactly that, and records that you were not shown it"
    for name in waiting or names:
        if found := _why_not_shown_whole(opened_run, name):
            reason, way = found
            return ApprovalNeeded(
                f"{name} of {run} cannot be shown completely, so naming its run does not approve it: {reason}",
                hint=f"{way}; {by_digest}",
            )
    unseen = waiting or names
    said = "was never shown to you, so naming its run does not approve it"
    if len(unseen) > 1:
        said = "were never shown to you, so naming their run does not approve them"
    return ApprovalNeeded(
        f"{', '.join(unseen)} of {run} {said}",
        hint=f"git nexus review {run} shows {'it' if len(unseen) == 1 else 'them'}; {by_digest}",
    )


def _why_not_shown_whole(run: "OpenRun", action: str) -> tuple[str, str] | None:
    """Return why no card can show the whole action, and how to see it; None if a card can."""
    from gitnexus.runs.actions.card import action_card

    card, _ = action_card(run, action)
    if card.missing:
        trees = dict(card.facts).get("tree", "").replace(" →", "")
        look = f"git diff {trees} shows it" if trees else f"git nexus review {run.record.id} shows the rest"
        return one_line("; ".join(card.missing), 400), look
    if card.hidden_at:
        places = one_line("; ".join(card.hidden_at), 300)
        return (
            f"{card.hidden}: {places}",
            f"at a terminal, git nexus review {run.record.id} and u show it, which is recorded",
        )
    return None
