"""`git nexus pr`: write a pull request for a run, push its branch and open it."""

from typing import TYPE_CHECKING

import click

from gitnexus.runs.landing.pull_request import (
    draft_pull_request,
    open_pull_request,
    push_run_branch,
    remote_lacks_state,
)
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, print_note, with_nexus
from gitnexus.ui.trust import require_confirmation

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("pr", cls=NexusCommand)
@click.argument("run")
@click.option("--print", "only_print", is_flag=True, help="Only print title and body; nothing is pushed.")
@click.option("--confirm", metavar="RUN", help="The id of the run, if there is no terminal to confirm.")
@with_nexus
def create_pull_request(nexus: "Nexus", run: str, only_print: bool, confirm: str | None) -> None:
    """Write a pull request for a run, push its branch and open it.

    The text says what was asked and done, who approved it and how to verify that. You are asked before anything is
    pushed; nothing is forced. gh or glab opens it if one is installed and fits the remote; otherwise the text is
    printed.
    """
    made = draft_pull_request(nexus.state, run)
    address, pushed = "", False
    if not only_print:
        opens = f" and open it with {made.tool}" if made.tool else ""
        if made.remote:
            require_confirmation(
                f"Push {made.run.branch} to {made.remote}{opens}?", [made.run.id], [confirm] if confirm else []
            )
        push_run_branch(nexus.state, made)
        pushed = True
        if remote_lacks_state(nexus.state, made):
            print_note(
                f"{made.remote} has no approvers yet, to verify it there: git push {made.remote} refs/nexus/state"
            )
        address = open_pull_request(nexus.state, made) if made.tool else ""
    words = f"{made.text.title}\n\n{made.text.body}"
    print_answer(
        {
            "run": made.run.id,
            "title": made.text.title,
            "body": made.text.body,
            "branch": made.run.branch,
            "pushed": pushed,
            "remote": made.remote or None,
            "url": address or None,
        },
        (address or f"{made.run.branch} is pushed and open.") if made.tool and pushed else words.rstrip("\n"),
        nexus.described,
    )
