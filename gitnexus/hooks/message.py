"""prepare-commit-msg and commit-msg: a commit that carries `Nexus-…` trailers keeps them when it is amended."""

import os
from pathlib import Path

from gitnexus.base.files import replace
from gitnexus.git import Repo, config
from gitnexus.git.child import run
from gitnexus.git.trailers import PREFIX, keeping, ours


def kept_file(repo: Repo) -> Path:
    """Return where the trailers wait between the two hooks."""
    return repo.git_dir / "nexus" / "kept-trailers"


def prepare(repo: Repo, args: list[str]) -> None:
    """Put the trailers of the commit that is amended or reused into the new message, and note them."""
    source, named = (args[1] if len(args) > 1 else ""), (args[2] if len(args) > 2 else "")
    commit = named if source == "commit" and named else "HEAD"
    if source != "commit" and (_has_own(Path(args[0])) or not _is_amend(repo)):
        return
    shown = run("cat-file", "commit", commit, git_dir=repo.git_dir)
    kept = ours(shown.stdout.decode("utf-8", "replace").partition("\n\n")[2])
    if not kept:
        return
    kept_file(repo).parent.mkdir(parents=True, exist_ok=True)
    replace(kept_file(repo), "".join(f"{key}: {value}\n" for key, value in kept).encode())
    _keep(repo, Path(args[0]), kept)


def finish(repo: Repo, args: list[str]) -> None:
    """Put back the trailers that an editor or another hook dropped."""
    noted = kept_file(repo).read_text(encoding="utf-8").splitlines()
    kept_file(repo).unlink()
    _keep(repo, Path(args[0]), [(key, value) for key, _, value in (line.partition(": ") for line in noted)])


def _keep(repo: Repo, path: Path, kept: list[tuple[str, str]]) -> None:
    comment = config.get(repo, "core.commentChar") or "#"
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    after = keeping(text, kept, comment if comment != "auto" else "#")
    if after != text:
        replace(path, after.encode("utf-8", "surrogateescape"))


def _has_own(path: Path) -> bool:
    """True for a message that brings its trailers along, as a commit that is picked or rebased does."""
    return f"\n{PREFIX}" in path.read_bytes().decode("utf-8", "surrogateescape")


def _is_amend(repo: Repo) -> bool:
    """True if git is amending HEAD: it hands the hooks the author that it takes over from there.

    `git commit --amend -m` names no commit to the hook. A new commit by the same person in the same second would
    look alike, but the author of a commit that carries our trailers is an agent.
    """
    shown = run("log", "-1", "--no-show-signature", "--format=%an%n%ae%n@%at", "HEAD", "--", git_dir=repo.git_dir)
    name, email, when = [*shown.stdout.decode("utf-8", "replace").split("\n"), "", "", ""][:3]
    told = os.environ.get("GIT_AUTHOR_DATE", "").split(" ")[0]
    return (os.environ.get("GIT_AUTHOR_NAME"), os.environ.get("GIT_AUTHOR_EMAIL"), told) == (name, email, when)
