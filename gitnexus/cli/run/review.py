"""`git nexus review`: show what waits for an answer, one card after the other."""

from typing import TYPE_CHECKING

import click

from gitnexus.cli.run.decisions import continue_run
from gitnexus.cli.run.options import going_on_options
from gitnexus.policy.shown_cards import remember_shown
from gitnexus.runs.drive import actions_in_order
from gitnexus.runs.finish_interrupted import finish_begun
from gitnexus.runs.list import waiting_runs
from gitnexus.runs.open_run import OpenRun, open_run
from gitnexus.ui.approval_prompt import is_person_at_terminal
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, print_note, with_nexus
from gitnexus.ui.paging import was_output_read
from gitnexus.ui.runs import exit_with_run_status, format_run_summary, format_waiting_cards, review_action, run_as_json

if TYPE_CHECKING:
    from gitnexus.app import Nexus
    from gitnexus.cli.run.options import Then


@click.command("review", cls=NexusCommand)
@click.argument("run_id", metavar="[RUN]", required=False)
@going_on_options
@with_nexus
def review_runs(nexus: "Nexus", run_id: str | None, then: "Then") -> None:
    """Show what waits for an answer, one card after the other. A run that was answered continues by itself."""
    runs, more = ([open_run(nexus.state, run_id)], 0) if run_id else waiting_runs(nexus.state)
    for run in runs:
        run.record = finish_begun(nexus.state, run.record)
    if more:
        print_note(f"{more} more runs wait that no known machine signed: git nexus runs lists them")
    if not is_person_at_terminal():
        _print_waiting(nexus, runs)
        return
    for run in runs:
        for name, one in actions_in_order(run.view()):
            if one.status in ("waiting", "unknown", "proposed"):
                review_action(run, name)
        continue_run(run, then)
    rows = [run_as_json(run, run.view()) for run in runs]
    text = "\n".join(format_run_summary(run, run.view()) for run in runs) or "Nothing waits for an answer."
    print_answer({"runs": rows}, text, nexus.described)


def _print_waiting(nexus: "Nexus", runs: "list[OpenRun]") -> None:
    rows = [run_as_json(run, run.view()) for run in runs]
    shown_whole: list[str] = []

    def text() -> str:
        texts = []
        for run in runs:
            words, digests = format_waiting_cards(run, run.view())
            texts.append(words)
            shown_whole.extend(digests)
        return "\n\n".join(texts) or "Nothing waits for an answer."

    print_answer({"runs": rows}, text, nexus.described)
    if shown_whole and was_output_read():
        for digest in shown_whole:
            remember_shown(digest)
    for run in runs:
        exit_with_run_status(run.view())
