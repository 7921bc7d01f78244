"""`git nexus memory gc`: forget notes that nobody uses, after asking, as one commit that can be undone."""

import sys
from typing import TYPE_CHECKING, Any

import click

from gitnexus.app.notes import open_notes
from gitnexus.base.errors import Failed, Invalid
from gitnexus.memory.gc import (
    DuplicatePair,
    ForgetResult,
    assess_all_notes,
    find_duplicates,
    forget_notes,
    still_candidates,
)
from gitnexus.memory.view import assessment_as_json, pair_as_json
from gitnexus.ui.commands import NexusCommand, current_invocation
from gitnexus.ui.output import count_of, print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus
    from gitnexus.memory import Notes
    from gitnexus.memory.signals import NoteAssessment


@click.command("gc", cls=NexusCommand)
@click.argument("names", nargs=-1, metavar="[NAME…]")
@click.option("--dry-run", is_flag=True, help="Only show what could be forgotten.")
@click.option("--merge", is_flag=True, help="Also merge notes that are about the same.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_nexus
def forget_unused_notes(nexus: "Nexus", names: tuple[str, ...], dry_run: bool, merge: bool, yes: bool) -> None:
    """Forget notes that nobody uses, after asking, as one commit that can be undone.

    NAME… limits it to these candidates. No note is deleted because of one signal alone.
    """
    notes = open_notes(nexus.state)
    rows, pairs = _choose_candidates(notes, names, merge)
    payload = {
        "candidates": [assessment_as_json(row) for row in rows],
        "duplicates": [pair_as_json(pair) for pair in pairs],
    }
    did = ForgetResult(None)
    said = _format_proposal(rows, pairs) or "Nothing to forget."
    if (rows or pairs) and not dry_run:
        if not _confirm_forgetting(said, len(rows), len(pairs), yes, payload):
            said = "Nothing was forgotten."
        elif not (going := still_candidates(notes, rows)) and not pairs:
            said = "Nothing was forgotten: they were read or changed meanwhile."
        else:
            did = forget_notes(notes, [(row.note.name, row.why) for row in going], pairs)
            said = (
                f"Forgot {count_of(len(did.deleted) + len(did.merged), 'note')} in one commit.\n"
                f"Undo: git nexus memory restore --from {(did.commit or '')[:12]}"
            )
    done = {"deleted": list(did.deleted), "merged": [list(pair) for pair in did.merged], "commit": did.commit}
    print_answer({**payload, **done}, said, nexus.described)


def _choose_candidates(
    notes: "Notes", names: tuple[str, ...], merge: bool
) -> "tuple[list[NoteAssessment], list[DuplicatePair]]":
    rows = [row for row in assess_all_notes(notes) if row.is_candidate]
    wanted = {name.removesuffix(".md") for name in names}
    pairs = (
        find_duplicates(notes, [row.note.name for row in rows if not wanted or row.note.name in wanted])
        if merge
        else []
    )
    strange = sorted(wanted - {row.note.name for row in rows} - {pair.other.name for pair in pairs})
    if strange:
        raise Invalid(
            f"not among what could be forgotten: {', '.join(strange)}", hint="git nexus memory stats shows why"
        )
    chosen = [row for row in rows if not wanted or row.note.name in wanted]
    return chosen, [pair for pair in pairs if not wanted or pair.other.name in wanted]


def _format_proposal(rows: "list[NoteAssessment]", pairs: "list[DuplicatePair]") -> str:
    lines = [f"forget  {row.note.name}: {row.why}" for row in rows]
    return "\n".join(
        lines + [f"merge   {pair.other.name} into {pair.into.name} ({pair.score:.0%} alike)" for pair in pairs]
    )


def _confirm_forgetting(said: str, going: int, merging: int, yes: bool, payload: dict[str, Any]) -> bool:
    if yes:
        return True
    as_json = current_invocation(click.get_current_context()).as_json
    if as_json or not sys.stdin.isatty():
        raise Failed(
            f"nothing was deleted: {count_of(going + merging, 'note')} could be, and nobody can be asked here",
            hint="look with --dry-run, then add --yes",
            fix="git nexus memory gc --dry-run",
            context=payload,
        )
    click.echo(said, err=True)
    words = [count_of(going, "note")] if going else []
    words += [f"merge {count_of(merging, 'pair')}"] if merging else []
    return click.confirm(f"Forget {' and '.join(words)}?" if going else f"{words[0].capitalize()}?", err=True)
