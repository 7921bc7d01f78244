"""Shared by `git nexus harness install` and `uninstall`: options, the change itself, and its output."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gitnexus.app.harness_install import ClientConfig, InstallOutcome, install_harness, uninstall_harness, write_plugin
from gitnexus.base.files import expand_home
from gitnexus.ui.commands import current_invocation
from gitnexus.ui.harness import format_install_outcome, outcome_as_json
from gitnexus.ui.output import print_answer, start_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from gitnexus.harness.install.model import Scope


def with_install_options(command: "Callable[..., Any]") -> "Callable[..., Any]":
    """Add the options that `install` and `uninstall` have in common."""
    for option in (
        click.option("--dry-run", is_flag=True, help="Show the diff of every file, and write none."),
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


def change_installation(
    ctx: click.Context,
    name: str,
    dry_run: bool,
    *,
    out: bool,
    scope: "Scope",
    plugin: str | None,
    config: str | None,
    key: str | None,
) -> "InstallOutcome":
    """Install into a program, or with `out` uninstall from it. Raises: NexusError, click.UsageError."""
    start = start_folder(current_invocation(ctx))
    if plugin is not None:
        if name != "claude-code" or config or key:
            raise click.UsageError("--plugin goes with claude-code alone")
        return write_plugin(start, start / expand_home(plugin), out=out, dry_run=dry_run)
    given = _client_config(start, name, config, key)
    return (uninstall_harness if out else install_harness)(start, name, scope, given, dry_run=dry_run)


def _client_config(start: Path, name: str, config: str | None, key: str | None) -> "ClientConfig | None":
    if config is None and key is None:
        return None
    if name != "mcp" or config is None:
        raise click.UsageError("--config FILE goes with mcp, and --key with both")
    file = (start / expand_home(config)).absolute()
    return ClientConfig(file, key or ("mcp_servers" if file.suffix == ".toml" else "mcpServers"))


def print_outcome(done: "InstallOutcome", dry_run: bool, *, out: bool) -> None:
    """Print what an installation changed, or would change."""
    print_answer(lambda: outcome_as_json(done, dry_run), lambda: format_install_outcome(done, dry_run, out=out))
