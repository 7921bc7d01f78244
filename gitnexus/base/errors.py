"""The one error tree: a code that is the exit status, a sentence, and a way out."""

from collections.abc import Mapping, Sequence
from typing import Any


class NexusError(Exception):
    """Something a person can understand and act on; `code` is the exit status."""

    code = 1
    name = "E_FAILED"

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        fix: str | None = None,
        context: Mapping[str, Any] | None = None,
        alternatives: Sequence[Mapping[str, str]] = (),
    ) -> None:
        """`hint` is words, `fix` one command that can be pasted and destroys nothing."""
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.fix = fix
        self.context = dict(context or {})
        self.alternatives = [dict(a) for a in alternatives]


class Failed(NexusError):
    """It did not work, and the reader can mend it."""


class BadUsage(NexusError):
    """The command line itself is wrong."""

    code = 2
    name = "E_USAGE"


class Duplicate(NexusError):
    """It is there already."""

    code = 3
    name = "E_DUPLICATE"


class NotFound(NexusError):
    """What was named does not exist."""

    code = 4
    name = "E_NOT_FOUND"


class Invalid(NexusError):
    """What was given breaks a rule."""

    code = 6
    name = "E_VALIDATION_FAILED"


class Busy(NexusError):
    """Somebody else is writing; the same command will work later."""

    code = 7
    name = "E_BUSY"


class Conflict(NexusError):
    """It changed meanwhile, or the two sides do not fit together."""

    code = 23
    name = "E_CONFLICT"
