"""`git nexus verify`: show for each commit whether it was approved, and why."""

import sys
from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.files import expand_home
from gitnexus.base.text import one_line
from gitnexus.git import discover
from gitnexus.policy.seen import parse_root
from gitnexus.projects.open_project import describe_project
from gitnexus.projects.open_state import open_state
from gitnexus.runs.landing.verify_range import LostCommits, RangeVerification, approvers_for, verify_range
from gitnexus.ui.commands import NexusCommand, current_invocation
from gitnexus.ui.output import count_of, format_columns, print_answer, print_note, start_folder

if TYPE_CHECKING:
    from gitnexus.runs.landing.verify_commit import Proof

_COLOURS = {"approved": "green", "unapproved": "yellow", "invalid": "red"}
_SHOWN = 200


@click.command("verify", cls=NexusCommand)
@click.argument("commits", metavar="[RANGE]", required=False)
@click.option("--require-approval", is_flag=True, help="Also fail for commits without an approval.")
@click.option("--since-cursor", is_flag=True, help="Start where the last successful check of the same range ended.")
@click.option(
    "--forward", is_flag=True, help="Also fail if RANGE is A..B and B does not descend from A, as after a forced push."
)
@click.option("--approvers", "file", metavar="FILE", help="Use the approvers in this copy of .nexus/approvers.")
@click.option(
    "--root",
    metavar="PIN",
    help="Project and first approver, as approver list prints them: for machines that do not know them.",
)
@click.pass_context
def verify_history(
    ctx: click.Context,
    commits: str | None,
    require_approval: bool,
    since_cursor: bool,
    forward: bool,
    file: str | None,
    root: str | None,
) -> None:
    """Show for each commit whether it was approved, and why.

    RANGE is A..B, or B for all that B reaches. Without it: the commits of HEAD that its upstream or the default branch
    lacks; if there are none, the last 100 commits. Exits with status 22 if a commit is invalid: its approval does not
    match it. A range A..B whose end comes before its start undoes commits: that is reported, and fails with --require-
    approval, with --forward, and in a pre-receive hook.
    """
    # An empty word is no pin either: a variable that is not set must not mean "whatever this machine trusts".
    if root is not None and not parse_root(root).project:
        print_note(
            "--root names a key alone: the state of another project of the same person would pass too. "
            "git nexus approver list prints the string that pins both"
        )
    start = start_folder(current_invocation(ctx))
    state = open_state(discover(start, inherit=True))
    try:
        whose = approvers_for(state, start / expand_home(file) if file is not None else None, root)
        found = verify_range(
            state,
            whose,
            commits,
            strict=require_approval,
            since_cursor=since_cursor,
            forward=forward,
            pinned=root is not None,
            kept=file is not None,
        )
        for words in found.notes:
            print_note(words)
        if found.lost is not None and not found.lost.refused:
            print_note(_describe_lost_commits(found.lost))
        print_answer(
            lambda: _verification_as_json(found),
            lambda: _format_verification(found),
            lambda: describe_project(state.repo),
        )
    finally:
        state.close()
    sys.exit(0 if found.ok else 22)


def _verification_as_json(found: "RangeVerification") -> dict[str, Any]:
    return {
        "ok": found.ok,
        "commits": [proof.plain() for proof in found.proofs],
        "tip": found.tip,
        "since": found.since or None,
        "root": found.root,
        **({"goesBack": {"from": found.lost.start, "commits": found.lost.count}} if found.lost else {}),
        **({"notes": list(found.notes)} if found.notes else {}),
    }


def _format_verification(found: "RangeVerification") -> str:
    newest = found.proofs[::-1]
    wrong = {proof.commit for proof in found.wrong}
    shown = [proof for at, proof in enumerate(newest) if at < _SHOWN or proof.commit in wrong]
    more = [f"… {len(newest) - len(shown)} more, all good"] if len(newest) > len(shown) else []
    counts = [
        f"{sum(proof.status == status for proof in newest)} {status}"
        for status in _COLOURS
        if any(proof.status == status for proof in newest)
    ]
    since = f" since {found.since[:9]}, where the last pass ended" if found.since else ""
    tail = f"{count_of(len(newest), 'commit')}{since}: {', '.join(counts)}" if newest else f"No commits{since}."
    last = [click.style(_describe_lost_commits(found.lost), fg="red")] if found.lost and found.lost.refused else []
    return "\n".join(
        [*([format_columns([_format_proof(proof) for proof in shown], indent="")] if shown else []), *more, tail, *last]
    )


def _describe_lost_commits(lost: "LostCommits") -> str:
    """Return a description of the commits that a range would undo."""
    count = count_of(lost.count, "commit")
    if lost.refused:
        return f"The range goes back: {count} that {lost.start[:9]} has would be undone."
    return f"{lost.start[:9]} has {count} that this history lacks: as a push it would undo them (see --forward)"


def _format_proof(proof: "Proof") -> list[str]:
    who = f"{proof.run} {proof.action}".strip()
    status = click.style(proof.status, fg=_COLOURS[proof.status])
    reason = f"{proof.reason}; approved unseen" if proof.unseen else proof.reason
    return [proof.commit[:9], status, one_line(who, 40), one_line(reason, 120)]
