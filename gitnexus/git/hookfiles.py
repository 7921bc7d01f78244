"""Our hooks in a repository: config hooks where git knows them, else a marked block in the hook file.

Nobody's hook is moved, copied or renamed, and `core.hooksPath` is never set.
"""

import os
import re
import shlex
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from gitnexus.base import blocks, shim
from gitnexus.base.files import expand_home, replace
from gitnexus.git import config
from gitnexus.git.child import must, run
from gitnexus.git.discovery import Repo
from gitnexus.git.hookmanagers import advice, config_that_runs_us, lasting_advice, manager_of

EVENTS = ("pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-checkout")
# Only for who asked for it: every push of theirs syncs as well.
SYNC_EVENT = "pre-push"
SYNC_KEY = "nexus.syncOnPush"
CONFIG_HOOKS_SINCE = (2, 54)
_CREATED = "#!/bin/sh\n# made by git nexus\n"
_SHELL = re.compile(r"^#!\s*(/usr/bin/env\s+)?\S*?(ba|da|a|k|z)?sh\b")


@dataclass(frozen=True, slots=True)
class Hook:
    """One event: how it is installed, or why it is not and the line that would do it."""

    event: str
    how: str  # config | file | manager | none | manual
    where: str
    manager: str | None = None
    advice: str | None = None

    @property
    def runs(self) -> bool:
        """True if git, or a hook manager, runs us at this event."""
        return self.how in ("config", "file", "manager")


@lru_cache(maxsize=1)
def git_version() -> tuple[int, ...]:
    """Return the installed git's version."""
    text = must("version").decode()
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


def wanted(repo: Repo) -> tuple[str, ...]:
    """Return the events that are to run here."""
    return (*EVENTS, SYNC_EVENT) if config.get(repo, SYNC_KEY) == "true" else EVENTS


def install(repo: Repo, *, sync: bool = False) -> list[Hook]:
    """Install every event of ours; twice is harmless. With `sync` also the one that syncs at each push."""
    _put_shim(repo)
    if sync:
        config.put(repo, SYNC_KEY, "true")
    events = wanted(repo)
    if git_version() >= CONFIG_HOOKS_SINCE:
        for event in events:
            _forget(repo, event)
            config.put(repo, f"hook.nexus-{event}.event", event)
            config.put(repo, f"hook.nexus-{event}.command", _config_command(event))
        return status(repo)
    manual = [_into_file(repo, event) for event in events]
    return [wrong or found for wrong, found in zip(manual, status(repo), strict=True)]


def uninstall(repo: Repo) -> list[str]:
    """Take our hooks out, whichever way they came in; return the events that were there."""
    gone = [hook.event for hook in status(repo) if hook.how in ("config", "file")]
    for event in (*EVENTS, SYNC_EVENT):
        _forget(repo, event)
        if config.get_local(repo, rf"^hook\.nexus-{event}\."):
            config.drop_section(repo, f"hook.nexus-{event}")
    config.drop_key(repo, SYNC_KEY)
    shim_file(repo).unlink(missing_ok=True)
    return gone


def status(repo: Repo) -> list[Hook]:
    """Return what is installed for each event."""
    by_config = config.get_local(repo, r"^hook\.nexus-.*\.command$")
    if by_config and git_version() < CONFIG_HOOKS_SINCE:
        by_config = {}  # installed by a newer git than the one that runs now
    return [_status(repo, event, by_config) for event in wanted(repo)]


def _status(repo: Repo, event: str, by_config: dict[str, list[str]]) -> Hook:
    path = hooks_folder(repo) / event
    text = _text(path)
    manager = manager_of(path.parent, text)
    if by_config.get(f"hook.nexus-{event}.command") == [_config_command(event)]:
        return Hook(event, "config", f"hook.nexus-{event}", manager)
    through = config_that_runs_us(repo.worktree, manager, event)
    if through is not None:
        return Hook(event, "manager", str(through), manager)
    # pre-commit renames the hook that it finds and runs it first.
    for file in (path, path.with_name(f"{event}.legacy")) if manager == "pre-commit" else (path,):
        if blocks.found(_text(file) or "") and os.access(file, os.X_OK):
            return Hook(event, "file", str(file), manager, lasting_advice(manager, event))
    return Hook(event, "none", str(path), manager)


def _config_command(event: str) -> str:
    """Return a command that finds the shim from any worktree, also after the repository was moved."""
    return (
        "nexus=${GIT_DIR:-.git}/nexus/hook; "
        '[ -f "$nexus" ] || nexus=$(git rev-parse --git-common-dir)/nexus/hook; '
        f'[ ! -f "$nexus" ] || "$nexus" {event}'
    )


