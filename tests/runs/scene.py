"""A project with a run in it, as `git nexus run` leaves one: a worktree, a branch, commits with real tokens."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pygit2
import pygit2.enums

from gitnexus.base.clock import format_timestamp, utc_now
from gitnexus.git import Author, discover
from gitnexus.git.commits import write_commit_object
from gitnexus.git.patchid import patch_id
from gitnexus.git.private import private_git
from gitnexus.policy.commit_message import Trailers, format_commit_message
from gitnexus.policy.keys import Signer, own_signer
from gitnexus.policy.ledger import Ledger
from gitnexus.policy.pins import read_pin
from gitnexus.policy.seen import format_statement
from gitnexus.policy.signed import GUARDED
from gitnexus.policy.tokens import ExpectedAction, issue_token, make_claims
from gitnexus.projects.model import hash_of
from gitnexus.projects.open_state import open_state
from gitnexus.runs import store
from gitnexus.runs.model import Run
from gitnexus.state.format import project_id_of
from tests.conftest import Nexus, run_git
from tests.prepared import prepare

RUN = "261116-1503-k7fb"
AGENT = Author("scripted", "scripted@agents.invalid", 1_794_000_000)


@dataclass
class RunScene:
    """One run; `commit` is what the gateway and a person's approval make of an edit."""

    project: Path
    id: str = RUN
    worktree: Path = field(init=False)
    base: str = field(init=False)
    count: int = 0

    def __post_init__(self) -> None:
        home = Path(os.environ["NEXUS_HOME"]).resolve()
        self.worktree = home / "worktrees" / hash_of(os.path.realpath(self.project)) / self.id
        if self.worktree.exists():  # the scene was made before, and is a copy
            self.base = self.record().base
            return
        self.base = run_git(self.project, "rev-parse", "HEAD").strip()
        # Without our hooks, as a run makes its own; tests/hooks has a worktree that a person adds.
        quiet = ("-c", "core.hooksPath=/dev/null")
        run_git(self.project, *quiet, "worktree", "add", "-q", "--lock", "-b", f"nexus/{self.id}", str(self.worktree))
        mark = self.project / ".git" / "worktrees" / self.id / "nexus" / "run"
        mark.parent.mkdir()
        mark.write_text(f"{self.id}\n")
        state = open_state(self.project)
        onto = (self.project / ".git" / "HEAD").read_text().removeprefix("ref: ").strip()
        run = Run(id=self.id, title="mend it", agent="scripted", base=self.base, definition="sha256:0",
                  created=format_timestamp(utc_now()), onto=onto)  # fmt: skip
        store.write_run(state, run, f"runs: start {self.id}")
        state.close()

    @property
    def tip(self) -> str:
        return run_git(self.project, "rev-parse", f"refs/heads/nexus/{self.id}").strip()

    def edit(self, files: dict[str, str | None]) -> None:
        for name, text in files.items():
            path = self.worktree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                path.unlink()
            else:
                path.write_text(text)

    def commit(self, files: dict[str, str | None], summary: str = "mend it", body: str = "", **changed: Any) -> str:
        """Approve an edit and commit it on the run's branch."""
        self.edit(files)
        self.count += 1
        tree = _write_tree(self.worktree)
        tip = self.tip
        token = self.token(f"a{self.count}", tree_of(self.project, tip), tree, **changed)
        trailers = Trailers(self.id, (f"a{self.count}",), "scripted", (token,))
        made = commit_tree(self.project, tree, [tip], format_commit_message(summary, body, trailers))
        point(self.project, f"refs/heads/nexus/{self.id}", made)
        return made

    def token(self, action: str, base: str, result: str, /, signer: Signer | None = None, **changed: Any) -> str:
        repo = discover(self.project)
        state = open_state(repo)
        project = project_id_of(state.latest()) or ""
        state.close()
        with private_git(repo) as git:
            named = patch_id(git, base, result)
        said: dict[str, Any] = {
            "project": project, "run": self.id, "action": action, "kind": "patch", "request": "sha256:" + "1" * 64,
            "mode": "default", "base": base, "result": result, "patch_id": named, "role": "engineer",
        }  # fmt: skip
        seen = changed.pop("seen", format_statement(read_pin(repo.common_dir), GUARDED))
        expected = ExpectedAction(**{**said, **changed})
        key = signer or own_signer()
        ledger = Ledger(repo.common_dir).begin(utc_now())
        claims = make_claims(expected, scope="once", ledger=ledger, approver=key.key_id, now=utc_now(),
                          lasts=timedelta(hours=1))  # fmt: skip
        return issue_token(claims.changed(seen=seen), key)

    def end(self, status: str = "completed") -> "RunScene":
        state = open_state(self.project)
        store.update_run(
            state,
            self.id,
            lambda run: run.changed(status=status, head=self.tip, ended=format_timestamp(utc_now())),
            f"runs: {status}",
        )
        state.close()
        return self

    def record(self) -> Run:
        state = open_state(self.project)
        try:
            return store.read_run(state.latest(), self.id)
        finally:
            state.close()


def prepared(nexus: Nexus, words: str, make: Callable[[Path], RunScene]) -> RunScene:
    """Return the scene that `make` makes of a project: made once for each worker, then copied."""

    def act() -> str:
        made = make(nexus.place)
        return f"{made.id} {made.count}"

    name, count = prepare(nexus, (words,), act).split()
    return RunScene(nexus.place, name, count=int(count))


def _write_tree(worktree: Path) -> str:
    repository = pygit2.Repository(str(worktree))
    repository.index.add_all()
    for path, flags in repository.status().items():
        if flags & pygit2.enums.FileStatus.WT_DELETED:
            repository.index.remove(path)
    repository.index.write()
    tree = str(repository.index.write_tree())
    repository.free()
    return tree


def point(project: Path, ref: str, commit: str) -> None:
    """Have a ref name a commit, whatever it named before."""
    repository = pygit2.Repository(str(project))
    repository.references.create(ref, commit, force=True)
    repository.free()


def commit_tree(project: Path, tree: str, parents: list[str], text: str) -> str:
    person = Author("Test Person", "test@example.com", 1_794_000_100)
    with private_git(discover(project)) as git:
        return write_commit_object(git, tree, parents, text, AGENT, person)


def tree_of(project: Path, commit: str) -> str:
    return run_git(project, "rev-parse", f"{commit}^{{tree}}").strip()


def raw_message(project: Path, commit: str) -> str:
    return run_git(project, "log", "-1", "--format=%B", commit)


def commit_file(project: Path, name: str, text: str, words: str = "by hand") -> str:
    (project / name).write_text(text)
    run_git(project, "add", "--", name)
    run_git(project, "commit", "-qm", words)
    return run_git(project, "rev-parse", "HEAD").strip()
