"""`git nexus catalog check`: list everything that is wrong with the package in DIR, or with the project's package."""

import sys

import click

from gitnexus.app.catalog import check_package
from gitnexus.base.text import one_line
from gitnexus.ui.commands import NexusCommand, current_invocation
from gitnexus.ui.output import count_of, print_answer, start_folder


@click.command("check", cls=NexusCommand)
@click.argument("place", metavar="[DIR]", required=False)
@click.pass_context
def check_catalog(ctx: click.Context, place: str | None) -> None:
    """List everything that is wrong with the package in DIR, or with the project's package.

    Exits with status 1 if it is broken.
    """
    found = check_package(start_folder(current_invocation(ctx)), place)
    sound = f"{one_line(found.source)} is valid: {count_of(found.roles, 'role')}, {count_of(found.skills, 'skill')}."
    lines = [f"{one_line(found.source)} has problems:", *(f"  {one_line(line, 400)}" for line in found.problems)]
    print_answer(
        {
            "source": found.source,
            "whole": not found.problems,
            "agents": found.roles,
            "skills": found.skills,
            "problems": list(found.problems),
        },
        "\n".join(lines) if found.problems else sound,
    )
    sys.exit(1 if found.problems else 0)
