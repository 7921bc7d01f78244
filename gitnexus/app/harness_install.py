"""Installs git nexus into a coding program's configuration files, removes it, and reports its installation status."""

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gitnexus import __version__
from gitnexus.app.catalog import CatalogInForce, open_catalog_at
from gitnexus.app.tools import TOOLS
from gitnexus.base.errors import BadUsage, Failed, NexusError, NotFound
from gitnexus.base.files import expand_home
from gitnexus.catalog import open_catalog
from gitnexus.catalog.harnesses import HARNESSES
from gitnexus.git import Repo, discover, hookfiles
from gitnexus.harness.install import edits, trust
from gitnexus.harness.install.context import InstallContext
from gitnexus.harness.install.model import SCOPES, HeldFile, InstallRecord, Scope, WantedFile
from gitnexus.harness.install.programs.claude_code import claude_plugin_files
from gitnexus.harness.install.programs.clients import mcp_client_files
from gitnexus.harness.install.programs.table import HarnessProgram, find_harness_program
from gitnexus.harness.install.record import InstallStore, read_text_or_none
from gitnexus.harness.install.transition import (
    InstallFileChange,
    install_plan_digest,
    is_lenient_json,
    prepare_install,
    prepare_unrecorded_removal,
    write_install,
)
from gitnexus.state.home import home_folder
from gitnexus.state.locate import locate_project

_IN_FILES = ("whole", "json")
LAWLESS, BEGIN = "this repository is not a project yet, and every tool is refused until it is", "git nexus init"
_UNDO = ("git", "nexus", "harness", "uninstall")


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """The configuration of a client without a table row: the file, and the key of its servers."""

    file: Path
    key: str


@dataclass(slots=True)
class InstallOutcome:
    """What was or would be done: files before and after, what remains, and the user's next steps."""

    row: HarnessProgram
    scope: Scope
    changes: list[InstallFileChange]
    notes: list[str]
    next: str = ""
    undo: str = ""
    is_plugin: bool = False


@dataclass(frozen=True, slots=True)
class FileState:
    """One file of an installation: as installed, edited since, without our part, or missing."""

    path: str
    state: str


@dataclass(slots=True)
class InstallStatus:
    """The status of a program at one scope. `how`: no, yes, half (after a kill), unrecorded (it came with a clone).

    `lawless` is True if the program has our gate and the repository is not a project.
    """

    row: HarnessProgram
    scope: Scope
    how: str
    version: str = ""
    stale: bool = False
    files: list[FileState] = field(default_factory=list)
    waits: list[str] = field(default_factory=list)
    lawless: bool = False

    @property
    def installed(self) -> bool:
        """Return True if any part of ours is installed."""
        return self.how != "no"


@dataclass(frozen=True)
class InstallLocation:
    """The target of an installation: the top of a worktree or the user's home, with its record."""

    scope: Scope
    root: Path
    store: InstallStore
    start: Path

    def catalog(self) -> CatalogInForce:
        """Return the catalog in force at this location: the user's or the project's."""
        return (
            open_catalog_at(self.start)
            if self.scope == "project"
            else CatalogInForce(open_catalog(None, None), None, ())
        )


def install_location(start: Path, scope: Scope) -> InstallLocation:
    """Return the location of a scope, seen from a folder. Raises: NotFound, Failed."""
    if scope == "user":
        root = Path.home()
        return InstallLocation(scope, root, InstallStore(home_folder() / "harness", root), start)
    repo = discover(start, inherit=True)
    if repo.worktree is None:
        raise Failed("a bare repository has no files that a program would read", hint="--scope user needs none")
    return project_install_location(repo)


def project_install_location(repo: Repo) -> InstallLocation:
    """Return the project scope of a worktree; its record is deleted together with the worktree."""
    root = (repo.worktree or repo.folder).resolve()
    return InstallLocation("project", root, InstallStore(repo.git_dir / "nexus" / "harness", root), root)


def install_harness(
    start: Path, name: str, scope: Scope, config: ClientConfig | None, *, dry_run: bool
) -> InstallOutcome:
    """Install into a program's files, or with `dry_run` report that. Raises: Invalid, Conflict; nothing changed."""
    row = find_harness_program(name)
    place = install_location(start, scope)
    step = prepare_install(place.store, _owner_in_record(place, row, config), wanted_files(place, row, config))
    if not dry_run:
        write_install(step)
    more = ["--scope", "user"] if scope == "user" else []
    more += ["--config", str(config.file), "--key", config.key] if config else []
    undo = shlex.join([*_UNDO, row.id, *more])
    return InstallOutcome(row, scope, step.changes, step.notes, _describe_next_step(place, row), undo)


