"""`git nexus graph`: the graph as a tree, DOT, Mermaid or JSON."""

import sys
from pathlib import Path

import click

from gitnexus.ui.commands import NexusCommand, invocation
from gitnexus.ui.output import answer, start_folder
from gitnexus.ui.standpoint import standing


@click.command("graph", cls=NexusCommand)
@click.option("--project", "name", metavar="NAME", help="One project with what it touches; `.` is this one.")
@click.option("--format", "form", type=click.Choice(["text", "dot", "mermaid", "json"]), default="text",
              show_default=True, help="A tree for people, or a form for other programs.")  # fmt: skip
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write it there.")
@click.pass_context
def graph(ctx: click.Context, name: str | None, form: str, output: Path | None) -> None:
    """Draw who waits for whom, in all projects that may be read."""
    from gitnexus.app.network import with_network
    from gitnexus.base.files import replace
    from gitnexus.cli.network import progress
    from gitnexus.projects import drawing
    from gitnexus.projects.operations import Operation

    asked = invocation(ctx)
    asked.as_json = asked.as_json or form == "json"
    with standing() as standpoint:
        project = standpoint.find(name) if name else None
        if project is not None:
            standpoint.require(Operation.GRAPH, project)
        picture = with_network(standpoint, lambda network: network.picture(project), progress())
        told = picture.plain()
        text = {"dot": drawing.dot, "mermaid": drawing.mermaid}.get(form, lambda p: drawing.tree(p, _screen()))(picture)
        if output is not None:
            from gitnexus.base.canonical import document

            data = document(told) if asked.as_json else f"{text}\n".encode()
            replace(start_folder(asked) / output, data)
            told, text = {**told, "output": str(output)}, f"Wrote {len(picture.nodes)} tasks to {output}"
        answer(told, text or "No task depends on another.", standpoint.described)


def _screen() -> int:
    import shutil

    return max(10, shutil.get_terminal_size().lines - 4) if sys.stdout.isatty() else 10_000
