"""`git nexus mcp`: starts the MCP server."""

import click

from gitnexus.ui.commands import NexusCommand, current_invocation
from gitnexus.ui.output import start_folder, with_pygit2


@click.command("mcp", cls=NexusCommand)
@click.option("--harness", metavar="ID", help="The program that calls. Default: $NEXUS_HARNESS, else git-nexus.")
@click.option(
    "--run", "run_id", metavar="RUN", help="Serve the tools of a run to its agent; its calls become proposals."
)
@click.option("--node", default="", metavar="NODE", help="With --run: the step whose agent is served.")
@click.pass_context
@with_pygit2
def mcp(ctx: click.Context, harness: str | None, run_id: str | None, node: str) -> None:
    """Serve the tools to an agent over stdio (Model Context Protocol).

    The project is what a request names, else $NEXUS_PROJECT, else the first root of the client that lies in a git
    repository where it can be asked, else the folder it is started in. Works in a repository that was never
    initialised: the first write makes what it needs.
    """
    if run_id is not None:
        from gitnexus.mcp.runserver import serve_run

        serve_run(start_folder(current_invocation(ctx)), run_id, node)
        return
    from gitnexus.mcp.server import serve_project

    serve_project(start_folder(current_invocation(ctx)), harness)
