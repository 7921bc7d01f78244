"""Install into a program, take out again, and tell how it stands: a place, a catalog and a plan put together."""

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gitnexus import __version__
from gitnexus.app.catalog import CatalogHere, catalog_at
from gitnexus.app.gatememo import place_of as project_of
from gitnexus.base.errors import BadUsage, Failed, NexusError, NotFound
from gitnexus.base.files import expand_home
from gitnexus.catalog import open_catalog
from gitnexus.catalog.harnesses import HARNESSES
from gitnexus.git import Repo, discover, hookfiles
from gitnexus.harness.install import edits, trust
from gitnexus.harness.install.kit import Kit
from gitnexus.harness.install.model import SCOPES, Held, Installed, Scope, Want
from gitnexus.harness.install.programs.claude_code import plugin
from gitnexus.harness.install.programs.clients import client
from gitnexus.harness.install.programs.table import Row, row_named
from gitnexus.harness.install.record import Shelf, read_text
from gitnexus.harness.install.transition import FileChange, commit, passed_over, plan_digest, prepared, removed_by_sight
from gitnexus.state.home import home_folder

_IN_FILES = ("whole", "json")
LAWLESS, BEGIN = "this repository is no project yet, and until it is one every tool is refused", "git nexus init"
_UNDO = ("git", "nexus", "harness", "uninstall")


@dataclass(frozen=True, slots=True)
class Client:
    """The config of a client that has no row of its own: the file, and below which key its servers stand."""

    file: Path
    key: str


@dataclass(slots=True)
class Outcome:
    """What was done, or would be: the files before and after, what is left as it is, and what the person does next."""

    row: Row
    scope: Scope
    changes: list[FileChange]
    notes: list[str]
    next: str = ""
    undo: str = ""
    is_plugin: bool = False


@dataclass(frozen=True, slots=True)
class FileState:
    """One file of an installation: as installed, edited since, without ours, or missing."""

    path: str
    state: str


@dataclass(slots=True)
class Standing:
    """How one program stands at one scope. `how`: no, yes, half (after a kill), unrecorded (it came with a clone).

    `lawless` is true where the program has our gate and the repository is no project.
    """

    row: Row
    scope: Scope
    how: str
    version: str = ""
    stale: bool = False
    files: list[FileState] = field(default_factory=list)
    waits: list[str] = field(default_factory=list)
    lawless: bool = False

    @property
    def installed(self) -> bool:
        """True if anything of ours is there."""
        return self.how != "no"


@dataclass(frozen=True)
class Place:
    """Where an installation goes: the top of a worktree, or the home of the person, with the record of it."""

    scope: Scope
    root: Path
    shelf: Shelf
    start: Path

    def catalog(self) -> CatalogHere:
        """Return the catalog as it holds there: a person's own, or the project's."""
        return catalog_at(self.start) if self.scope == "project" else CatalogHere(open_catalog(None, None), None, ())


def place_of(start: Path, scope: Scope) -> Place:
    """Return where a scope is, seen from a folder. Raises: NotFound, Failed."""
    if scope == "user":
        root = Path.home()
        return Place(scope, root, Shelf(home_folder() / "harness", root), start)
    repo = discover(start, inherit=True)
    if repo.worktree is None:
        raise Failed("a bare repository has no files that a program would read", hint="--scope user needs none")
    return place_in(repo)


def place_in(repo: Repo) -> Place:
    """Return the project scope of a worktree; its record goes when the worktree goes."""
    root = (repo.worktree or repo.place).resolve()
    return Place("project", root, Shelf(repo.git_dir / "nexus" / "harness", root), root)


def install(start: Path, name: str, scope: Scope, given: Client | None, *, dry_run: bool) -> Outcome:
    """Put everything into a program's files, or say what that would be. Raises: Invalid, Conflict; nothing changed."""
    row = row_named(name)
    place = place_of(start, scope)
    step = prepared(place.shelf, _owner(place, row, given), wants_of(place, row, given))
    if not dry_run:
        commit(step)
    more = ["--scope", "user"] if scope == "user" else []
    more += ["--config", str(given.file), "--key", given.key] if given else []
    undo = shlex.join([*_UNDO, row.id, *more])
    return Outcome(row, scope, step.changes, step.notes, _next(place, row), undo)


