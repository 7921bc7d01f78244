"""Prints runs, their waiting cards and summaries, and asks the user about actions; shared by commands about runs."""

import contextlib
import sys
from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.errors import Conflict, NexusError
from gitnexus.base.text import one_line
from gitnexus.policy.shown_cards import was_shown
from gitnexus.ui.approval_prompt import ask_about_card, is_started_by_agent
from gitnexus.ui.card import draw_card
from gitnexus.ui.edit_patch import edit_waiting_patch
from gitnexus.ui.output import format_columns

if TYPE_CHECKING:
    from gitnexus.adapters.protocol import AgentEvent
    from gitnexus.events.view import ActionView, RunView
    from gitnexus.runs.open_run import OpenRun

FOREIGN = "foreign: somebody else started it; its definition and its log are theirs"
CLAIMED = "claimed: no machine known here signed all of its log; git nexus replay RUN --verify says what"
COLOURS = {"completed": "green", "landed": "green", "waiting": "yellow", "blocked": "yellow", "failed": "red",
           "stopped": "red"}  # fmt: skip


# A log that came from elsewhere may hold any number of them.
_MOST_CARDS = 50
_MOST_LINES = 100
# Of a failed command, and of how many of them.
_MOST_OUTPUT = 12
_MOST_FAILED = 3
# Lines of a question, or of why a run ended.
_MOST_TOLD = 12


def print_agent_message(said: "AgentEvent") -> None:
    """Print an agent's message behind a gutter that it cannot imitate."""
    if said.kind in ("progress", "message", "tool_call", "error") and said.text.strip():
        words = f"{said.tool}: {said.text}" if said.tool else said.text
        for line in words.split("\n"):
            click.echo(f"  │ {one_line(line, 200)}", err=True)


def review_action(run: "OpenRun", action: str) -> bool:
    """Show an action's card and carry out the user's answer; return False if it stays waiting. Raises: NexusError."""
    from gitnexus.runs.actions.approve import approve_action, deny_action, execute_if_allowed
    from gitnexus.runs.actions.card import action_card
    from gitnexus.runs.actions.rebase import rebase_waiting_patch

    now = rebase_waiting_patch(run, action)
    if now is None:
        click.echo(f"{action} is withdrawn: {one_line(run.view().actions[action].why, 300)}", err=True)
        return True
    if now != action:
        click.echo(f"the branch moved, so {now} is proposed instead of {action}", err=True)
        return execute_if_allowed(run, now) or review_action(run, now)
    known = run.view().actions[action]
    if run.foreign:
        click.secho(f"{run.record.id} is {FOREIGN}", fg="magenta", err=True)
    card, reveal = action_card(run, action)
    editable = known.kind == "patch" and known.status == "waiting"
    said = ask_about_card(card, reveal, name=f"{run.record.id} {action}", editable=editable)
    if said.verdict == "edit":
        new = edit_waiting_patch(run, action, shows=card.hidden)
        if new != action and execute_if_allowed(run, new):
            click.echo(f"{new} is done: the policy allows it", err=True)
            return True
        return review_action(run, new)
    if said.verdict == "approved":
        try:
            # Who typed the digest may have said yes to what is hidden, folded or too long.
            approve_action(run, action, said.scope, shown=card.digest, unseen=not was_shown(card.digest))
        except Conflict as exc:
            if run.view().actions[action].status != "denied":
                raise
            click.echo(f"{action} is withdrawn: {exc.message}", err=True)
            return True
        click.echo(f"approved {action}", err=True)
        return True
    if said.verdict == "denied":
        deny_action(run, action, said.reason)
        click.echo(f"denied {action}", err=True)
        return True
    return False


