"""What commands leave behind, read by GitPython: refs, trailers and worktrees mean to others what they mean to us.

Nothing of `gitnexus` is imported here. The repository is the scratch repository of pytest-git.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import git
import pytest

from tests.conftest import Nexus, Templates
from tests.prepared import prepare

STATE = "refs/nexus/state"
# The same commit each time, so that what is done after it is done once and copied.
_DATE = datetime(2026, 2, 1, 12, tzinfo=UTC)


@dataclass
class Story:
    """A project with one landed run and one that waits, as GitPython opens it."""

    nexus: Nexus
    repo: git.Repo
    landed: str
    waiting: str

    def commit(self, ref: str) -> git.Commit:
        return git.SymbolicReference(self.repo, ref).commit

    def read(self, ref: str, path: str) -> bytes:
        return bytes((self.commit(ref).tree / path).data_stream.read())

    def document(self, path: str) -> Any:
        """Return a JSON file of the state."""
        return json.loads(self.read(STATE, path))


@pytest.fixture
def story(git_repo: Any, sealed: Path, templates: Templates) -> Iterator[Story]:
    (sealed / "nexus").mkdir(mode=0o700)
    place = Path(git_repo.workspace)
    (place / "shop.py").write_text("price = 10\n")
    git_repo.api.index.add(["shop.py"])
    git_repo.api.index.commit("a shop", author_date=_DATE, commit_date=_DATE)
    shutil.rmtree(place / ".git" / "logs")  # they hold the time of day
    nexus = Nexus(place, templates)

    def act() -> str:
        nexus.ok("init", "--name", "shop")
        nexus.ok("task", "add", "Write the hours", "--file", "hours.txt", "--label", "sign")
        nexus.ok("task", "add", "Print the hours", "--depends", "T1")
        nexus.ok("memory", "add", "opening-hours", "Nobody comes before nine.", "--category", "empirical")
        landed = _start_run(nexus, "--task", "T1", "--", "sh", "-c", "echo '9 to 5' > hours.txt")
        nexus.ok("approve", "--unseen", landed)
        nexus.ok("land", landed)
        waiting = _start_run(nexus, "--", "sh", "-c", "echo cheap > slogan.txt")
        nexus.ok("checkpoint", waiting)
        return f"{landed} {waiting}"

    landed, waiting = prepare(nexus, ("a landed run and one that waits",), act).split()
    with git.Repo(place) as repo, git_repo.api:  # at the end both close the processes of git that they read through
        yield Story(nexus, repo, landed, waiting)


def _start_run(nexus: Nexus, *argv: str) -> str:
    started = nexus("run", "--json", *argv)
    return str(json.loads(started.stdout)["run"]["id"])


@pytest.mark.slow
def test_the_state_is_a_tree_of_plain_files_with_one_commit_for_each_change(story: Story) -> None:
    tip = story.commit(STATE)

    names = {str(entry.path) for entry in tip.tree.traverse() if entry.type == "blob"}
    modes = {entry.mode for entry in tip.tree.traverse() if entry.type == "blob"}
    written = {"format.json", "backlog/T1.json", "backlog/T2.json", "memory/empirical-opening-hours.md"}
    written |= {f"runs/{story.landed}.json", f"runs/{story.waiting}.json"}
    assert written <= names
    assert modes == {git.Blob.file_mode}
    diary = [str(commit.summary) for commit in story.repo.iter_commits(tip)]
    assert all(len(commit.parents) <= 1 for commit in story.repo.iter_commits(tip))
    assert sum("T1" in line for line in diary) >= 1
    assert len(diary) == len({commit.tree.hexsha for commit in story.repo.iter_commits(tip)})


def test_tasks_and_notes_are_documents_of_the_state_and_the_checkout_has_the_same_bytes(story: Story) -> None:
    first, second = story.document("backlog/T1.json"), story.document("backlog/T2.json")

    assert (first["title"], first["files"], first["labels"]) == ("Write the hours", ["hours.txt"], ["sign"])
    assert second["depends"] == ["T1"]
    assert b"Nobody comes before nine." in story.read(STATE, "memory/empirical-opening-hours.md")
    for path in ("backlog/T1.json", "backlog/T2.json", "memory/empirical-opening-hours.md"):
        assert (story.nexus.place / ".nexus" / path).read_bytes() == story.read(STATE, path)


def test_the_log_of_a_run_is_a_chain_on_its_ref_that_anybody_can_follow(story: Story) -> None:
    tree = story.commit(f"refs/nexus/runs/{story.waiting}").tree

    lines = bytes((tree / "events/0001.jsonl").data_stream.read()).splitlines()
    events = [json.loads(line) for line in lines]
    assert (events[0]["kind"], events[0]["body"]["run"]) == ("workflow.started", story.waiting)
    assert [event["seq"] for event in events] == [*range(1, len(events) + 1)]
    digests = ["sha256:" + hashlib.sha256(line).hexdigest() for line in lines]
    assert [event["prev"] for event in events[1:]] == digests[:-1]
    kept = {str(entry.name): bytes(entry.data_stream.read()) for entry in (tree / "artifacts").blobs}
    assert kept and all(hashlib.sha256(content).hexdigest() == name for name, content in kept.items())


def test_the_landed_commit_names_run_action_agent_and_approval_in_its_trailers(story: Story) -> None:
    head = story.repo.head.commit
    approved = head.parents[1]

    trailers = approved.trailers_list
    told = dict(trailers)
    assert len(head.parents) == 2
    assert [key for key, _ in trailers] == ["Nexus-Run", "Nexus-Action", "Nexus-Agent", "Nexus-Approval"]
    assert (told["Nexus-Run"], told["Nexus-Action"], told["Nexus-Agent"]) == (story.landed, "a1", "command")
    assert told["Nexus-Approval"].startswith("nx1.")
    assert (str(approved.author.name), str(approved.committer.name)) == ("command (agent)", "Test Person")
    assert bytes((head.tree / "hours.txt").data_stream.read()) == b"9 to 5\n"
    assert story.document(f"runs/{story.landed}.json")["head"] == approved.hexsha
    assert story.document(f"runs/{story.landed}.json")["task"] == "T1"


def test_the_worktree_of_a_run_is_a_worktree_of_git_on_the_runs_branch(story: Story) -> None:
    listed = story.repo.git.worktree("list", "--porcelain").split("\n\n")
    folders = {}
    for lines in listed:
        fields = dict(line.partition(" ")[::2] for line in lines.splitlines())
        folders[fields["branch"]] = Path(fields["worktree"])

    with git.Repo(folders[f"refs/heads/nexus/{story.waiting}"]) as worktree:
        assert worktree.active_branch.path == f"refs/heads/nexus/{story.waiting}"
        assert worktree.head.commit.hexsha == story.document(f"runs/{story.waiting}.json")["base"]
        assert worktree.untracked_files == ["slogan.txt"]
        assert not worktree.is_dirty()
        assert Path(worktree.common_dir).samefile(story.repo.git_dir)
    assert story.repo.active_branch.path == "refs/heads/main"
    assert not story.repo.is_dirty(untracked_files=True)


def test_a_squashed_landing_is_one_commit_that_carries_the_approval(story: Story) -> None:
    before = story.repo.head.commit.hexsha
    story.nexus.ok("approve", "--unseen", story.waiting)

    story.nexus.ok("land", "--squash", story.waiting)

    head = story.repo.head.commit
    told = dict(head.trailers_list)
    assert [parent.hexsha for parent in head.parents] == [before]
    assert (told["Nexus-Run"], told["Nexus-Approval"][:4]) == (story.waiting, "nx1.")
    assert bytes((head.tree / "slogan.txt").data_stream.read()) == b"cheap\n"
    assert story.document(f"runs/{story.waiting}.json")["landed"] == head.hexsha


def test_a_server_gets_the_same_objects_on_the_same_refs(story: Story, tmp_path: Path) -> None:
    with git.Repo.init(tmp_path / "server.git", bare=True) as server:
        story.repo.create_remote("origin", str(tmp_path / "server.git"))

        story.nexus.ok("sync")

        for ref in (STATE, f"refs/nexus/runs/{story.waiting}", f"refs/heads/nexus/{story.waiting}"):
            assert git.SymbolicReference(server, ref).commit.hexsha == story.commit(ref).hexsha
