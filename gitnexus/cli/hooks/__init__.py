"""`git nexus hooks`: the table of its commands, strings only."""

from gitnexus.ui.commands import LazyGroup

hooks = LazyGroup(
    (
        (
            "Commands",
            "install",
            "gitnexus.cli.hooks.install:install_git_hooks",
            "Install the hooks; running it again is harmless.",
        ),
        (
            "Commands",
            "status",
            "gitnexus.cli.hooks.status:show_hook_status",
            "Show which hooks run, how, and what is missing.",
        ),
        (
            "Commands",
            "uninstall",
            "gitnexus.cli.hooks.uninstall:uninstall_git_hooks",
            "Remove our hooks; everything else in the hook files stays.",
        ),
    ),
    name="hooks",
    help="Install, remove or show the git hooks.\n\n"
    "They live beside husky, lefthook and pre-commit. On git 2.54 and later they are config hooks; on "
    "older git a marked block in the hook file. Nobody's hook is moved or renamed, and core.hooksPath is "
    "never set.",
)
