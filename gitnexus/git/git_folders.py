"""Reads the git folders of a worktree from its `.git` folder or file; starts no child and imports nothing heavy."""

import os


def read_git_folders(top: str) -> tuple[str, str]:
    """Return the git folder of the worktree at `top`, and the common git folder that all its worktrees share.

    `top` is a real path with a `.git` in it. Trusts no content: the folders may not exist. Raises: OSError.
    """
    git_dir = read_git_folder(top)
    try:
        return git_dir, os.path.realpath(os.path.join(git_dir, read_first_line(os.path.join(git_dir, "commondir"))))
    except OSError:
        return git_dir, git_dir


def read_git_folder(top: str) -> str:
    """Return the git folder of a worktree: its `.git`, or the folder that this file names. Raises: OSError."""
    dot_git = os.path.join(top, ".git")
    if not os.path.isfile(dot_git):
        return dot_git
    return os.path.realpath(os.path.join(top, read_first_line(dot_git).removeprefix("gitdir:").strip()))


def read_first_line(path: str) -> str:
    """Return the first line of a file, without the blanks around it. Raises: OSError."""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.readline(8192).strip()
