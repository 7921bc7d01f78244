"""Shows the difference that is about to be signed, and asks the user for confirmation."""

import contextlib
import difflib
import os
import sys
import termios
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from gitnexus.base.errors import BadUsage
from gitnexus.base.text import make_visible
from gitnexus.policy.passphrase import ASKPASS, FILE, ask_passphrase, read_passphrase
from gitnexus.ui.commands import can_person_answer, current_invocation

if TYPE_CHECKING:
    from gitnexus.policy.trust import UntrustedFile


def diff_to_sign(path: str, before: bytes | None, after: bytes) -> str:
    """Return the whole diff between the content signed last and the current one, as text."""
    old, new = (raw.decode("utf-8", "backslashreplace").split("\n") for raw in (before or b"", after))
    lines = difflib.unified_diff(old, new, "signed" if before is not None else "nothing signed yet", path, lineterm="")
    return "\n".join(lines)


def require_confirmation(question: str, meant: Sequence[str], given: Sequence[str]) -> None:
    """Return if the user says yes, or named everything on the command line. Raises: BadUsage, click.Abort."""
    if given:
        wrong = [word for word in given if word not in meant] or [word for word in meant if word not in given]
        if wrong:
            raise BadUsage(f"--confirm does not name what would be signed: {wrong[0][:90]!r}", hint="look again first")
        return
    if not can_ask_person():
        raise BadUsage(
            "a person must answer, and there is no terminal",
            # No command that could be pasted: it would be an agent that pastes it.
            hint="run this at a terminal; in a script of yours --confirm names what you have read",
        )
    _discard_typed_input()
    click.confirm(question, default=False, abort=True, err=True)


def ask_new_passphrase() -> bytes:
    """Return a new passphrase, typed twice at a terminal, or from its stored source. Raises: BadUsage, Failed."""
    if any(os.environ.get(name) for name in (FILE, *ASKPASS)):
        first = second = read_passphrase("New passphrase of your approver key: ")
    else:
        first, second = ask_passphrase("New passphrase of your approver key: "), ask_passphrase("The same again: ")
    if first != second:
        raise BadUsage("the two are not the same; nothing was changed")
    if not first:
        raise BadUsage(
            "a passphrase cannot be empty", hint="git nexus approver encrypt --remove keeps the key without one"
        )
    return first


def ask_to_sign(files: Sequence["UntrustedFile"]) -> bool:
    """Show what would be signed, and ask; return True for a yes."""
    for file in files:
        show_unsigned_change(file)
    _discard_typed_input()
    return click.confirm("Sign this, so that its allow rules count?", default=False, err=True)


def show_unsigned_change(file: "UntrustedFile") -> None:
    """Print the changes of a file since it was signed."""
    click.echo(make_visible(diff_to_sign(file.path, file.before, file.raw)), err=True)


def can_ask_person() -> bool:
    """Return True if the user can be asked."""
    return can_person_answer() and not current_invocation(click.get_current_context()).as_json


def _discard_typed_input() -> None:
    """Discard what was typed before this question was shown."""
    with contextlib.suppress(termios.error, OSError, ValueError):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