def _next(place: Place, row: Row) -> str:
    first = [f"{BEGIN}, for {LAWLESS}; then"] if _is_lawless(place, row) else []
    return " ".join([*first, row.needs_at(place.scope)])


def uninstall(start: Path, name: str, scope: Scope, given: Client | None, *, dry_run: bool) -> Outcome:
    """Take everything out again, or say what that would be. Raises: Invalid, Conflict; nothing changed."""
    row = row_named(name)
    place = place_of(start, scope)
    owner = _owner(place, row, given)
    if owner in place.shelf.read().harnesses or place.shelf.interrupted:
        step = prepared(place.shelf, owner, None)
    else:
        step = removed_by_sight(place.shelf, row.id, wants_of(place, row, given))
    if not dry_run:
        commit(step)
    return Outcome(row, scope, step.changes, step.notes)


def remove_all(repo: Repo) -> tuple[list[str], list[str]]:
    """Take every program out of a worktree; return what was done, and what could not be."""
    place = place_in(repo)
    done, notes = [], []
    for owner in list(place.shelf.read().harnesses):
        try:
            step = prepared(place.shelf, owner, None)
            commit(step)
        except NexusError as exc:
            notes.append(f"{owner} stays installed: {exc.message}")
            continue
        notes += step.notes
        done.append(f"took git nexus out of the files of {owner.partition(':')[0]} ({len(step.changes)})")
    return done, notes


def write_plugin(start: Path, folder: Path, *, out: bool, dry_run: bool) -> Outcome:
    """Write the plugin folder for Claude Code, or take `out` what was written. Raises: Invalid; nothing changed."""
    row = row_named("claude-code")
    root = expand_home(folder).absolute().resolve()
    shelf = Shelf(home_folder() / "harness" / "plugins" / plan_digest([Want(root, "whole", ())]), root)
    place = Place("project", root, shelf, start)
    step = prepared(shelf, row.id, None if out else list(plugin(_kit(place, row, ("git", "nexus")), root)))
    if not dry_run:
        commit(step)
    then = f"{shlex.join(['claude', '--plugin-dir', str(root)])} loads it for a session"
    undo = shlex.join([*_UNDO, row.id, "--plugin", str(root)])
    return Outcome(row, "project", step.changes, step.notes, then, undo, is_plugin=True)


def wants_of(place: Place, row: Row, given: Client | None = None) -> list[Want]:
    """Return what should be in which file. Raises: BadUsage."""
    call = ("git", "nexus")
    program = hookfiles.program()
    if place.scope == "user" and Path(program).is_absolute():
        call = (program,)  # type: ignore[assignment]  # a program that no shell starts often has another PATH
    kit = _kit(place, row, call)
    if row.wants is not None:
        return list(row.wants(kit))
    if given is None:
        raise BadUsage("which file does the client read?", hint="git nexus harness install mcp --config FILE")
    return list(client(kit, given.file, given.key))


def standings(start: Path, names: list[str]) -> Iterator[Standing]:
    """Yield how each program stands at each scope that there is here."""
    for scope in SCOPES:
        try:
            place = place_of(start, scope)
        except (NotFound, Failed):
            continue
        record = place.shelf.read()
        for name in names:
            yield from _standing(place, row_named(name), record)


def _standing(place: Place, row: Row, record: Installed) -> Iterator[Standing]:
    owners = [owner for owner in record.harnesses if owner.partition(":")[0] == row.id]
    if not owners:
        wants = wants_of(place, row) if row.wants is not None else []
        there = any(edits.present(_quietly(w.path), w.kind, w.pieces, row.id) for w in wants if w.kind in _IN_FILES)
        waits = _waits(place, row, wants) if there else []
        lawless = there and _is_lawless(place, row)
        yield Standing(row, place.scope, "unrecorded" if there else "no", waits=waits, lawless=lawless)
    for owner in owners:
        program = record.harnesses[owner]
        wants = wants_of(place, row, _client_of(place, owner))
        yield Standing(
            row,
            place.scope,
            "yes" if program.whole and not place.shelf.interrupted else "half",
            program.version,
            stale=program.version != __version__ or program.plan != plan_digest(wants),
            files=[_file_state(place, held) for held in record.files if owner in held.owners],
            waits=_waits(place, row, wants),
            lawless=_is_lawless(place, row),
        )


