"""`git nexus sync`: exchange state with a remote: tasks, notes, history, runs with their logs and branches."""

from typing import TYPE_CHECKING

import click

from gitnexus.sync.remote import resolve_remote
from gitnexus.sync.sync import SyncOptions, sync_with_remote
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus
from gitnexus.ui.sync import format_sync_result, sync_result_as_json

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("sync", cls=NexusCommand)
@click.argument("remote", required=False)
@click.option("--pull", is_flag=True, help="Only fetch what the remote has.")
@click.option("--push", is_flag=True, help="Only push; restores a state that was deleted there.")
@click.option("--dry-run", is_flag=True, help="Show what would be sent and received, and change nothing.")
@click.option(
    "--adopt", is_flag=True, help="If the two were started separately: keep their project and merge yours into it."
)
@click.option("--rewritten", is_flag=True, help="Merge a history that was rewritten there with yours.")
@click.option("--probe", is_flag=True, help="Only find out whether the remote accepts refs that are not branches.")
@with_nexus
def sync_state(nexus: "Nexus", /, remote: str | None, pull: bool, push: bool, probe: bool, **asked: bool) -> None:
    """Exchange state with a remote: tasks, notes, history, runs with their logs and branches.

    REMOTE is a remote of this repository, a path or a URL. Default: origin. Changes of both sides are merged file by
    file, by kind; nothing is pushed by force. Files that only approvers may change are accepted only if signed.
    """
    server = resolve_remote(nexus.state, remote)
    if probe:
        from gitnexus.sync.probe import probe_remote

        said, takes = probe_remote(nexus.state, server)
        print_answer({"remote": server.shown, "customRefs": takes}, said, nexus.described)
        return
    wish = SyncOptions(pull=pull or not push, push=push or not pull, restore=push, **asked)
    done = sync_with_remote(nexus.state, server, wish)
    print_answer(
        lambda: sync_result_as_json(done, asked["dry_run"]),
        lambda: format_sync_result(done, asked["dry_run"]),
        nexus.described,
    )
