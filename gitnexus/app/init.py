"""`git nexus init`: makes a repository a project, and reports each change and how to undo it."""

import contextlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from gitnexus.backlog.cleo_offer import offer_import
from gitnexus.base.canonical import parse_json
from gitnexus.base.clock import utc_now
from gitnexus.base.errors import Conflict, Failed, Invalid, NexusError
from gitnexus.base.files import replace_file
from gitnexus.base.text import is_utf8_name
from gitnexus.git import Repo, discover, exclude, hookfiles, remotes
from gitnexus.git.child import run_git_or_raise
from gitnexus.git.hookfiles import HookStatus
from gitnexus.policy.keys import Signer
from gitnexus.policy.signed import POLICY
from gitnexus.policy.trust import first_files, has_policy_file, settle_trust, signer_for_init
from gitnexus.projects.model import Project, real_path, require_name
from gitnexus.projects.open_project import Nexus, lost_tip, settle_notices
from gitnexus.projects.open_state import open_state
from gitnexus.projects.register import RegisterRequest, is_temporary, register_project, registration_change
from gitnexus.projects.signed_permissions import guard_home
from gitnexus.state import STATE_REF, Change, Snapshot, State
from gitnexus.state import format as state_format
from gitnexus.state.home import close_folders_to_others, folders_open_to_others, make_home
from gitnexus.state.intake import settle_hand_edits
from gitnexus.state.layout import FORMAT_FILE, IGNORE_FILE, IGNORE_TEXT, OWNED, SESSION_FOLDER
from gitnexus.state.migrations import pending_step
from gitnexus.workflow.state_files import CUSTOM, generated_state_files


@dataclass(slots=True)
class InitResult:
    """What `init` did; `changes` is empty if everything existed already."""

    nexus: Nexus
    created: bool = False
    adopted_from: str | None = None
    changes: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    hooks: list[HookStatus] = field(default_factory=list)
    project: Project | None = None


def init_project(
    place: Path, *, name: str | None, aliases: tuple[str, ...], with_hooks: bool, local: bool
) -> InitResult:
    """Make the repository at `place` a project. Raises: NotFound, Failed, Conflict, Invalid; then nothing changed."""
    for word in (*([] if name is None else [name]), *aliases):
        require_name(word)
    repo = discover(place, inherit=True)
    _refuse_occupied_folder(repo)
    state = open_state(repo)
    if not local and (name or aliases or not is_temporary(repo.main_folder)):
        _refuse_taken_name(state, name, aliases)
    done = InitResult(Nexus(state))
    signer = None if local else _signer_and_note(repo, done)
    if state.exists:
        _join_remote_state(state, done)
    else:
        _create_state(state, done, signer)
    _migrate_state(state, done)
    _refresh_generated_files(state, done)
    if signer is not None:
        fresh = done.created or done.adopted_from is not None
        changes, notes = settle_trust(state, signer, fresh=fresh, begun=done.created)
        done.changes += changes
        done.notes += notes
    if repo.worktree is not None:
        _fill_checkout(state, done)
        if with_hooks:
            _install_hooks(repo, done)
        else:
            done.notes.append("no hooks, as you asked: git nexus hooks install adds them")
    else:
        done.notes.append("a bare repository: it stores state, and has no .nexus/ and no hooks")
    for remote in remotes.overwriting_remotes(repo):
        remotes.shield_refs_from_fetch(repo, remote)
        done.changes.append(f"excluded refs/nexus/* from what git fetch {remote} overwrites")
    _register_project(state, done, name, aliases, local)
    done.notes += offer_import(state)
    _close_open_home(done, local)
    return done


def _close_open_home(result: InitResult, local: bool) -> None:
    """Make the home folder private if it is at the default path; for another path, only report it."""
    if not (folders := folders_open_to_others()):
        return
    if local or os.environ.get("NEXUS_HOME"):
        result.notes.append(f"other users can read {folders[0]}: git nexus doctor --fix makes it private")
        return
    close_folders_to_others()
    result.changes.append(f"made {folders[0]} private")


def _signer_and_note(repo: Repo, result: InitResult) -> Signer:
    signer, said = signer_for_init(repo)
    result.changes += [said] if said else []
    return signer


