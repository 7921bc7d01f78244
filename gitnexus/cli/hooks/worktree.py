"""Finds the worktree of a command about hooks, and describes its project."""

from collections.abc import Callable

import click

from gitnexus.base.errors import Failed
from gitnexus.git import Repo, discover
from gitnexus.ui.commands import current_invocation
from gitnexus.ui.output import start_folder


def require_worktree(ctx: click.Context) -> "Repo":
    """Return the repository of the current folder. Raises: Failed for a bare one."""
    repo = discover(start_folder(current_invocation(ctx)), inherit=True)
    if repo.worktree is None:
        raise Failed(
            "a bare repository makes no commits, so it needs none of our hooks", hint="run this in one of its worktrees"
        )
    return repo


def project_describer(repo: "Repo") -> Callable[[], dict[str, str]]:
    """Return a function that describes the project of a repository when it is called."""

    def described() -> dict[str, str]:
        from gitnexus.projects.open_project import describe_project

        return describe_project(repo)

    return described