def _describe_next_step(location: InstallLocation, row: HarnessProgram) -> str:
    first = [f"{BEGIN}, for {LAWLESS}; then"] if _lacks_project(location, row) else []
    return " ".join([*first, row.needs_at_scope(location.scope)])


def uninstall_harness(
    start: Path, name: str, scope: Scope, config: ClientConfig | None, *, dry_run: bool
) -> InstallOutcome:
    """Remove our part again, or with `dry_run` report that. Raises: Invalid, Conflict; nothing changed."""
    row = find_harness_program(name)
    place = install_location(start, scope)
    owner = _owner_in_record(place, row, config)
    if owner in place.store.read().harnesses or place.store.interrupted:
        step = prepare_install(place.store, owner, None)
    else:
        step = prepare_unrecorded_removal(place.store, row.id, wanted_files(place, row, config))
    if not dry_run:
        write_install(step)
    return InstallOutcome(row, scope, step.changes, step.notes)


def remove_all_harnesses(repo: Repo) -> tuple[list[str], list[str]]:
    """Remove our part of every program from a worktree; return what was done, and what failed."""
    place = project_install_location(repo)
    done, notes = [], []
    for owner in list(place.store.read().harnesses):
        try:
            step = prepare_install(place.store, owner, None)
            write_install(step)
        except NexusError as exc:
            notes.append(f"{owner} stays installed: {exc.message}")
            continue
        notes += step.notes
        done.append(f"removed git nexus from the files of {owner.partition(':')[0]} ({len(step.changes)})")
    return done, notes


def write_plugin(start: Path, folder: Path, *, out: bool, dry_run: bool) -> InstallOutcome:
    """Write the plugin folder for Claude Code, or remove a written one (`out`). Raises: Invalid; nothing changed."""
    row = find_harness_program("claude-code")
    root = expand_home(folder).absolute().resolve()
    store = InstallStore(
        home_folder() / "harness" / "plugins" / install_plan_digest([WantedFile(root, "whole", ())]), root
    )
    place = InstallLocation("project", root, store, start)
    step = prepare_install(
        store, row.id, None if out else list(claude_plugin_files(_install_kit(place, row, ("git", "nexus")), root))
    )
    if not dry_run:
        write_install(step)
    then = f"{shlex.join(['claude', '--plugin-dir', str(root)])} loads it for a session"
    undo = shlex.join([*_UNDO, row.id, "--plugin", str(root)])
    return InstallOutcome(row, "project", step.changes, step.notes, then, undo, is_plugin=True)


def wanted_files(
    location: InstallLocation, row: HarnessProgram, config: ClientConfig | None = None
) -> list[WantedFile]:
    """Return the intended content of each file. Raises: BadUsage."""
    call = ("git", "nexus")
    program = hookfiles.program_path()
    if location.scope == "user" and Path(program).is_absolute():
        call = (program,)  # type: ignore[assignment]  # a program that no shell starts often has another PATH
    kit = _install_kit(location, row, call)
    if row.wants is not None:
        return list(row.wants(kit))
    if config is None:
        raise BadUsage("which file does the client read?", hint="git nexus harness install mcp --config FILE")
    return list(mcp_client_files(kit, config.file, config.key))


def install_statuses(start: Path, names: list[str]) -> Iterator[InstallStatus]:
    """Yield the status of each program at each scope."""
    for scope in SCOPES:
        try:
            place = install_location(start, scope)
        except (NotFound, Failed):
            continue
        record = place.store.read()
        for name in names:
            yield from _status_at_scope(place, find_harness_program(name), record)


def _status_at_scope(location: InstallLocation, row: HarnessProgram, record: InstallRecord) -> Iterator[InstallStatus]:
    owners = [owner for owner in record.harnesses if owner.partition(":")[0] == row.id]
    if not owners:
        wants = wanted_files(location, row) if row.wants is not None else []
        there = any(
            edits.has_our_parts(_read_or_none(w.path), w.kind, w.pieces, row.id) for w in wants if w.kind in _IN_FILES
        )
        waits = _missing_steps(location, row, wants) if there else []
        lawless = there and _lacks_project(location, row)
        yield InstallStatus(row, location.scope, "unrecorded" if there else "no", waits=waits, lawless=lawless)
    for owner in owners:
        program = record.harnesses[owner]
        wants = wanted_files(location, row, _client_from_owner(location, owner))
        yield InstallStatus(
            row,
            location.scope,
            "yes" if program.whole and not location.store.interrupted else "half",
            program.version,
            stale=program.version != __version__ or program.plan != install_plan_digest(wants),
            files=[_file_state(location, held) for held in record.files if owner in held.owners],
            waits=_missing_steps(location, row, wants),
            lawless=_lacks_project(location, row),
        )


