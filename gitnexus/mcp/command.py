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

    The project is the one that a request names, else $NEXUS_PROJECT, else the client's first root in a git repository
    (if the client can be asked for roots), else the current folder. Works in a repository without `git nexus init`: the
    first write creates what it needs.
    """
    if run_id is not None:
        from gitnexus.mcp.runserver import serve_run

        serve_run(start_folder(current_invocation(ctx)), run_id, node)
        return
    from gitnexus.mcp.server import serve_project

    serve_project(start_folder(current_invocation(ctx)), harness)
