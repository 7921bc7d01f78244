"""The graph of all projects as one caller may see it: which tasks wait for which."""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gitnexus.backlog.graph import Cyclic, find_cycles, longest_chain, reversed_edges, topological_order
from gitnexus.backlog.model import number_of_id
from gitnexus.backlog.reference import parse_reference
from gitnexus.base.errors import BadReference, Invalid, NotFound
from gitnexus.projects.index.model import IndexRow, TaskIndex
from gitnexus.projects.index.refresh import why_unreadable
from gitnexus.projects.model import Project
from gitnexus.projects.resolve import LocatedTask

if TYPE_CHECKING:
    from gitnexus.projects.graph_render import GraphNode, GraphPicture

_OPEN = ("pending", "active", "blocked")
HIDDEN = "may not be read"
LOST = "its project cannot be read where it is registered"


class TaskNetwork:
    """The index, with the projects that are registered and those that the current project may read."""

    def __init__(
        self, index: TaskIndex, projects: Iterable[Project], current: Project | None, readable: set[str]
    ) -> None:
        self.index = index
        self.projects = {project.hash: project for project in projects}
        self.current = current
        self.readable = readable
        self._uids: dict[str, dict[str, str]] = {}
        self._everywhere: dict[str, tuple[str, str]] | None = None
        self.names = {project.hash: project.name for project in self.projects.values()}

    @cached_property
    def _owners(self) -> dict[str, str]:
        """Every name and alias with its project; a name takes precedence over an alias."""
        owners: dict[str, str] = {}
        for project in self.projects.values():
            for alias in project.aliases:
                owners.setdefault(alias, project.hash)
        owners.update({project.name: project.hash for project in self.projects.values()})
        return owners

    @cached_property
    def _unreadable(self) -> set[str]:
        return self.index.unreadable()

    def with_left_out(
        self, told: dict[str, Any], within: Callable[[str], bool] = lambda project: True
    ) -> dict[str, Any]:
        """Return `told` with the readable projects whose tasks could not be read; the answer lacks those tasks."""
        hashes = self._unreadable & self.readable & self.projects.keys()
        rows = sorted((self.projects[one] for one in hashes if within(one)), key=lambda row: row.name)
        left_out = [{"project": row.name, "reason": self._why_unreadable(row)} for row in rows]
        return {**told, "unreadable": left_out} if left_out else told

    def _why_unreadable(self, project: Project) -> str:
        return why_unreadable(project) or "it could not be read a moment ago"

    def may_read(self, project: str) -> bool:
        """True if the current project may see another's tasks."""
        return project in self.readable

    def row(self, located: LocatedTask) -> IndexRow:
        """Return a task by project and id. Raises: NotFound, Invalid if its project cannot be read."""
        found = self.index.task(located.project.hash, located.task)
        if found is None and located.project.hash in self._unreadable:
            why = self._why_unreadable(located.project)
            raise Invalid(
                f"{located.project.name} cannot be read: {why}",
                hint="git nexus project show tells more",
                fix=f"git nexus project show {located.project.name}",
                context={"taskId": located.task_id, "ref": located.ref},
            )
        if found is None:
            raise NotFound(
                f"{located.project.name} has no task {located.task}",
                context={"taskId": located.task_id, "ref": located.ref},
            )
        return found

    @cached_property
    def _once(self) -> dict[tuple[str, str], list[str]]:
        return self.index.once()

    def target(self, project: str, name: str, id_: str, uid: str = "") -> tuple[str, str] | str:
        """Return the project and id that a dependency refers to, or why it refers to nothing.

        In another project that is the task with the recorded `uid`; without one, the task with the number, unless
        another task had that number before.
        """
        try:
            parse_reference(f"{name}:{id_}" if name else id_)
        except BadReference:
            return "is not a reference to a task"
        owner = project if not name else self._owners.get(name)
        if owner is None:
            return self._in_any_project(uid) or f"no project is called {name}"
        if owner == project or not self.may_read(owner):
            return owner, id_
        if uid:
            meant = self._by_uid(owner, id_, uid)
            return (self._in_any_project(uid) or meant) if isinstance(meant, str) else meant
        others = self._once.get((owner, id_))
        if others:
            named = " or ".join(f"{name}:{one}" for one in [id_, *others])
            return f"may be {named}: a sync renumbered it before its identity was noted"
        return owner, id_

    def _by_uid(self, owner: str, id_: str, uid: str) -> tuple[str, str] | str:
        if owner not in self._uids:
            self._uids[owner] = self.index.uids(owner)
        found = self._uids[owner].get(uid)
        if found is None and owner not in self._unreadable and self.index.task(owner, id_) is not None:
            return "no longer exists, another task has its number"
        return owner, found or id_

    def _in_any_project(self, uid: str) -> tuple[str, str] | None:
        """Return the task with a `uid` in any readable project: its project may have another name here."""
        if uid and self._everywhere is None:
            self._everywhere = {
                one: (owner, id_) for owner in sorted(self.readable) for one, id_ in self.index.uids(owner).items()
            }
        return (self._everywhere or {}).get(uid) if uid else None

    def dependencies(self, row: IndexRow) -> list[dict[str, Any]]:
        """Return the dependencies of a task, each with its status or with the reason why that is unknown."""
        return [self._dependency_json(row, name, id_, uid) for name, id_, uid in self.index.depends(row)]

    def _dependency_json(self, row: IndexRow, name: str, id_: str, uid: str) -> dict[str, Any]:
        written = f"{name}:{id_}" if name else id_
        meant = self.target(row.project, name, id_, uid)
        if isinstance(meant, str):
            return {
                "taskId": None,
                "ref": written,
                "project": name or self.names.get(row.project),
                "title": None,
                "status": None,
                "location": "external" if name else "local",
                "reason": meant,
            }
        project, task = meant
        location = "local" if project == row.project else "external"
        plain = {"taskId": f"{project}:{task}", "ref": f"{self.names[project]}:{task}", "project": self.names[project]}
        if not self.may_read(project):
            return {**plain, "title": None, "status": None, "location": location, "reason": HIDDEN}
        found = self.index.task(project, task)
        if found is None:
            why = LOST if project in self._unreadable else "does not exist"
            return {**plain, "title": None, "status": None, "location": location, "reason": why}
        return {**plain, "title": found.title, "status": found.status, "location": location}

    def dependents(self, row: IndexRow) -> list[dict[str, Any]]:
        """Return the tasks that wait for a task, of all readable projects."""
        project = self.projects[row.project]
        names = [name for name in (project.name, *project.aliases) if self._owners.get(name) == project.hash]
        found = [one for one in self.index.dependents(row, names, self._owners) if self.may_read(one.project)]
        return [self.task_as_json(one, row.project) for one in sorted(found, key=self._row_order)]

    def task_as_json(self, row: IndexRow, seen_from: str | None = None) -> dict[str, Any]:
        """Return a task as JSON."""
        plain = {
            "taskId": row.key,
            "ref": f"{self.names[row.project]}:{row.id}",
            "project": self.names[row.project],
            "title": row.title,
            "status": row.status,
        }
        return (
            plain if seen_from is None else {**plain, "location": "local" if row.project == seen_from else "external"}
        )

    def _row_order(self, row: IndexRow) -> tuple[str, int, str]:
        return self.names[row.project], row.number, row.id

    @cached_property
    def tasks(self) -> dict[str, tuple[str, str]]:
        """Return every readable task, as hash:id with title and status."""
        return {
            f"{project}:{id_}": (title, status)
            for project, id_, title, status in self.index.statuses()
            if self.may_read(project) and project in self.projects
        }

    @cached_property
    def _links(self) -> tuple[dict[str, list[str]], list[dict[str, str]]]:
        edges: dict[str, list[str]] = {}
        orphans: dict[str, list[dict[str, str]]] = {}
        for project, id_, name, other, uid in self.index.edges():
            source = f"{project}:{id_}"
            if source not in self.tasks:
                continue
            meant = self.target(project, name, other, uid)
            reason = meant if isinstance(meant, str) else None
            key = "" if isinstance(meant, str) else f"{meant[0]}:{meant[1]}"
            if reason is None and key not in self.tasks:
                if not self.may_read(key.partition(":")[0]):
                    continue  # it may well be there: who may not read is not told
                lost = key.partition(":")[0] in self._unreadable
                reason = LOST if lost else "the task does not exist"
            if reason is None:
                edges.setdefault(source, []).append(key)
            else:
                written = f"{name}:{other}" if name else other
                orphans.setdefault(source, []).append(
                    {"from": self._ref_of_key(source), "to": written, "reason": reason}
                )
        return edges, [one for source in sorted(orphans, key=self._key_order) for one in orphans[source]]

    @property
    def edges(self) -> dict[str, list[str]]:
        """Return every dependency between readable tasks, as the task and the one that it waits for."""
        return self._links[0]

    @property
    def orphans(self) -> list[dict[str, str]]:
        """Return the dependencies that refer to nothing, with the reason."""
        return self._links[1]

    def _ref_of_key(self, key: str) -> str:
        project, _, id_ = key.partition(":")
        return f"{self.names[project]}:{id_}"

    def waiting_tasks(self, row: IndexRow, *, closed_too: bool = False) -> list[dict[str, Any]]:
        """Return the open tasks that wait for a task, directly or indirectly, the nearest first.

        A task that is done blocks nothing. With `closed_too`, tasks of every status count, including the given one.
        """
        waiting = reversed_edges(self.edges) if closed_too or row.status != "done" else {}
        seen, order = {row.key}, [row.key]
        for key in order:  # grows while it is walked
            for other in sorted(waiting.get(key, ())):
                if other not in seen and (closed_too or self.tasks[other][1] in _OPEN):
                    seen.add(other)
                    order.append(other)
        return [self._task_json(key) for key in order[1:]]

    def critical_path(self, row: IndexRow | None, *, closed_too: bool = False) -> list[dict[str, Any]]:
        """Return the longest chain of open tasks in which each waits for the one before; of all, or up to one task.

        `closed_too` includes tasks of every status. Raises: Cyclic, naming the tasks of the cycle.
        """
        wanted = {key for key, (_, status) in self.tasks.items() if closed_too or status in _OPEN}
        edges = {key: [t for t in self.edges.get(key, ()) if t in wanted] for key in wanted}
        if row is not None and row.key not in wanted:
            return []  # nothing is left to do for it
        if row is not None:
            edges = _reachable_edges(edges, row.key)
        try:
            chain = longest_chain(edges, self._key_order)
        except Cyclic as exc:
            raise Cyclic([self._ref_of_key(key) for key in exc.cycle]) from exc
        if row is not None and row.key in edges:
            chain = _longest_chain_to(edges, row.key, self._key_order)
        return [self._task_json(key) for key in chain]

    def find_cycles(self) -> list[list[str]]:
        """Return the tasks that wait for each other in a cycle."""
        return find_cycles(self.edges)

    def build_picture(self, project: Project | None) -> "GraphPicture":
        """Return the graph of one project with the tasks that it touches outside, or of all projects."""
        from gitnexus.projects.graph_render import make_picture  # a lookup draws nothing

        mine = project.hash if project else None
        keys = {key for key in self.tasks if mine is None or key.startswith(f"{mine}:")}
        edges = [(a, b) for a, targets in self.edges.items() for b in targets if a in keys or b in keys]
        touched = keys | {key for edge in edges for key in edge}
        circles = [circle for circle in self.find_cycles() if mine is None or any(key in keys for key in circle)]
        nodes = {key: self._graph_node(key, external=key not in keys) for key in touched}
        return make_picture(project.name if project else "all", nodes, edges, circles)

    def _graph_node(self, key: str, *, external: bool) -> "GraphNode":
        from gitnexus.projects.graph_render import GraphNode

        title, status = self.tasks[key]
        return GraphNode(key, self._ref_of_key(key), self.names[key.partition(":")[0]], title, status, external)

    def _task_json(self, key: str) -> dict[str, Any]:
        title, status = self.tasks[key]
        ref = self._ref_of_key(key)
        return {"taskId": key, "ref": ref, "project": ref.partition(":")[0], "title": title, "status": status}

    def _key_order(self, key: str) -> tuple[str, int, str]:
        project, _, id_ = key.partition(":")
        return self.names[project], number_of_id(id_), id_


