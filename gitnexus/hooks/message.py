"""prepare-commit-msg and commit-msg: keeps the `Nexus-…` trailers of a commit when it is amended."""

import os
from pathlib import Path

from gitnexus.base.files import replace_file
from gitnexus.git import Repo, config
from gitnexus.git.child import run_git
from gitnexus.git.identity import current_author
from gitnexus.git.trailers import nexus_trailers, with_trailers


def kept_trailers_file(repo: Repo) -> Path:
    """Return the file that keeps the trailers between the two hooks."""
    return repo.git_dir / "nexus" / "kept-trailers"


def carry_over_trailers(repo: Repo, args: list[str]) -> None:
    """Copy the trailers of the amended or reused commit into the new message, and store them."""
    source, named = (args[1] if len(args) > 1 else ""), (args[2] if len(args) > 2 else "")
    commit = named if source == "commit" and named else "HEAD"
    if source != "commit" and not _is_amending_head(repo):
        return
    shown = run_git("cat-file", "commit", commit, git_dir=repo.git_dir)
    kept = nexus_trailers(shown.stdout.decode("utf-8", "replace").partition("\n\n")[2])
    path = Path(args[0])
    if not kept or (source != "commit" and _has_other_trailers(path, kept)):
        return
    # What was given with -m or -F is not cleaned of comments; what an editor shows is.
    comment = "" if source == "message" else config.comment_character(repo)
    kept_trailers_file(repo).parent.mkdir(parents=True, exist_ok=True)
    noted = [comment, *(f"{key}: {value}" for key, value in kept)]
    replace_file(kept_trailers_file(repo), "\n".join(noted).encode("utf-8", "surrogateescape"), durable=False)
    _write_trailers(path, kept, comment)


def restore_trailers(repo: Repo, args: list[str]) -> None:
    """Put back the trailers that an editor or another hook dropped."""
    comment, *noted = kept_trailers_file(repo).read_text(encoding="utf-8", errors="surrogateescape").split("\n")
    kept_trailers_file(repo).unlink()
    _write_trailers(
        Path(args[0]), [(key, value) for key, _, value in (line.partition(": ") for line in noted)], comment
    )


def _write_trailers(path: Path, kept: list[tuple[str, str]], comment: str) -> None:
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    after = with_trailers(text, kept, comment)
    if after != text:
        replace_file(path, after.encode("utf-8", "surrogateescape"), durable=False)


def _has_other_trailers(path: Path, kept: list[tuple[str, str]]) -> bool:
    """Return True for a message with trailers of another commit, as in a cherry-pick or rebase."""
    own = nexus_trailers(path.read_bytes().decode("utf-8", "surrogateescape"))
    return any(key in dict(kept) and dict(kept)[key] != value for key, value in own)


def _is_amending_head(repo: Repo) -> bool:
    """Return True if git is certainly amending HEAD: it passes the author of HEAD to the hooks.

    `git commit --amend -m` names no commit to the hook. A new commit by the same person in the same second looks alike;
    so the author must be somebody else, such as an agent. In doubt nothing is added: a missing approval is noticed, a
    false one would be wrong.
    """
    shown = run_git("log", "-1", "--no-show-signature", "--format=%an%n%ae%n@%at", "HEAD", "--", git_dir=repo.git_dir)
    name, email, when = [*shown.stdout.decode("utf-8", "replace").split("\n"), "", "", ""][:3]
    told = os.environ.get("GIT_AUTHOR_DATE", "").split(" ")[0]
    taken_over = (os.environ.get("GIT_AUTHOR_NAME"), os.environ.get("GIT_AUTHOR_EMAIL"), told) == (name, email, when)
    person = current_author(repo)
    return taken_over and (person.name, person.email) != (name, email)