def hooks_folder(repo: Repo) -> Path:
    """Return the folder that git takes hooks from here: as git does, relative to where hooks run."""
    named = config.get(repo, "core.hooksPath")
    return repo.place / expand_home(named) if named else repo.common_dir / "hooks"


def shim_file(repo: Repo) -> Path:
    """Return where this repository's copy of the shim lies."""
    return repo.common_dir / "nexus" / "hook"


def shim_works(repo: Repo) -> bool:
    """True if the installed shim is the current one and can be run."""
    path = shim_file(repo)
    return path.exists() and os.access(path, os.X_OK) and path.read_text(encoding="utf-8") == _shim_text()


def _into_file(repo: Repo, event: str) -> Hook | None:
    """Put our block into the hook file, or return why that is left to the owner."""
    path = hooks_folder(repo) / event
    text = _text(path)
    manager = manager_of(path.parent, text)
    why = _why_not(repo, path, text, manager)
    if why:
        return Hook(event, "manual", str(path), manager, f"{why}: {advice(manager, event)}")
    after = blocks.with_block(_CREATED if text is None else text, _body(repo, event), after_first_line=True)
    if after != text:
        replace(path, after.encode("utf-8", "surrogateescape"), mode=0o755 if text is None else None)
    return None


def _why_not(repo: Repo, path: Path, text: str | None, manager: str | None) -> str | None:
    if manager == "husky":
        return "husky owns the hooks of this repository"
    if config.scoped(repo, "core.hooksPath")[0] not in ("", "local", "worktree"):
        return f"{path.parent} serves other repositories too (core.hooksPath)"
    if text is None:
        return None if _tracked(repo, path.parent) is False else f"{path.parent} is tracked by git"
    if path.is_symlink():
        return f"{path} is a link"
    if not os.access(path, os.X_OK):
        return f"{path} is not executable, so git ignores it"
    if not _SHELL.match(text):
        return f"{path} is not a shell script"
    return f"{path} is tracked by git" if _tracked(repo, path) else None


def _tracked(repo: Repo, path: Path) -> bool:
    if repo.worktree is None or not path.is_relative_to(repo.worktree) or path.is_relative_to(repo.common_dir):
        return False
    return bool(run("ls-files", "-z", "--", str(path), git_dir=repo.git_dir, cwd=repo.worktree).stdout)


def _body(repo: Repo, event: str) -> str:
    default = hooks_folder(repo) == repo.common_dir / "hooks"
    # Beside the hook where that is the repository's own folder, so that the repository can be moved.
    path = '"${0%/*}/../nexus/hook"' if default else shlex.quote(str(shim_file(repo)))
    return (
        "# taken out again by: git nexus hooks uninstall\n"
        f'if [ -f {path} ]; then (set -- {event} "$@"; . {path}) || exit $?; fi\n'
    )


def _forget(repo: Repo, event: str) -> None:
    """Take our block out of a hook, also where pre-commit or lefthook have put ours aside."""
    for name in (event, f"{event}.legacy", f"{event}.old"):
        _forget_file(hooks_folder(repo) / name)


def _forget_file(path: Path) -> None:
    text = _text(path)
    if text is None or not blocks.found(text) or path.is_symlink():
        return
    rest = blocks.without(text)
    if rest == _CREATED:
        path.unlink()
    else:
        replace(path, rest.encode("utf-8", "surrogateescape"))


def _put_shim(repo: Repo) -> None:
    replace(shim_file(repo), _shim_text().encode(), mode=0o755)


def _shim_text() -> str:
    text = Path(shim.source()).read_text(encoding="utf-8")
    return text.replace("nexus_program=git-nexus", f"nexus_program={shlex.quote(program())}", 1)


def program() -> str:
    """Return the full path of the git-nexus program that is running, or its bare name."""
    started = Path(sys.argv[0])
    if started.name == "git-nexus" and started.is_absolute() and os.access(started, os.X_OK):
        return str(started)
    import shutil

    beside = Path(sys.executable).with_name("git-nexus")
    return str(beside) if beside.exists() else shutil.which("git-nexus") or "git-nexus"


def _text(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


def probe(repo: Repo) -> bool:
    """True if the installed shim runs to its end and the program it would start is there."""
    import subprocess

    from gitnexus.git.child import clean_environment

    env = clean_environment({"GIT_DIR": str(repo.git_dir)})
    asked = subprocess.run([str(shim_file(repo)), "probe"], env=env, cwd=repo.place, capture_output=True, check=False)
    return asked.returncode == 0 and asked.stdout.strip() != b""
