"""`git nexus project`: the table of its commands, strings only."""

from gitnexus.ui.commands import LazyGroup

project = LazyGroup(
    (
        (
            "Commands",
            "alias",
            "gitnexus.cli.project.alias:change_aliases",
            "Give a project more names, or take some away.",
        ),
        (
            "Commands",
            "list",
            "gitnexus.cli.project.list:list_projects",
            "List every project with its health and what the current one may do to it.",
        ),
        (
            "Commands",
            "move",
            "gitnexus.cli.project.move:move_registered_project",
            "Set the new location of a project; names and permissions stay.",
        ),
        (
            "Commands",
            "rename",
            "gitnexus.cli.project.rename:rename_registered_project",
            "Give a project another name; the old one stays as an alias.",
        ),
        (
            "Commands",
            "show",
            "gitnexus.cli.project.show:show_registered_project",
            "Show one project; needs read permission on it.",
        ),
        (
            "Commands",
            "unregister",
            "gitnexus.cli.project.unregister:forget_project",
            "Forget a project and every permission that names it; its files stay as they are.",
        ),
    ),
    name="project",
    help="The projects you have: list, show, rename, move, forget.\n\n"
    "NAME is a project's name, an alias, 4 to 12 digits of its hash, or . for the current one.",
)
