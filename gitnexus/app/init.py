"""Make a repository a project, step by step, saying what changed and how to undo it."""

import contextlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from gitnexus.app.homeseal import guarded
from gitnexus.app.keepers import open_state
from gitnexus.app.open import Nexus, lost_tip, notices
from gitnexus.app.sync import adopted
from gitnexus.app.trust import first_files, has_policy_file, settle_trust, signer_for_init
from gitnexus.base.canonical import parse
from gitnexus.base.clock import now
from gitnexus.base.errors import Conflict, Failed, Invalid, NexusError
from gitnexus.base.files import replace
from gitnexus.base.text import is_text
from gitnexus.git import Repo, discover, exclude, hookfiles, remotes
from gitnexus.git.child import must
from gitnexus.git.hookfiles import Hook
from gitnexus.policy.keys import Signer
from gitnexus.policy.signed import POLICY
from gitnexus.projects.model import Project, checked_name, real
from gitnexus.projects.register import Wanted, is_temporary, register, registration
from gitnexus.state import STATE_REF, Change, Snapshot, State
from gitnexus.state import format as state_format
from gitnexus.state.home import close_to_others, make_home, open_to_others
from gitnexus.state.intake import settle
from gitnexus.state.layout import FORMAT_FILE, IGNORE_FILE, IGNORE_TEXT, OWNED, SESSION_FOLDER
from gitnexus.state.migrations import pending


@dataclass(slots=True)
class Done:
    """What `init` did; `changes` is empty when everything was there already."""

    nexus: Nexus
    created: bool = False
    adopted_from: str | None = None
    changes: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    hooks: list[Hook] = field(default_factory=list)
    project: Project | None = None


def initialise(place: Path, *, name: str | None, aliases: tuple[str, ...], with_hooks: bool, local: bool) -> Done:
    """Make the repository at `place` a project. Raises: NotFound, Failed, Conflict, Invalid; then nothing changed."""
    for word in (*([] if name is None else [name]), *aliases):
        checked_name(word)
    repo = discover(place, inherit=True)
    _refuse_what_is_in_the_way(repo)
    state = open_state(repo)
    if not local and (name or aliases or not is_temporary(repo.main_place)):
        _refuse_a_name_that_is_taken(state, name, aliases)
    done = Done(Nexus(state))
    signer = None if local else _signer(repo, done)
    if state.exists:
        _join_another(state, done)
    else:
        _begin(state, done, signer)
    _migrate(state, done)
    if signer is not None:
        fresh = done.created or done.adopted_from is not None
        changes, notes = settle_trust(state, signer, fresh=fresh, begun=done.created)
        done.changes += changes
        done.notes += notes
    if repo.worktree is not None:
        _fill(state, done)
        if with_hooks:
            _hooks(repo, done)
        else:
            done.notes.append("no hooks, as you asked: git nexus hooks install adds them")
    else:
        done.notes.append("a bare repository: it keeps state, and has no .nexus/ and no hooks")
    for remote in remotes.overwriting(repo):
        remotes.shield(repo, remote)
        done.changes.append(f"kept refs/nexus/* out of what git fetch {remote} overwrites")
    _register(state, done, name, aliases, local)
    _close_home(done, local)
    return done


def _close_home(done: Done, local: bool) -> None:
    """Close a home that others can look into, if it lies at its usual place; of one that was chosen it is said."""
    if not (folders := open_to_others()):
        return
    if local or os.environ.get("NEXUS_HOME"):
        done.notes.append(f"others can look into {folders[0]}: git nexus doctor --fix closes it to them")
        return
    close_to_others()
    done.changes.append(f"closed {folders[0]} to others")


def _signer(repo: Repo, done: Done) -> Signer:
    signer, said = signer_for_init(repo)
    done.changes += [said] if said else []
    return signer


def _refuse_what_is_in_the_way(repo: Repo) -> None:
    if repo.worktree is None:
        return
    root = repo.worktree / ".nexus"
    if root.is_symlink() or (root.exists() and not root.is_dir()):
        raise Conflict(
            f"{root} is a link or a file; git nexus needs a folder of that name",
            hint="move it away, then run git nexus init again",
        )
    tracked = exclude.tracked(repo)
    if tracked:
        raise Conflict(
            f".nexus/ is tracked on this branch ({len(tracked)} files); git nexus keeps it on {STATE_REF}",
            hint="stop tracking it (the files stay): git rm -r --cached .nexus, commit, then git nexus init",
            fix="git rm -r --cached .nexus",
            context={"tracked": tracked[:20]},
        )


def _refuse_a_name_that_is_taken(state: State, name: str | None, aliases: tuple[str, ...]) -> None:
    """Ask the registry before anything is made, so that a refusal changes nothing."""
    path = real(state.repo.main_place)
    if not is_text(path):
        if name or aliases:
            raise Invalid("the path of this repository is not UTF-8, so it cannot be registered", hint="use --local")
        return
    home = make_home()
    wanted = Wanted(path, name, aliases, state_format.id_of(state.snapshot))
    registration(home.snapshot, wanted, now(), again=True)
    home.close()


