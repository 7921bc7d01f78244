"""Explains why the branch of a run is gone: it landed elsewhere, it was cleaned up, or its commit was lost."""

import contextlib

from gitnexus.base.errors import NexusError, NotFound
from gitnexus.events.chain import walk_chain
from gitnexus.git.branches import tip_of_ref
from gitnexus.git.child import run_git
from gitnexus.runs.claimed_decisions import run_as_known
from gitnexus.runs.cleanup.rescue_ref import RESCUE
from gitnexus.runs.model import Run
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.story import read_raw_log
from gitnexus.state import State


def gone_branch_error(state: State, run: Run) -> NotFound:
    """Return the error that a run has no branch, with what became of its work and how to get at it."""
    words = f"the branch {run.branch} is gone"
    if run.status == "landed":
        return _landed_error(state, run, words)
    rescue = f"{RESCUE}{run.id}"
    if tip_of_ref(state.repo, rescue) is not None:
        return NotFound(
            f"{words}: the run is {run.status}, and was cleaned up here",
            hint=f"its work is kept: git branch rescued-{run.id} {rescue}",
        )
    if run.head and _is_here(state, run.head):
        return NotFound(
            f"{words}: the run is {run.status}, and was cleaned up",
            hint=f"its last commit is still here: git branch rescued-{run.id} {run.head[:12]}",
        )
    if run.head:
        return NotFound(
            f"{words}, and so is its commit {run.head[:12]}",
            hint="git nexus sync brings it if the server or another clone still has it",
        )
    return NotFound(words, hint=f"the run is {run.status} and committed nothing")


def _landed_error(state: State, run: Run, words: str) -> NotFound:
    open_run = OpenRun(state, run)
    into = _landed_into(open_run)
    has = "has landed" if run_as_known(open_run).status == "landed" else "is said to have landed"
    words = f"{words}: {run.id} {has}{f' on {into}' if into else ''} as {run.landed[:12]}"
    if not _is_here(state, run.landed):
        return NotFound(f"{words}, which is not here yet", hint="git pull brings it")
    return NotFound(words, hint=f"git branch --all --contains {run.landed[:12]} shows which branches have it")


def _landed_into(run: OpenRun) -> str:
    """Return the branch that the run's log says it landed on, "" if that is not known."""
    with contextlib.suppress(NexusError):
        links = walk_chain(run.log.raw() if run.log.path.exists() else read_raw_log(run), run.record.id)
        return next((str(link.event.body["into"]) for link in links if link.event.kind == "run.landed"), "")
    return ""


def _is_here(state: State, commit: str) -> bool:
    return run_git("cat-file", "-e", f"{commit}^{{commit}}", git_dir=state.repo.common_dir).returncode == 0
