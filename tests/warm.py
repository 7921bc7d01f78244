"""Runs the commonest commands once in the process that others are forked from, so that those find what they compute.

What is forked afterwards has the fields of our records, compiled patterns, digests of programs and specialised
bytecode. Nothing stays that depends on the environment, on a home or on a project.
"""

import contextlib
import functools
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

# Where what is cached depends on its arguments alone; the caches of all other modules are emptied.
_PURE = (
    *("base", "catalog.builtin", "catalog.yamltext", "events.timeline", "redaction.above", "redaction.rule"),
    *("redaction.shape", "redaction.words", "policy.builtin", "policy.builtin_refusals", "policy.grants"),
    *("policy.parts", "policy.paths", "policy.patterns", "policy.programs", "sandbox.inner.kernel"),
    *("sandbox.seccomp", "state.layout", "state.swap"),
)


def warm_up(program: str) -> None:
    """Run commands in a project that is gone afterwards; `program` is their first word."""
    before = dict(os.environ), Path.cwd(), sys.argv
    with tempfile.TemporaryDirectory(prefix="nexus-warm-") as folder:
        _go_to_new_repository(Path(folder))
        _run_here(program, "init")
        run = json.loads(_run_here(program, "run", "--json", "--", "sh", "-c", "echo one > one.txt"))["run"]["id"]
        for argv in (["review", run], ["approve", "--unseen", run], ["land", run], ["clean"], ["runs", "--json"],
                     ["task", "add", "one"], ["task", "list"], ["status"]):  # fmt: skip
            _run_here(program, *argv)
        os.environ.clear()
        os.environ.update(before[0])
        os.chdir(before[1])
        sys.argv = before[2]
    _forget_surroundings()
    assert threading.active_count() == 1, threading.enumerate()


def _go_to_new_repository(folder: Path) -> None:
    home, place = folder / "home", folder / "place"
    home.mkdir()
    place.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = Warm\n\temail = warm@example.com\n")
    for name in [name for name in os.environ if name.startswith(("GIT_", "NEXUS_", "XDG_"))]:
        del os.environ[name]
    os.environ.update(HOME=str(home), NEXUS_HOME=str(home / "nexus"), GIT_CONFIG_NOSYSTEM="1")
    os.chdir(place)
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "first"], check=True)


def _run_here(*argv: str) -> str:
    """Run a command in this process, without what happens at the end of one; return what it printed."""
    from gitnexus.main import main

    sys.argv = [*argv]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), contextlib.suppress(SystemExit):
        main()
    return out.getvalue()


def _forget_surroundings() -> None:
    """Forget what may differ in the next process: its environment, its home, its PATH, its project."""
    from gitnexus.adapters import installed
    from gitnexus.sandbox import launcher, scratch

    for cached in _caches():
        cached.cache_clear()
    installed._asked.clear()
    launcher._stop_idle_launchers()
    scratch._remove_unused()
    scratch._unused.clear()


def _caches() -> Iterator["functools._lru_cache_wrapper[object]"]:
    """Yield the functions of ours whose results are kept and may depend on more than their arguments."""
    pure = tuple(f"gitnexus.{name}." for name in _PURE)
    for name, module in list(sys.modules.items()):
        if name.startswith("gitnexus."):
            for value in vars(module).values():
                if isinstance(value, functools._lru_cache_wrapper) and not f"{value.__module__}.".startswith(pure):
                    yield value
