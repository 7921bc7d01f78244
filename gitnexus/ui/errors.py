"""Turns an exception into a message and an exit status. No other module does."""

import sys
import traceback
from pathlib import Path
from typing import Any

import click

from gitnexus import __version__
from gitnexus.base.errors import BadUsage, Failed, NexusError
from gitnexus.base.files import make_private_folder
from gitnexus.base.text import make_visible, one_line
from gitnexus.ui.commands import color_setting

INTERRUPTED = 130
BUG = 99


def report_error(exc: BaseException, arguments: list[str], *, as_json: bool) -> int:
    """Print the error and return the exit status; an exception of unknown type is raised again."""
    if isinstance(exc, SystemExit):
        return exc.code if isinstance(exc.code, int) else 1
    if isinstance(exc, (KeyboardInterrupt, click.Abort)):
        if sys.stderr.isatty():
            click.echo(err=True)  # below the ^C
        return _print_error(_Interrupted("interrupted; what was reported as done is done"), as_json)
    if isinstance(exc, NexusError):
        return _print_error(exc, as_json)
    if isinstance(exc, click.ClickException):
        return _print_error(_error_from_usage(exc), as_json)
    if isinstance(exc, OSError):
        return _print_error(_error_from_system(exc), as_json)
    return _print_error(_error_from_bug(exc, arguments), as_json)


class _Interrupted(NexusError):
    code = INTERRUPTED
    name = "E_INTERRUPTED"


class _Bug(NexusError):
    code = BUG
    name = "E_BUG"


def _print_error(error: NexusError, as_json: bool) -> int:
    if as_json:
        from gitnexus.ui.envelope import failure_document

        click.echo(failure_document(error))
        return error.code
    word = click.style("error:", fg="red", bold=True)
    click.echo(f"{word} {make_visible(error.message)}", err=True, color=color_setting())
    hint = error.hint or (f"try: {error.fix}" if error.fix else None)
    if hint:
        click.echo(f"{click.style('hint:', fg='yellow')} {make_visible(hint)}", err=True, color=color_setting())
    for way in error.alternatives:
        words = one_line(f"{way['action']}: {way['command']}", 400)
        click.echo(f"{click.style('or:', fg='yellow')}   {words}", err=True, color=color_setting())
    return error.code


def _error_from_usage(exc: click.ClickException) -> NexusError:
    message = exc.format_message().rstrip(".")
    ctx = getattr(exc, "ctx", None)
    where = ctx.command_path if ctx is not None else "git nexus"
    known: Any = message[:1].lower() + message[1:] if not message.startswith(where) else message
    return BadUsage(known, hint=f"{where} -h shows its usage", fix=f"{where} -h")


def _error_from_system(exc: OSError) -> NexusError:
    where = f": {one_line(str(exc.filename))}" if exc.filename else ""
    return Failed(f"the system reported: {exc.strerror or exc}{where}", hint="what was reported as done is done")


def _error_from_bug(exc: BaseException, arguments: list[str]) -> NexusError:
    what = one_line(f"{type(exc).__name__}: {exc}", 160)
    path = _write_bug_log(exc, arguments)
    where = f"the details are in {path}" if path else "the details could not be written down"
    return _Bug(
        f"git nexus has a bug ({what}); {where}",
        hint="please report it with that file",
        context={"log": str(path)} if path else None,
    )


def _write_bug_log(exc: BaseException, arguments: list[str]) -> Path | None:
    from gitnexus.base.clock import utc_now
    from gitnexus.redaction import mask
    from gitnexus.state.home import home_folder

    text = (
        f"git-nexus {__version__}, Python {sys.version.split()[0]}, {sys.platform}\n"
        f"arguments: {arguments!r}\n\n{''.join(traceback.format_exception(exc))}"
    )
    try:
        folder = home_folder() / "log"
        make_private_folder(folder)
        path = folder / f"bug-{utc_now():%Y%m%dT%H%M%S%f}.txt"
        path.write_text(mask(text), encoding="utf-8")
    except OSError:
        return None
    return path
