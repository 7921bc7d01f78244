"""Reads the data for the status line, the side panel and completion from an open project when something changed."""

import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from gitnexus.backlog import StateBacklog
from gitnexus.base.errors import NexusError
from gitnexus.base.text import one_line
from gitnexus.cycle.plan import plan_status
from gitnexus.cycle.session import Session
from gitnexus.cycle.tasks import summarize_tasks
from gitnexus.events.view import RunView
from gitnexus.git.branches import current_branch
from gitnexus.git.child import run_git as git_run
from gitnexus.policy.in_force import read_policy_in_force
from gitnexus.projects.open_backlog import ProjectNames, claimant_of
from gitnexus.projects.open_project import Nexus, own_names
from gitnexus.tui.model import CardLine, SidePanel, Tone

_MOST_FILES = 20_000
_MOST_LISTED = 500
_MARKS: dict[str, Tone] = {"completed": "good", "landed": "good", "waiting": "warn", "blocked": "warn", "failed": "bad"}


class ProjectData:
    """Reads a project; the data is cached until something changes on the disk."""

    def __init__(self, nexus: Nexus) -> None:
        self.nexus = nexus
        self._stamp: tuple[int, ...] = ()
        self._files: tuple[tuple[int, ...], list[str]] = ((), [])
        self.branch = self.mode = self.plan = self.tasks = ""
        self.name = nexus.described()["name"]
        self.panel_plan: tuple[CardLine, ...] = ()
        self.panel_tasks: tuple[CardLine, ...] = ()

    def look(self) -> bool:
        """Read what changed; return True if something did."""
        repo = self.nexus.repo
        local = (repo.worktree or repo.common_dir) / ".nexus" / "state"
        watched = (
            repo.git_dir / "HEAD",
            repo.common_dir / "refs" / "nexus" / "state",
            repo.common_dir / "packed-refs",
            local / "plan.json",
            local / "tasks.json",
        )
        stamp = _modification_times(watched)
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        self.branch = current_branch(repo) or "detached"
        with contextlib.suppress(NexusError):
            self.mode = read_policy_in_force(self.nexus.state).compiled.mode
        self._read_cycle()
        return True

    def _read_cycle(self) -> None:
        self.plan = self.tasks = ""
        self.panel_plan = self.panel_tasks = ()
        if self.nexus.repo.worktree is None:
            return
        session = Session(self.nexus.state)
        with contextlib.suppress(NexusError):
            plan = plan_status(session, {})
            if plan["active"]:
                counts = plan["summary"]
                self.plan = f"plan {counts['decided']}/{counts['total']}"
                self.panel_plan = (CardLine(one_line(plan["topic"], 80), "bold"), *map(_issue_line, plan["issues"]))
        with contextlib.suppress(NexusError):
            file = session.tasks()
            if file is not None:
                counts = summarize_tasks(file)
                self.tasks = f"tasks {counts['completed']}/{counts['total']}"
                self.panel_tasks = tuple(
                    CardLine(f"{_MARK.get(task.status, ' ')} {task.id} {one_line(task.title, 80)}")
                    for task in file.tasks
                )
        if not self.tasks:
            self._read_backlog()

    def _read_backlog(self) -> None:
        """Return the durable tasks, if the cycle has none; of very many, only their number."""
        count = len(self.nexus.state.latest().names("backlog"))
        self.tasks = f"{count} tasks" if count else ""
        if not 0 < count <= _MOST_LISTED:
            return
        with contextlib.suppress(NexusError):
            tasks = StateBacklog(self.nexus.state, claimant_of(self.nexus.state), ProjectNames(self.nexus.repo)).tasks()
            open_ = [task for task in tasks if task.status not in ("done", "cancelled")]
            self.tasks = "1 open task" if len(open_) == 1 else f"{len(open_)} open tasks"
            self.panel_tasks = tuple(CardLine(f"{task.id} {task.status} {one_line(task.title, 80)}") for task in open_)

    def panel(self, views: dict[str, RunView], is_foreign: Callable[[str], bool]) -> SidePanel:
        """Return the content of the side panel."""
        runs = tuple(
            CardLine(
                f"{run} {view.status} {'foreign ' if is_foreign(run) else ''}{one_line(view.task, 60)}",
                _MARKS.get(view.status, ""),
            )
            for run, view in reversed(views.items())
        )
        parts = (("Plan", self.panel_plan), ("Tasks", self.panel_tasks), ("Runs", runs))
        return SidePanel(tuple((title, lines or (CardLine("none", "dim"),)) for title, lines in parts))

    def files(self) -> Sequence[str]:
        """Return the files of the checkout, from git."""
        repo = self.nexus.repo
        if repo.worktree is None:
            return []
        stamp = _modification_times((repo.git_dir / "index", repo.git_dir / "HEAD"))
        if stamp != self._files[0]:
            asked = git_run("ls-files", "-z", "--cached", git_dir=repo.git_dir, cwd=repo.worktree)
            names = asked.stdout.decode("utf-8", "replace").split("\0")[:-1]
            self._files = (stamp, sorted(set(names))[:_MOST_FILES])
        return self._files[1]

    def own_names(self) -> frozenset[str]:
        """Return the names of this project."""
        return own_names(self.nexus.repo)

    def open_task_refs(self, project: str) -> list[tuple[str, str]]:
        """Return the open tasks of a readable project, as references with their titles."""
        from gitnexus.projects.open_registry import open_standpoint
        from gitnexus.projects.search_json import SearchQuery, search_tasks

        with contextlib.suppress(NexusError):
            standpoint = open_standpoint(self.nexus.repo.folder)
            try:
                told = search_tasks(standpoint, SearchQuery(id=f"{project}:T*", limit=50))
                return [(str(one["ref"]), one_line(str(one["title"]), 60)) for one in told["results"]]
            finally:
                standpoint.close()
        return []


_MARK = {"completed": "x", "in_progress": "~"}


def _issue_line(issue: dict[str, object]) -> CardLine:
    mark = "x" if issue["status"] == "decided" else " "
    return CardLine(f"{mark} {issue['id']} {one_line(str(issue['title']), 80)}", "good" if mark == "x" else "")


def _modification_times(paths: Sequence[Path]) -> tuple[int, ...]:
    found = []
    for path in paths:
        try:
            found.append(os.stat(path).st_mtime_ns)
        except OSError:
            found.append(0)
    return tuple(found)
