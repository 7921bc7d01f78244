"""pre-commit: keeps `.nexus/` out of branches, makes runs commit through the gateway, and reports secrets."""

from dataclasses import dataclass, field

from gitnexus.base.text import one_line
from gitnexus.git import Objects, Repo, open_objects
from gitnexus.git.staged import StagedFile, staged_files
from gitnexus.git.worktrees import list_worktrees
from gitnexus.policy import denied_by
from gitnexus.redaction import find_secrets

_LARGEST = 5 * 1024 * 1024
_SHOWN = 20


@dataclass(slots=True)
class CommitVerdict:
    """`refused` stops the commit, `warnings` do not."""

    refused: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def check_staged_commit(repo: Repo) -> CommitVerdict:
    """Check the commit that is being made."""
    verdict = CommitVerdict()
    here = next((tree for tree in list_worktrees(repo) if tree.git_dir == repo.git_dir), None)
    if here is not None and here.is_run:
        verdict.refused.append("this is the worktree of a run: its work is committed by git nexus once it is approved")
        return verdict
    files = staged_files(repo)
    for file in files:
        if file.path.casefold().split("/")[0] == ".nexus" and file.new is not None:
            verdict.refused.append(f"{one_line(file.path)} is state: it lives on refs/nexus/state, not on a branch")
    objects = open_objects(repo)
    try:
        for file in files:
            _warn_about_secrets(file, objects, verdict)
    finally:
        objects.close()
    return verdict


def format_verdict_lines(verdict: CommitVerdict) -> list[str]:
    """Return the message for the user, at most one screen."""
    said = [f"git nexus: refused: {line}" for line in verdict.refused[:_SHOWN]]
    said += [f"git nexus: warning: {line}" for line in verdict.warnings[:_SHOWN]]
    more = max(0, len(verdict.refused) - _SHOWN) + max(0, len(verdict.warnings) - _SHOWN)
    if more:
        said.append(f"git nexus: and {more} more")
    if any("refs/nexus/state" in line for line in verdict.refused):
        said.append("hint: unstage it with: git reset -- .nexus")
    elif verdict.refused:
        said.append("hint: see what waits with: git nexus status")
    if verdict.warnings:
        said.append("hint: if that is a secret, remove it and amend; the commit is not blocked")
    return said


def _warn_about_secrets(file: StagedFile, objects: Objects, verdict: CommitVerdict) -> None:
    if file.new is None or not file.is_blob:
        return
    pattern = denied_by(file.path)
    if pattern is not None and file.old is None:
        verdict.warnings.append(f"{one_line(file.path)} usually holds secrets (rule {pattern})")
    added = _added_text_lines(objects, file)
    for finding in find_secrets(added):
        verdict.warnings.append(f"{one_line(file.path)}:{finding.line} looks like a secret (rule {finding.rule})")


def _added_text_lines(objects: Objects, file: StagedFile) -> list[tuple[int, str]]:
    new = objects.blob(file.new) if file.new else b""
    if len(new) > _LARGEST or b"\0" in new[:8000]:
        return []
    old = set(objects.blob(file.old).split(b"\n")) if file.old else set()
    return [
        (number, line.decode("utf-8", "replace")) for number, line in enumerate(new.split(b"\n"), 1) if line not in old
    ]
