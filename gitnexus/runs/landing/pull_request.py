"""A run's branch as a pull request: written from what is proved, pushed without force, opened where a tool is there."""

import re
import shutil
import subprocess
from dataclasses import dataclass

from gitnexus.app.runtests import tests_of
from gitnexus.app.verifying import proofs_of
from gitnexus.base.errors import Failed, NotFound
from gitnexus.base.text import one_line
from gitnexus.git import GitFailed, config, remotes, users
from gitnexus.git.child import reason
from gitnexus.git.commits import Range, log
from gitnexus.git.private import private
from gitnexus.policy.seen import format_root
from gitnexus.policy.signed import Signed
from gitnexus.runs import store
from gitnexus.runs.ids import branch_of
from gitnexus.runs.land import refuse_unproved, refuse_unready
from gitnexus.runs.model import Run
from gitnexus.runs.pullrequest import PullRequest, Told, written
from gitnexus.state import State

_HOST = re.compile(r"^(?:[a-z+]+://)?(?:[^@/]*@)?([^:/]+)[:/]")
_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Draft:
    """What would be opened: `remote` is empty where there is none, `tool` the program that opens it, if any."""

    run: Run
    text: PullRequest
    remote: str
    tool: str
    onto: str


def draft(state: State, word: str) -> Draft:
    """Return a run's pull request; all its commits are verified first. Raises: NotFound, Failed, VerificationFailed."""
    snapshot = state.required()
    run = store.read(snapshot, word)
    approvers = Signed(snapshot, state.repo.common_dir).consented()
    tip = state.objects.tip(branch_of(run.id))
    if tip is None:
        raise NotFound(f"the branch {run.branch} is gone", hint="it was cleaned up; what landed needs no pull request")
    refuse_unready(run, tip)
    with private(state.repo) as git:
        rows = list(log(git, Range(tip, (run.base,))))
        proofs = list(proofs_of(git, rows, approvers))
        refuse_unproved(run, rows, proofs)
        stat = git.must("diff-tree", "--stat=100", "--no-color", "--no-renames", "--no-ext-diff", "--no-textconv", "-r",
                        run.base, tip, "--")  # fmt: skip
    told = Told(
        {key: one.name for key, one in approvers.known.items()}, tests_of(state, run, tip), format_root(approvers)
    )
    text = written(run, rows, proofs, stat.decode("utf-8", "replace"), told)
    remote = next(iter(remotes.names(state.repo)), "")
    return Draft(run, text, remote, _tool(state, remote), run.onto.removeprefix("refs/heads/"))


def push(state: State, made: Draft) -> None:
    """Push the run's branch with the user's git, never by force. Raises: Failed, GitFailed."""
    if not made.remote:
        raise Failed("there is no remote to push to", hint="git remote add origin URL, or use --print")
    ref = branch_of(made.run.id)
    done = users.run(
        state.repo.place, "push", "--quiet", "--no-force", "--no-follow-tags", "--", made.remote, f"{ref}:{ref}"
    )
    if done.returncode != 0:
        raise GitFailed(
            f"git push failed: {reason(done.stderr)}", hint="nothing was forced; git fetch, then look at it"
        )


def lacks_approvers(state: State, made: Draft) -> bool:
    """True if the remote says that it has no state, so that nobody there could verify what was pushed."""
    done = users.run(state.repo.place, "ls-remote", "--exit-code", "--", made.remote, "refs/nexus/state")
    return done.returncode == 2  # what git answers if it asked, and there is none


def open_it(state: State, made: Draft) -> str:
    """Open what was pushed with gh or glab and return its address. Raises: Failed."""
    base = ["--base", made.onto] if made.onto else []
    argv = {
        "gh": ["pr", "create", "--head", made.run.branch, *base, "--title", made.text.title, "--body-file", "-"],
        "glab": ["mr", "create", "--yes", "--source-branch", made.run.branch,
                 *(["--target-branch", made.onto] if made.onto else []),
                 "--title", made.text.title, "--description", made.text.body],
    }[made.tool]  # fmt: skip
    program = shutil.which(made.tool) or made.tool
    try:
        done = subprocess.run(
            [program, *argv], cwd=state.repo.place, input=made.text.body.encode(), capture_output=True, check=False,
            timeout=_SECONDS,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise Failed(
            f"{made.tool} could not be run: {exc}", hint="the branch is pushed; open it in the browser"
        ) from exc
    if done.returncode != 0:
        raise Failed(f"{made.tool} did not open it: {reason(done.stderr or done.stdout)}",
                     hint="the branch is pushed; git nexus pr --print has the words")  # fmt: skip
    found = re.findall(r"https?://\S+", done.stdout.decode("utf-8", "replace"))
    return one_line(found[-1], 300) if found else ""


def _tool(state: State, remote: str) -> str:
    """Return gh or glab, if the remote is of that kind and the program is there."""
    address = config.get(state.repo, f"remote.{remote}.url") or ""
    found = _HOST.match(address)
    host = found[1].lower() if found else ""
    for word, tool in (("github", "gh"), ("gitlab", "glab")):
        if word in host and shutil.which(tool):
            return tool
    return ""
