"""`git nexus doctor`: checks everything a project needs, and with `--fix` repairs what needs no decision."""

import itertools
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from gitnexus.app.doctor_finding import MOST_TOLD, DoctorFinding
from gitnexus.app.doctor_secrets import check_stored_secrets
from gitnexus.app.doctor_settings import check_catalog, check_macros, check_settings
from gitnexus.app.doctor_state import REPAIR_HINT, UNREPAIRED_HINT, check_locks, check_state_ref, report_repair
from gitnexus.app.harness_doctor import summarize_harnesses
from gitnexus.app.rescue import mend_state
from gitnexus.app.status import has_landing_note
from gitnexus.backlog.elsewhere import NoForeignTasks
from gitnexus.backlog.graph import find_cycles
from gitnexus.backlog.next import waiting_edges
from gitnexus.backlog.store import tasks_in_snapshot
from gitnexus.base.errors import NexusError
from gitnexus.base.text import one_line
from gitnexus.git import Repo, exclude, hookfiles, remotes
from gitnexus.git.hookmanagers import hook_advice
from gitnexus.git.maintenance import GIT_PACKS_AT, estimate_loose_objects, is_maintenance_off
from gitnexus.policy.in_force import read_policy_in_force
from gitnexus.policy.trust_check import check_trust, restore_approvers
from gitnexus.projects import read_registry
from gitnexus.projects.grants import read_written_permissions
from gitnexus.projects.index.refresh import why_unreadable
from gitnexus.projects.model import real_path
from gitnexus.projects.open_state import open_state
from gitnexus.projects.signed_permissions import list_unsigned_permissions
from gitnexus.sandbox.levels import WORDS, available_levels, choose_level, gaps_of_level
from gitnexus.state import STATE_REF, State
from gitnexus.state.disk import TEMPORARY
from gitnexus.state.home import close_folders_to_others, folders_open_to_others, home_repository, open_home
from gitnexus.state.intake import find_leftover_files, own_projection, settle_hand_edits
from gitnexus.state.layout import CONFLICTS, OTHER

_OLDEST_GIT = (2, 34)
# Findings that are shown in red.
BYPASS = "the mode is bypass: no question is asked about anything that no rule denies"


def examine_project(repo: Repo, *, fix: bool, all_secrets: bool = False) -> list[DoctorFinding]:
    """Return one finding per check, in order of dependency."""
    found: list[DoctorFinding] = []
    try:
        state = open_state(repo)
    except NexusError as exc:
        mended = mend_state(repo) if fix else None
        if mended is None:
            return [DoctorFinding("state", "problem", exc.message, UNREPAIRED_HINT if fix else REPAIR_HINT)]
        found += report_repair(mended, exc.message)
        state = open_state(repo)
    try:
        for name, check in (_CHECKS | {"secrets": partial(_secrets, all_secrets=all_secrets)}).items():
            try:
                found += list(check(state, fix))
            except NexusError as exc:
                found.append(DoctorFinding(name, "problem", exc.message, exc.hint))
            except OSError as exc:
                words = f"{exc.strerror or exc}: {exc.filename}" if exc.filename else str(exc)
                found.append(DoctorFinding(name, "problem", words))
        return found
    finally:
        state.close()


def _git(_state: State, _fix: bool) -> Iterator[DoctorFinding]:
    version = hookfiles.git_version()
    shown = ".".join(map(str, version))
    if version < _OLDEST_GIT:
        yield DoctorFinding("git", "problem", f"git {shown} is too old", "install git 2.34 or newer")
    else:
        yield DoctorFinding("git", "ok", f"git {shown}")


def _objects(state: State, _fix: bool) -> Iterator[DoctorFinding]:
    count = estimate_loose_objects(state.repo.common_dir)
    if count > GIT_PACKS_AT:
        off = ", which maintenance.auto or gc.auto forbids git nexus" if is_maintenance_off(state.repo) else ""
        hint = f"git maintenance run packs them{off}"
        yield DoctorFinding("objects", "warning", f"there are about {count:,} loose objects", hint)


def _landing(state: State, fix: bool) -> Iterator[DoctorFinding]:
    place = state.repo.worktree
    if place is None or not has_landing_note(state.repo):
        return
    from gitnexus.runs.landing.unfinished import (  # only if a landing was stopped here
        undo_unfinished_landing,
        unfinished_landing,
    )

    run = unfinished_landing(state.repo)
    if run and fix and undo_unfinished_landing(state.repo, place):
        yield DoctorFinding("landing", "fixed", f"undid the half of {run} that a killed landing left")
    elif run:
        yield DoctorFinding(
            "landing",
            "problem",
            f"landing {run} was stopped half-way: do not commit what it left",
            f"git nexus land {run} completes it; --fix undoes it",
        )


