"""Click commands that are imported when they are called, and the options that all of them share."""

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

import click

from gitnexus import __version__
from gitnexus.base.text import one_line
from gitnexus.base.typed import COMMAND

Row = tuple[str, str, str, str]
HELP_NAMES = ["-h", "--help"]
_WHOLE = "gitnexus.whole"


class CommandInvocation:
    """The values of the common options. A plain class: `dataclasses` would cost `git nexus -h` 3 ms."""

    def __init__(self) -> None:
        self.as_json = False
        self.directories: list[str] = []
        self.command = ""


class NumberRange(click.FloatRange):
    """A number between two bounds, both included; nan is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        if found != found:  # noqa: PLR0124 -- only nan is not itself, and no comparison with a bound tells it
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return found


def current_invocation(ctx: click.Context) -> CommandInvocation:
    """Return the common options of the running command."""
    found = ctx.ensure_object(CommandInvocation)
    found.command = ctx.command_path.removeprefix("git nexus").strip()
    COMMAND.set(found.command)
    return found


def _set_json(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(CommandInvocation).as_json = True


def _set_format(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.ensure_object(CommandInvocation).as_json = value == "json"


def _set_directory(ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]) -> None:
    ctx.ensure_object(CommandInvocation).directories.extend(value)


def common_options() -> list[click.Parameter]:
    """Return the options that every command takes."""
    return [
        click.Option(
            ["--json"],
            is_flag=True,
            expose_value=False,
            callback=_set_json,
            is_eager=True,
            help="Print exactly one JSON document.",
        ),
        click.Option(
            ["--format"],
            type=click.Choice(["text", "json"]),
            expose_value=False,
            callback=_set_format,
            is_eager=True,
            help="The same as a choice.",
        ),
        click.Option(
            ["-C", "directory"],
            metavar="DIR",
            multiple=True,
            expose_value=False,
            callback=_set_directory,
            is_eager=True,
            help="Run as if started in DIR.",
        ),
    ]


class NexusCommand(click.Command):
    """A command with `-h` and the common options."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["context_settings"] = {"help_option_names": HELP_NAMES, **(kwargs.get("context_settings") or {})}
        super().__init__(*args, **kwargs)
        taken = {name for param in self.params for name in param.opts}  # one may have a richer --format of its own
        self.params.extend(option for option in common_options() if taken.isdisjoint(option.opts))


class NexusGroup(click.Group):
    """A noun with verbs; every verb is a `NexusCommand`."""

    command_class = NexusCommand

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["context_settings"] = {"help_option_names": HELP_NAMES, **(kwargs.get("context_settings") or {})}
        super().__init__(*args, **kwargs)
        self.params.extend(common_options())

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:  # the noun alone: say what one can do with it
            if ctx.ensure_object(CommandInvocation).as_json:
                raise click.UsageError("which command?", ctx)
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, Any, list[str]]:
        found = self.get_command(ctx, args[0])
        if found is None:
            raise click.UsageError(unknown_command_message(ctx, args[0], self.list_commands(ctx)), ctx)
        return args[0], found, args[1:]


class LazyGroup(NexusGroup):
    """A group of commands given as strings; with `common`, its help shows only these and names the others."""

    def __init__(self, rows: Sequence[Row], common: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._rows = {row[1]: row for row in rows}
        self._common = frozenset(common)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._rows)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        row = self._rows.get(cmd_name)
        if row is None:
            return None
        module, _, name = row[2].partition(":")
        found: click.Command = getattr(import_module(module), name)
        return found

    def listed(self) -> list[tuple[str, str, str]]:
        """Return section, name and help line of each command."""
        return [(section, name, line) for section, name, _, line in self._rows.values()]

    def full_help_text(self, ctx: click.Context) -> str:
        """Return the help with every command and option."""
        ctx.meta[_WHOLE] = True
        return ctx.get_help()

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self._common and _WHOLE not in ctx.meta:
            self.format_commands(ctx, formatter)
        else:
            super().format_options(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        short = self._common if _WHOLE not in ctx.meta else ()
        room = formatter.width - 6 - max(map(len, self._rows))
        sections: dict[str, list[tuple[str, str]]] = {}
        others: dict[str, list[str]] = {}
        for section, name, line in self.listed():
            rows = sections.setdefault(section, [])
            if not self._common:  # as click does for commands that it has at hand
                line = click.Command(name, help=line).get_short_help_str(room)  # noqa: PLW2901
            if not short or name in short:
                rows.append((name, line))
            else:
                others.setdefault(section, []).append(name)
        for section, rows in sections.items():
            if short and section == "inside":
                continue
            rest = [("also", ", ".join(others[section]))] if section in others else []
            with formatter.section(section):
                formatter.write_dl([*rows, *rest], col_max=20)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Complete from the table, so that a TAB imports no command."""
        from click.shell_completion import CompletionItem  # only a TAB needs it

        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        return [
            CompletionItem(name, help=row[3])
            for name, row in self._rows.items()
            if name.startswith(incomplete) and row[0] != "inside"
        ]


def unknown_command_message(ctx: click.Context, word: str, names: Sequence[str]) -> str:
    """Return the error for an unknown command, with the most similar ones."""
    from difflib import get_close_matches

    path = ctx.command_path
    near = get_close_matches(word, names, n=3, cutoff=0.6) or [name for name in names if name.startswith(word[:3])]
    sentence = f"{path}: '{one_line(word, 40)}' is not a command"
    return f"{sentence}; did you mean {' or '.join(near)}?" if near else sentence


def build_root_command(rows: Sequence[Row], common: Sequence[str] = ()) -> LazyGroup:
    """Return the root command; `common` are the commands that its help shows."""
    group = LazyGroup(
        rows,
        common,
        context_settings={"terminal_width": _terminal_width(), "color": color_setting()},
        name="git nexus",
        help="A control plane for coding agents that lives inside git.",
        epilog="git nexus help --all lists all commands and options, git nexus COMMAND -h shows one, "
        "git help nexus the manual.",
        options_metavar="[-C DIR] [--json]",
        subcommand_metavar="COMMAND …",
    )
    return version_option(f"git-nexus version {__version__}")(group)


def color_setting() -> bool | None:
    """Return False if colours are disabled, else None: then the terminal decides."""
    return False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None


def _terminal_width() -> int:
    """Return 80 columns at most; click would import shutil for this."""
    try:
        return min(80, os.get_terminal_size(sys.stdout.fileno()).columns)
    except (OSError, ValueError):
        return 80


def version_option(text: str) -> Callable[[LazyGroup], LazyGroup]:
    """Return a decorator that adds `--version`."""

    def show(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
        if value:
            click.echo(text)
            ctx.exit()

    def add(group: LazyGroup) -> LazyGroup:
        group.params.append(
            click.Option(
                ["--version"], is_flag=True, expose_value=False, is_eager=True, callback=show, help="Show the version."
            )
        )
        return group

    return add


def wants_json(arguments: Sequence[str]) -> bool:
    """Return True if a command line, even an invalid one, asks for JSON."""
    words = list(arguments)
    words = words[: words.index("--")] if "--" in words else words
    return "--json" in words or "--format=json" in words or ("--format", "json") in pairwise(words)


def can_person_answer() -> bool:
    """Return True if the user can answer a question."""
    return sys.stdin.isatty() and sys.stderr.isatty()