def _lacks_project(location: InstallLocation, row: HarnessProgram) -> bool:
    return location.scope == "project" and row.has_gate and locate_project(str(location.root)) is None


def _file_state(location: InstallLocation, held: HeldFile) -> FileState:
    now = _read_or_none(location.root / held.path)
    if now is None:
        return FileState(held.path, "missing")
    if edits.text_digest(now) == held.after:
        return FileState(held.path, "as installed")
    try:
        rest = edits.strip_our_parts(held.path, now, held.kind, held.puts, held.appends, (), held.owners, every=True)
    except NexusError:
        return FileState(held.path, "does not parse")
    return FileState(held.path, "edited since" if held.kind == "whole" or rest != now else "without ours")


def _missing_steps(location: InstallLocation, row: HarnessProgram, wants: list[WantedFile]) -> list[str]:
    """Return the remaining steps: files that the program cannot read, and confirmations that it still needs."""
    unread = [want.path for want in wants if want.strict and is_lenient_json(_read_or_none(want.path))]
    words = [f"{path} has a comment or a trailing comma: the program ignores the whole file" for path in unread]
    return words + _missing_trust(location, row)


def _missing_trust(location: InstallLocation, row: HarnessProgram) -> list[str]:
    project = location.scope == "project"
    home, environ = Path.home(), os.environ
    if row.id == "claude-code":
        moved = environ.get("CLAUDE_CONFIG_DIR")
        config = Path(moved) if moved else home / ".claude"
        return trust.claude_trust_waits(
            (config if moved else home) / ".claude.json", config, location.root, project=project
        )
    if row.id == "codex":
        own = Path(environ["CODEX_HOME"]) if environ.get("CODEX_HOME") else home / ".codex"
        return trust.codex_trust_waits(
            own, location.root / ".codex" if project else own, location.root, project=project
        )
    if row.id == "gemini-cli":
        root = location.root if project else _worktree_root(location.start)
        own = Path(environ.get("GEMINI_CLI_HOME") or home)
        return trust.gemini_trust_waits(own, root, environ, project=project) if root else []
    if row.id == "opencode":
        folders = [Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "opencode"]
        folders += [Path(environ["OPENCODE_CONFIG_DIR"])] if environ.get("OPENCODE_CONFIG_DIR") else []
        return trust.opencode_package_waits([*folders, location.root / ".opencode"] if project else folders)
    return []


def _worktree_root(start: Path) -> Path | None:
    try:
        return install_location(start, "project").root
    except (NotFound, Failed):
        return None


def _install_kit(location: InstallLocation, row: HarnessProgram, call: tuple[str, ...]) -> InstallContext:
    harness = HARNESSES.get(row.id, HARNESSES["git-nexus"])
    here = location.catalog()
    return InstallContext(
        harness=harness,
        scope=location.scope,
        root=location.root,
        call=call,
        catalog=here.catalog,
        denied={role: here.denied(role)[harness.id] for role in here.catalog.agents},
        tools=tuple(f"nx_{tool}" for tool in TOOLS),
        environ=os.environ,
    )


def _owner_in_record(location: InstallLocation, row: HarnessProgram, config: ClientConfig | None) -> str:
    """Return the name of a program in the record; a client is named by its file and key, as there may be several."""
    if row.wants is not None:
        return row.id
    if config is None:
        raise BadUsage("which file does the client read?", hint=f"git nexus harness install {row.id} --config FILE")
    return f"{row.id}:{config.key}:{location.store.named(config.file)}"


def _client_from_owner(location: InstallLocation, owner: str) -> ClientConfig | None:
    _, key, file = (*owner.split(":", 2), "", "")[:3]
    return ClientConfig(location.root / file, key) if file else None


def _read_or_none(path: Path) -> str | None:
    try:
        return read_text_or_none(path)
    except (NexusError, OSError):
        return None
