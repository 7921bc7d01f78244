"""`git nexus resume`: continue a run at its first incomplete step."""

from typing import TYPE_CHECKING, Any

import click

from gitnexus.cli.run.decisions import follow_run
from gitnexus.cli.run.handover import hand_over_run, run_after_queue
from gitnexus.cli.run.options import queue_option
from gitnexus.runs.open_run import open_run
from gitnexus.runs.workflow.retries import retry_failed_nodes, retry_given_up_steps
from gitnexus.ui.agreeing import ask_for_agreement
from gitnexus.ui.approval_prompt import is_person_at_terminal
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus
from gitnexus.ui.runs import exit_with_run_status, format_run_summary, run_as_json

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("resume", cls=NexusCommand)
@click.argument("run_id", metavar="RUN", required=False)
@click.option("--network", type=click.Choice(["none", "loopback", "full"]), help="What the agent may reach.")
@click.option("--unattended", is_flag=True, help="Ask nothing: what needs an answer stays waiting.")
@queue_option("Queue it on a server, so that a worker continues it.")
@click.option("--labels", default="", metavar="A,B", help="With --queue: what the worker must have.")
@click.option(
    "--agree",
    default="",
    metavar="HASH",
    help="Agree to what somebody else's run will do, and at which commit: the hash that is shown.",
)
@with_nexus
def resume_run(
    nexus: "Nexus", run_id: str | None, network: Any, unattended: bool, server: str | None, labels: str, agree: str
) -> None:
    """Continue a run at its first incomplete step. A run that continues in the background is followed.

    Nothing is repeated: neither a completed step nor an executed action. A step that a model failed within its retries
    gets the same number of retries again, and so do the nodes with which a workflow failed, unless an answer or the
    policy denied them. An agent that failed starts once more. For a run that somebody else started, its definition and
    the commit of its branch are shown first, and you are asked; without a terminal, --agree accepts exactly that state,
    and a branch that moved since needs a new agreement. The policy, mode, providers and keys of this machine apply.
    """
    server, words = run_after_queue(nexus, server, (run_id,) if run_id else ())
    run = open_run(nexus.state, words[0])
    there = is_person_at_terminal() and not unattended
    ask_for_agreement(run, agree, asks=there)
    if server is not None:
        hand_over_run(nexus, run, server, labels, network)
        return
    retry_given_up_steps(run)
    retry_failed_nodes(run)
    view = follow_run(run, network, asks=there)
    print_answer(run_as_json(run, view), lambda: format_run_summary(run, view), nexus.described)
    exit_with_run_status(view)