def _refuse_occupied_folder(repo: Repo) -> None:
    if repo.worktree is None:
        return
    root = repo.worktree / ".nexus"
    if root.is_symlink() or (root.exists() and not root.is_dir()):
        raise Conflict(
            f"{root} is a link or a file; git nexus needs a folder of that name",
            hint="move it away, then run git nexus init again",
        )
    tracked = exclude.tracked_nexus_paths(repo)
    if tracked:
        raise Conflict(
            f".nexus/ is tracked on this branch ({len(tracked)} files); git nexus keeps it on {STATE_REF}",
            hint="stop tracking it (the files stay): git rm -r --cached .nexus, commit, then git nexus init",
            fix="git rm -r --cached .nexus",
            context={"tracked": tracked[:20]},
        )


def _refuse_taken_name(state: State, name: str | None, aliases: tuple[str, ...]) -> None:
    """Check the registry before anything is created, so that an error changes nothing."""
    path = real_path(state.repo.main_folder)
    if not is_utf8_name(path):
        if name or aliases:
            raise Invalid("the path of this repository is not UTF-8, so it cannot be registered", hint="use --local")
        return
    home = make_home()
    wanted = RegisterRequest(path, name, aliases, state_format.project_id_of(state.snapshot))
    registration_change(home.snapshot, wanted, utc_now(), again=True)
    home.close()


def _create_state(state: State, result: InitResult, signer: Signer | None) -> None:
    lost = lost_tip(state)
    if lost is not None:
        raise Failed(
            f"this was a project, and its state ref is gone; it was at {lost[:12]}",
            hint="git nexus doctor --fix brings it back",
            fix="git nexus doctor --fix",
        )
    adopted = _adopt_from_remote(state, result)
    if not adopted:
        first = {**_initial_files(state, signer), **generated_state_files()}

        def decide(snapshot: Snapshot) -> Change[bool]:
            if snapshot.commit is not None:
                return Change({}, "", False)  # another process was first
            return Change(first, "init: begin", True)

        result.created = state.transact(decide)
        if result.created:
            result.changes.append(f"created {STATE_REF}, which stores plans, tasks, memory and history")
            if POLICY in first:
                result.changes.append("wrote a first policy.md that allows nothing by itself, and signed it")


def _initial_files(state: State, signer: Signer | None) -> dict[str, bytes]:
    repo = state.repo
    files = state_format.new_state_files("project", utc_now())
    if signer is not None:
        project = parse_json(files[FORMAT_FILE])["id"]
        files |= first_files(repo, project, signer, state.author.name, policy=not has_policy_file(repo))
    here = repo.worktree / ".nexus" / IGNORE_FILE if repo.worktree else None
    if here is not None and here.is_file() and not here.is_symlink():
        text = here.read_bytes()
        has_line = IGNORE_TEXT.strip() in [line.strip() for line in text.splitlines()]
        files[IGNORE_FILE] = text if has_line else text.rstrip(b"\n") + b"\n" + IGNORE_TEXT
        if not has_line:
            replace_file(here, files[IGNORE_FILE])
    return files


def _adopt_from_remote(state: State, result: InitResult) -> bool:
    """Adopt the state of a remote of this clone."""
    names = remotes.remote_names(state.repo)
    if not names:
        return False
    from gitnexus.sync.sync import adopt_remote_state  # 100 ms: only a clone has a remote

    for remote in names:
        try:
            found = adopt_remote_state(state, remote)
        except NexusError as exc:
            result.notes.append(f"{exc.message}: whether {remote} has a state to adopt is not known")
            continue
        if found is not None:
            result.adopted_from = remote
            result.changes.append(f"adopted the state that {remote} has")
            return True
    return False


def _join_remote_state(state: State, result: InitResult) -> None:
    """Merge the state that a tool created in this clone with the one of its remote.

    If the user created this project, the user has to decide: `git nexus sync` refuses and explains.
    """
    if not (names := remotes.remote_names(state.repo)):
        return
    root = run_git_or_raise("log", "--max-parents=0", "--format=%s", STATE_REF, git_dir=state.repo.common_dir).decode(
        "utf-8", "replace"
    )
    if any(line.startswith("init: ") for line in root.splitlines()):
        return
    from gitnexus.sync.sync import adopt_remote_state

    for remote in names:
        with contextlib.suppress(NexusError):
            found = adopt_remote_state(state, remote, join=True)
            if found is not None:
                result.adopted_from = remote
                result.changes.append(f"merged the state of this clone into the state that {remote} has")
                result.notes += found.said
                return


