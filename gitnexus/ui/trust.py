"""Before something is signed: the difference that is signed, and the question."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from gitnexus.base.errors import BadUsage
from gitnexus.base.text import visible
from gitnexus.ui.commands import invocation, is_terminal

if TYPE_CHECKING:
    from gitnexus.app.trust import Untrusted


def change_of(path: str, before: bytes | None, after: bytes) -> str:
    """Return the whole difference between what was signed last and what is there, as text."""
    import difflib  # 5 ms, and only who signs needs it

    old, new = (raw.decode("utf-8", "backslashreplace").split("\n") for raw in (before or b"", after))
    lines = difflib.unified_diff(old, new, "signed" if before is not None else "nothing signed yet", path, lineterm="")
    return "\n".join(lines)


def confirmed(question: str, meant: Sequence[str], given: Sequence[str]) -> None:
    """Return if a person says yes, or named all that is meant on the command line. Raises: BadUsage, click.Abort."""
    if given:
        wrong = [word for word in given if word not in meant] or [word for word in meant if word not in given]
        if wrong:
            raise BadUsage(f"--confirm does not name what would be signed: {wrong[0][:90]!r}", hint="look again first")
        return
    if not can_ask():
        raise BadUsage(
            "a person must be asked, and there is no terminal",
            # No command that could be pasted: it would be an agent that pastes it.
            hint="run this at a terminal; in a script of yours --confirm names what you have read",
        )
    _drop_what_was_typed()
    click.confirm(question, default=False, abort=True, err=True)


def new_passphrase() -> bytes:
    """Return a passphrase for a key, typed twice at a terminal, or from where it is kept. Raises: BadUsage, Failed."""
    import os

    from gitnexus.policy.passphrase import ASKPASS, FILE, from_terminal, passphrase

    if any(os.environ.get(name) for name in (FILE, *ASKPASS)):
        first = second = passphrase("New passphrase of your approver key: ")
    else:
        first, second = from_terminal("New passphrase of your approver key: "), from_terminal("The same once more: ")
    if first != second:
        raise BadUsage("the two are not the same; nothing was changed")
    if not first:
        raise BadUsage(
            "a passphrase cannot be empty", hint="git nexus approver encrypt --remove keeps the key without one"
        )
    return first


def said_yes(files: Sequence["Untrusted"]) -> bool:
    """Show what would be signed, and ask; true for a yes."""
    for file in files:
        showed(file)
    _drop_what_was_typed()
    return click.confirm("Sign this, so that what it allows counts?", default=False, err=True)


def showed(file: "Untrusted") -> None:
    """Print what changed in a file since it was signed."""
    click.echo(visible(change_of(file.path, file.before, file.raw)), err=True)


def can_ask() -> bool:
    """True if a person is there to be asked."""
    return is_terminal() and not invocation(click.get_current_context()).as_json


def _drop_what_was_typed() -> None:
    """What was typed ahead was no answer to this question."""
    import contextlib
    import sys
    import termios

    with contextlib.suppress(termios.error, OSError, ValueError):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
