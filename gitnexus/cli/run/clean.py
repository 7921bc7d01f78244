"""`git nexus clean`: remove the worktrees and branches of runs that are finished."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.runs.cleanup.clean_runs import CleanUp, clean_runs
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import count_of, print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus
    from gitnexus.runs.cleanup.clean import Cleaned


@click.command("clean", cls=NexusCommand)
@click.argument("run", required=False)
@click.option("--dry-run", is_flag=True, help="Only show what would be done.")
@click.option("--force", is_flag=True, help="Also a run that still waits, if no process works in it.")
@with_nexus
def clean_up_runs(nexus: "Nexus", run: str | None, dry_run: bool, force: bool) -> None:
    """Remove the worktrees and branches of runs that are finished.

    Without RUN: all runs that are landed, merged otherwise, failed or cancelled. With RUN also a completed one, or one
    that stopped because its driver was killed. Work that exists nowhere else, including uncommitted files, is first
    stored under refs/nexus/rescue/RUN. The folder is moved to the trash and deleted a week later. Without RUN such
    refs are deleted once their work is on the branch that is checked out, or on main.
    """
    done = clean_runs(nexus.state, run, dry_run=dry_run, force=force)
    print_answer(
        {
            "dryRun": done.dry_run,
            "runs": [one.plain() for one in done.runs],
            "deleted": [{"run": row.run, "place": row.place} for row in done.deleted],
            **({"released": [row._asdict() for row in done.released]} if done.released else {}),
        },
        _format_clean_up(done),
        nexus.described,
    )


def _format_clean_up(done: "CleanUp") -> str:
    lines = [line for one in done.runs for line in _format_cleaned_run(one, done.dry_run)]
    if done.deleted:
        verb = "Would delete" if done.dry_run else "Deleted"
        lines.append(f"{verb} {count_of(len(done.deleted), 'folder')} from the trash, a week old.")
    verb = "would be deleted" if done.dry_run else "deleted"
    lines += [f"{row.ref}  {verb}: {one_line(row.where)}" for row in done.released]
    return "\n".join(lines) if lines else "Nothing to clean."


def _format_cleaned_run(one: "Cleaned", dry_run: bool) -> list[str]:
    if one.skipped and not one.trash and not one.branch:
        return [f"{one.run}  left as it is: {one_line(one.skipped)}"]
    if not (one.trash or one.branch or one.rescue or one.archive or one.aside):
        return []
    said = [f"{one.run}  {'would be cleaned up' if dry_run else 'cleaned up'}"]
    if one.rescue:
        files = f", with {count_of(one.left, 'uncommitted file')}" if one.left else ""
        said.append(f"  kept: {one.rescue}{files}; restore with: git branch rescued-{one.run} {one.rescue}")
    if one.unlanded:
        said.append(f"  it has not landed; git nexus land {one.run} still lands it")
    what = "the rest" if one.rescue else "its work"
    said += [f"  {what} is safe: {one_line(one.integrated)}"] if one.integrated else []
    if one.trash:
        for_good = "stays there" if one.odd else "for a week, with all ignored files"
        said.append(f"  folder: {one_line(one.trash)} ({for_good})")
    said += [f"  only in that folder: {one_line(', '.join(one.odd[:5]))}"] if one.odd else []
    said += [f"  left by killed attempts: {one_line(', '.join(one.aside[:3]))}"] if one.aside else []
    said += [f"  log: {one.archive}"] if one.archive else []
    return [*said, *([f"  {one_line(one.skipped)}"] if one.skipped else [])]