def run_as_json(opened_run: "OpenRun", view: "RunView") -> dict[str, Any]:
    """Return a run as JSON."""
    from gitnexus.runs.claimed_decisions import claimed_decisions
    from gitnexus.runs.story import has_claimed_events

    run, claims = opened_run.record, claimed_decisions(opened_run)
    return {
        "run": {
            "id": run.id,
            "status": claims.end or view.status,
            "branch": run.branch,
            "base": run.base,
            "head": run.head or run.base,
            "title": run.title,
            "agent": run.agent,
            "worktree": str(opened_run.worktree_path),
            "foreign": opened_run.foreign,
            "claimed": has_claimed_events(opened_run),
            "statusClaimed": bool(claims.end),
        },
        "actions": [
            {
                "id": name,
                "kind": one.kind,
                "summary": one.summary,
                "verdict": one.verdict,
                "status": one.status,
                "digest": one.digest,
                **({"proofs": list(one.proofs)} if one.proofs else {}),
                **({"commit": one.commit} if one.commit else {}),
                **({"why": one.why} if one.why else {}),
                **({"by": one.by} if one.by else {}),
                **({"ok": False, "exit": one.exit, "output": one.output} if one.ok is False else {}),
                **_claim_as_json(claims.actions.get(name)),
            }
            for name, one in view.actions.items()
        ],
        "questions": [{"id": name, "text": text} for name, text in view.questions.items()],
        **({"disputed": dict(view.disputed)} if view.disputed else {}),
        **({"papers": papers} if (papers := _written_papers(opened_run)) else {}),
        **({"leftOut": left} if (left := _files_in_no_patch(opened_run)) else {}),
    }


def _claim_as_json(said: "ActionView | None") -> dict[str, Any]:
    """Return the unproved claims about an action."""
    if said is None:
        return {}
    return {"claimed": True, "said": {"status": said.status, "by": said.by, "why": said.why}}


def format_waiting_cards(opened_run: "OpenRun", view: "RunView") -> tuple[str, list[str]]:
    """Return the status of a run with the whole card of each waiting action, for a reader who cannot be asked.

    Also return the digests that count as shown once this is printed: none if an agent reads it.
    """
    from gitnexus.runs.actions.card import action_card

    waiting = [name for name, one in view.actions.items() if one.status in ("waiting", "unknown")]
    names, more = waiting[:_MOST_CARDS], len(waiting) - _MOST_CARDS
    stands = format_run_summary(opened_run, view)
    if not names:
        return stands, []
    run = opened_run.record.id
    cards = {name: action_card(opened_run, name)[0] for name in names}
    texts = ["\n".join(draw_card(card, whole=True, name=f"{run} {name}")) for name, card in cards.items()]
    meant = " ".join(f"{name}@{card.digest}" for name, card in cards.items())
    texts += [f"{more} more wait; they are shown once these are answered"] if more > 0 else []
    text = [stands.rpartition("\nNext: ")[0], *texts, f"Next: git nexus approve {run} {meant}, or git nexus deny {run}"]
    return "\n".join(text), [] if is_started_by_agent() else [card.digest for card in cards.values() if card.is_whole]


