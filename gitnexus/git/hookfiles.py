"""Installs, removes and checks our git hooks: config hooks if git supports them, else a block in the hook file.

Hooks of others are never moved, copied or renamed, and `core.hooksPath` is never set.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from gitnexus.base import blocks, shim
from gitnexus.base.files import expand_home, replace_file
from gitnexus.git import config, config_edit
from gitnexus.git.child import clean_environment, run_git, run_git_or_raise
from gitnexus.git.discovery import Repo
from gitnexus.git.hookmanagers import hook_advice, hook_manager_of, lasting_advice, manager_config_with_hook

EVENTS = ("pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-checkout")
# Only if the user asked for it: then each push syncs as well.
SYNC_EVENT = "pre-push"
SYNC_KEY = "nexus.syncOnPush"
CONFIG_HOOKS_SINCE = (2, 54)
_CREATED = "#!/bin/sh\n# made by git nexus\n"
_SHELL = re.compile(r"^#!\s*(/usr/bin/env\s+)?\S*?(ba|da|a|k|z)?sh\b")


@dataclass(frozen=True, slots=True)
class HookStatus:
    """One event: how its hook is installed, or why it is not and the line that would install it."""

    event: str
    how: str  # config | file | manager | none | manual
    where: str
    manager: str | None = None
    advice: str | None = None

    @property
    def runs(self) -> bool:
        """True if git or a hook manager runs git nexus at this event."""
        return self.how in ("config", "file", "manager")


@lru_cache(maxsize=1)
def git_version() -> tuple[int, ...]:
    """Return the installed git's version."""
    text = run_git_or_raise("version").decode()
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


def wanted_hook_events(repo: Repo) -> tuple[str, ...]:
    """Return the events whose hooks should be installed in this repository."""
    return (*EVENTS, SYNC_EVENT) if config.config_value(repo, SYNC_KEY) == "true" else EVENTS


def install_hooks(repo: Repo, *, sync: bool = False) -> list[HookStatus]:
    """Install our hook for every event; calling it twice is harmless. `sync` adds the hook that syncs at each push."""
    _write_shim(repo)
    if sync:
        config_edit.set_config_value(repo, SYNC_KEY, "true")
    events = wanted_hook_events(repo)
    if git_version() >= CONFIG_HOOKS_SINCE:
        for event in events:
            _remove_event_blocks(repo, event)
            config_edit.set_config_value(repo, f"hook.nexus-{event}.event", event)
            config_edit.set_config_value(repo, f"hook.nexus-{event}.command", _config_command(event))
        return hook_statuses(repo)
    manual = [_install_into_file(repo, event) for event in events]
    return [wrong or found for wrong, found in zip(manual, hook_statuses(repo), strict=True)]


def uninstall_hooks(repo: Repo) -> list[str]:
    """Remove our hooks, however they were installed; return the events that had one."""
    gone = [hook.event for hook in hook_statuses(repo) if hook.how in ("config", "file")]
    for event in (*EVENTS, SYNC_EVENT):
        _remove_event_blocks(repo, event)
        if config.local_config_values(repo, rf"^hook\.nexus-{event}\."):
            config_edit.remove_config_section(repo, f"hook.nexus-{event}")
    config_edit.unset_config_key(repo, SYNC_KEY)
    shim_file(repo).unlink(missing_ok=True)
    return gone


def hook_statuses(repo: Repo) -> list[HookStatus]:
    """Return the status of our hook for each event."""
    by_config = config.local_config_values(repo, r"^hook\.nexus-.*\.command$")
    if by_config and git_version() < CONFIG_HOOKS_SINCE:
        by_config = {}  # installed by a newer git than the one that runs now
    return [_status_of_event(repo, event, by_config) for event in wanted_hook_events(repo)]


def _status_of_event(repo: Repo, event: str, by_config: dict[str, list[str]]) -> HookStatus:
    path = hooks_folder(repo) / event
    text = _read_hook_text(path)
    manager = hook_manager_of(path.parent, text)
    if by_config.get(f"hook.nexus-{event}.command") == [_config_command(event)]:
        return HookStatus(event, "config", f"hook.nexus-{event}", manager)
    through = manager_config_with_hook(repo.worktree, manager, event)
    if through is not None:
        return HookStatus(event, "manager", str(through), manager)
    # pre-commit renames the hook that it finds and runs it first.
    for file in (path, path.with_name(f"{event}.legacy")) if manager == "pre-commit" else (path,):
        if blocks.find_block(_read_hook_text(file) or "") and os.access(file, os.X_OK):
            return HookStatus(event, "file", str(file), manager, lasting_advice(manager, event))
    return HookStatus(event, "none", str(path), manager)


def _config_command(event: str) -> str:
    """Return a command that finds the shim from any worktree, even after the repository was moved."""
    return (
        "nexus=${GIT_DIR:-.git}/nexus/hook; "
        '[ -f "$nexus" ] || nexus=$(git rev-parse --git-common-dir)/nexus/hook; '
        f'[ ! -f "$nexus" ] || "$nexus" {event}'
    )


