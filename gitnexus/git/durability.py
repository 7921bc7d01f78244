"""Tells from git's configuration what git flushes to disk when it is written: loose objects, refs."""

import contextlib
import re
from typing import NamedTuple

import pygit2

_OBJECTS = frozenset(("loose-object", "objects", "committed", "added", "all"))
_REFS = frozenset(("reference", "committed", "added", "all"))


class Fsynced(NamedTuple):
    """What is flushed to disk before it counts as written."""

    objects: bool
    refs: bool


def fsynced_components(setting: str) -> Fsynced:
    """Return what a value of `core.fsync` names. As in git, what is named counts over what is taken away by a `-`."""
    named = frozenset(re.split(r"[,\s]+", setting))
    return Fsynced(bool(named & _OBJECTS), bool(named & _REFS))


def configured_fsync(config: pygit2.Config) -> Fsynced:
    """Return what the configuration of a repository has git flush; the older `core.fsyncObjectFiles` means both."""
    with contextlib.suppress(KeyError, ValueError):
        if config.get_bool("core.fsyncobjectfiles"):
            return Fsynced(True, True)
    return fsynced_components(config["core.fsync"] or "") if "core.fsync" in config else Fsynced(False, False)