def format_run_summary(opened_run: "OpenRun", view: "RunView") -> str:
    """Return the status of a run and the next steps."""
    from gitnexus.runs.background import is_background_driver_alive
    from gitnexus.runs.claimed_decisions import claimed_decisions
    from gitnexus.runs.contradictions import describe_contradictions
    from gitnexus.runs.drive import displayed_status
    from gitnexus.runs.prepare import failed_in_setup
    from gitnexus.runs.story import has_claimed_events

    run, claims = opened_run.record, claimed_decisions(opened_run)
    lines = [click.style("mode bypass: nobody is asked", fg="red", bold=True)] if _is_in_bypass_mode(opened_run) else []
    goes_on = opened_run.is_driven() or is_background_driver_alive(opened_run)
    now = displayed_status(view, driven=goes_on, in_order=opened_run.left_in_order())
    end = claims.end or (now if view.status == "running" and not run.session else view.status)
    status = click.style(status_with_claim(end, claimed=bool(claims.end)), fg=COLOURS.get(end), bold=True)
    status += f", and {view.status}" if claims.end not in ("", view.status) and view.status == "waiting" else ""
    lines += [FOREIGN] if opened_run.foreign else []
    lines += [CLAIMED] if has_claimed_events(opened_run) else []
    lines += [f"{run.id} {status}  {one_line(run.title, 80)}{_format_sandbox_levels(view)}"]
    rows = [
        [
            f"  {name}",
            one.kind,
            status_with_claim(_status_of_action(claims.actions.get(name, one)), claimed=name in claims.actions),
            one.commit[:12]
            or _describe_reason(claims.actions.get(name, one), claimed=name in claims.actions)
            or _describe_subject(one, run.title),
        ]
        for name, one in list(view.actions.items())[-_MOST_LINES:]
    ]
    papers = _written_papers(opened_run)
    nothing = ["  nothing was changed"] if view.status == "completed" else []
    earlier = len(view.actions) - _MOST_LINES
    lines += [f"  {earlier} actions before these: git nexus replay {run.id} tells them"] if earlier > 0 else []
    lines += [format_columns(rows, indent="")] if rows else nothing
    for name, one in [row for row in view.actions.items() if row[1].ok is False][-_MOST_FAILED:]:
        lines += _format_failure(run.id, name, one)
    lines += _format_unused_environment(opened_run, view)
    lines += [f"  wrote {path}" for path in papers] if view.status == "completed" else []
    lines += [
        f"  left out of {row['action'] or 'any patch'}: {one_line(row['what'], 400)}"
        for row in _files_in_no_patch(opened_run)
    ]
    asked = list(view.questions.items())
    for name, text in asked[:_MOST_LINES]:
        lines += _format_told(f"{name} asks: {text}")
    lines += [f"  and {len(asked) - _MOST_LINES} questions more"] if len(asked) > _MOST_LINES else []
    # A waiting run is not over: its step says why an agent did not finish.
    stuck = [one.why for one in view.nodes.values() if one.status == "failed"] if view.status == "waiting" else []
    whys = [f"{view.why}, claimed but not signed" if view.why and claims.end else view.why or "", *stuck]
    for why in filter(None, whys):
        lines += _format_told(why)
    lines += [click.style(f"  {one_line(said, 600)}", fg="red") for said in describe_contradictions(run.id, view)]
    again = f", or git nexus resume {run.id} to try again" if _has_nodes_to_try_again(opened_run, view) else ""
    nexts = {
        "waiting": f"git nexus answer {run.id} TEXT" if view.questions else f"git nexus review {run.id}",
        "completed": f"git nexus land {run.id}" if view.commits else f"git nexus clean {run.id}",
        "failed": f"git nexus {'resume' if failed_in_setup(view) else 'replay'} {run.id}{again}",
        "running": "git nexus runs" if goes_on else f"git nexus resume {run.id}",
        "blocked": f"git nexus resume {run.id}",
    }
    if run.session and view.status == "running":
        nexts["running"] = _resume_command(run.agent, run.session)
    if view.status in nexts:
        lines.append(f"Next: {nexts[view.status]}")
    return "\n".join(lines)


def _has_nodes_to_try_again(opened_run: "OpenRun", view: "RunView") -> bool:
    """Return True for a run that failed with steps that may be tried again; one of a single agent loads no workflow."""
    if view.status != "failed" or opened_run.record.session:
        return False
    if opened_run.workflow() is None:
        from gitnexus.runs.steps import steps_to_try_again

        return bool(steps_to_try_again(opened_run))
    from gitnexus.runs.workflow.retries import nodes_to_try_again

    return bool(nodes_to_try_again(opened_run))


def _status_of_action(action: "ActionView") -> str:
    """Return the status of an action for people: what was carried out and went wrong has failed."""
    return "failed" if action.status == "executed" and action.ok is False else action.status


