"""Formats the result of a sync as JSON and as text."""

from typing import TYPE_CHECKING

from gitnexus.base.text import one_line

if TYPE_CHECKING:
    from gitnexus.sync.sync import SyncResult


def sync_result_as_json(done: "SyncResult", dry_run: bool) -> dict[str, object]:
    """Return the result of a sync as JSON."""
    return {
        "remote": done.remote,
        "pulled": done.pulled,
        "pushed": done.pushed,
        "notes": done.said,
        "held": done.held,
        "conflicts": done.beside,
        "commit": done.commit,
        "joined": done.joined,
        "dryRun": dry_run,
    }


def format_sync_result(done: "SyncResult", dry_run: bool) -> str:
    """Return the result of a sync as text."""
    would = "Would receive" if dry_run else "Received"
    lines = []
    if done.pulled:
        lines.append(f"{would} from {done.remote}: {', '.join(done.pulled)}")
    if done.pushed:
        give = "Would send" if dry_run else "Sent"
        lines.append(f"{give} to {done.remote}: {', '.join(done.pushed)}")
    if not lines:
        lines.append(f"Already up to date with {done.remote}.")
    lines += [f"  {one_line(text, 300)}" for text in done.said]
    lines += [f"  not accepted: {one_line(path, 80)}: {one_line(why, 200)}" for path, why in done.held.items()]
    return "\n".join(lines)
