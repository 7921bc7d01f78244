"""`git nexus register`: add a project to the registry, so that others can refer to it."""

import click

from gitnexus.base.clock import utc_now
from gitnexus.base.files import expand_home
from gitnexus.base.text import one_line
from gitnexus.projects.register import RegisterRequest, add_project, project_to_register
from gitnexus.projects.signed_permissions import guard_home
from gitnexus.state.home import make_home
from gitnexus.ui.commands import NexusCommand, current_invocation
from gitnexus.ui.output import print_answer, start_folder


@click.command("register", cls=NexusCommand)
@click.argument("path")
@click.option("--name", metavar="NAME", help="What other projects call it. Default: the folder's name.")
@click.option("--alias", "aliases", metavar="NAME", multiple=True, help="Another name; may be given more than once.")
@click.pass_context
def register_folder(ctx: click.Context, path: str, name: str | None, aliases: tuple[str, ...]) -> None:
    """Add a project to the registry, so that others can refer to it.

    PATH is a git repository after git nexus init, or a folder with .cleo/todo.json, which is only read. A project that
    moved is recognised by its id and keeps its names and permissions.
    """
    place = project_to_register(start_folder(current_invocation(ctx)) / expand_home(path))
    home = guard_home(make_home())
    done = add_project(home, RegisterRequest(place.path, name, aliases, place.read_project_id()), utc_now())
    home.close()
    also = f", also {', '.join(done.project.aliases)}" if done.project.aliases else ""
    came = f"\nIt moved here from {one_line(done.moved.path)} and keeps its permissions." if done.moved else ""
    print_answer(
        {"project": done.project.plain(), "movedFrom": done.moved.path if done.moved else None},
        f"Registered {one_line(place.path)} as {done.project.name}{also}.{came}",
        done.project.described,
    )