def _checkout(state: State, fix: bool) -> Iterator[DoctorFinding]:
    own = own_projection(state)
    if own is None or not state.exists:
        return
    settled = settle_hand_edits(state)
    if settled.tracked:
        yield DoctorFinding(
            "checkout",
            "warning",
            ".nexus/ is tracked on this branch and left alone",
            "git rm -r --cached .nexus stops that; the files stay",
        )
        return
    for path, why in settled.held.items():
        yield DoctorFinding("checkout", "problem", f".nexus/{path} is left as it is: {why}", "repair it by hand")
    copies, left_out = find_leftover_files(own)
    for path in copies:
        yield DoctorFinding("checkout", "warning", f".nexus/{path} waits to be merged by hand", "delete it when done")
    for path, why in list(left_out.items())[:20]:
        yield DoctorFinding("checkout", "warning", f".nexus/{path} is not kept: {why}", "fix, rename or move it")
    if exclude.tracked_nexus_paths(state.repo):
        yield DoctorFinding(
            "checkout",
            "problem",
            ".nexus/ is tracked on this branch",
            "git rm -r --cached .nexus stops that; the files stay",
        )
    for left in _leftover_files(own.root, fix):
        state_word = "fixed" if fix else "warning"
        yield DoctorFinding(
            "checkout", state_word, f"{left} was left by a killed process", None if fix else "--fix removes it"
        )
    if not settled.held:
        yield DoctorFinding("checkout", "ok", f".nexus/ shows {(state.snapshot.commit or '')[:12]}")


def _leftover_files(root: Path, fix: bool) -> Iterator[Path]:
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder, name)
            if name.startswith(TEMPORARY) and time.time() - path.lstat().st_mtime > 60:
                if fix:
                    path.unlink(missing_ok=True)
                yield path


def _ignored(state: State, fix: bool) -> Iterator[DoctorFinding]:
    repo = state.repo
    if repo.worktree is None or not state.exists:
        return
    if exclude.is_nexus_ignored(repo):
        yield DoctorFinding("ignore", "ok", ".nexus/ is ignored by git")
    elif fix and exclude.add_exclude_block(repo) and exclude.is_nexus_ignored(repo):
        yield DoctorFinding("ignore", "fixed", ".nexus/ is ignored by git again")
    else:
        yield DoctorFinding(
            "ignore",
            "problem",
            ".nexus/ is not ignored by git",
            "git nexus doctor --fix, or look for !.nexus in a .gitignore",
        )


def _hooks(state: State, fix: bool) -> Iterator[DoctorFinding]:
    repo = state.repo
    if repo.worktree is None or not state.exists:
        return
    hooks = hookfiles.hook_statuses(repo)
    if all(hook.how == "none" for hook in hooks) and not hookfiles.shim_file(repo).exists():
        yield DoctorFinding(
            "hooks", "warning", "the git hooks of git nexus are not installed", "git nexus hooks install"
        )
        return
    broken = [hook for hook in hooks if hook.how == "none"]
    if (broken or not hookfiles.shim_works(repo)) and fix:
        hooks = hookfiles.install_hooks(repo)
        yield DoctorFinding("hooks", "fixed", "installed the hooks again")
    elif not hookfiles.shim_works(repo):
        yield DoctorFinding(
            "hooks", "problem", "the hook shim is missing or of another version", "git nexus doctor --fix"
        )
    for hook in hooks:
        if hook.how in ("none", "manual"):
            yield DoctorFinding(
                "hooks",
                "warning",
                f"{hook.event} does not run: {hook.where}",
                hook.advice or hook_advice(hook.manager, hook.event),
            )
        elif hook.advice:
            yield DoctorFinding("hooks", "warning", f"{hook.event} runs for now", hook.advice)
    yield from _check_shim_answers(repo, [hook.event for hook in hooks if hook.runs])


def _check_shim_answers(repo: Repo, events: list[str]) -> Iterator[DoctorFinding]:
    """Run the hook shim: it must answer a harmless event and find the program."""
    if not events:
        return
    if hookfiles.probe_shim(repo):
        yield DoctorFinding("hooks", "ok", f"{', '.join(events)} run")
    else:
        yield DoctorFinding("hooks", "problem", "the hook shim does not run", "git nexus hooks install")


def _fetches(state: State, fix: bool) -> Iterator[DoctorFinding]:
    for remote in remotes.overwriting_remotes(state.repo):
        if fix:
            remotes.shield_refs_from_fetch(state.repo, remote)
            yield DoctorFinding("remotes", "fixed", f"excluded refs/nexus/* from what git fetch {remote} overwrites")
        else:
            yield DoctorFinding(
                "remotes",
                "problem",
                f"git fetch --prune {remote} would overwrite or delete {STATE_REF}",
                "git nexus doctor --fix",
            )


def _met(state: State, _fix: bool) -> Iterator[DoctorFinding]:
    """Report files that a sync could not merge and stored beside the file itself."""
    for path in sorted(name for name in state.latest().ids() if OTHER.search(name))[:MOST_TOLD]:
        of = OTHER.sub("", path.removeprefix(f"{CONFLICTS}/"))
        yield DoctorFinding(
            "sync",
            "warning",
            f".nexus/{path} is another clone's version of {of}",
            f"put the right content into .nexus/{of}, then delete it",
        )


