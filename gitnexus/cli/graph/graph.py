"""`git nexus graph`: draw the dependencies between tasks, in all projects that may be read."""

import shutil
import sys
from pathlib import Path

import click

from gitnexus.base.files import replace_file
from gitnexus.cli.graph.output import print_left_out, progress_reporter
from gitnexus.projects import graph_render
from gitnexus.projects.graph_refresh import with_network
from gitnexus.projects.operations import Operation
from gitnexus.ui.commands import NexusCommand, current_invocation
from gitnexus.ui.output import print_answer, start_folder
from gitnexus.ui.standpoint import opened_standpoint


@click.command("graph", cls=NexusCommand)
@click.option("--project", "name", metavar="NAME", help="One project and the tasks linked to its own; `.` is this one.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "dot", "mermaid", "json"]),
    default="text",
    show_default=True,
    help="A tree for people, or a form for other programs.",
)
@click.option(
    "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write it to this file."
)
@click.pass_context
def draw_graph(ctx: click.Context, name: str | None, form: str, output: Path | None) -> None:
    """Draw the dependencies between tasks, in all projects that may be read."""
    asked = current_invocation(ctx)
    asked.as_json = asked.as_json or form == "json"
    with opened_standpoint() as standpoint:
        project = standpoint.find(name) if name else None
        if project is not None:
            standpoint.require_permission(Operation.GRAPH, project)
        picture, left_out = with_network(
            standpoint,
            lambda network: (network.build_picture(project), network.with_left_out({})),
            progress_reporter(),
        )
        print_left_out(left_out)
        told = {**picture.plain(), **left_out}
        text = {"dot": graph_render.render_dot, "mermaid": graph_render.render_mermaid}.get(
            form, lambda p: graph_render.render_tree(p, _screen_height())
        )(picture)
        if output is not None:
            from gitnexus.base.canonical import json_document

            data = json_document(told) if asked.as_json else f"{text}\n".encode()
            replace_file(start_folder(asked) / output, data)
            told, text = {**told, "output": str(output)}, f"Wrote {len(picture.nodes)} tasks to {output}"
        print_answer(told, text or "No task depends on another.", standpoint.described)


def _screen_height() -> int:
    return max(10, shutil.get_terminal_size().lines - 4) if sys.stdout.isatty() else 10_000
