"""`git nexus answer`: answer a question of a run's agent."""

from typing import TYPE_CHECKING

import click

from gitnexus.cli.run.decisions import continue_run, exit_if_followed
from gitnexus.cli.run.handover import hand_over_run
from gitnexus.cli.run.options import going_on_options, queue_option
from gitnexus.runs.actions.ask import answer_question
from gitnexus.runs.open_run import open_run
from gitnexus.runs.record import refresh_run_record
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, print_note, with_nexus
from gitnexus.ui.runs import format_run_summary, run_as_json

if TYPE_CHECKING:
    from gitnexus.app import Nexus
    from gitnexus.cli.run.options import Then


@click.command("answer", cls=NexusCommand)
@click.argument("run_id", metavar="RUN")
@click.argument("text", metavar="TEXT")
@click.option("--question", default="", metavar="ID", help="Which question, such as q1, if there are several.")
@queue_option("Then queue it on a server, so that a worker continues it.")
@going_on_options
@with_nexus
def answer_agent(nexus: "Nexus", run_id: str, text: str, question: str, server: str | None, then: "Then") -> None:
    """Answer a question of a run's agent. If the run stopped to wait for that, it continues by itself."""
    run = open_run(nexus.state, run_id)
    print_note(f"{answer_question(run, text, question)} is answered")
    if server is not None:
        hand_over_run(nexus, run, server)
        return
    continue_run(run, then)
    view = refresh_run_record(run)
    print_answer(run_as_json(run, view), lambda: format_run_summary(run, view), nexus.described)
    exit_if_followed(run, then)