def blocking_reasons(row: IndexRow, dependencies: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the reasons why a task cannot start: every dependency that is not done or not known."""
    if row.status not in _OPEN:
        return []
    return [_describe_dependency(one) for one in dependencies if one["status"] != "done"]


def _describe_dependency(one: Mapping[str, Any]) -> str:
    return f"{one['ref']} ({one.get('reason') or one['status']})"


def _reachable_edges(edges: Mapping[str, list[str]], start: str) -> dict[str, list[str]]:
    seen, order = {start}, [start]
    for key in order:
        for other in edges.get(key, ()):
            if other not in seen:
                seen.add(other)
                order.append(other)
    return {key: list(edges.get(key, ())) for key in order}


def _longest_chain_to(edges: Mapping[str, list[str]], end: str, order: Callable[[str], Any]) -> list[str]:
    """Return the longest chain that ends with a task; every edge in `edges` is on a path to it."""
    length: dict[str, int] = {}
    before: dict[str, str | None] = {}
    for key in topological_order(edges):
        best = min(set(edges[key]), key=lambda target: (-length[target], order(target)), default=None)
        before[key] = best
        length[key] = 1 + (length[best] if best is not None else 0)
    chain = [end]
    while (last := before[chain[-1]]) is not None:
        chain.append(last)
    return chain[::-1]
