"""`git nexus mcp`."""

import click

from gitnexus.ui.commands import NexusCommand, invocation
from gitnexus.ui.output import start_folder


@click.command("mcp", cls=NexusCommand)
@click.option("--harness", metavar="ID", help="The program that calls. Default: $NEXUS_HARNESS, else git-nexus.")
@click.pass_context
def mcp(ctx: click.Context, harness: str | None) -> None:
    """Serve the tools to an agent over stdio (Model Context Protocol).

    The project is $NEXUS_PROJECT, else the first root of the client that lies in a git repository, else the folder it
    is started in. Works in a repository that was never initialised: the first write makes what it needs.
    """
    from gitnexus.mcp.server import serve

    serve(start_folder(invocation(ctx)), harness)