def _migrate_state(state: State, result: InitResult) -> None:
    step = pending_step(state.required())
    while step is not None:
        major = step[0]

        def decide(snapshot: Snapshot, major: int = major) -> Change[None]:
            current = pending_step(snapshot)
            if current is None or current[0] != major:
                return Change({}, "", None)
            return Change(current[1](snapshot, utc_now()), f"state: migrate from format {major}", None)

        state.transact(decide)
        result.changes.append(f"migrated the state from format {major} to {major + 1}")
        step = pending_step(state.latest())


def _refresh_generated_files(state: State, result: InitResult) -> None:
    """Bring the schemas and the built-in workflows on the ref to those of this version."""

    def decide(snapshot: Snapshot) -> Change[int]:
        stale: dict[str, bytes | None] = {
            path: raw for path, raw in generated_state_files().items() if snapshot.read(path) != raw
        }
        return Change(stale, "init: schemas and built-in workflows of this version" if stale else "", len(stale))

    if state.transact(decide):
        result.changes.append("wrote schemas/ and commands/builtins/ of this version")


def _fill_checkout(state: State, result: InitResult) -> None:
    repo = state.repo
    if exclude.add_exclude_block(repo):
        result.changes.append("added .nexus/ to info/exclude: git ignores it, and no tracked file changes")
    root = repo.folder / ".nexus"
    was_there = root.is_dir()
    result.nexus.settled = settle_hand_edits(state)
    # The ref holds no empty folder, and this one is where workflows are copied to.
    if root.is_dir() and not root.is_symlink() and not (root / "commands").is_symlink():
        (root / CUSTOM).mkdir(parents=True, exist_ok=True)
    if not was_there:
        result.changes.append("checked out that ref into .nexus/")
    elif result.nexus.settled.taken:
        result.changes.append(
            f"committed the files that were already in .nexus/ ({len(result.nexus.settled.taken)} files)"
        )
        result.nexus.settled.taken = []
    result.notes += settle_notices(result.nexus.settled)
    foreign = sorted(set(os.listdir(root)) - OWNED - {SESSION_FOLDER})
    if foreign:
        result.notes.append(f"left alone in .nexus/, not written by git nexus: {', '.join(foreign[:8])}")
    for other in state.projections[1:]:
        other_state = open_state(other.worktree.path)
        settle_hand_edits(other_state)
        other_state.close()


def _install_hooks(repo: Repo, result: InitResult) -> None:
    before = {hook.event: hook.how for hook in hookfiles.hook_statuses(repo)}
    result.hooks = hookfiles.install_hooks(repo)
    new = [hook.event for hook in result.hooks if hook.runs and before[hook.event] == "none"]
    if new:
        result.changes.append(f"installed git hooks: {', '.join(new)}")
    result.notes += [hook.advice for hook in result.hooks if hook.advice]


def _register_project(
    state: State, result: InitResult, name: str | None, aliases: tuple[str, ...], local: bool
) -> None:
    place = state.repo.main_folder
    if not local and not is_utf8_name(real_path(place)):
        result.notes.append("not registered with your other projects: its path is not UTF-8")
        return
    if local:
        result.notes.append(
            "not registered with your other projects, as you asked; no approver either: their key is yours"
        )
        return
    if is_temporary(place) and not name and not aliases and result.nexus.registered is None:
        result.notes.append("a temporary folder: not registered with your other projects (--name registers it)")
        return
    home = guard_home(make_home())
    try:
        before = home.snapshot.commit
        wanted = RegisterRequest(real_path(place), name, aliases, state_format.project_id_of(state.snapshot))
        result.project = register_project(home, wanted, utc_now()).project
        if home.snapshot.commit != before:
            result.changes.append(
                f"registered as {result.project.name}"
                + (f", also {', '.join(result.project.aliases)}" if result.project.aliases else "")
            )
    finally:
        home.close()
