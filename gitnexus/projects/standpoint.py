"""`Standpoint`: the current project among all registered ones, with its permissions, for cross-project commands."""

import shlex
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from gitnexus.backlog.reference import TaskReference
from gitnexus.base.clock import utc_now
from gitnexus.base.errors import Invalid, ProjectNotFound
from gitnexus.projects import access, audit
from gitnexus.projects.grants import is_in_force, read_permissions
from gitnexus.projects.last_used import note_projects_used
from gitnexus.projects.levels import Level
from gitnexus.projects.model import Project, Registry
from gitnexus.projects.operations import Operation
from gitnexus.projects.permissions import Permissions, level_held
from gitnexus.projects.place import ProjectPlace
from gitnexus.projects.resolve import LocatedTask, find_project, locate_task, require_current
from gitnexus.projects.store import read_registry
from gitnexus.state import Snapshot, State
from gitnexus.state.home import make_home, open_home


class Standpoint:
    """The context of cross-project commands and tools; every query uses the newest home state."""

    def __init__(
        self,
        here: ProjectPlace | None,
        *,
        clock: Callable[[], datetime] = utc_now,
        audit_reads: Callable[[], bool] = lambda: False,
        guarded: Callable[[State], State] = lambda home: home,
    ) -> None:
        """`here` is the current project, None outside of all projects; `audit_reads` is called when another one is
        read.

        `guarded` adds the signer and the verifier for permissions to the home state when it is opened.
        """
        self.here = here
        self.clock = clock
        self._audit_reads = audit_reads
        self._guarded = guarded
        self._home: State | None = None
        self._registry: tuple[str | None, Registry] = (None, Registry())
        self._permissions: tuple[str | None, Permissions] = (None, Permissions())

    @property
    def home(self) -> State:
        """The home state, created if necessary."""
        if self._home is None:
            self._home = self._guarded(make_home())
        return self._home

    @property
    def registry(self) -> Registry:
        """The current registry. Raises: Invalid."""
        snapshot = self._latest_snapshot()
        if snapshot is not None and self._registry[0] != snapshot.commit:
            self._registry = (snapshot.commit, read_registry(snapshot))
        return self._registry[1]

    @property
    def permissions(self) -> Permissions:
        """The current permissions. Raises: Invalid."""
        snapshot = self._latest_snapshot()
        if snapshot is not None and self._permissions[0] != snapshot.commit:
            self._permissions = (snapshot.commit, read_permissions(snapshot, self.home.trusts))
        return self._permissions[1]

    def permissions_count(self) -> bool:
        """Return True if the permissions are signed or give nothing that needs a signature. Raises: Invalid."""
        snapshot = self._latest_snapshot()
        return snapshot is None or is_in_force(snapshot, self.home.trusts)

    @property
    def current(self) -> Project | None:
        """The current project: its row, or the default row if it is not registered."""
        if self.here is None:
            return None
        try:
            return self.registry.at(self.here.path) or self.here.as_project()
        except Invalid:
            return self.here.as_project()  # a registry that does not parse does not stop work on the own project

    def find(self, word: str) -> Project:
        """Return the project that a name, alias, hash prefix or `.` denotes. Raises: ProjectNotFound, …"""
        return require_current(self.current) if word == "." else find_project(self.registry, word)

    def find_registered(self, word: str) -> Project:
        """Return the registered project that a word denotes. Raises: ProjectNotFound, AmbiguousName."""
        project = self.find(word)
        if not self.is_registered(project):
            raise ProjectNotFound(
                f"the project at {project.path} is not registered",
                fix=f"git nexus register {shlex.quote(project.path)}",
                context={"requestedProject": word},
            )
        return project

    def locate(self, reference: TaskReference) -> LocatedTask:
        """Return the project and task of a reference to one project. Raises: ProjectNotFound, AmbiguousName."""
        # The own project needs no registry, so that one which does not parse does not stop it.
        return locate_task(Registry() if reference.is_current else self.registry, self.current, reference)

    def is_registered(self, project: Project) -> bool:
        """Return True if the registry has a row of the project."""
        try:
            return project.hash in self.registry.projects
        except Invalid:
            return False

    def level(self, target: Project) -> Level:
        """Return the current project's level on another; `none` if the permissions cannot be read."""
        return self._levels_held([target])[0]

    def readable(self) -> list[Project]:
        """Return the projects that the current one may read, including itself, by name."""
        rows = self.registry.projects_by_name()
        current = self.current
        if current is not None and current.hash not in self.registry.projects:
            rows.append(current)
        levels = self._levels_held(rows)
        return [row for row, level in zip(rows, levels, strict=True) if level.covers(Level.READ)]

    def require_permission(self, operation: Operation, target: Project, task: str | None = None) -> None:
        """Raise an error unless `operation` on `target` is permitted; the audit line is written first.

        Raises: PermissionDenied; Failed if a permitted operation cannot be audited.
        """
        self.permit_operation(operation, [target], task)
        self.touch([target])

    def permit_operation(self, operation: Operation, targets: Sequence[Project], task: str | None = None) -> None:
        """Do the same for several projects at once; the caller reports those that answered to `touch`."""
        caller = self.current
        registered = caller is not None and self.is_registered(caller)
        requests = [access.AccessRequest(operation, caller, target, task, registered) for target in targets]
        outward = [request for request in requests if not request.is_internal]
        audit_reads = bool(outward) and self._audit_reads()
        for request in outward:
            access.require_access(self.home, request, self.clock(), audit_reads=audit_reads)

    def touch(self, projects: Iterable[Project]) -> None:
        """Record that registered projects were used, best effort."""
        known = [project for project in projects if self.is_registered(project)]
        if known:
            note_projects_used(self.home, known, self.clock())

    def name_of(self, key: str) -> str:
        """Return a project's name by its hash; the hash itself if it is no longer registered."""
        row = self.registry.projects.get(key)
        return row.name if row else key

    def broken_permissions(self) -> str | None:
        """Return the reason why the permissions cannot be read, None if they can."""
        try:
            _ = self.permissions
        except Invalid as exc:
            return exc.message
        return None

    def read_audit_page(self, limit: int) -> audit.AuditPage:
        """Return the newest audit lines."""
        snapshot = self._latest_snapshot()
        return audit.AuditPage() if snapshot is None else audit.read_audit(snapshot, limit)

    def described(self) -> dict[str, str] | None:
        """Return the current project for the JSON envelope, None outside of all projects."""
        current = self.current
        return current.described() if current else None

    def close(self) -> None:
        """Release git resources."""
        if self._home is not None:
            self._home.close()
            self._home = None

    def _levels_held(self, targets: list[Project]) -> list[Level]:
        current = self.current
        own = current.hash if current else None
        try:
            permissions = self.permissions
        except Invalid:
            return [Level.EXECUTE if target.hash == own else Level.NONE for target in targets]
        caller = own if current and self.is_registered(current) else None
        return [
            Level.EXECUTE if target.hash == own else level_held(permissions, caller, target.hash) for target in targets
        ]

    def _latest_snapshot(self) -> Snapshot | None:
        if self._home is None:
            found = open_home()
            self._home = self._guarded(found) if found is not None else None
        return self._home.latest() if self._home else None
