"""`git nexus project move`: set the new location of a project; names and permissions stay."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.files import expand_home
from gitnexus.base.text import one_line
from gitnexus.projects.move import move_project
from gitnexus.projects.register import project_to_register
from gitnexus.ui.commands import NexusCommand, current_invocation
from gitnexus.ui.output import print_answer, start_folder
from gitnexus.ui.standpoint import with_standpoint

if TYPE_CHECKING:
    from gitnexus.projects.standpoint import Standpoint


@click.command("move", cls=NexusCommand)
@click.argument("name")
@click.argument("path")
@with_standpoint
def move_registered_project(standpoint: "Standpoint", name: str, path: str) -> None:
    """Set the new location of a project; names and permissions stay."""
    start = start_folder(current_invocation(click.get_current_context()))
    place = project_to_register(start / expand_home(path))
    done = move_project(standpoint.home, standpoint.find_registered(name), place, standpoint.clock())
    print_answer(
        {"project": done.project.plain(), "movedFrom": done.moved.path if done.moved else None},
        f"{done.project.name} is at {one_line(done.project.path)} now.",
        done.project.described,
    )
