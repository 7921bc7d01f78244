"""`git nexus register`."""

import click

from gitnexus.base.files import expand_home
from gitnexus.base.text import one_line
from gitnexus.ui.commands import NexusCommand, invocation
from gitnexus.ui.output import answer, start_folder


@click.command("register", cls=NexusCommand)
@click.argument("path")
@click.option("--name", metavar="NAME", help="What other projects call it. Default: the folder's name.")
@click.option("--alias", "aliases", metavar="NAME", multiple=True, help="Another name; may be given more than once.")
@click.pass_context
def register(ctx: click.Context, path: str, name: str | None, aliases: tuple[str, ...]) -> None:
    """Put a project into the registry, so that others can refer to it.

    PATH is a git repository that git nexus init made a project, or a folder with .cleo/todo.json, which is only read.
    One that moved is known again by its id and keeps its names and permissions.
    """
    from gitnexus.app.homeseal import guarded
    from gitnexus.base.clock import now
    from gitnexus.projects.register import Wanted, add, project_to_register
    from gitnexus.state.home import make_home

    place = project_to_register(start_folder(invocation(ctx)) / expand_home(path))
    home = guarded(make_home())
    done = add(home, Wanted(place.path, name, aliases, place.identity()), now())
    home.close()
    also = f", also {', '.join(done.project.aliases)}" if done.project.aliases else ""
    came = f"\nIt moved here from {one_line(done.moved.path)} and keeps its permissions." if done.moved else ""
    answer(
        {"project": done.project.plain(), "movedFrom": done.moved.path if done.moved else None},
        f"Registered {one_line(place.path)} as {done.project.name}{also}.{came}",
        done.project.described,
    )