def _format_told(text: str) -> list[str]:
    """Return a question, or why a run ended: its first line, and below it the others, of many the last."""
    first, *more = text.strip().split("\n")
    cut = ["…"] if len(more) > _MOST_TOLD else []
    return [f"  {one_line(first, 300)}", *(f"  │ {one_line(line, 200)}" for line in [*cut, *more[-_MOST_TOLD:]])]


def _format_failure(run: str, name: str, action: "ActionView") -> list[str]:
    """Return how an action failed, with the end of what it printed, and where all of it is."""
    said = action.output.rstrip("\n").split("\n")[-_MOST_OUTPUT:] if action.output.strip() else []
    how = f"{name} failed" if action.exit is None else f"{name} failed with status {action.exit}"
    more = "; it printed nothing" if not said else f", and printed at last (git nexus artifacts {run} {name} has all):"
    return [f"  {how}{more}", *(f"  │ {one_line(line, 200)}" for line in said)]


def _format_unused_environment(run: "OpenRun", view: "RunView") -> list[str]:
    """Return how a command gets the project's own virtual environment, if one waits or failed without it."""
    if view.status not in ("waiting", "failed") or run.record.session:
        return []
    from gitnexus.runs.virtual_env import unused_environment

    told = unused_environment(run, view)
    return [f"  {told}"] if told else []


def _files_in_no_patch(run: "OpenRun") -> list[dict[str, str]]:
    """Return the files of the worktree that fit into no patch, with the patch that lacks them."""
    from gitnexus.runs.actions.propose import left_out

    with contextlib.suppress(NexusError):
        return [{"action": action, "what": words} for action, words in left_out(run).items()]
    return []


def _written_papers(run: "OpenRun") -> list[str]:
    """Return the documents that a workflow wrote; a run of one agent writes none."""
    with contextlib.suppress(NexusError):
        if run.workflow() is not None:
            from gitnexus.runs.workflow.papers import papers_of_run

            return papers_of_run(run)
    return []


def _resume_command(agent: str, session: str) -> str:
    """Return the command that resumes a program's own session; there an approved call is allowed once."""
    commands = {"claude-code": f"claude -p --resume {session}", "codex": f"codex exec resume {session}"}
    return commands.get(agent, f"continue in {agent}; the same call is allowed once")


def _describe_subject(action: "ActionView", title: str) -> str:
    """Return the subject of an action, unless the run's title says it already."""
    return "" if action.summary == title else one_line(action.summary, 80)


def status_with_claim(status: str, *, claimed: bool) -> str:
    """Return a status as text; one that no known machine signed is marked as a claim."""
    return f"claimed to be {status}" if claimed else status


def _describe_reason(action: "ActionView", *, claimed: bool) -> str:
    """Return who denied an action and why, or why the agent asked."""
    by = f"{action.by}, not signed" if claimed else action.by
    told = f"by {by}: {action.why}" if action.status == "denied" and action.by else action.why
    return one_line(told.removesuffix(": "), 100)


def _format_sandbox_levels(view: "RunView") -> str:
    """Return the sandbox levels at which the agents worked; in red if there was no sandbox."""
    levels = sorted({node.sandbox for node in view.nodes.values() if node.sandbox})
    shown = (click.style(level, fg="red", bold=True) if level == "L0" else level for level in levels)
    return f"  sandbox {', '.join(shown)}" if levels else ""


def _is_in_bypass_mode(run: "OpenRun") -> bool:
    with contextlib.suppress(NexusError):  # `resume` reports a changed definition
        return run.mode == "bypass"
    return False


def exit_with_run_status(view: "RunView") -> None:
    """Exit with the status that tells a script the result of the run."""
    if view.status in ("waiting", "blocked"):
        sys.exit(21)
    if view.status == "failed":
        sys.exit(20 if any(one.verdict == "deny" for one in view.actions.values()) else 1)
