"""`git nexus bundle`: the table of its commands, strings only."""

from gitnexus.ui.commands import LazyGroup

bundle = LazyGroup(
    (
        (
            "Commands",
            "apply",
            "gitnexus.cli.bundle.apply:apply_bundle_file",
            "Merge what FILE contains, with the same checks as git nexus sync.",
        ),
        (
            "Commands",
            "create",
            "gitnexus.cli.bundle.create:create_bundle_file",
            "Write the state, the logs of runs and their archives into FILE.",
        ),
    ),
    name="bundle",
    help="Exchange state as a file between clones that share no network.",
)
