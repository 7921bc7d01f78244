"""All exception classes of the package. Each has a code (the exit status), a message, and a hint what to do next."""

from collections.abc import Mapping, Sequence
from typing import Any


class NexusError(Exception):
    """An error that a user can understand and act on; `code` is the exit status."""

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
        """`hint` is a sentence, `fix` one command that is safe to paste."""
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.fix = fix
        self.context = dict(context or {})
        self.alternatives = [dict(a) for a in alternatives]


class Failed(NexusError):
    """The operation failed for a reason that the user can fix."""


class BadUsage(NexusError):
    """The command line itself is wrong."""

    code = 2
    name = "E_USAGE"


class Duplicate(NexusError):
    """It exists already."""

    code = 3
    name = "E_DUPLICATE"


class NotFound(NexusError):
    """The named thing does not exist."""

    code = 4
    name = "E_NOT_FOUND"


class Invalid(NexusError):
    """The given value breaks a rule."""

    code = 6
    name = "E_VALIDATION_FAILED"


class Busy(NexusError):
    """Another process is writing; the same command will work later."""

    code = 7
    name = "E_BUSY"


class DeniedByPolicy(NexusError):
    """The policy denies it."""

    code = 20
    name = "E_DENIED"


class ApprovalNeeded(NexusError):
    """A person has to approve it first."""

    code = 21
    name = "E_APPROVAL_NEEDED"


class VerificationFailed(NexusError):
    """A signature or token does not match what it was presented for."""

    code = 22
    name = "E_VERIFICATION_FAILED"


class Conflict(NexusError):
    """It changed meanwhile, or the two sides cannot be merged."""

    code = 23
    name = "E_CONFLICT"


class CrossProjectError(NexusError):
    """An error between projects; it always includes a command that helps."""

    def __init__(
        self,
        message: str,
        *,
        fix: str,
        hint: str | None = None,
        context: Mapping[str, Any] | None = None,
        alternatives: Sequence[Mapping[str, str]] = (),
    ) -> None:
        super().__init__(message, hint=hint, fix=fix, context=context, alternatives=alternatives)


class ProjectNotFound(CrossProjectError):
    """No registered project has this name, alias or hash."""

    code = 70
    name = "E_NEXUS_PROJECT_NOT_FOUND"


class PermissionDenied(CrossProjectError):
    """The current project has no permission for this on the other one."""

    code = 71
    name = "E_NEXUS_PERMISSION_DENIED"


class BadReference(CrossProjectError):
    """A task reference that does not have the form `project:T1`."""

    code = 72
    name = "E_NEXUS_INVALID_SYNTAX"


class SyncFailed(CrossProjectError):
    """The graph of all projects could not be built."""

    code = 73
    name = "E_NEXUS_SYNC_FAILED"


class HashCollision(CrossProjectError):
    """Another path has the same hash."""

    code = 74
    name = "E_NEXUS_HASH_COLLISION"


class CacheCorrupt(CrossProjectError):
    """A cache is damaged and could not be rebuilt."""

    code = 75
    name = "E_NEXUS_CACHE_CORRUPT"


class AmbiguousName(CrossProjectError):
    """Several projects match this word."""

    code = 76
    name = "E_NEXUS_AMBIGUOUS_NAME"
