"""Tests which sandbox levels this machine supports, and chooses the best one that is not below the required level."""

import functools
import os
import platform
import sys
import tempfile
from typing import Literal

from gitnexus.base.errors import DeniedByPolicy, NexusError
from gitnexus.base.record import Record
from gitnexus.base.text import one_line
from gitnexus.sandbox import seccomp
from gitnexus.sandbox.environment import PATH
from gitnexus.sandbox.inner.kernel import landlock_abi
from gitnexus.sandbox.plan import bubblewrap_path
from gitnexus.sandbox.program import resolve_program
from gitnexus.sandbox.run import run_in_sandbox
from gitnexus.sandbox.spec import LEVELS, Level, SandboxLimits, SandboxSpec

Setting = Literal["auto", "strict", "L0", "L1", "L2", "L3"]

STRICT: Level = "L2"  # the least that `strict` takes: with it, nothing outlives the command and nothing outside changes

WORDS: dict[Level, str] = {
    "L0": "limits, clean environment, private home",
    "L1": "and Landlock and seccomp",
    "L2": "and namespaces for users, mounts, processes and network",
    "L3": "bubblewrap",
}

_NAMES_OUTSIDE = "seeing that a file outside exists (`stat`), and where a link leads"
# What each level leaves open, in the words of docs/explanation/sandbox.md; `doctor` says them of the level in force.
NOT_HELD: dict[Level, tuple[str, ...]] = {
    "L0": ("your files, sockets, shared memory and processes", "the network"),
    "L1": (
        _NAMES_OUTSIDE,
        "other processes' command lines in `/proc`",
        "`chmod`, `touch` and extended attributes on files outside, never set-id",
    ),
    "L2": (_NAMES_OUTSIDE,),
    "L3": ("what the policy itself grants: folders, a network",),
}
# Before version 6 Landlock does not look at signals.
SIGNALS_NOT_HELD = "signals to your other processes"


class Availability(Record):
    """Whether a level is there; `why` says what is missing if not."""

    level: Level
    there: bool
    why: str = ""


def available_levels() -> tuple[Availability, ...]:
    """Return every level, each tried once in this process."""
    return tuple(try_level(level) for level in LEVELS)


def best_level(minimum: Level = "L0") -> Level:
    """Return the best level there is. Raises: DeniedByPolicy if it is below `minimum`."""
    missing = ""
    for level in reversed(LEVELS[LEVELS.index(minimum) :]):
        found = try_level(level)
        if found.there:
            return level
        missing = found.why
    raise DeniedByPolicy(
        f"the policy requires sandbox level {minimum} or higher, which this machine does not have: {missing}",
        hint="install bubblewrap, or have the policy ask for less",
    )


def choose_level(setting: Setting, minimum: Level) -> Level:
    """Return the level to run at: `auto` the best, `strict` the best but at least L2, or the named one.

    Raises: DeniedByPolicy if none is sufficient; a weaker one is never used instead.
    """
    if setting == "auto":
        return best_level(minimum)
    if setting == "strict":
        return best_level(max(minimum, STRICT))
    if setting < minimum:
        raise DeniedByPolicy(
            f"the sandbox is set to {setting}, and the policy requires at least {minimum}",
            hint="set sandbox to auto",
        )
    found = try_level(setting)
    if not found.there:
        raise DeniedByPolicy(
            f"the sandbox is set to {setting}, which this machine does not have: {found.why}",
            hint="set sandbox to auto, which takes the best there is",
        )
    return setting


def gaps_of_level(level: Level) -> tuple[str, ...]:
    """Return what a level leaves open on this machine."""
    return (*NOT_HELD[level], SIGNALS_NOT_HELD) if level == "L1" and landlock_abi() < 6 else NOT_HELD[level]


@functools.cache
def try_level(level: Level) -> Availability:
    """Return whether `level` works here, by running something at it: only that counts containers and policies in."""
    why = _missing_feature(level)
    if not why and level != "L0":
        why = _refusal_at_level(level)
    return Availability(level=level, there=not why, why=why)


def _missing_feature(level: Level) -> str:
    if level == "L0":
        return ""
    if sys.platform != "linux":
        return f"only Linux has it, this is {platform.system()}"
    if not seccomp.knows_machine():
        return f"system calls of {platform.machine()} are not known to us"
    if level in ("L1", "L2") and not landlock_abi():
        return "the kernel has no Landlock (it came with 5.13, and has to be among the modules in lsm=)"
    if level == "L3" and not bubblewrap_path():
        return "bubblewrap (bwrap) is not installed"
    return ""


def _refusal_at_level(level: Level) -> str:
    with tempfile.TemporaryDirectory(prefix="nexus-try-") as folder:
        place = os.path.realpath(folder)
        try:
            program = resolve_program("true", PATH, place, place).path
            ended = run_in_sandbox(
                SandboxSpec(
                    argv=("true",),
                    program=program,
                    cwd=place,
                    root=place,
                    level=level,
                    limits=SandboxLimits(seconds=10),
                )
            )
        except NexusError as exc:
            return exc.message
    words = ended.stderr.data.decode("utf-8", "replace").strip()
    return "" if ended.status == 0 else one_line(words.splitlines()[0] if words else "it does not start")
