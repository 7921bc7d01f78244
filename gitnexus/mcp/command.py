"""`git nexus mcp`."""

import click

from gitnexus.ui.commands import NexusCommand, invocation
from gitnexus.ui.output import start_folder


@click.command("mcp", cls=NexusCommand)
@click.option("--harness", metavar="ID", help="The program that calls. Default: $NEXUS_HARNESS, else git-nexus.")
@click.option("--run", "run_id", metavar="RUN", help="Serve the tools of a run to its agent: what it asks is proposed.")
@click.option("--node", default="", metavar="NODE", help="With --run: the step whose agent is served.")
@click.pass_context
def mcp(ctx: click.Context, harness: str | None, run_id: str | None, node: str) -> None:
    """Serve the tools to an agent over stdio (Model Context Protocol).

    The project is $NEXUS_PROJECT, else the first root of the client that lies in a git repository, else the folder it
    is started in. Works in a repository that was never initialised: the first write makes what it needs.
    """
    if run_id is not None:
        from gitnexus.mcp.runserver import serve_run

        serve_run(start_folder(invocation(ctx)), run_id, node)
        return
    from gitnexus.mcp.server import serve

    serve(start_folder(invocation(ctx)), harness)
