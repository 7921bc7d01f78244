"""Computes what a command may reach at each sandbox level: system folders, the worktree, and nothing of the user's."""

import os
from collections.abc import Iterator
from typing import Any

from gitnexus.sandbox.inner.folders import KERNEL, SETTINGS, SYSTEM, UNREADABLE
from gitnexus.sandbox.spec import SandboxSpec, is_within


def landlock_rules(spec: SandboxSpec, scratch: str) -> dict[str, Any]:
    """Return the paths that Landlock allows besides the system's folders."""
    # Of /proc all: which processes there will be is not known, and Landlock keeps those outside from being looked into.
    # The program by itself, if it lies elsewhere: not what is beside it. Private at L2 and everybody's below: two more.
    # Not /dev/shm where something of ours lies in it: then it is not covered, and everybody's.
    kept = (spec.root, scratch, *spec.writable, *spec.readable)
    shared = ["/dev/shm"] if not any(is_within(path, "/dev/shm") for path in kept) else []  # noqa: S108
    private = (*shared, "/tmp") if spec.level == "L2" else ()  # noqa: S108
    return {
        "network": spec.network != "none",
        "readable": ["/proc", spec.program, spec.root, *spec.readable],
        "writable": [*_writable_paths(spec, scratch), *private],
    }


def mount_view(spec: SandboxSpec, scratch: str) -> dict[str, Any]:
    """Return the mounts of the command's own namespace."""
    return {
        "writable": [path for path in _writable_paths(spec, scratch) if os.path.exists(path)],
        "tmp": f"{scratch}/tmp",  # noqa: S108 - in a folder that is ours alone
        "kept": [path for path in (spec.root, scratch, *spec.writable, *spec.readable) if os.path.exists(path)],
        "hidden": list(paths_to_hide(spec)),
        "network": spec.network,
    }


def paths_to_hide(spec: SandboxSpec) -> Iterator[str]:
    """Return paths that are hidden although their parent folder is accessible."""
    around = [*SYSTEM, spec.root, *spec.readable, *spec.writable]
    for path in spec.hidden:
        if os.path.lexists(path) and any(is_within(path, folder) for folder in around):
            yield path


def bubblewrap_argv(spec: SandboxSpec, scratch: str, wrapper: str, filter_number: int) -> list[str]:
    """Return the command line that runs `spec` with access to only the paths that it needs."""
    argv = [wrapper, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    argv += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--seccomp", str(filter_number)]
    argv += [] if spec.network == "full" else ["--unshare-net"]
    # Read-only, or root could set in /proc/sys which program the kernel runs when one crashes: it asks for the user
    # there, not for capabilities.
    argv += ["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev", "--bind", f"{scratch}/tmp", "/tmp"]  # noqa: S108
    for path in SYSTEM:
        if os.path.islink(path):
            argv += ["--symlink", os.readlink(path), path]
        elif os.path.exists(path):
            argv += ["--ro-bind", path, path]
    for path in (*SETTINGS, *KERNEL, *spec.readable):
        argv += ["--ro-bind-try", path, path]
    if not spec.root_writable:
        argv += ["--ro-bind", spec.root, spec.root]
    for path in _writable_paths(spec, scratch):
        argv += ["--bind-try", path, path]
    granted = (*spec.readable, *spec.writable, spec.root)
    uncovered = (
        path for path in UNREADABLE if os.path.isdir(path) and not any(is_within(one, path) for one in granted)
    )
    for path in (*uncovered, *paths_to_hide(spec)):
        argv += ["--tmpfs", path, "--remount-ro", path] if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]
    link, words = _program_words(spec)
    return [*argv, *link, "--chdir", spec.cwd, "--", *words]


def _writable_paths(spec: SandboxSpec, scratch: str) -> tuple[str, ...]:
    root = (spec.root,) if spec.root_writable else ()
    return (*root, scratch, *spec.writable)


def _program_words(spec: SandboxSpec) -> tuple[list[str], list[str]]:
    """Return the words after the options, and an option that they need: argv[0] as requested, or nearly so.

    bubblewrap 0.8 uses the path of the program as argv[0]. A program with many names (busybox) is therefore reached
    through a link with the right name, and a program that was requested by its path keeps that path.
    """
    asked, *rest = spec.argv
    path = os.path.normpath(os.path.join(spec.cwd, asked))
    if "/" in asked and os.path.realpath(path) == spec.program:
        return [], [path, *rest]
    name = os.path.basename(asked)
    if name == os.path.basename(spec.program):
        return [], [spec.program, *rest]
    link = f"/.nexus-run/{name}"
    return ["--symlink", spec.program, link], [link, *rest]
