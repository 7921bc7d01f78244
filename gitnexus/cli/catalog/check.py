"""`git nexus catalog`: check a package of roles and skills, and make its manifest."""

import sys

import click

from gitnexus.base.files import expand_home
from gitnexus.base.text import one_line
from gitnexus.ui.commands import NexusGroup, invocation
from gitnexus.ui.output import answer, counted, start_folder


@click.group("catalog", cls=NexusGroup)
def catalog() -> None:
    """A package of roles and skills of your own, in the layout of nexus-core.

    catalog.source in .nexus/settings.json names the one that a project uses; it is used only if it is whole.
    """


@catalog.command("check")
@click.argument("place", metavar="[DIR]", required=False)
@click.pass_context
def check(ctx: click.Context, place: str | None) -> None:
    """Tell everything that is wrong with the package in DIR, or with the one that the project names.

    Leaves with status 1 if it is broken.
    """
    from gitnexus.app.catalog import checked

    found = checked(start_folder(invocation(ctx)), place)
    sound = f"{one_line(found.source)} is whole: {counted(found.roles, 'role')}, {counted(found.skills, 'skill')}."
    lines = [f"{one_line(found.source)} is broken:", *(f"  {one_line(line, 400)}" for line in found.problems)]
    answer(
        {"source": found.source, "whole": not found.problems, "agents": found.roles, "skills": found.skills,
         "problems": list(found.problems)},
        "\n".join(lines) if found.problems else sound,
    )  # fmt: skip
    sys.exit(1 if found.problems else 0)


@catalog.command("manifest")
@click.argument("place", metavar="DIR")
@click.pass_context
def manifest(ctx: click.Context, place: str) -> None:
    """Write DIR/manifest.json from the metadata, prompts and vocabularies beside it.

    Nothing is written while something in them is wrong.
    """
    from gitnexus.base.errors import Invalid
    from gitnexus.catalog.generate import write_manifest

    folder = start_folder(invocation(ctx)) / expand_home(place)
    changed, problems = write_manifest(folder)
    if problems:
        raise Invalid(
            f"no manifest was written: {'; '.join(problems[:5])}",
            hint="correct that first; with --json all of it is listed",
            context={"problems": problems},
        )
    answer({"changed": changed, "path": str(folder / "manifest.json")}, "Written." if changed else "It is current.")
