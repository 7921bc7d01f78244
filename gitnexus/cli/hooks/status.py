"""`git nexus hooks install|uninstall|status`."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from gitnexus.base.text import visible
from gitnexus.ui.commands import NexusGroup, invocation
from gitnexus.ui.output import answer, columns, start_folder

if TYPE_CHECKING:
    from gitnexus.git import Repo
    from gitnexus.git.hookfiles import Hook


@click.group("hooks", cls=NexusGroup)
def hooks() -> None:
    """Install, remove or look at the git hooks.

    They live beside husky, lefthook and pre-commit. On git 2.54 and later they are config hooks; on older git a
    marked block in the hook file. Nobody's hook is moved or renamed, and core.hooksPath is never set.
    """


@hooks.command("install")
@click.option("--sync", is_flag=True, help="Also sync with the remote at each git push.")
@click.pass_context
def install(ctx: click.Context, sync: bool) -> None:
    """Install our hooks; twice is harmless.

    With --sync every git push also exchanges state with that remote. A sync that fails is told, and the push goes on.
    """
    from gitnexus.git import hookfiles

    repo = _worktree_of(ctx)
    found = hookfiles.install(repo, sync=sync)
    running = [hook.event for hook in found if hook.runs]
    head = f"Installed: {', '.join(running)}" if running else "Nothing could be installed."
    advice = [f"note: {hook.advice}" for hook in found if hook.advice]
    answer(_payload(found), visible("\n".join([head, *advice])), _project(repo))


@hooks.command("uninstall")
@click.pass_context
def uninstall(ctx: click.Context) -> None:
    """Take our hooks out; everything else in the hook files stays."""
    from gitnexus.git import hookfiles

    repo = _worktree_of(ctx)
    gone = hookfiles.uninstall(repo)
    text = f"Removed: {', '.join(gone)}" if gone else "None of our hooks were installed."
    answer({"removed": gone}, text, _project(repo))


@hooks.command("status")
@click.pass_context
def status(ctx: click.Context) -> None:
    """Show which hooks run, how, and what is missing."""
    from gitnexus.git import hookfiles

    repo = _worktree_of(ctx)
    found = hookfiles.status(repo)
    rows = [[hook.event, hook.how, hook.where + (f" ({hook.manager})" if hook.manager else "")] for hook in found]
    advice = [f"note: {hook.advice}" for hook in found if hook.advice]
    missing = [hook for hook in found if not hook.runs]
    tail = ["next: git nexus hooks install"] if missing else []
    answer(_payload(found), visible("\n".join([columns(rows, indent=""), *advice, *tail])), _project(repo))


def _worktree_of(ctx: click.Context) -> "Repo":
    from gitnexus.base.errors import Failed
    from gitnexus.git import discover

    repo = discover(start_folder(invocation(ctx)), inherit=True)
    if repo.worktree is None:
        raise Failed(
            "a bare repository makes no commits, so it needs none of our hooks", hint="run this in one of its worktrees"
        )
    return repo


def _project(repo: "Repo") -> Callable[[], dict[str, str]]:
    def described() -> dict[str, str]:
        from gitnexus.app.open import described

        return described(repo)

    return described


def _payload(found: "list[Hook]") -> dict[str, object]:
    return {"hooks": [
        {"event": h.event, "how": h.how, "where": h.where, "manager": h.manager, "advice": h.advice} for h in found
    ]}  # fmt: skip