def hooks_folder(repo: Repo) -> Path:
    """Return the folder that git reads hooks from; like git, relative to the folder in which hooks run."""
    named = config.config_value(repo, "core.hooksPath")
    return repo.folder / expand_home(named) if named else repo.common_dir / "hooks"


def shim_file(repo: Repo) -> Path:
    """Return the path of this repository's copy of the shim."""
    return repo.common_dir / "nexus" / "hook"


def shim_works(repo: Repo) -> bool:
    """Return True if the installed shim is the current version and executable."""
    path = shim_file(repo)
    return path.exists() and os.access(path, os.X_OK) and path.read_text(encoding="utf-8") == _shim_text()


def _install_into_file(repo: Repo, event: str) -> HookStatus | None:
    """Add our block to the hook file, or return why the owner of the file has to do it."""
    path = hooks_folder(repo) / event
    text = _read_hook_text(path)
    manager = hook_manager_of(path.parent, text)
    why = _why_not_editable(repo, path, text, manager)
    if why:
        return HookStatus(event, "manual", str(path), manager, f"{why}: {hook_advice(manager, event)}")
    after = blocks.with_block(_CREATED if text is None else text, _block_body(repo, event), after_first_line=True)
    if after != text:
        replace_file(path, after.encode("utf-8", "surrogateescape"), mode=0o755 if text is None else None)
    return None


def _why_not_editable(repo: Repo, path: Path, text: str | None, manager: str | None) -> str | None:
    if manager == "husky":
        return "husky owns the hooks of this repository"
    if config.config_value_with_scope(repo, "core.hooksPath")[0] not in ("", "local", "worktree"):
        return f"{path.parent} serves other repositories too (core.hooksPath)"
    if text is None:
        return None if _is_tracked(repo, path.parent) is False else f"{path.parent} is tracked by git"
    if path.is_symlink():
        return f"{path} is a link"
    if not os.access(path, os.X_OK):
        return f"{path} is not executable, so git ignores it"
    if not _SHELL.match(text):
        return f"{path} is not a shell script"
    return f"{path} is tracked by git" if _is_tracked(repo, path) else None


def _is_tracked(repo: Repo, path: Path) -> bool:
    if repo.worktree is None or not path.is_relative_to(repo.worktree) or path.is_relative_to(repo.common_dir):
        return False
    return bool(run_git("ls-files", "-z", "--", str(path), git_dir=repo.git_dir, cwd=repo.worktree).stdout)


def _block_body(repo: Repo, event: str) -> str:
    default = hooks_folder(repo) == repo.common_dir / "hooks"
    # Beside the hook where that is the repository's own folder, so that the repository can be moved.
    path = '"${0%/*}/../nexus/hook"' if default else shlex.quote(str(shim_file(repo)))
    return (
        "# taken out again by: git nexus hooks uninstall\n"
        f'if [ -f {path} ]; then (set -- {event} "$@"; . {path}) || exit $?; fi\n'
    )


def _remove_event_blocks(repo: Repo, event: str) -> None:
    """Remove our block from a hook, also from the copy that pre-commit or lefthook has moved aside."""
    for name in (event, f"{event}.legacy", f"{event}.old"):
        _remove_our_block(hooks_folder(repo) / name)


def _remove_our_block(path: Path) -> None:
    text = _read_hook_text(path)
    if text is None or not blocks.find_block(text) or path.is_symlink():
        return
    rest = blocks.without_block(text)
    if rest == _CREATED:
        path.unlink()
    else:
        replace_file(path, rest.encode("utf-8", "surrogateescape"))


def _write_shim(repo: Repo) -> None:
    replace_file(shim_file(repo), _shim_text().encode(), mode=0o755)


def _shim_text() -> str:
    text = Path(shim.shim_source_path()).read_text(encoding="utf-8")
    return text.replace("nexus_program=git-nexus", f"nexus_program={shlex.quote(program_path())}", 1)


def program_path() -> str:
    """Return the full path of the running git-nexus program, or its bare name."""
    started = Path(sys.argv[0])
    if started.name == "git-nexus" and started.is_absolute() and os.access(started, os.X_OK):
        return str(started)

    beside = Path(sys.executable).with_name("git-nexus")
    return str(beside) if beside.exists() else shutil.which("git-nexus") or "git-nexus"


def _read_hook_text(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


def probe_shim(repo: Repo) -> bool:
    """Return True if the installed shim runs to its end and the program it would start exists."""
    env = clean_environment({"GIT_DIR": str(repo.git_dir)})
    asked = subprocess.run([str(shim_file(repo)), "probe"], env=env, cwd=repo.folder, capture_output=True, check=False)
    return asked.returncode == 0 and asked.stdout.strip() != b""
