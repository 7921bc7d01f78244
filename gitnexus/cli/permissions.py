"""`git nexus grant`, `revoke` and `permissions`: who may do what to whom."""

from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.text import one_line
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import answer, columns, note
from gitnexus.ui.standpoint import with_standpoint

if TYPE_CHECKING:
    from gitnexus.projects.granting import Changed
    from gitnexus.projects.standpoint import Standpoint

_LEVELS = click.Choice(["none", "read", "write", "execute"])


@click.command("grant", cls=NexusCommand)
@click.argument("caller", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--permission", required=True, type=_LEVELS, help="What FROM may do to TO; each implies those before it.")
@click.option("--reason", metavar="TEXT", default="", help="Why.")
@with_standpoint
def grant(standpoint: "Standpoint", caller: str, target: str, permission: str, reason: str) -> None:
    """Let one project read, write or execute in another.

    FROM and TO are names, aliases, 4 to 12 digits of a hash, or . for the current project. It says nothing about the
    other direction. What was granted before between the two is replaced; none takes away even reading.
    """
    from gitnexus.projects.granting import grant as give
    from gitnexus.projects.levels import Level

    done = give(standpoint.home, standpoint.find_registered(caller), standpoint.find_registered(target),
                Level(permission), reason)  # fmt: skip
    answer(_payload(done), f"{done.caller.name} holds {permission} on {done.target.name}"
           f" (before: {done.before.value}).", standpoint.described)  # fmt: skip


@click.command("revoke", cls=NexusCommand)
@click.argument("caller", metavar="FROM")
@click.argument("target", metavar="TO")
@with_standpoint
def revoke(standpoint: "Standpoint", caller: str, target: str) -> None:
    """Go back to the default between two projects."""
    from gitnexus.projects.granting import revoke as take

    done = take(standpoint.home, standpoint.find_registered(caller), standpoint.find_registered(target))
    answer(_payload(done), f"{done.caller.name} holds {done.after.value} on {done.target.name}, the default"
           f" (before: {done.before.value}).", standpoint.described)  # fmt: skip


@click.command("permissions", cls=NexusCommand)
@click.option("--list", "what", flag_value="list", default="list", help="Show what was granted, and the default.")
@click.option("--audit", "what", flag_value="audit", help="Show who did what to whom, the newest first.")
@click.option("--default", "default", type=_LEVELS, help="Set what holds where nothing was granted.")
@click.option(
    "-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="How many lines of the audit."
)
@with_standpoint
def permissions(standpoint: "Standpoint", what: str, default: str | None, limit: int) -> None:
    """Who may do what, and who did.

    The audit has a line for every write, execute and denial between two projects; also for reads, if audit.reads is
    true in the settings.
    """
    if default is not None:
        from gitnexus.projects.granting import set_default
        from gitnexus.projects.levels import Level

        set_default(standpoint.home, Level(default))
    if what == "audit":
        _audit(standpoint, limit)
    else:
        _granted(standpoint)


def _granted(standpoint: "Standpoint") -> None:
    found = standpoint.permissions
    rows = []
    for row in found.project_relationships:
        caller, target = standpoint.name_of(row.from_), standpoint.name_of(row.to)
        rows.append({"from": caller, "to": target, "fromHash": row.from_, "toHash": row.to,
                     "permission": row.permission.value, "reason": row.reason})  # fmt: skip
    shown = [[row["from"], "→", row["to"], row["permission"], one_line(row["reason"], 100)] for row in rows]
    default = found.default_permission.value
    trusted = standpoint.permissions_count()
    if not trusted:
        note("the permissions are not as you signed them: none counts as more than read until git nexus policy trust")
    tail = f"Where nothing was granted: {default}."
    answer(
        {"defaultPermission": default, "permissions": rows, "trusted": trusted},
        "\n".join([columns(shown, indent=""), tail]) if shown else tail,
        standpoint.described,
    )


def _audit(standpoint: "Standpoint", limit: int) -> None:
    found = standpoint.audit(limit)
    if found.unreadable:
        note(f"{found.unreadable} lines of the audit cannot be read")
    rows = []
    for line in found.lines:
        caller = standpoint.name_of(line.from_project) if line.from_project else "(no project)"
        task = (line.task_ref or "").rpartition(":")[2]
        target = standpoint.name_of(line.to_project) + (f":{task}" if task else "")
        colour = "green" if line.result == "allowed" else "red"
        rows.append([line.timestamp, click.style(line.result, fg=colour), one_line(caller, 64), one_line(target, 80),
                     one_line(line.operation, 60), f"{line.permission_granted.value} held"
                     f", {line.permission_required.value} needed"])  # fmt: skip
    tail = [f"… {found.more} more: git nexus permissions --audit -n {limit + found.more}"] if found.more else []
    answer(
        {"entries": [line.plain() for line in found.lines], "more": found.more, "unreadable": found.unreadable},
        "\n".join([columns(rows, indent=""), *tail]) if rows else "The audit is empty.",
        standpoint.described,
    )


def _payload(done: "Changed") -> dict[str, Any]:
    return {
        "from": done.caller.name,
        "to": done.target.name,
        "fromHash": done.caller.hash,
        "toHash": done.target.hash,
        "permission": done.after.value,
        "previous": done.before.value,
        "reason": done.reason,
    }
