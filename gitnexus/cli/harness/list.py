"""`git nexus harness list`: list the programs, where git nexus is installed in them, and which of them are on PATH."""

import shutil

import click

from gitnexus.app.harness_install import install_statuses
from gitnexus.harness.install.programs.table import ROWS
from gitnexus.ui.commands import NexusCommand, current_invocation
from gitnexus.ui.output import format_columns, print_answer, start_folder


@click.command("list", cls=NexusCommand)
@click.pass_context
def list_harnesses(ctx: click.Context) -> None:
    """List the programs, where git nexus is installed in them, and which of them are on PATH."""

    found = list(install_statuses(start_folder(current_invocation(ctx)), list(ROWS)))
    rows = []
    for row in ROWS.values():
        scopes = [one.scope for one in found if one.row.id == row.id and one.installed]
        program = shutil.which(row.program) if row.program else None
        rows.append({"harness": row.id, "name": row.name, "scopes": scopes, "gate": row.has_gate, "program": program})
    head = [["harness", "name", "installed", "gate", "program"]]
    shown = [
        [
            str(row["harness"]),
            str(row["name"]),
            ", ".join(map(str, row["scopes"])) or "no",  # type: ignore[call-overload]
            "yes" if row["gate"] else "no",
            str(row["program"] or "not on PATH"),
        ]
        for row in rows
    ]
    print_answer({"harnesses": rows}, format_columns(head + shown, indent=""))
