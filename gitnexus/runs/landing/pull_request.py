"""Drafts a pull request from a run's verified commits, pushes its branch without force and opens it."""

import re
import shutil
import subprocess
from dataclasses import dataclass

from gitnexus.base.errors import Failed
from gitnexus.base.text import one_line
from gitnexus.git import GitFailed, config, remotes, user_git
from gitnexus.git.child import git_error_line
from gitnexus.git.commits import CommitRange, iterate_commits
from gitnexus.git.private import private_git
from gitnexus.git.tree_diff import PLAIN_DIFF
from gitnexus.policy.seen import format_root
from gitnexus.policy.signed import SignedFiles
from gitnexus.runs import store
from gitnexus.runs.claimed_decisions import run_as_known
from gitnexus.runs.contradictions import refuse_contradicted
from gitnexus.runs.gone_branch import gone_branch_error
from gitnexus.runs.ids import run_branch_ref
from gitnexus.runs.landing.plan_landing import refuse_unapproved_branch, refuse_unfinished_run
from gitnexus.runs.landing.pull_request_text import PullRequest, PullRequestFacts, render_pull_request
from gitnexus.runs.landing.test_results import test_result_lines
from gitnexus.runs.landing.verify_range import prove_commits
from gitnexus.runs.model import ENDED, Run
from gitnexus.runs.open_run import OpenRun
from gitnexus.state import State

_HOST = re.compile(r"^(?:[a-z+]+://)?(?:[^@/]*@)?([^:/]+)[:/]")
_SECONDS = 120


@dataclass(frozen=True, slots=True)
class PullRequestDraft:
    """The pull request to open: `remote` is "" without one, `tool` the program that opens it, if any."""

    run: Run
    text: PullRequest
    remote: str
    tool: str
    onto: str


def draft_pull_request(state: State, word: str) -> PullRequestDraft:
    """Verify a run's commits and return its pull request. Raises: NotFound, Failed, VerificationFailed."""
    snapshot = state.required()
    run = store.read_run(snapshot, word)
    if run.status not in ENDED:
        from gitnexus.runs.finish_interrupted import (
            finish_begun,  # imports the agents: only if something is unfinished
        )

        run = finish_begun(state, run)
    approvers = SignedFiles(snapshot, state.repo.common_dir).approvers_with_consent()
    tip = state.objects.tip(run_branch_ref(run.id))
    if tip is None:
        raise gone_branch_error(state, run)
    refuse_contradicted(OpenRun(state, run))
    refuse_unfinished_run(run_as_known(OpenRun(state, run)), tip)
    with private_git(state.repo) as git:
        rows = list(iterate_commits(git, CommitRange(tip, (run.base,))))
        proofs = list(prove_commits(git, rows, approvers))
        refuse_unapproved_branch(run, rows, proofs)
        stat = git.must(
            "diff-tree",
            *PLAIN_DIFF,
            "--stat=100",
            run.base,
            tip,
            "--",
        )
    told = PullRequestFacts(
        {key: one.name for key, one in approvers.known.items()},
        test_result_lines(state, run, tip),
        format_root(approvers),
    )
    text = render_pull_request(run, rows, proofs, stat.decode("utf-8", "replace"), told)
    remote = next(iter(remotes.remote_names(state.repo)), "")
    return PullRequestDraft(run, text, remote, _forge_tool(state, remote), run.onto.removeprefix("refs/heads/"))


def push_run_branch(state: State, made: PullRequestDraft) -> None:
    """Push the run's branch with the user's git, without force. Raises: Failed, GitFailed."""
    if not made.remote:
        raise Failed("there is no remote to push to", hint="git remote add origin URL, or use --print")
    ref = run_branch_ref(made.run.id)
    done = user_git.run_user_git(
        state.repo.folder, "push", "--quiet", "--no-force", "--no-follow-tags", "--", made.remote, f"{ref}:{ref}"
    )
    if done.returncode != 0:
        raise GitFailed(
            f"git push failed: {git_error_line(done.stderr)}", hint="nothing was forced; git fetch, then look at it"
        )


def remote_lacks_state(state: State, made: PullRequestDraft) -> bool:
    """True if the remote has no state ref, so that nobody there can verify the pushed commits."""
    done = user_git.run_user_git(state.repo.folder, "ls-remote", "--exit-code", "--", made.remote, "refs/nexus/state")
    return done.returncode == 2  # git's exit code if the remote answered and has no such ref


def open_pull_request(state: State, made: PullRequestDraft) -> str:
    """Open the pull request with gh or glab; return its URL. Raises: Failed."""
    base = ["--base", made.onto] if made.onto else []
    argv = {
        "gh": ["pr", "create", "--head", made.run.branch, *base, "--title", made.text.title, "--body-file", "-"],
        "glab": [
            "mr",
            "create",
            "--yes",
            "--source-branch",
            made.run.branch,
            *(["--target-branch", made.onto] if made.onto else []),
            "--title",
            made.text.title,
            "--description",
            made.text.body,
        ],
    }[made.tool]
    program = shutil.which(made.tool) or made.tool
    try:
        done = subprocess.run(
            [program, *argv],
            cwd=state.repo.folder,
            input=made.text.body.encode(),
            capture_output=True,
            check=False,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise Failed(
            f"{made.tool} could not be run: {exc}", hint="the branch is pushed; open it in the browser"
        ) from exc
    if done.returncode != 0:
        raise Failed(
            f"{made.tool} did not open it: {git_error_line(done.stderr or done.stdout)}",
            hint="the branch is pushed; git nexus pr --print has the words",
        )
    found = re.findall(r"https?://\S+", done.stdout.decode("utf-8", "replace"))
    return one_line(found[-1], 300) if found else ""


def _forge_tool(state: State, remote: str) -> str:
    """Return gh or glab if the remote is of that kind and the program is installed, else ""."""
    address = config.config_value(state.repo, f"remote.{remote}.url") or ""
    found = _HOST.match(address)
    host = found[1].lower() if found else ""
    for word, tool in (("github", "gh"), ("gitlab", "glab")):
        if word in host and shutil.which(tool):
            return tool
    return ""
