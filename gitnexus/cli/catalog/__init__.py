"""`git nexus catalog`: the table of its commands, strings only."""

from gitnexus.ui.commands import LazyGroup

catalog = LazyGroup(
    (
        (
            "Commands",
            "check",
            "gitnexus.cli.catalog.check:check_catalog",
            "List everything that is wrong with the package in DIR, or with the project's package.",
        ),
        (
            "Commands",
            "manifest",
            "gitnexus.cli.catalog.manifest:write_catalog_manifest",
            "Write DIR/manifest.json from the metadata, prompts and vocabularies beside it.",
        ),
    ),
    name="catalog",
    help="A package of roles and skills of your own, in the layout of nexus-core.\n\n"
    "catalog.source in .nexus/settings.json names the one that a project uses; it is used only if it is complete.",
)
