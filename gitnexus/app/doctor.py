"""Check everything a project needs; mend what can be mended without a decision."""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gitnexus.app.keepers import open_state
from gitnexus.app.open import lost_tip
from gitnexus.app.rescue import is_whole, rescue
from gitnexus.base.errors import NexusError
from gitnexus.base.text import one_line
from gitnexus.catalog import open_catalog
from gitnexus.git import Repo, exclude, hookfiles, remotes
from gitnexus.git.child import run
from gitnexus.git.hookmanagers import advice
from gitnexus.projects import read_registry
from gitnexus.projects.grants import written_permissions
from gitnexus.projects.model import real
from gitnexus.state import STATE_REF, State
from gitnexus.state.disk import TEMPORARY
from gitnexus.state.home import close_to_others, home_repository, open_home, open_to_others
from gitnexus.state.intake import left_aside, own_projection, settle
from gitnexus.state.layout import CONFLICTS, OTHER

_OLDEST_GIT = (2, 34)
_MOST_TOLD = 20
# What is shown in red wherever it is said.
BYPASS = "the mode is bypass: nobody is asked about anything that no rule denies"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: `ok`, `fixed`, `warning` (works, but look) or `problem`."""

    check: str
    state: str
    words: str
    hint: str | None = None


def examine(repo: Repo, *, fix: bool) -> list[Finding]:
    """Return one finding a check, in the order in which things depend on each other."""
    found: list[Finding] = []
    try:
        state = open_state(repo)
    except NexusError as exc:
        if not fix or not rescue(repo):
            return [
                Finding("state", "problem", exc.message, "git nexus doctor --fix goes back to the last whole commit")
            ]
        found.append(Finding("state", "fixed", f"{STATE_REF} is back at its last whole commit: {exc.message}"))
        state = open_state(repo)
    try:
        for check in _CHECKS:
            try:
                found += list(check(state, fix))
            except NexusError as exc:
                found.append(Finding(check.__name__.strip("_"), "problem", exc.message, exc.hint))
            except OSError as exc:
                words = f"{exc.strerror or exc}: {exc.filename}" if exc.filename else str(exc)
                found.append(Finding(check.__name__.strip("_"), "problem", words))
        return found
    finally:
        state.close()


def _git(_state: State, _fix: bool) -> Iterator[Finding]:
    version = hookfiles.git_version()
    shown = ".".join(map(str, version))
    if version < _OLDEST_GIT:
        yield Finding("git", "problem", f"git {shown} is too old", "install git 2.34 or newer")
    else:
        yield Finding("git", "ok", f"git {shown}")


def _ref(state: State, fix: bool) -> Iterator[Finding]:
    if not state.exists:
        lost = lost_tip(state)
        if lost and fix and rescue(state.repo):
            state.latest()
            yield Finding("state", "fixed", f"{STATE_REF} was gone and is back at {lost[:12]}")
        elif lost:
            yield Finding("state", "problem", f"{STATE_REF} is gone; it was at {lost[:12]}", "git nexus doctor --fix")
        else:
            yield Finding("state", "problem", "no git nexus project here", "git nexus init")
        return
    tip = state.latest()
    if not is_whole(state.repo, tip.commit or ""):
        if fix and rescue(state.repo):
            state.latest()
            yield Finding("state", "fixed", f"objects of {STATE_REF} were missing; it is back at the last whole commit")
        else:
            yield Finding("state", "problem", f"objects of {STATE_REF} are missing", "git nexus doctor --fix goes back")
    else:
        yield Finding("state", "ok", f"{STATE_REF} at {(tip.commit or '')[:12]}, {len(tip.ids())} files")
    for path in tip.unsafe()[:5]:
        yield Finding("state", "warning", f"{path!r} on the ref is no safe path and is ignored")
    logged = run("reflog", "exists", STATE_REF, git_dir=state.repo.common_dir)
    if logged.returncode != 0:
        yield Finding("reflog", "warning", f"{STATE_REF} has no reflog", "the next change starts one")


def _locks(state: State, fix: bool) -> Iterator[Finding]:
    left = state.ref_lock_file()
    if not left.exists():
        return
    age = int(time.time() - left.stat().st_mtime)
    if age < 60:
        yield Finding("lock", "warning", f"{left.name} is held since {age} s", "look again in a minute")
    elif fix:
        yield Finding("lock", "fixed", f"a lock left by a killed process is now {state.put_ref_lock_aside()}")
    else:
        yield Finding("lock", "problem", f"{left} was left by a killed process", "git nexus doctor --fix")


def _checkout(state: State, fix: bool) -> Iterator[Finding]:
    own = own_projection(state)
    if own is None or not state.exists:
        return
    settled = settle(state)
    if settled.tracked:
        yield Finding(
            "checkout",
            "warning",
            ".nexus/ is tracked on this branch and left alone",
            "git rm -r --cached .nexus stops that; the files stay",
        )
        return
    for path, why in settled.held.items():
        yield Finding("checkout", "problem", f".nexus/{path} is left as it is: {why}", "repair it by hand")
    copies, left_out = left_aside(own)
    for path in copies:
        yield Finding("checkout", "warning", f".nexus/{path} waits to be merged by hand", "delete it when done")
    for path, why in list(left_out.items())[:20]:
        yield Finding("checkout", "warning", f".nexus/{path} is not kept: {why}", "mend, rename or move it")
    if exclude.tracked(state.repo):
        yield Finding("checkout", "problem", ".nexus/ is tracked on this branch",
                      "git rm -r --cached .nexus stops that; the files stay")  # fmt: skip
    for left in _leftovers(own.root, fix):
        state_word = "fixed" if fix else "warning"
        yield Finding(
            "checkout", state_word, f"{left} was left by a killed process", None if fix else "--fix removes it"
        )
    if not settled.held:
        yield Finding("checkout", "ok", f".nexus/ shows {(state.snapshot.commit or '')[:12]}")


def _leftovers(root: Path, fix: bool) -> Iterator[Path]:
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder, name)
            if name.startswith(TEMPORARY) and time.time() - path.lstat().st_mtime > 60:
                if fix:
                    path.unlink(missing_ok=True)
                yield path


def _ignored(state: State, fix: bool) -> Iterator[Finding]:
    repo = state.repo
    if repo.worktree is None or not state.exists:
        return
    if exclude.is_ignored(repo):
        yield Finding("ignore", "ok", ".nexus/ is ignored by git")
    elif fix and exclude.add(repo) and exclude.is_ignored(repo):
        yield Finding("ignore", "fixed", ".nexus/ is ignored by git again")
    else:
        yield Finding(
            "ignore",
            "problem",
            ".nexus/ is not ignored by git",
            "git nexus doctor --fix, or look for !.nexus in a .gitignore",
        )


def _hooks(state: State, fix: bool) -> Iterator[Finding]:
    repo = state.repo
    if repo.worktree is None or not state.exists:
        return
    hooks = hookfiles.status(repo)
    if all(hook.how == "none" for hook in hooks) and not hookfiles.shim_file(repo).exists():
        yield Finding("hooks", "warning", "no git hooks of ours", "git nexus hooks install")
        return
    broken = [hook for hook in hooks if hook.how == "none"]
    if (broken or not hookfiles.shim_works(repo)) and fix:
        hooks = hookfiles.install(repo)
        yield Finding("hooks", "fixed", "installed the hooks again")
    elif not hookfiles.shim_works(repo):
        yield Finding("hooks", "problem", "the hook shim is missing or of another version", "git nexus doctor --fix")
    for hook in hooks:
        if hook.how in ("none", "manual"):
            yield Finding(
                "hooks",
                "warning",
                f"{hook.event} does not run: {hook.where}",
                hook.advice or advice(hook.manager, hook.event),
            )
        elif hook.advice:
            yield Finding("hooks", "warning", f"{hook.event} runs for now", hook.advice)
    yield from _hooks_answer(repo, [hook.event for hook in hooks if hook.runs])


def _hooks_answer(repo: Repo, events: list[str]) -> Iterator[Finding]:
    """Really run the shim: it must answer a harmless event, and find the program."""
    if not events:
        return
    if hookfiles.probe(repo):
        yield Finding("hooks", "ok", f"{', '.join(events)} run")
    else:
        yield Finding("hooks", "problem", "the hook shim does not run", "git nexus hooks install")


def _fetches(state: State, fix: bool) -> Iterator[Finding]:
    for remote in remotes.overwriting(state.repo):
        if fix:
            remotes.shield(state.repo, remote)
            yield Finding("remotes", "fixed", f"kept refs/nexus/* out of what git fetch {remote} overwrites")
        else:
            yield Finding(
                "remotes",
                "problem",
                f"git fetch --prune {remote} would overwrite or delete {STATE_REF}",
                "git nexus doctor --fix",
            )


def _met(state: State, _fix: bool) -> Iterator[Finding]:
    """What a sync could not bring together is beside its place, for a person."""
    for path in sorted(name for name in state.latest().ids() if OTHER.search(name))[:_MOST_TOLD]:
        of = OTHER.sub("", path.removeprefix(f"{CONFLICTS}/"))
        yield Finding("sync", "warning", f".nexus/{path} is another clone's version of {of}",
                      f"put what is right into .nexus/{of}, then delete it")  # fmt: skip


def _backlog(state: State, _fix: bool) -> Iterator[Finding]:
    if not state.exists or not state.latest().files("backlog"):
        return
    from gitnexus.backlog.elsewhere import Nowhere  # only where there is one
    from gitnexus.backlog.graph import cycles
    from gitnexus.backlog.next import waiting_edges
    from gitnexus.backlog.store import tasks_in

    tasks = tasks_in(state.latest())
    rings = cycles(waiting_edges([task for task in tasks if task.is_open], Nowhere()))
    for why in tasks.broken.values():
        yield Finding("backlog", "warning", why, "git nexus log PATH shows who wrote it")
    for ring in rings[:5]:
        shown = " → ".join([*ring[:8], *(["…"] if len(ring) > 8 else []), ring[0]])
        yield Finding("backlog", "warning", f"tasks wait for each other: {shown}",
                      f"git nexus task update {ring[0]} --remove-depends …")  # fmt: skip
    if not tasks.broken and not rings:
        yield Finding("backlog", "ok", f"{len(tasks)} task{'' if len(tasks) == 1 else 's'}")


def _registry(state: State, _fix: bool) -> Iterator[Finding]:
    if not state.exists:
        return
    home = open_home()
    if home is None:
        yield Finding("registry", "ok", f"no projects registered yet ({home_repository()})")
        return
    try:
        row = read_registry(home.snapshot).at(real(state.repo.main_place))
        written_permissions(home.snapshot)
    finally:
        home.close()
    from gitnexus.app.homeseal import unsigned  # keys and signatures: only here

    for name, why in unsigned().items():
        yield Finding("registry", "warning", f"{name} is not in force: {why}", "git nexus policy trust")
    if row is None:
        yield Finding("registry", "warning", "this project is not registered", "git nexus init --name NAME")
    else:
        yield Finding("registry", "ok", f"registered as {row.name}")


def _catalog(state: State, _fix: bool) -> Iterator[Finding]:
    if not state.exists:
        return
    opened = open_catalog(state.latest(), state.repo.place, state.trusts)
    for words in opened.problems[:_MOST_TOLD]:
        yield Finding("catalog", "problem", f"{opened.asked}: {words}", "mend the package or change catalog.source")
    if len(opened.problems) > _MOST_TOLD:
        more = len(opened.problems) - _MOST_TOLD
        yield Finding("catalog", "problem", f"{opened.asked}: and {more} more", "git nexus catalog check lists them")
    added = sum(map(len, opened.added.values()))
    words = f"{len(opened.catalog.agents)} roles and {len(opened.catalog.skills)} skills, {opened.catalog.source}"
    yield Finding("catalog", "ok", f"{words}, {added} capabilities added" if added else words)


def _settings(state: State, _fix: bool) -> Iterator[Finding]:
    from gitnexus.memory.model import settings_of
    from gitnexus.prompts.settings import settings_of as prompt_settings_of
    from gitnexus.runs.setup import settings_of as run_settings_of
    from gitnexus.state.settings import section, unknown
    from gitnexus.workflow.settings import settings_of as workflow_settings_of

    snapshot = state.latest()
    settings_of(section(snapshot, "memory", state.trusts))
    run_settings_of(section(snapshot, "runs", state.trusts))
    prompt_settings_of(section(snapshot, "prompts", state.trusts))
    workflow_settings_of(section(snapshot, "workflow", state.trusts))
    strange = unknown(
        snapshot, ("audit", "catalog", "memory", "policy", "prompts", "runs", "sandbox", "sync", "workflow")
    )
    for path, name in strange:
        yield Finding("settings", "warning", f"{path}: no part of git nexus reads {name[:60]!r}", "is it misspelt?")
    if not strange:
        yield Finding("settings", "ok", "every setting is known")


def _macros(state: State, _fix: bool) -> Iterator[Finding]:
    from gitnexus.workflow.commands import FOLDER, commands_in  # only where there are any

    if not state.exists or not state.latest().names(FOLDER):
        return
    found, wrong = commands_in(state.latest())
    for path, why in list(wrong.items())[:_MOST_TOLD]:
        yield Finding("workflows", "warning", f".nexus/{path} is no workflow: {why}", "git nexus workflow check")
    if not wrong:
        yield Finding("workflows", "ok", f"{len(found)} of your own")


def _approvals(state: State, fix: bool) -> Iterator[Finding]:
    if not state.exists:
        return
    from gitnexus.app.trustcheck import bring_back, examined  # only here and where something is signed

    if fix and bring_back(state):
        yield Finding("approvers", "fixed", "the list of approvers is back as this machine last saw it")
    for check, word, words, hint in examined(state):
        yield Finding(check, word, words, hint)


def _sandbox(state: State, _fix: bool) -> Iterator[Finding]:
    if not state.exists:
        return
    from gitnexus.app.policy import policy_here  # these two only here: each level is tried by running something
    from gitnexus.sandbox.levels import WORDS, available, chosen, not_held

    law = policy_here(state).law
    if law.mode == "bypass":
        yield Finding("mode", "warning", BYPASS, "git nexus policy mode default --user")
    level = chosen(law.level, law.minimum)
    missing = "".join(f"; {row.level} is not there: {row.why}" for row in available() if not row.there)
    left_open = f"; it does not hold: {'; '.join(not_held(level))}"
    words = f"commands run at {level}: {WORDS[level].removeprefix('and ')}{left_open}{missing}"
    if level == "L0":
        yield Finding("sandbox", "warning", words, "nothing keeps them from your files")
    else:
        yield Finding("sandbox", "ok", words)


def _home(_state: State, fix: bool) -> Iterator[Finding]:
    folders = close_to_others() if fix else open_to_others()
    if folders and fix:
        yield Finding("home", "fixed", f"only you can look into {folders[0]} and what is in it now")
    elif folders:
        names = one_line(", ".join(map(str, folders)), 300)
        yield Finding("home", "warning", f"others can look into {names}", "git nexus doctor --fix")


def _harnesses(state: State, _fix: bool) -> Iterator[Finding]:
    if state.repo.worktree is None:
        return
    from gitnexus.app.harnesscheck import in_short  # reads what programs have in the home: only here

    yield from in_short(state.repo.worktree)


_CHECKS: tuple[Callable[[State, bool], Iterator[Finding]], ...] = (
    _git, _ref, _locks, _checkout, _ignored, _hooks, _fetches, _met, _backlog, _registry, _settings, _catalog,
    _macros, _approvals, _home, _sandbox, _harnesses,
)  # fmt: skip
