"""What commands about runs print and ask."""

import contextlib
import sys
from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.text import one_line
from gitnexus.ui.asking import asked, is_agent
from gitnexus.ui.card import drawn
from gitnexus.ui.editing import edited
from gitnexus.ui.output import columns

if TYPE_CHECKING:
    from gitnexus.adapters.protocol import Said
    from gitnexus.app.rundesk import RunDesk
    from gitnexus.events.view import ActionView, RunView

FOREIGN = "foreign: somebody else began it; what it is to do, and what its log tells, is theirs"
CLAIMED = "claimed: nobody who is known here signed all that its log tells; git nexus replay RUN --verify says what"
COLOURS = {"completed": "green", "landed": "green", "waiting": "yellow", "blocked": "yellow", "failed": "red",
           "stopped": "red"}  # fmt: skip


def shown(said: "Said") -> None:
    """Print what an agent says, behind a gutter that it cannot leave."""
    if said.kind in ("progress", "message", "tool_call", "error") and said.text.strip():
        words = f"{said.tool}: {said.text}" if said.tool else said.text
        for line in words.split("\n"):
            click.echo(f"  │ {one_line(line, 200)}", err=True)


def reviewed(desk: "RunDesk", action: str) -> bool:
    """Show an action's card and do what the person says; False leaves it waiting. Raises: NexusError."""
    from gitnexus.app.runapproval import allowed, approve, deny
    from gitnexus.app.runcard import run_card
    from gitnexus.app.runrenew import current
    from gitnexus.base.errors import Conflict
    from gitnexus.runs.shown import was_shown

    now = current(desk, action)
    if now is None:
        click.echo(f"{action} is given up: {one_line(desk.view().actions[action].why, 300)}", err=True)
        return True
    if now != action:
        click.echo(f"the branch moved, so {now} is proposed in the place of {action}", err=True)
        return allowed(desk, now) or reviewed(desk, now)
    known = desk.view().actions[action]
    if desk.foreign:
        click.secho(f"{desk.run.id} is {FOREIGN}", fg="magenta", err=True)
    card, reveal = run_card(desk, action)
    editable = known.kind == "patch" and known.status == "waiting"
    said = asked(card, reveal, name=f"{desk.run.id} {action}", editable=editable)
    if said.verdict == "edit":
        new = edited(desk, action, shows=card.hidden)
        if new != action and allowed(desk, new):
            click.echo(f"{new} is done: the policy allows it", err=True)
            return True
        return reviewed(desk, new)
    if said.verdict == "approved":
        try:
            # Who typed the digest may have said yes to what is hidden, folded or too long.
            approve(desk, action, said.scope, shown=card.digest, unseen=not was_shown(card.digest))
        except Conflict as exc:
            if desk.view().actions[action].status != "denied":
                raise
            click.echo(f"{action} is given up: {exc.message}", err=True)
            return True
        click.echo(f"approved {action}", err=True)
        return True
    if said.verdict == "denied":
        deny(desk, action, said.reason)
        click.echo(f"denied {action}", err=True)
        return True
    return False


def told(desk: "RunDesk", view: "RunView") -> dict[str, Any]:
    """Return a run for JSON."""
    from gitnexus.app.claims import claims_of
    from gitnexus.app.runstory import is_claimed

    run, claims = desk.run, claims_of(desk)
    return {
        "run": {"id": run.id, "status": view.status, "branch": run.branch, "base": run.base,
                "head": run.head or run.base, "title": run.title, "agent": run.agent, "worktree": str(desk.place),
                "foreign": desk.foreign, "claimed": is_claimed(desk), "statusClaimed": claims.end},
        "actions": [
            {"id": name, "kind": one.kind, "summary": one.summary, "verdict": one.verdict, "status": one.status,
             "digest": one.digest, **({"commit": one.commit} if one.commit else {}),
             **({"why": one.why} if one.why else {}), **({"by": one.by} if one.by else {}),
             **({"claimed": True} if name in claims.actions else {})}
            for name, one in view.actions.items()
        ],
        "questions": [{"id": name, "text": text} for name, text in view.questions.items()],
        **({"papers": papers} if (papers := _papers(desk)) else {}),
    }  # fmt: skip


def unanswered(desk: "RunDesk", view: "RunView") -> tuple[str, list[str]]:
    """Return where a run stands, with the whole card of each action that waits: for who reads and cannot be asked.

    With it come the digests that count as shown once that is printed: none if an agent reads it.
    """
    from gitnexus.app.runcard import run_card

    names = [name for name, one in view.actions.items() if one.status in ("waiting", "unknown")]
    stands = summary(desk, view)
    if not names:
        return stands, []
    run = desk.run.id
    cards = {name: run_card(desk, name)[0] for name in names}
    texts = ["\n".join(drawn(card, whole=True, name=f"{run} {name}")) for name, card in cards.items()]
    meant = " ".join(f"{name}@{card.digest}" for name, card in cards.items())
    text = [stands.rpartition("\nNext: ")[0], *texts, f"Next: git nexus approve {run} {meant}, or git nexus deny {run}"]
    return "\n".join(text), [] if is_agent() else [card.digest for card in cards.values() if card.is_whole]