def _backlog(state: State, _fix: bool) -> Iterator[DoctorFinding]:
    if not state.exists or not state.latest().files("backlog"):
        return

    tasks = tasks_in_snapshot(state.latest())
    rings = find_cycles(waiting_edges([task for task in tasks if task.is_open], NoForeignTasks()))
    for why in tasks.broken.values():
        yield DoctorFinding("backlog", "warning", why, "git nexus log PATH shows who wrote it")
    for ring in rings[:5]:
        shown = " → ".join([*ring[:8], *(["…"] if len(ring) > 8 else []), ring[0]])
        yield DoctorFinding(
            "backlog",
            "warning",
            f"tasks wait for each other: {shown}",
            f"git nexus task update {ring[0]} --remove-depends …",
        )
    if not tasks.broken and not rings:
        yield DoctorFinding("backlog", "ok", f"{len(tasks)} task{'' if len(tasks) == 1 else 's'}")


def _registry(state: State, _fix: bool) -> Iterator[DoctorFinding]:
    if not state.exists:
        return
    home = open_home()
    if home is None:
        yield DoctorFinding("registry", "ok", f"no projects registered yet ({home_repository()})")
        return
    try:
        registry = read_registry(home.snapshot)
        row = registry.at(real_path(state.repo.main_folder))
        read_written_permissions(home.snapshot)
    finally:
        home.close()

    for name, why in list_unsigned_permissions().items():
        yield DoctorFinding("registry", "warning", f"{name} is not in force: {why}", "git nexus policy trust")
    if row is None:
        yield DoctorFinding("registry", "warning", "this project is not registered", "git nexus init --name NAME")
    else:
        yield DoctorFinding("registry", "ok", f"registered as {row.name}")

    others = [other for other in registry.projects_by_name() if other != row and os.path.lexists(other.path)]
    told = ((other, why_unreadable(other)) for other in others)
    for other, why in itertools.islice(((other, why) for other, why in told if why), MOST_TOLD):
        yield DoctorFinding(
            "registry", "warning", f"{other.name} cannot be read: {why}", f"git nexus project show {other.name}"
        )


def _approvals(state: State, fix: bool) -> Iterator[DoctorFinding]:
    if not state.exists:
        return

    if fix and restore_approvers(state):
        yield DoctorFinding("approvers", "fixed", "restored the list of approvers that this machine last saw")
    for check, word, words, hint in check_trust(state):
        yield DoctorFinding(check, word, words, hint)


def _sandbox(state: State, _fix: bool) -> Iterator[DoctorFinding]:
    if not state.exists:
        return

    policy = read_policy_in_force(state).compiled
    if policy.mode == "bypass":
        yield DoctorFinding("mode", "warning", BYPASS, "git nexus policy mode default --user")
    level = choose_level(policy.level, policy.minimum)
    missing = "".join(f"; {row.level} is not available: {row.why}" for row in available_levels() if not row.there)
    left_open = f"; it does not hold: {'; '.join(gaps_of_level(level))}"
    words = f"commands run at {level}: {WORDS[level].removeprefix('and ')}{left_open}{missing}"
    if level == "L0":
        yield DoctorFinding("sandbox", "warning", words, "nothing keeps them away from your files")
    else:
        yield DoctorFinding("sandbox", "ok", words)


def _home(_state: State, fix: bool) -> Iterator[DoctorFinding]:
    folders = close_folders_to_others() if fix else folders_open_to_others()
    if folders and fix:
        yield DoctorFinding("home", "fixed", f"only you can look into {folders[0]} and what is in it now")
    elif folders:
        names = one_line(", ".join(map(str, folders)), 300)
        yield DoctorFinding("home", "warning", f"other users can read {names}", "git nexus doctor --fix")


def _secrets(state: State, _fix: bool, *, all_secrets: bool) -> Iterator[DoctorFinding]:
    if state.exists:
        yield from check_stored_secrets(state, thorough=all_secrets)


def _harnesses(state: State, _fix: bool) -> Iterator[DoctorFinding]:
    if state.repo.worktree is None:
        return

    yield from summarize_harnesses(state.repo.worktree)


# By the name under which a check that fails itself is reported, in the order in which things depend on each other.
_CHECKS: dict[str, Callable[[State, bool], Iterator[DoctorFinding]]] = {
    "git": _git,
    "ref": check_state_ref,
    "locks": check_locks,
    "objects": _objects,
    "landing": _landing,
    "checkout": _checkout,
    "ignored": _ignored,
    "hooks": _hooks,
    "fetches": _fetches,
    "met": _met,
    "backlog": _backlog,
    "registry": _registry,
    "settings": check_settings,
    "catalog": check_catalog,
    "macros": check_macros,
    "approvals": _approvals,
    "home": _home,
    "sandbox": _sandbox,
    "harnesses": _harnesses,
}
