"""`git nexus index`: bring the index of all projects up to date; every command that needs it does so by itself."""

from typing import TYPE_CHECKING, Any

import click

from gitnexus.cli.graph.output import print_left_out, progress_reporter
from gitnexus.projects.graph_refresh import reindex_projects
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import count_of, print_answer
from gitnexus.ui.standpoint import with_standpoint

if TYPE_CHECKING:
    from gitnexus.projects.standpoint import Standpoint


@click.command("index", cls=NexusCommand)
@click.option("--rebuild", is_flag=True, help="Rebuild it completely, not only what changed.")
@with_standpoint
def update_index(standpoint: "Standpoint", rebuild: bool) -> None:
    """Bring the index of all projects up to date; every command that needs it does so by itself."""
    told = reindex_projects(standpoint, progress_reporter(), whole=rebuild)
    named: Any = told["rebuilt"]
    print_left_out(told)
    text = (
        f"{count_of(int(str(told['projects'])), 'project')}, {count_of(int(str(told['tasks'])), 'task')}, "
        f"{told['edges']} dependencies; {len(named) or 'no'} project{'' if len(named) == 1 else 's'} read again"
    )
    print_answer(told, text, standpoint.described)
