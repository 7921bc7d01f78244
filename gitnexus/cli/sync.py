"""`git nexus sync`: exchange state with another clone."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus
    from gitnexus.app.sync import Synced


@click.command("sync", cls=NexusCommand)
@click.argument("remote", required=False)
@click.option("--pull", is_flag=True, help="Only take in what the remote has.")
@click.option("--push", is_flag=True, help="Only give; puts back a state that is gone there.")
@click.option("--dry-run", is_flag=True, help="Say what would go each way, and change nothing.")
@click.option("--adopt", is_flag=True, help="The two began apart: make theirs the project, bring yours into it.")
@click.option("--rewritten", is_flag=True, help="Join a history that was rewritten there with yours.")
@click.option("--probe", is_flag=True, help="Only find out whether the remote takes refs that are no branches.")
@with_nexus
def sync(nexus: "Nexus", /, remote: str | None, pull: bool, push: bool, probe: bool, **asked: bool) -> None:
    """Exchange state with a remote: tasks, notes, history, runs with their logs and branches.

    REMOTE is a remote of this repository, a path or an address; origin if not said. What both sides changed is merged
    file by file, each by its kind; nothing is pushed by force. What only approvers may change comes in only signed.
    """
    from gitnexus.app.sync import Asked, synced
    from gitnexus.app.wire import wire_to

    wire = wire_to(nexus.state, remote)
    if probe:
        from gitnexus.app.probe import probed

        said, takes = probed(nexus.state, wire)
        answer({"remote": wire.shown, "customRefs": takes}, said, nexus.described)
        return
    wish = Asked(pull=pull or not push, push=push or not pull, restore=push, **asked)
    done = synced(nexus.state, wire, wish)
    answer(lambda: told(done, asked["dry_run"]), lambda: words(done, asked["dry_run"]), nexus.described)


def told(done: "Synced", dry_run: bool) -> dict[str, object]:
    """Return what a sync did, as JSON."""
    return {
        "remote": done.remote, "pulled": done.pulled, "pushed": done.pushed, "notes": done.said, "held": done.held,
        "conflicts": done.beside, "commit": done.commit, "joined": done.joined, "dryRun": dry_run,
    }  # fmt: skip


def words(done: "Synced", dry_run: bool) -> str:
    """Return what a sync did, in words."""
    would = "Would take" if dry_run else "Took"
    lines = []
    if done.pulled:
        lines.append(f"{would} from {done.remote}: {', '.join(done.pulled)}")
    if done.pushed:
        give = "Would give" if dry_run else "Gave"
        lines.append(f"{give} to {done.remote}: {', '.join(done.pushed)}")
    if not lines:
        lines.append(f"Nothing new between here and {done.remote}.")
    lines += [f"  {one_line(text, 300)}" for text in done.said]
    lines += [f"  not taken: {one_line(path, 80)}: {one_line(why, 200)}" for path, why in done.held.items()]
    return "\n".join(lines)
