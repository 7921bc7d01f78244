"""Tells of a virtual environment in the user's checkout that the commands of a run do not use, and how to change that.

Reads the checkout's folders and a run's requests; changes nothing.
"""

import contextlib
import os
import re
import shlex
from pathlib import Path

from gitnexus.base.errors import NexusError
from gitnexus.base.text import one_line
from gitnexus.events.view import RunView
from gitnexus.gateway.sandboxed import TOOLS, tool_folders
from gitnexus.policy.model import CommandRequest
from gitnexus.runs.actions.propose import read_proposed_request
from gitnexus.runs.open_run import OpenRun

_NAMES = (".venv", "venv")
# As Python, shells, make and the sandbox say it.
_LACKS = re.compile(
    r"No module named |: (?:command )?not found$|^make(?:\[\d+\])?: .*No such file or directory$|there is no program ",
    re.M,
)


def unused_environment(run: OpenRun, view: RunView) -> str:
    """Return a sentence with the command that cures it, if a waiting or failed command may need such an environment."""
    folder = _environment_outside_path(run)
    if folder is None:
        return ""
    if any(_LACKS.search(why) for why in (view.why or "", *(node.why for node in view.nodes.values()))):
        return _sentence(run, folder)
    for name, action in view.actions.items():
        if action.kind == "command" and (action.status == "waiting" or action.ok is False):
            program = _program_name(run, name)
            if _LACKS.search(action.output) or (program and Path(folder, program).exists()):
                return _sentence(run, folder)
    return ""


def _environment_outside_path(run: OpenRun) -> str | None:
    """Return the folder of programs of an untracked environment that is not on the PATH of commands."""
    checkout = run.repo.worktree
    if checkout is None:
        return None
    for name in _NAMES:
        folder = os.path.realpath(checkout / name / "bin")
        # A tracked one came with the repository, so nobody should be told to put it before the system's programs.
        mine = Path(folder, "..", "pyvenv.cfg").is_file() and not (run.worktree_path / name).exists()
        if mine:
            return None if folder in tool_folders(run.repo) else folder
    return None


def _program_name(run: OpenRun, action: str) -> str:
    with contextlib.suppress(NexusError):
        request = read_proposed_request(run, action)
        if isinstance(request, CommandRequest) and "/" not in request.argv[0]:
            return request.argv[0]
    return ""


def _sentence(run: OpenRun, folder: str) -> str:
    words = shlex.quote(":".join((folder, *tool_folders(run.repo))))
    shown = os.path.relpath(Path(folder).parent, run.repo.worktree)
    return f"commands do not use {one_line(shown, 80)} until you set: git config --global {TOOLS} {words}"
