"""What was approved is committed as it was approved, or not at all, and it is said why."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Nexus, run_git
from tests.runs.live import DENIED, MORE, UNPROVED, approved_not_committed, artifact, begun, commits, events, folder

CONFLICT = 23
Alter = Callable[[Nexus, str], None]


def flipped(path: Path, at: float = 0.5) -> None:
    raw = bytearray(path.read_bytes())
    raw[int(at * (len(raw) - 1))] ^= 1
    path.chmod(0o600)
    path.write_bytes(bytes(raw))


def edit_the_request(nexus: Nexus, run: str) -> None:
    flipped(artifact(nexus.place, run, events(nexus.place, run, "action.proposed")[0]["artifact"]))


def swap_the_request(nexus: Nexus, run: str) -> None:
    other = begun(nexus, "echo evil > evil")
    theirs = artifact(nexus.place, other, events(nexus.place, other, "action.proposed")[0]["artifact"])
    ours = artifact(nexus.place, run, events(nexus.place, run, "action.proposed")[0]["artifact"])
    ours.chmod(0o600)
    ours.write_bytes(theirs.read_bytes())


def edit_the_log(nexus: Nexus, run: str) -> None:
    log = folder(nexus.place, run) / "events.jsonl"
    log.write_bytes(log.read_bytes().replace(b"readme", b"readmf"))


def cut_the_log(nexus: Nexus, run: str) -> None:
    log = folder(nexus.place, run) / "events.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-2]))


def move_the_branch(nexus: Nexus, run: str) -> None:
    made = run_git(nexus.place, "commit-tree", "HEAD^{tree}", "-p", f"nexus/{run}", "-m", "by hand").strip()
    run_git(nexus.place, "update-ref", f"refs/heads/nexus/{run}", made)


def deny_by_policy(nexus: Nexus, run: str) -> None:
    nexus.ok("policy", "add", "deny", "--user", "--write", "readme.txt")


def edit_the_definition(nexus: Nexus, run: str) -> None:
    path = folder(nexus.place, run) / "workflow.json"
    path.write_bytes(path.read_bytes().replace(b"more", b"evil"))


def loosen_the_mode(nexus: Nexus, run: str) -> None:
    path = folder(nexus.place, run) / "workflow.json"
    path.write_bytes(path.read_bytes().replace(b'"default"', b'"bypass"'))


def edit_the_token(nexus: Nexus, run: str) -> None:
    flipped(artifact(nexus.place, run, events(nexus.place, run, "permission.granted")[0]["token"]))


def swap_the_token(nexus: Nexus, run: str) -> None:
    other = begun(nexus, "echo evil > evil")
    nexus.ok("approve", "--unseen", other)
    theirs = artifact(nexus.place, other, events(nexus.place, other, "permission.granted")[0]["token"])
    ours = artifact(nexus.place, run, events(nexus.place, run, "permission.granted")[0]["token"])
    ours.chmod(0o600)
    ours.write_bytes(theirs.read_bytes())


def remove_the_token(nexus: Nexus, run: str) -> None:
    artifact(nexus.place, run, events(nexus.place, run, "permission.granted")[0]["token"]).unlink()


ALTERED = [
    pytest.param(edit_the_request, UNPROVED, id="186-request-edited"),
    pytest.param(swap_the_request, UNPROVED, id="186-request-swapped"),
    pytest.param(edit_the_log, UNPROVED, id="185-log-edited"),
    pytest.param(cut_the_log, UNPROVED, id="181-log-cut"),
    pytest.param(move_the_branch, CONFLICT, id="branch-moved"),
    pytest.param(deny_by_policy, DENIED, id="policy-denies-by-now"),
    pytest.param(edit_the_definition, UNPROVED, id="definition-edited"),
    pytest.param(loosen_the_mode, UNPROVED, id="mode-loosened"),
]


@pytest.mark.parametrize(("alter", "status"), ALTERED)
def test_what_was_altered_before_the_yes_is_not_committed(
    nexus: Nexus, project: Path, alter: Alter, status: int
) -> None:
    run = begun(nexus, MORE)
    alter(nexus, run)
    before = run_git(project, "rev-parse", f"nexus/{run}")

    refused = nexus("approve", "--unseen", run)

    assert refused.returncode == status, refused.stderr
    assert refused.stderr.startswith("error: ")
    assert run_git(project, "rev-parse", f"nexus/{run}") == before


@pytest.mark.parametrize(
    ("again", "alter", "status"),
    [
        pytest.param("approve", edit_the_request, UNPROVED, id="186-request-edited"),
        pytest.param("resume", swap_the_request, UNPROVED, id="186-request-swapped"),
        pytest.param("approve", edit_the_log, UNPROVED, id="185-log-edited"),
        pytest.param("resume", cut_the_log, UNPROVED, id="181-log-cut"),
        pytest.param("approve", move_the_branch, CONFLICT, id="branch-moved"),
        pytest.param("resume", move_the_branch, CONFLICT, id="branch-moved-and-resumed"),
        pytest.param("approve", deny_by_policy, DENIED, id="policy-denies-by-now"),
        pytest.param("resume", deny_by_policy, DENIED, id="policy-denies-by-now-and-resumed"),
        pytest.param("resume", edit_the_definition, UNPROVED, id="definition-edited"),
        pytest.param("approve", loosen_the_mode, UNPROVED, id="mode-loosened"),
        pytest.param("approve", edit_the_token, UNPROVED, id="186-token-edited"),
        pytest.param("resume", swap_the_token, UNPROVED, id="186-token-swapped"),
        pytest.param("approve", remove_the_token, 4, id="186-token-removed"),
    ],
)
def test_what_was_altered_between_the_yes_and_the_commit_is_not_committed(
    nexus: Nexus, project: Path, again: str, alter: Alter, status: int
) -> None:
    run = approved_not_committed(nexus, MORE)
    alter(nexus, run)
    before = run_git(project, "rev-parse", f"nexus/{run}")

    refused = nexus(again, run)

    assert refused.returncode == status, refused.stderr
    assert refused.stderr.startswith("error: ")
    assert run_git(project, "rev-parse", f"nexus/{run}") == before


@pytest.mark.parametrize("again", ["approve", "resume"])
def test_a_yes_whose_commit_was_stopped_is_carried_out_by_the_next(nexus: Nexus, project: Path, again: str) -> None:
    run = approved_not_committed(nexus)

    nexus.ok(again, run)

    assert len(commits(project, run)) == 1
    assert len(events(project, run, "permission.granted")) == 1
    nexus.ok("replay", run, "--verify")


def test_what_is_edited_in_the_worktree_after_the_proposal_is_not_in_the_commit(nexus: Nexus, project: Path) -> None:
    run = begun(nexus, MORE)
    place = Path(run_git(project, "worktree", "list", "--porcelain").split("worktree ")[2].split("\n")[0])
    (place / "readme.txt").write_text("evil\n")
    (place / "evil").write_text("evil\n")

    nexus.ok("approve", "--unseen", run)

    assert run_git(project, "show", f"nexus/{run}:readme.txt") == "hello\nmore\n"
    assert run_git(project, "ls-tree", "--name-only", f"nexus/{run}") == "readme.txt\n"
    assert run_git(place, "status", "--porcelain") == " M readme.txt\n?? evil\n"


@pytest.mark.parametrize("tree", ["HEAD^{tree}", "other"])
def test_a_commit_that_carries_copied_trailers_is_not_taken_for_ours(nexus: Nexus, project: Path, tree: str) -> None:
    run = approved_not_committed(nexus, MORE)
    token = artifact(project, run, events(project, run, "permission.granted")[0]["token"]).read_text()
    text = f"mine\n\nNexus-Run: {run}\nNexus-Action: a1\nNexus-Agent: command\nNexus-Approval: {token}\n"
    if tree == "other":
        blob = run_git(project, "hash-object", "-w", "--stdin", stdin="evil\n").strip()
        tree = run_git(project, "mktree", stdin=f"100644 blob {blob}\treadme.txt\n").strip()
    forged = run_git(project, "commit-tree", tree, "-p", "HEAD", "-F", "-", stdin=text).strip()
    run_git(project, "update-ref", f"refs/heads/nexus/{run}", forged)

    refused = nexus("approve", "--unseen", run)

    assert refused.returncode == CONFLICT
    assert events(project, run, "run.committed") == []


def test_a_changed_definition_is_refused_with_the_difference(nexus: Nexus, project: Path) -> None:
    run = begun(nexus, MORE)
    edit_the_definition(nexus, run)

    refused = nexus("resume", run)

    assert refused.returncode == UNPROVED
    assert "echo more" in refused.stderr
    assert "echo evil" in refused.stderr