def summary(desk: "RunDesk", view: "RunView") -> str:
    """Return where a run stands and what to do next."""
    from gitnexus.app.claims import claims_of
    from gitnexus.app.runsetup import failed_in_it
    from gitnexus.app.runstory import is_claimed

    run, claims = desk.run, claims_of(desk)
    lines = [click.style("mode bypass: nobody is asked", fg="red", bold=True)] if _bypasses(desk) else []
    status = click.style(said_to_be(view.status, claimed=claims.end), fg=COLOURS.get(view.status), bold=True)
    lines += [FOREIGN] if desk.foreign else []
    lines += [CLAIMED] if is_claimed(desk) else []
    lines += [f"{run.id} {status}  {one_line(run.title, 80)}{_confined(view)}"]
    rows = [
        [
            f"  {name}",
            one.kind,
            said_to_be(one.status, claimed=name in claims.actions),
            one.commit[:12] or _said(one, claimed=name in claims.actions) or _wanted(one, run.title),
        ]
        for name, one in view.actions.items()
    ]
    papers = _papers(desk)
    nothing = ["  nothing was changed"] if view.status == "completed" else []
    lines += [columns(rows, indent="")] if rows else nothing
    lines += [f"  wrote {path}" for path in papers] if view.status == "completed" else []
    lines += [f"  {name} asks: {one_line(text, 300)}" for name, text in view.questions.items()]
    # A run that waits is not over: why an agent did not come to its end is told by its step.
    stuck = [one.why for one in view.nodes.values() if one.status == "failed"] if view.status == "waiting" else []
    whys = [f"{view.why}, as is said and not signed" if view.why and claims.end else view.why or "", *stuck]
    lines += [f"  {one_line(why, 200)}" for why in whys if why]
    nexts = {
        "waiting": f"git nexus answer {run.id} TEXT" if view.questions else f"git nexus review {run.id}",
        "completed": f"git nexus land {run.id}" if view.commits else f"git nexus clean {run.id}",
        "failed": f"git nexus {'resume' if failed_in_it(view) else 'replay'} {run.id}",
        "running": f"git nexus resume {run.id}",
        "blocked": f"git nexus resume {run.id}",
    }
    if run.session and view.status == "running":
        nexts["running"] = _goes_on(run.agent, run.session)
    if view.status in nexts:
        lines.append(f"Next: {nexts[view.status]}")
    return "\n".join(lines)


def _papers(desk: "RunDesk") -> list[str]:
    """Return what a workflow wrote down for people; a run of one agent writes no papers."""
    from gitnexus.base.errors import NexusError

    with contextlib.suppress(NexusError):
        if desk.workflow() is not None:
            from gitnexus.app.keeping import papers_of_run

            return papers_of_run(desk)
    return []


def _goes_on(agent: str, session: str) -> str:
    """Return how a program's own session is taken up again: there a call that was approved is let through, once."""
    commands = {"claude-code": f"claude -p --resume {session}", "codex": f"codex exec resume {session}"}
    return commands.get(agent, f"go on in {agent}; the same call is let through, once")


def _wanted(action: "ActionView", title: str) -> str:
    """Return what an action is about, unless the run's title says it already."""
    return "" if action.summary == title else one_line(action.summary, 80)


def said_to_be(status: str, *, claimed: bool) -> str:
    """Return a status for people: what nobody known signed is only said to be so."""
    return f"said to be {status}" if claimed else status


def _said(action: "ActionView", *, claimed: bool) -> str:
    """Return who said no and why, or why the agent asked."""
    by = f"{action.by}, not signed" if claimed else action.by
    told = f"by {by}: {action.why}" if action.status == "denied" and action.by else action.why
    return one_line(told.removesuffix(": "), 100)


def _confined(view: "RunView") -> str:
    """Return at which level of the sandbox its agents worked, in red where nothing held them."""
    levels = sorted({node.sandbox for node in view.nodes.values() if node.sandbox})
    shown = (click.style(level, fg="red", bold=True) if level == "L0" else level for level in levels)
    return f"  sandbox {', '.join(shown)}" if levels else ""


def _bypasses(desk: "RunDesk") -> bool:
    from gitnexus.base.errors import NexusError

    with contextlib.suppress(NexusError):  # a definition that was changed is told by who goes on with it
        return desk.mode == "bypass"
    return False


def leave(view: "RunView") -> None:
    """Leave with the status that tells a script how the run stands."""
    if view.status in ("waiting", "blocked"):
        sys.exit(21)
    if view.status == "failed":
        sys.exit(20 if any(one.verdict == "deny" for one in view.actions.values()) else 1)
