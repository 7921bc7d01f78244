"""`git nexus harness list|install|uninstall|status|doctor`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.files import expand_home
from gitnexus.base.text import one_line
from gitnexus.ui.commands import NexusGroup, invocation
from gitnexus.ui.output import answer, columns, start_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from gitnexus.app.harness import Client, Outcome
    from gitnexus.harness.install.model import Scope

_COLOURS = {"ok": "green", "warning": "yellow", "problem": "red"}


@click.group("harness", cls=NexusGroup)
def harness() -> None:
    """Put git nexus into the program that you work in, and take it out again.

    For Claude Code, Codex, Gemini CLI, OpenCode, Cursor, and with mcp any other MCP client. The tools, the events, the
    roles, the skills and a few lines of instructions are added to the files that the program reads; what is in them
    stays as it is.
    """


def _options(command: "Callable[..., Any]") -> "Callable[..., Any]":
    for option in (
        click.option("--dry-run", is_flag=True, help="Show the difference of every file, and write none."),
        click.option("--key", metavar="KEY", default=None, help="With mcp: below which key. Default: mcpServers."),
        click.option("--config", metavar="FILE", default=None, help="With mcp: the file that the client reads."),
        click.option("--plugin", metavar="DIR", default=None, help="With claude-code: a plugin folder instead."),
        click.option(
            "--scope",
            type=click.Choice(["project", "user"]),
            default="project",
            help="For this repository and all who clone it, or for you everywhere. Default: project.",
        ),
        click.argument("name", metavar="HARNESS"),
    ):
        command = option(command)
    return command


@harness.command("list")
@click.pass_context
def list_command(ctx: click.Context) -> None:
    """List the programs, where git nexus is installed in them, and which of them are on PATH."""
    import shutil

    from gitnexus.app.harness import standings
    from gitnexus.harness.install.programs.table import ROWS

    found = list(standings(start_folder(invocation(ctx)), list(ROWS)))
    rows = []
    for row in ROWS.values():
        scopes = [one.scope for one in found if one.row.id == row.id and one.installed]
        program = shutil.which(row.program) if row.program else None
        rows.append({"harness": row.id, "name": row.name, "scopes": scopes, "gate": row.has_gate, "program": program})
    head = [["harness", "name", "installed", "gate", "program"]]
    shown = [[str(row["harness"]), str(row["name"]), ", ".join(map(str, row["scopes"])) or "no",  # type: ignore[call-overload]
              "yes" if row["gate"] else "no", str(row["program"] or "not on PATH")] for row in rows]  # fmt: skip
    answer({"harnesses": rows}, columns(head + shown, indent=""))


@harness.command("install")
@_options
@click.pass_context
def install_command(ctx: click.Context, /, name: str, dry_run: bool, **given: Any) -> None:
    """Install into a program's files; twice is harmless, and after an upgrade it brings them up to date.

    All or nothing: a file that does not parse is named by line and column, and nothing is changed.
    """
    _tell(_done(ctx, name, dry_run, out=False, **given), dry_run, out=False)


@harness.command("uninstall")
@_options
@click.pass_context
def uninstall_command(ctx: click.Context, /, name: str, dry_run: bool, **given: Any) -> None:
    """Take out what install put in: to the byte, or where you changed a file since, our part of it alone."""
    _tell(_done(ctx, name, dry_run, out=True, **given), dry_run, out=True)


@harness.command("status")
@click.argument("name", metavar="HARNESS", required=False)
@click.pass_context
def status_command(ctx: click.Context, name: str | None) -> None:
    """Tell what is installed where, what waits for your yes in the program, and what is not protected."""
    from gitnexus.app.harness import standings
    from gitnexus.harness.install.programs.table import ROWS, row_named
    from gitnexus.ui.harness import standing_payload, standing_text

    names = [row_named(name).id] if name else list(ROWS)
    found = list(standings(start_folder(invocation(ctx)), names))
    shown = [one for one in found if one.installed or name]
    text = "\n\n".join(map(standing_text, shown)) or "Not installed in any program. git nexus harness list shows them."
    answer({"harnesses": [standing_payload(one) for one in found]}, text)


@harness.command("doctor")
@click.argument("name", metavar="HARNESS")
@click.pass_context
def doctor_command(ctx: click.Context, name: str) -> None:
    """Prove that it works: files, trust, the program itself, and a call that the hook must refuse.

    Leaves with status 1 while a problem remains.
    """
    from gitnexus.app.harnesscheck import examined

    found = examined(start_folder(invocation(ctx)), name)
    rows = [
        [
            click.style(finding.state, fg=_COLOURS[finding.state]),
            finding.check,
            one_line(finding.words + (f" ({finding.hint})" if finding.hint else ""), 400),
        ]
        for finding in found
    ]
    told = [
        {"check": one.check, "state": one.state, "message": one.words, **({"hint": one.hint} if one.hint else {})}
        for one in found
    ]
    healthy = all(finding.state != "problem" for finding in found)
    answer({"harness": name, "healthy": healthy, "findings": told}, columns(rows, indent=""))
    sys.exit(0 if healthy else 1)


def _done(
    ctx: click.Context,
    name: str,
    dry_run: bool,
    *,
    out: bool,
    scope: "Scope",
    plugin: str | None,
    config: str | None,
    key: str | None,
) -> "Outcome":
    from gitnexus.app.harness import install, uninstall, write_plugin

    start = start_folder(invocation(ctx))
    if plugin is not None:
        if name != "claude-code" or config or key:
            raise click.UsageError("--plugin goes with claude-code alone")
        return write_plugin(start, start / expand_home(plugin), out=out, dry_run=dry_run)
    given = _client(start, name, config, key)
    return (uninstall if out else install)(start, name, scope, given, dry_run=dry_run)


def _client(start: Path, name: str, config: str | None, key: str | None) -> "Client | None":
    from gitnexus.app.harness import Client

    if config is None and key is None:
        return None
    if name != "mcp" or config is None:
        raise click.UsageError("--config FILE goes with mcp, and --key with both")
    file = (start / expand_home(config)).absolute()
    return Client(file, key or ("mcp_servers" if file.suffix == ".toml" else "mcpServers"))


def _tell(done: "Outcome", dry_run: bool, *, out: bool) -> None:
    from gitnexus.ui.harness import outcome_payload, outcome_text

    answer(lambda: outcome_payload(done, dry_run), lambda: outcome_text(done, dry_run, out=out))
