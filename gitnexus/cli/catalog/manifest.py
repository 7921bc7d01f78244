"""`git nexus catalog manifest`: write DIR/manifest.json from the metadata, prompts and vocabularies beside it."""

import click

from gitnexus.base.errors import Invalid
from gitnexus.base.files import expand_home
from gitnexus.catalog.generate import write_manifest
from gitnexus.ui.commands import NexusCommand, current_invocation
from gitnexus.ui.output import print_answer, start_folder


@click.command("manifest", cls=NexusCommand)
@click.argument("place", metavar="DIR")
@click.pass_context
def write_catalog_manifest(ctx: click.Context, place: str) -> None:
    """Write DIR/manifest.json from the metadata, prompts and vocabularies beside it.

    Nothing is written if one of them has an error.
    """
    folder = start_folder(current_invocation(ctx)) / expand_home(place)
    changed, problems = write_manifest(folder)
    if problems:
        raise Invalid(
            f"no manifest was written: {'; '.join(problems[:5])}",
            hint="correct that first; with --json all of it is listed",
            context={"problems": problems},
        )
    print_answer(
        {"changed": changed, "path": str(folder / "manifest.json")},
        "Written." if changed else "manifest.json is up to date.",
    )