def _begin(state: State, done: Done, signer: Signer | None) -> None:
    lost = lost_tip(state)
    if lost is not None:
        raise Failed(
            f"this was a project, and its state ref is gone; it was at {lost[:12]}",
            hint="git nexus doctor --fix brings it back",
            fix="git nexus doctor --fix",
        )
    adopted = _adopt(state, done)
    if not adopted:
        first = _first_files(state, signer)

        def decide(snapshot: Snapshot) -> Change[bool]:
            if snapshot.commit is not None:
                return Change({}, "", False)  # another process was first
            return Change(first, "init: begin", True)

        done.created = state.transact(decide)
        if done.created:
            done.changes.append(f"made {STATE_REF}, where plans, tasks, memory and history are kept")
            if POLICY in first:
                done.changes.append("wrote a first policy.md that allows nothing by itself, and signed it")


def _first_files(state: State, signer: Signer | None) -> dict[str, bytes]:
    repo = state.repo
    files = state_format.new_tree("project", now())
    if signer is not None:
        project = parse(files[FORMAT_FILE])["id"]
        files |= first_files(repo, project, signer, state.author.name, policy=not has_policy_file(repo))
    here = repo.worktree / ".nexus" / IGNORE_FILE if repo.worktree else None
    if here is not None and here.is_file() and not here.is_symlink():
        text = here.read_bytes()
        has_line = IGNORE_TEXT.strip() in [line.strip() for line in text.splitlines()]
        files[IGNORE_FILE] = text if has_line else text.rstrip(b"\n") + b"\n" + IGNORE_TEXT
        if not has_line:
            replace(here, files[IGNORE_FILE])
    return files


def _adopt(state: State, done: Done) -> bool:
    """Take over the state that a remote of this clone has."""
    for remote in remotes.names(state.repo):
        try:
            found = adopted(state, remote)
        except NexusError as exc:
            done.notes.append(f"{exc.message}: whether {remote} has a state to adopt is not known")
            continue
        if found is not None:
            done.adopted_from = remote
            done.changes.append(f"adopted the state that {remote} has")
            return True
    return False


def _join_another(state: State, done: Done) -> None:
    """A tool may have begun the state of a clone before anybody looked whether its remote has one: bring them together.

    Where a person made this a project, they are asked to decide: git nexus sync refuses and says how.
    """
    root = must("log", "--max-parents=0", "--format=%s", STATE_REF, git_dir=state.repo.common_dir).decode(
        "utf-8", "replace"
    )
    if any(line.startswith("init: ") for line in root.splitlines()):
        return
    for remote in remotes.names(state.repo):
        with contextlib.suppress(NexusError):
            found = adopted(state, remote, join=True)
            if found is not None:
                done.adopted_from = remote
                done.changes.append(f"brought what was begun here into the state that {remote} has")
                done.notes += found.said
                return


def _migrate(state: State, done: Done) -> None:
    step = pending(state.required())
    while step is not None:
        major = step[0]

        def decide(snapshot: Snapshot, major: int = major) -> Change[None]:
            current = pending(snapshot)
            if current is None or current[0] != major:
                return Change({}, "", None)
            return Change(current[1](snapshot, now()), f"state: migrate from format {major}", None)

        state.transact(decide)
        done.changes.append(f"brought the state from format {major} to {major + 1}")
        step = pending(state.latest())


def _fill(state: State, done: Done) -> None:
    repo = state.repo
    if exclude.add(repo):
        done.changes.append("told git to ignore .nexus/ (in info/exclude, no tracked file)")
    root = repo.place / ".nexus"
    was_there = root.is_dir()
    done.nexus.settled = settle(state)
    if not was_there:
        done.changes.append("filled .nexus/, a checkout of that ref")
    elif done.nexus.settled.taken:
        done.changes.append(f"took in the .nexus/ that was here ({len(done.nexus.settled.taken)} files)")
        done.nexus.settled.taken = []
    done.notes += notices(done.nexus.settled)
    foreign = sorted(set(os.listdir(root)) - OWNED - {SESSION_FOLDER})
    if foreign:
        done.notes.append(f"left alone in .nexus/, not ours: {', '.join(foreign[:8])}")
    for other in state.projections[1:]:
        other_state = open_state(other.worktree.path)
        settle(other_state)
        other_state.close()


def _hooks(repo: Repo, done: Done) -> None:
    before = {hook.event: hook.how for hook in hookfiles.status(repo)}
    done.hooks = hookfiles.install(repo)
    new = [hook.event for hook in done.hooks if hook.runs and before[hook.event] == "none"]
    if new:
        done.changes.append(f"installed git hooks: {', '.join(new)}")
    done.notes += [hook.advice for hook in done.hooks if hook.advice]


def _register(state: State, done: Done, name: str | None, aliases: tuple[str, ...], local: bool) -> None:
    place = state.repo.main_place
    if not local and not is_text(real(place)):
        done.notes.append("not registered with your other projects: its path is not UTF-8")
        return
    if local:
        done.notes.append(
            "not registered with your other projects, as you asked; no approver either: their key is yours"
        )
        return
    if is_temporary(place) and not name and not aliases and done.nexus.registered is None:
        done.notes.append("a temporary folder: not registered with your other projects (--name registers it)")
        return
    home = guarded(make_home())
    try:
        before = home.snapshot.commit
        wanted = Wanted(real(place), name, aliases, state_format.id_of(state.snapshot))
        done.project = register(home, wanted, now()).project
        if home.snapshot.commit != before:
            done.changes.append(
                f"registered as {done.project.name}"
                + (f", also {', '.join(done.project.aliases)}" if done.project.aliases else "")
            )
    finally:
        home.close()
