"""Runs a check or a proof on exactly one tree: in a folder of its own, in a sandbox, without network.

The folder gets what the settings give to a run's worktree: files that git ignores, and what the set-up commands make.
"""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from gitnexus.base.argvtext import format_words
from gitnexus.base.errors import Failed
from gitnexus.base.text import one_line, visible_bytes
from gitnexus.gateway.sandboxed import (
    libraries_of_named_program,
    list_denied_files,
    search_path,
    tool_folders,
    tool_libraries,
)
from gitnexus.git.private import PrivateGit
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.prepare import copy_untracked_files
from gitnexus.runs.setup_rules import SECTION, parse_run_settings
from gitnexus.sandbox.environment import command_environment
from gitnexus.sandbox.levels import best_level
from gitnexus.sandbox.program import resolve_program
from gitnexus.sandbox.run import run_in_sandbox
from gitnexus.sandbox.spec import LEVELS, Level, SandboxOutcome, SandboxSpec
from gitnexus.state.settings import settings_section

_LINES = 40
_LEAST: Level = "L1"


def run_check_sandboxed(run: OpenRun, git: PrivateGit, tree: str, argv: tuple[str, ...]) -> None:
    """Run a check on a tree. Raises: Failed with the end of its output, NexusError."""
    _run_on_tree(run, git, tree, argv, for_agent=False)


def run_proof_sandboxed(run: OpenRun, git: PrivateGit, tree: str, argv: tuple[str, ...]) -> None:
    """Run a command whose output an agent is told: files that it may not read are hidden. Raises: as above."""
    _run_on_tree(run, git, tree, argv, for_agent=True)


def _run_on_tree(run: OpenRun, git: PrivateGit, tree: str, argv: tuple[str, ...], *, for_agent: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="git-nexus-check-") as name:
        place = str(Path(name).resolve())
        git.must("read-tree", tree)
        git.must(f"--work-tree={place}", "checkout-index", "--all", "--force")
        unready = _prepare_folder(run, place)
        hidden = tuple(map(str, list_denied_files(place, run.policy()))) if for_agent else ()
        done = _run_in_folder(run, place, argv, hidden)
    if done.status != 0:
        said = [*unready, *_last_lines(done)]
        raise Failed(
            f"the check {' '.join(argv)} failed with {_how_it_ended(done)}; nothing was landed",
            hint="its last lines:\n" + "\n".join(f"  {line}" for line in said) if any(said) else "it printed nothing",
            context={"argv": list(argv), "output": "\n".join(said)},
        )


def _prepare_folder(run: OpenRun, place: str) -> list[str]:
    """Prepare the folder as a worktree; return what of the set-up failed. Raises: Failed, Invalid.

    A set-up that needs a network fails here: that is told if the check fails, too, and is no failure by itself.
    """
    asked = parse_run_settings(settings_section(run.state.required(), SECTION, run.state.trusts))
    copy_untracked_files(run, asked.copy, Path(place))
    failed = []
    for argv in asked.setup:
        done = _run_in_folder(run, place, argv, ())
        if done.status != 0:
            last = "".join(_last_lines(done)[-1:])
            failed.append(f"(the set-up {one_line(format_words(argv), 200)} failed with {_how_it_ended(done)}: {last})")
    return failed


def _run_in_folder(run: OpenRun, place: str, argv: Sequence[str], hidden: tuple[str, ...]) -> SandboxOutcome:
    folders = tool_folders(run.repo)
    search = search_path(folders)
    env = command_environment({}, os.environ, folders)
    program = resolve_program(argv[0], env["PATH"], place, place)
    libraries = (*tool_libraries(folders, search), *libraries_of_named_program(argv, place, search))
    level = max(_LEAST, run.policy().minimum, key=LEVELS.index)
    return run_in_sandbox(
        SandboxSpec(
            argv=tuple(argv),
            program=program.path,
            cwd=place,
            root=place,
            env=env,
            readable=tuple(dict.fromkeys(libraries)),
            hidden=hidden,
            level=best_level(level),
        )
    )


def _how_it_ended(done: SandboxOutcome) -> str:
    return f"status {done.status}" if done.status is not None else f"signal {done.signal}"


def _last_lines(done: SandboxOutcome) -> list[str]:
    return visible_bytes((done.stdout.data + done.stderr.data)[-8000:]).strip().split("\n")[-_LINES:]