def _is_lawless(place: Place, row: Row) -> bool:
    return place.scope == "project" and row.has_gate and project_of(str(place.root)) is None


def _file_state(place: Place, held: Held) -> FileState:
    now = _quietly(place.root / held.path)
    if now is None:
        return FileState(held.path, "missing")
    if edits.digest(now) == held.after:
        return FileState(held.path, "as installed")
    try:
        rest = edits.stripped(held.path, now, held.kind, held.puts, held.appends, (), held.owners, every=True)
    except NexusError:
        return FileState(held.path, "does not parse")
    return FileState(held.path, "edited since" if held.kind == "whole" or rest != now else "without ours")


def _waits(place: Place, row: Row, wants: list[Want]) -> list[str]:
    """Return what stands between the files and the program: what it cannot read, and what it was not told yet."""
    unread = [want.path for want in wants if want.strict and passed_over(_quietly(want.path))]
    words = [f"{path} has a comment or a comma too many: the program passes over the whole file" for path in unread]
    return words + _not_told(place, row)


def _not_told(place: Place, row: Row) -> list[str]:
    project = place.scope == "project"
    home, environ = Path.home(), os.environ
    if row.id == "claude-code":
        moved = environ.get("CLAUDE_CONFIG_DIR")
        config = Path(moved) if moved else home / ".claude"
        return trust.claude_waits((config if moved else home) / ".claude.json", config, place.root, project=project)
    if row.id == "codex":
        own = Path(environ["CODEX_HOME"]) if environ.get("CODEX_HOME") else home / ".codex"
        return trust.codex_waits(own, place.root / ".codex" if project else own, place.root, project=project)
    if row.id == "gemini-cli":
        root = place.root if project else _worktree(place.start)
        own = Path(environ.get("GEMINI_CLI_HOME") or home)
        return trust.gemini_waits(own, root, environ, project=project) if root else []
    if row.id == "opencode":
        folders = [Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "opencode"]
        folders += [Path(environ["OPENCODE_CONFIG_DIR"])] if environ.get("OPENCODE_CONFIG_DIR") else []
        return trust.opencode_waits([*folders, place.root / ".opencode"] if project else folders)
    return []


def _worktree(start: Path) -> Path | None:
    try:
        return place_of(start, "project").root
    except (NotFound, Failed):
        return None


def _kit(place: Place, row: Row, call: tuple[str, ...]) -> Kit:
    from gitnexus.app.tools import TOOLS

    harness = HARNESSES.get(row.id, HARNESSES["git-nexus"])
    here = place.catalog()
    return Kit(
        harness=harness,
        scope=place.scope,
        root=place.root,
        call=call,
        catalog=here.catalog,
        denied={role: here.denied(role)[harness.id] for role in here.catalog.agents},
        tools=tuple(f"nx_{tool}" for tool in TOOLS),
        environ=os.environ,
    )


def _owner(place: Place, row: Row, given: Client | None) -> str:
    """Return by which name a program is in the record; a client by its file and key, for there may be several."""
    if row.wants is not None:
        return row.id
    if given is None:
        raise BadUsage("which file does the client read?", hint=f"git nexus harness install {row.id} --config FILE")
    return f"{row.id}:{given.key}:{place.shelf.named(given.file)}"


def _client_of(place: Place, owner: str) -> Client | None:
    _, key, file = (*owner.split(":", 2), "", "")[:3]
    return Client(place.root / file, key) if file else None


def _quietly(path: Path) -> str | None:
    try:
        return read_text(path)
    except (NexusError, OSError):
        return None
