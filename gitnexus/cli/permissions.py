"""`git nexus permissions`: who may do what, and who did."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.cli.permission_levels import PERMISSION_LEVELS
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer, print_note
from gitnexus.ui.standpoint import with_standpoint

if TYPE_CHECKING:
    from gitnexus.projects.standpoint import Standpoint


@click.command("permissions", cls=NexusCommand)
@click.option("--list", "what", flag_value="list", default="list", help="Show what was granted, and the default.")
@click.option("--audit", "what", flag_value="audit", help="Show who did what to whom, the newest first.")
@click.option("--default", "default", type=PERMISSION_LEVELS, help="Set the permission where nothing was granted.")
@click.option(
    "-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="How many lines of the audit."
)
@with_standpoint
def show_permissions(standpoint: "Standpoint", what: str, default: str | None, limit: int) -> None:
    """Who may do what, and who did.

    The audit has a line for every write, execute and denial between two projects; also for reads, if audit.reads is
    true in the settings.
    """
    if default is not None:
        from gitnexus.projects.granting import set_default_level
        from gitnexus.projects.levels import Level

        set_default_level(standpoint.home, Level(default))
    if what == "audit":
        _print_audit(standpoint, limit)
    else:
        _print_granted(standpoint)


def _print_granted(standpoint: "Standpoint") -> None:
    found = standpoint.permissions
    rows = []
    for row in found.project_relationships:
        caller, target = standpoint.name_of(row.from_), standpoint.name_of(row.to)
        rows.append(
            {
                "from": caller,
                "to": target,
                "fromHash": row.from_,
                "toHash": row.to,
                "permission": row.permission.value,
                "reason": row.reason,
            }
        )
    shown = [[row["from"], "→", row["to"], row["permission"], one_line(row["reason"], 100)] for row in rows]
    default = found.default_permission.value
    trusted = standpoint.permissions_count()
    if not trusted:
        print_note(
            "the permissions are not as you signed them: none counts as more than read until git nexus policy trust"
        )
    tail = f"By default: {default}."
    print_answer(
        {"defaultPermission": default, "permissions": rows, "trusted": trusted},
        "\n".join([format_columns(shown, indent=""), tail]) if shown else tail,
        standpoint.described,
    )


def _print_audit(standpoint: "Standpoint", limit: int) -> None:
    found = standpoint.read_audit_page(limit)
    if found.unreadable:
        print_note(f"{found.unreadable} lines of the audit cannot be read")
    rows = []
    for line in found.lines:
        caller = standpoint.name_of(line.from_project) if line.from_project else "(no project)"
        task = (line.task_ref or "").rpartition(":")[2]
        target = standpoint.name_of(line.to_project) + (f":{task}" if task else "")
        colour = "green" if line.result == "allowed" else "red"
        rows.append(
            [
                line.timestamp,
                click.style(line.result, fg=colour),
                one_line(caller, 64),
                one_line(target, 80),
                one_line(line.operation, 60),
                f"has {line.permission_granted.value}, needs {line.permission_required.value}",
            ]
        )
    tail = [f"… {found.more} more: git nexus permissions --audit -n {limit + found.more}"] if found.more else []
    print_answer(
        {"entries": [line.plain() for line in found.lines], "more": found.more, "unreadable": found.unreadable},
        "\n".join([format_columns(rows, indent=""), *tail]) if rows else "The audit is empty.",
        standpoint.described,
    )
